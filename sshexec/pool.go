package sshexec

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Options of a [Pool]. The zero value is usable.
type Options struct {
	// Dial opens the network connection to a machine without Via, or to the first jump host. Default: a net.Dialer with a timeout of
	// 15 s, because the kernel tries for two minutes to connect to a machine that is off.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// DialTrusted replaces Dial for targets that are Trusted. Default: Dial.
	DialTrusted func(ctx context.Context, network, addr string) (net.Conn, error)
	// Allow is called with Target.Addr, whose host may be a name, before the pool connects to a target that is not Trusted, directly
	// or through a jump host. If it returns an error, the pool does not connect, and the error wraps ErrNotAllowed. Default: every
	// address is allowed.
	Allow func(host string, port uint16) error
	// Observe is called before and after each command, with the context of the caller, in the goroutine that runs the command. It
	// must not block.
	Observe func(context.Context, CommandEvent)
	// Sessions limits the concurrent sessions of one connection; further calls wait. Default 8. OpenSSH refuses more sessions than
	// MaxSessions, by default 10; the default leaves two for commands that end other commands. If the host refuses a session, the
	// pool replaces the connection and uses only as many sessions as the host has allowed.
	Sessions int
	// LoginsPerServer limits the connections to one server that are set up at the same time; further connections wait. Default 8.
	// OpenSSH refuses connections beyond MaxStartups at random, by default from 10 on. The pool retries refused connections for a
	// limited time if it is setting up several connections itself.
	LoginsPerServer int
	// Transfers limits the files and trees that the pool transfers at the same time, over all hosts; further transfers wait.
	// Default 8.
	Transfers int
	// KeepAlive is the interval of keep-alive requests. A connection whose host does not answer within an interval is
	// closed. Default 15 s.
	KeepAlive time.Duration
	// Idle is the time after which an unused connection is closed. Default 5 min.
	Idle time.Duration
}

// Pool has one connection per target and shares it among the callers. If a connection is broken, the next call that needs it opens
// a new one. Close the pool when it is no longer needed.
type Pool struct {
	options Options
	ctx     context.Context // ends with Close
	cancel  context.CancelCauseFunc
	running sync.WaitGroup // every goroutine of the pool

	answerLimit time.Duration // the constant answerLimit, unless a test changes it

	transfers transfers

	mu      sync.Mutex
	links   map[key]*link
	servers map[string]*server
}

// connectTimeout limits a TCP connect without Options.Dial.
const connectTimeout = 15 * time.Second

// link holds the open connection to one target, or the attempt to open one, or neither. Dialling happens outside the lock.
type link struct {
	conn    *connection
	attempt *attempt
	limit   int // sessions that the host allows; 0 if it never refused one
}

// attempt is a dial that one or more callers wait for.
type attempt struct {
	done    chan struct{}
	cancel  context.CancelCauseFunc
	waiters int
	phase   atomic.Value // string: the current phase of the attempt
	conn    *connection
	err     error
}

// NewPool returns a pool. It does not connect.
func NewPool(o Options) *Pool {
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: connectTimeout}).DialContext
	}
	if o.DialTrusted == nil {
		o.DialTrusted = o.Dial
	}
	if o.Allow == nil {
		o.Allow = func(string, uint16) error { return nil }
	}
	if o.Observe == nil {
		o.Observe = func(context.Context, CommandEvent) {}
	}
	o.Sessions = positive(o.Sessions, 8)
	o.LoginsPerServer = positive(o.LoginsPerServer, 8)
	o.Transfers = positive(o.Transfers, 8)
	o.KeepAlive = positive(o.KeepAlive, 15*time.Second)
	o.Idle = positive(o.Idle, 5*time.Minute)
	ctx, cancel := context.WithCancelCause(context.Background())
	return &Pool{
		options: o, ctx: ctx, cancel: cancel, answerLimit: answerLimit,
		transfers: transfers{slots: make(chan struct{}, o.Transfers)},
		links:     map[key]*link{}, servers: map[string]*server{},
	}
}

func positive[N int | time.Duration](n, otherwise N) N {
	if n > 0 {
		return n
	}
	return otherwise
}

// Host returns the machine that t describes. The call is cheap and does not connect. Hosts with equal targets share a connection. The
// first call that needs the connection reports an invalid target.
func (p *Pool) Host(t Target) *Host {
	t = t.withDefaults()
	return &Host{pool: p, target: t, machine: &remote{pool: p, target: t}}
}

