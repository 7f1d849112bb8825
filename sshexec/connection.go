package sshexec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// connection is one authenticated SSH connection.
type connection struct {
	pool    *Pool
	client  *ssh.Client
	wire    *wire
	hostKey ssh.PublicKey
	slots   chan struct{} // one slot per session that may be open
	dead    chan struct{} // closed when the connection has ended
	gone    chan struct{} // closed when the connection accepts no new users: it is dead or retired
	idle    time.Duration // time after which a connection without users is closed

	mu      sync.Mutex
	users   int // number of sessions and tunnels that are open or being opened
	open    int // number of open sessions
	peak    int // maximum of open
	retired bool
	timer   *time.Timer // closes the idle connection
}

// dialOnce sets up a connection, through the jump host if there is one.
func (p *Pool) dialOnce(ctx context.Context, t Target, limit int, phase func(string)) (*connection, error) {
	dialled, err := p.reach(ctx, t, phase)
	if err != nil {
		return nil, err
	}
	phase("SSH handshake with " + t.Addr)
	raw := &wire{Conn: dialled}
	client, hostKey, err := handshake(ctx, raw, t)
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	raw.client.Store(client)
	c := &connection{
		pool: p, client: client, wire: raw, hostKey: hostKey, idle: p.options.Idle,
		slots: make(chan struct{}, limit), dead: make(chan struct{}), gone: make(chan struct{}),
	}
	c.rest()
	p.running.Go(func() {
		_ = client.Wait()
		close(c.dead)
		c.retire()
		p.ended(t, c)
	})
	p.running.Go(func() { c.keepAlive(p.options.KeepAlive) })
	return c, nil
}

// reach opens the network connection.
func (p *Pool) reach(ctx context.Context, t Target, phase func(string)) (net.Conn, error) {
	if err := p.allowed(t); err != nil {
		return nil, err
	}
	if t.Via == nil {
		phase("dial " + t.Addr)
		dial := p.options.Dial
		if t.Trusted {
			dial = p.options.DialTrusted
		}
		conn, err := dial(ctx, "tcp", t.Addr)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrConnect, err)
		}
		return conn, nil
	}
	phase("dial " + t.Addr + " through " + t.Via.Name)
	hop := &remote{pool: p, target: *t.Via}
	conn, err := hop.dial(ctx, "tcp", t.Addr)
	if err != nil {
		return nil, through(*t.Via, err)
	}
	return conn, nil
}

// allowed calls Options.Allow unless the target is trusted.
func (p *Pool) allowed(t Target) error {
	if t.Trusted {
		return nil
	}
	host, service, err := net.SplitHostPort(t.Addr)
	if err != nil {
		return err
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return fmt.Errorf("the port of %s: %w", t.Addr, err)
	}
	if err := p.options.Allow(host, uint16(port)); err != nil {
		return fmt.Errorf("%w: %w", ErrNotAllowed, err)
	}
	return nil
}

// through adds the name of the jump host to its error.
func through(hop Target, err error) error {
	return fmt.Errorf("jump host: %w", (&Host{target: hop}).fail(err))
}

