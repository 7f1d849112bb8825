package sshtest

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"

	"golang.org/x/crypto/ssh"
)

// client is one connection to the host.
type client struct {
	host     *Host
	raw      net.Conn
	ctx      context.Context
	cancel   context.CancelFunc
	admitted sync.Once // for established

	mu       sync.Mutex
	sessions int
}

func (c *client) cut() {
	_ = c.raw.Close() // before cancel, so that no exit status is sent
	c.cancel()
}

// drop ends the connection and removes it from the host.
func (c *client) drop() {
	c.cut()
	c.established()
	c.host.mu.Lock()
	defer c.host.mu.Unlock()
	delete(c.host.clients, c)
}

func (h *Host) accept() {
	for {
		raw, err := h.listener.Accept()
		if err != nil {
			return
		}
		if c := h.admit(raw); c != nil {
			h.running.Go(c.serve)
		}
	}
}

// Serve serves a client on conn, which need not be a connection to Addr. Serve does not wait for the end of the connection. A
// host that refuses connections, or is closed, closes conn.
func (h *Host) Serve(conn net.Conn) {
	if c := h.admit(conn); c != nil && !h.spawn(c.serve) {
		c.drop()
	}
}

// tooManyStartups is the text that sshd sends instead of its version.
const tooManyStartups = "Exceeded MaxStartups\r\n"

// admit registers a connection. If the host is down or busy, admit closes the connection and returns nil.
func (h *Host) admit(raw net.Conn) *client {
	f := h.faults.current()
	h.mu.Lock()
	defer h.mu.Unlock()
	if f.Refuse || h.ctx.Err() != nil {
		if tcp, ok := raw.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = raw.Close()
		return nil
	}
	if f.MaxStartups > 0 && h.startups >= f.MaxStartups {
		_, _ = io.WriteString(raw, tooManyStartups)
		_ = raw.Close()
		return nil
	}
	c := &client{host: h, raw: raw}
	c.ctx, c.cancel = context.WithCancel(h.ctx)
	h.clients[c] = struct{}{}
	h.startups++
	return c
}

// established stops counting the connection for MaxStartups.
func (c *client) established() {
	c.admitted.Do(func() {
		c.host.mu.Lock()
		defer c.host.mu.Unlock()
		c.host.startups--
	})
}

func (c *client) serve() {
	defer c.drop()
	w := &wire{Conn: c.raw, faults: c.host.faults, ctx: c.ctx, lost: c.cut}
	if !w.stalled(func(f Faults) bool { return f.StallHandshake }) {
		return
	}
	conn, channels, requests, err := ssh.NewServerConn(w, c.host.serverConfig(c))
	if err != nil {
		return
	}
	c.established()
	c.host.running.Go(func() { ssh.DiscardRequests(requests) })
	for channel := range channels {
		switch channel.ChannelType() {
		case "session":
			c.open(channel)
		case "direct-tcpip":
			c.host.running.Go(func() { c.forward(channel) })
		default:
			_ = channel.Reject(ssh.UnknownChannelType, "unknown channel type")
		}
	}
	_ = conn.Close()
}

// open starts a session. It rejects the session if the connection has too many.
func (c *client) open(channel ssh.NewChannel) {
	f := c.host.faults.current()
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.RefuseSessions || f.MaxSessions > 0 && c.sessions >= f.MaxSessions {
		_ = channel.Reject(ssh.ConnectionFailed, "open failed") // the text of sshd
		return
	}
	c.sessions++
	c.host.running.Go(func() {
		c.session(channel)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.sessions--
	})
}

// forward connects a direct-tcpip channel to the connection that Config.Dial opens.
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
		_, _ = copyAll(target, channel)
		if half, ok := target.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
			return
		}
		_ = target.Close()
	})
	_, _ = copyAll(channel, target)
	_ = channel.Close()
}