// DialContext connects to addr, host:port, as the pool connects to a Target with this Addr that is not Trusted: with Options.Dial or
// through the jump host via, and only if Options.Allow allows the address (ErrNotAllowed). It does not use SSH with addr itself. If
// via is nil, it connects without a jump host.
func (p *Pool) DialContext(ctx context.Context, via *Target, addr string) (net.Conn, error) {
	if p.ctx.Err() != nil {
		return nil, ErrClosed
	}
	return p.reach(ctx, Target{Addr: addr, Via: via}.withDefaults(), func(string) {})
}

// Forget closes the connections to the machine with this Target.ID, for example because the machine was replaced. Running commands
// end with [ErrDisconnected].
func (p *Pool) Forget(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k, l := range p.links {
		if k.id == id {
			l.shut(errForgotten)
			delete(p.links, k)
		}
	}
	p.transfers.forget(id)
}

var errForgotten = errors.New("host was forgotten")

// Close closes all connections and waits for the goroutines of the pool. Running commands end with [ErrDisconnected], later calls
// with [ErrClosed].
func (p *Pool) Close() error {
	p.mu.Lock()
	p.cancel(ErrClosed)
	for k, l := range p.links {
		l.shut(ErrClosed)
		delete(p.links, k)
	}
	p.mu.Unlock()
	p.running.Wait()
	return nil
}

// spawn runs fn in a goroutine that Close waits for. If the pool is closed, it returns false and does not run fn.
func (p *Pool) spawn(fn func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return false
	}
	p.running.Go(fn)
	return true
}

func (l *link) shut(cause error) {
	if l.attempt != nil {
		l.attempt.cancel(cause)
	}
	if l.conn != nil {
		_ = l.conn.client.Close()
	}
}

// connect returns the connection for t. It opens the connection if needed. Further callers wait for the same attempt. The attempt ends
// early only if the contexts of all callers end.
func (p *Pool) connect(ctx context.Context, t Target) (*connection, error) {
	k := t.key()
	p.mu.Lock()
	if p.ctx.Err() != nil {
		p.mu.Unlock()
		return nil, ErrClosed
	}
	l := p.links[k]
	if l == nil {
		l = &link{}
		p.links[k] = l
	}
	if l.conn != nil && l.conn.usable() {
		defer p.mu.Unlock()
		return l.conn, nil
	}
	if l.attempt == nil {
		p.start(l, t)
	}
	a := l.attempt
	a.waiters++
	p.mu.Unlock()

	select {
	case <-a.done:
		return a.conn, a.err
	case <-ctx.Done():
		p.leave(l, a)
		return nil, fmt.Errorf("%w: %v: %w", ErrConnect, a.phase.Load(), context.Cause(ctx))
	}
}

// start begins an attempt. The caller holds p.mu.
func (p *Pool) start(l *link, t Target) {
	ctx, cancel := context.WithCancelCause(p.ctx)
	a := &attempt{done: make(chan struct{}), cancel: cancel}
	a.phase.Store("waiting for a turn")
	l.attempt, l.conn = a, nil
	limit := p.options.Sessions
	if l.limit > 0 {
		limit = min(limit, l.limit)
	}
	p.running.Go(func() {
		conn, err := p.dial(ctx, t, limit, func(phase string) { a.phase.Store(phase) })
		p.mu.Lock()
		defer p.mu.Unlock()
		if conn != nil && ctx.Err() != nil { // Forget, Close or the end of all callers has ended the attempt meanwhile
			_ = conn.client.Close()
			conn, err = nil, context.Cause(ctx)
		}
		cancel(nil)
		a.conn, a.err = conn, err
		if l.attempt == a {
			l.attempt, l.conn = nil, conn
		}
		close(a.done)
	})
}

var errNobodyWaits = errors.New("no call waits for the connection any more")

func (p *Pool) leave(l *link, a *attempt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a.waiters--
	if a.waiters > 0 {
		return
	}
	a.cancel(errNobodyWaits)
	if l.attempt == a {
		l.attempt = nil // the next caller starts a new attempt
	}
}

// retire stops new uses of a connection: its sessions continue, new sessions use another connection. If limit is not 0, the next
// connection has at most this number of sessions.
func (p *Pool) retire(t Target, conn *connection, limit int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.links[t.key()]; l != nil && l.conn == conn {
		l.conn = nil
		if limit > 0 {
			l.limit = limit
		}
	}
	conn.retire()
}

// ended removes the record of a connection that has ended, because a long-lived pool connects to many machines. The limit that the
// host has shown stays.
func (p *Pool) ended(t Target, conn *connection) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := t.key()
	l := p.links[k]
	if l == nil || l.conn != conn {
		return
	}
	if l.conn = nil; l.attempt == nil && l.limit == 0 {
		delete(p.links, k)
	}
}