func handshake(ctx context.Context, raw *wire, t Target) (*ssh.Client, ssh.PublicKey, error) {
	known, err := t.HostKeys.known(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	login, err := t.credentials(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer login.close()
	var hostKey ssh.PublicKey
	var refused error // error of the host key policy; x/crypto/ssh does not wrap every cause
	config := &ssh.ClientConfig{
		User:              t.User,
		Auth:              login.methods,
		HostKeyAlgorithms: known.algorithms,
		HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
			if refused = t.HostKeys.accept(ctx, t, key); refused == nil {
				hostKey = key
			}
			return refused
		},
	}
	// x/crypto/ssh does not accept a context. Only closing the connection ends a handshake with a host that does not answer.
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	conn, channels, requests, err := ssh.NewClientConn(raw, t.Addr, config)
	if !stop() && err == nil {
		_ = conn.Close()
		err = context.Cause(ctx)
	}
	switch {
	case err == nil:
		return ssh.NewClient(conn, channels, requests), hostKey, nil
	case ctx.Err() != nil:
		return nil, nil, fmt.Errorf("%w: SSH handshake: %w", ErrConnect, context.Cause(ctx))
	case refused != nil:
		return nil, nil, refused
	}
	if away := raw.turnedAway(); away != nil {
		return nil, nil, fmt.Errorf("%w: %w: %w", ErrConnect, away, err)
	}
	return nil, nil, classifyHandshake(err, hostKey != nil, known, t, login)
}

func classifyHandshake(err error, verified bool, known identity, t Target, l *login) error {
	var negotiation *ssh.AlgorithmNegotiationError
	var network net.Error
	switch {
	case errors.As(err, &negotiation) && len(known.prints) > 0 && noCommon(negotiation, known.algorithms):
		return &HostKeyError{Host: t.Name, Known: known.prints}
	case !verified, errors.Is(err, io.EOF), errors.As(err, &network):
		return fmt.Errorf("%w: %w", ErrConnect, err)
	default:
		return l.refused(t, err)
	}
}

// noCommon reports whether the negotiation failed because of the host key algorithms.
func noCommon(e *ssh.AlgorithmNegotiationError, wanted []string) bool {
	for _, list := range [][]string{e.RequestedAlgorithms, e.SupportedAlgorithms} {
		if len(list) >= len(wanted) && slices.Equal(list[:len(wanted)], wanted) {
			return true
		}
	}
	return false
}

// keepAliveRequest is a request that no server knows, so every server answers with a refusal.
const keepAliveRequest = "keepalive@openssh.com"

// keepAlive sends keep-alive requests, because TCP does not detect a lost host. It closes the connection if the host does not answer
// within an interval.
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
		_, _, err := c.client.SendRequest(keepAliveRequest, true, nil)
		late.Stop()
		if err != nil {
			_ = c.client.Close()
			return
		}
	}
}

// stuckLimit is the time for which the end of a call waits until a short message is sent. Afterwards the message is sent in the
// background, so that a blocked network does not delay a caller whose context has ended. The connection may only be slow, so only
// keepAlive decides whether it is dead.
const stuckLimit = 2 * time.Second

// promptly runs fn, which sends a short message, and reports whether fn returned within stuckLimit.
func (c *connection) promptly(fn func()) bool {
	sent := make(chan struct{})
	if !c.pool.spawn(func() { fn(); close(sent) }) {
		fn() // the pool is closed, so fn does not block
		return true
	}
	timer := time.NewTimer(stuckLimit)
	defer timer.Stop()
	select {
	case <-sent:
		return true
	case <-timer.C:
		return false
	}
}

func (c *connection) usable() bool {
	select {
	case <-c.gone:
		return false
	default:
		return true
	}
}

// use keeps the connection open until leave. It returns false if the connection accepts no new users.
func (c *connection) use() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.retired {
		return false
	}
	c.users++
	if c.timer != nil {
		c.timer.Stop()
	}
	return true
}

func (c *connection) leave() {
	c.mu.Lock()
	c.users--
	c.mu.Unlock()
	c.rest()
}

// rest closes a retired connection without users at once, and any other connection without users after its idle time.
func (c *connection) rest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.users > 0:
	case c.retired:
		_ = c.client.Close()
	case c.timer == nil:
		c.timer = time.AfterFunc(c.idle, c.expire)
	default:
		c.timer.Reset(c.idle)
	}
}

func (c *connection) expire() {
	c.mu.Lock()
	unused := c.users == 0
	c.mu.Unlock()
	if unused {
		c.retire()
	}
}

// retire prevents new uses of the connection and closes it after its last use.
func (c *connection) retire() {
	c.mu.Lock()
	if !c.retired {
		c.retired = true
		close(c.gone)
		if c.timer != nil {
			c.timer.Stop()
		}
	}
	c.mu.Unlock()
	c.rest()
}
