package sshexec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/crypto/ssh"
)

// connection is one authenticated SSH connection.
type connection struct {
	client *ssh.Client
	slots  chan struct{} // one per session that may be open
	dead   chan struct{} // closed once the connection is of no use any more
}

func (p *Pool) dial(ctx context.Context, t Target) (*connection, error) {
	dialled, err := p.options.Dial(ctx, "tcp", t.Addr)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConnect, err)
	}
	raw := &wire{Conn: dialled}
	client, err := handshake(ctx, raw, t)
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	raw.client.Store(client)
	c := &connection{
		client: client,
		slots:  make(chan struct{}, p.options.Sessions),
		dead:   make(chan struct{}),
	}
	p.running.Go(func() {
		_ = client.Wait()
		close(c.dead)
	})
	p.running.Go(func() { c.keepAlive(p.options.KeepAlive) })
	return c, nil
}

func handshake(ctx context.Context, raw net.Conn, t Target) (*ssh.Client, error) {
	known, err := t.HostKeys.known(ctx, t.ID)
	if err != nil {
		return nil, err
	}
	var refused error // by the policy; x/crypto/ssh does not wrap every cause
	verified := false
	config := &ssh.ClientConfig{
		User:              t.User,
		Auth:              sshMethods(t.Auth),
		HostKeyAlgorithms: keyAlgorithms(known),
		HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
			instead, err := t.HostKeys.accept(ctx, t.ID, key)
			if err == nil && len(instead) > 0 {
				err = &HostKeyError{Host: t.Name, Known: fingerprints(instead), Got: ssh.FingerprintSHA256(key)}
			}
			refused, verified = err, err == nil
			return err
		},
	}
	// x/crypto/ssh knows no context: closing the connection is what ends a
	// handshake with a host that says nothing.
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	conn, channels, requests, err := ssh.NewClientConn(raw, t.Addr, config)
	if !stop() && err == nil {
		_ = conn.Close()
		err = context.Cause(ctx)
	}
	if err == nil {
		return ssh.NewClient(conn, channels, requests), nil
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%w: SSH handshake: %w", ErrConnect, context.Cause(ctx))
	}
	if refused != nil {
		return nil, refused
	}
	return nil, classifyHandshake(err, verified, known, t)
}

func classifyHandshake(err error, verified bool, known []ssh.PublicKey, t Target) error {
	var negotiation *ssh.AlgorithmNegotiationError
	var network net.Error
	switch {
	case errors.As(err, &negotiation) && len(known) > 0 && noCommon(negotiation, keyAlgorithms(known)):
		return &HostKeyError{Host: t.Name, Known: fingerprints(known)}
	case !verified, errors.Is(err, io.EOF), errors.As(err, &network):
		return fmt.Errorf("%w: %w", ErrConnect, err)
	default:
		return fmt.Errorf("%w: user %s: %w", ErrAuth, t.User, err)
	}
}

// noCommon reports whether the negotiation failed over the host key.
func noCommon(e *ssh.AlgorithmNegotiationError, wanted []string) bool {
	for _, list := range [][]string{e.RequestedAlgorithms, e.SupportedAlgorithms} {
		if len(list) >= len(wanted) && fmt.Sprint(list[:len(wanted)]) == fmt.Sprint(wanted) {
			return true
		}
	}
	return false
}

// keepAlive asks for a sign of life and closes the connection to a host that
// owes one for a whole interval: a lost host ends no TCP connection by itself.
func (c *connection) keepAlive(interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-c.dead:
			return
		case <-ticker.C:
		}
		late := time.AfterFunc(interval, func() { _ = c.client.Close() })
		_, _, err := c.client.SendRequest("keepalive@openssh.com", true, nil)
		late.Stop()
		if err != nil {
			_ = c.client.Close()
			return
		}
	}
}

func (c *connection) isDead() bool {
	select {
	case <-c.dead:
		return true
	default:
		return false
	}
}

// session opens a session and returns how to give it back.
func (c *connection) session(ctx context.Context) (*ssh.Session, func(), error) {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	case <-c.dead:
		return nil, nil, errDead
	}
	type opened struct {
		session *ssh.Session
		err     error
	}
	result := make(chan opened)
	// x/crypto/ssh knows no context. A host that breaks the protocol at the right
	// moment can keep this call waiting for ever, so nobody waits for it.
	go func() {
		s, err := c.client.NewSession()
		select {
		case result <- opened{s, err}:
			return
		case <-ctx.Done():
		case <-c.dead:
		}
		if err == nil {
			_ = s.Close()
		}
		<-c.slots
	}()
	select {
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	case <-c.dead:
		return nil, nil, errDead
	case o := <-result:
		if o.err != nil {
			<-c.slots
			return nil, nil, c.openFailure(o.err)
		}
		return o.session, func() {
			_ = o.session.Close()
			<-c.slots
		}, nil
	}
}

var errDead = errors.New("connection is dead")

// openFailure tells a host that refuses one more session from a connection
// that is of no use any more.
func (c *connection) openFailure(err error) error {
	var refused *ssh.OpenChannelError
	if errors.As(err, &refused) {
		return fmt.Errorf("%w: open a session: %w", ErrConnect, err)
	}
	_ = c.client.Close()
	return errDead
}
