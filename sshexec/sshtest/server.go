package sshtest

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"

	"golang.org/x/crypto/ssh"
)

var errDenied = errors.New("permission denied")

func (h *Host) serverConfig() (*ssh.ServerConfig, error) {
	allowed := map[string]bool{}
	for _, line := range h.config.AuthorizedKeys {
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
		if err != nil {
			return nil, fmt.Errorf("sshtest: authorized key: %w", err)
		}
		allowed[string(key.Marshal())] = true
	}
	check := func(user, password string) (*ssh.Permissions, error) {
		same := subtle.ConstantTimeCompare([]byte(password), []byte(h.config.Password)) == 1
		if user != h.config.User || !same {
			return nil, errDenied
		}
		return &ssh.Permissions{}, nil
	}
	config := &ssh.ServerConfig{
		PasswordCallback: func(c ssh.ConnMetadata, password []byte) (*ssh.Permissions, error) {
			return check(c.User(), string(password))
		},
		KeyboardInteractiveCallback: func(c ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
			answers, err := ask("", "", []string{"Password: "}, []bool{false})
			if err != nil || len(answers) != 1 {
				return nil, errDenied
			}
			return check(c.User(), answers[0])
		},
		PublicKeyCallback: func(c ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if c.User() != h.config.User || !allowed[string(key.Marshal())] {
				return nil, errDenied
			}
			return &ssh.Permissions{}, nil
		},
	}
	config.AddHostKey(h.signer)
	return config, nil
}

// client is one connection to the host.
type client struct {
	host   *Host
	raw    net.Conn
	ctx    context.Context
	cancel context.CancelFunc
}

func (c *client) cut() {
	_ = c.raw.Close() // first: nobody is told how the programs ended
	c.cancel()
}

func (h *Host) accept(config *ssh.ServerConfig) {
	for {
		raw, err := h.listener.Accept()
		if err != nil {
			return
		}
		if c := h.admit(raw); c != nil {
			h.running.Go(func() { c.serve(config) })
		}
	}
}

// admit takes in a connection unless the host is down.
func (h *Host) admit(raw net.Conn) *client {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refuse || h.ctx.Err() != nil {
		if tcp, ok := raw.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = raw.Close()
		return nil
	}
	c := &client{host: h, raw: raw}
	c.ctx, c.cancel = context.WithCancel(h.ctx)
	h.clients[c] = struct{}{}
	return c
}

func (c *client) serve(config *ssh.ServerConfig) {
	defer func() {
		c.cut()
		c.host.mu.Lock()
		defer c.host.mu.Unlock()
		delete(c.host.clients, c)
	}()
	conn, channels, requests, err := ssh.NewServerConn(c.raw, config)
	if err != nil {
		return
	}
	c.host.running.Go(func() { ssh.DiscardRequests(requests) })
	for channel := range channels {
		switch channel.ChannelType() {
		case "session":
			c.host.running.Go(func() { c.session(channel) })
		case "direct-tcpip":
			c.host.running.Go(func() { c.forward(channel) })
		default:
			_ = channel.Reject(ssh.UnknownChannelType, "unknown channel type")
		}
	}
	_ = conn.Close()
}

// forward leads a direct-tcpip channel to where Config.Dial says.
func (c *client) forward(request ssh.NewChannel) {
	var where struct {
		Host       string
		Port       uint32
		OriginHost string
		OriginPort uint32
	}
	if err := ssh.Unmarshal(request.ExtraData(), &where); err != nil || c.host.config.Dial == nil {
		_ = request.Reject(ssh.Prohibited, "forwarding is off")
		return
	}
	addr := net.JoinHostPort(where.Host, fmt.Sprint(where.Port))
	target, err := c.host.config.Dial(c.ctx, "tcp", addr)
	if err != nil {
		_ = request.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	defer func() { _ = target.Close() }()
	channel, requests, err := request.Accept()
	if err != nil {
		return
	}
	c.host.running.Go(func() { ssh.DiscardRequests(requests) })
	stop := context.AfterFunc(c.ctx, func() { _ = target.Close() })
	defer stop()
	c.host.running.Go(func() {
		_, _ = io.Copy(target, channel)
		if half, ok := target.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
			return
		}
		_ = target.Close()
	})
	_, _ = io.Copy(channel, target)
	_ = channel.Close()
}
