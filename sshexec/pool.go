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
	// Dial opens the network connection to a machine without Via, and to the first jump host otherwise. Default: a
	// net.Dialer with a timeout of 15 s: a machine that is off does not answer, and the kernel alone tries for two
	// minutes.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// DialTrusted replaces Dial for targets that are Trusted. Default: Dial.
	DialTrusted func(ctx context.Context, network, addr string) (net.Conn, error)
	// Allow is asked about Target.Addr, which may be a name, before the pool connects to a target that is not Trusted, directly
	// or through a jump host. An error refuses the connection with ErrNotAllowed. Default: every address is allowed.
	Allow func(host string, port uint16) error
	// Observe sees every command before and after it runs, with the context that the caller runs it with. It is called by
	// the goroutine that runs the command and must not block.
	Observe func(context.Context, CommandEvent)
	// Sessions is how many sessions one connection carries at once; further calls wait. Default 8. OpenSSH refuses more
	// than MaxSessions, 10 unless configured; the default leaves two for the commands that end other commands. If the host
	// refuses a session, the pool replaces the connection by one with as many sessions as the host has allowed.
	Sessions int
	// LoginsPerServer is how many connections to one server are being set up at once; further ones wait. Default 8. OpenSSH
	// refuses connections beyond MaxStartups at random, by default from 10 on. The pool retries refused ones for a limited
	// time if it is setting up several itself.
	LoginsPerServer int
	// Transfers is how many files and trees the pool transfers at once, over all hosts; further ones wait. Default 8.
	Transfers int
	// KeepAlive is the interval of keep-alive requests. A connection whose host does not answer within an interval is
	// closed. Default 15 s.
	KeepAlive time.Duration
	// Idle is how long an unused connection is kept. Default 5 min.
	Idle time.Duration
}

// Pool keeps one connection per target and shares it among the callers. The next call that needs a broken connection
// replaces it. Close the pool when it is no longer needed.
type Pool struct {
	options Options
	ctx     context.Context // ends with Close
	cancel  context.CancelCauseFunc
	running sync.WaitGroup // every goroutine of the pool

	answerLimit time.Duration // the constant of this name; tests change it

	transfers transfers

	mu      sync.Mutex
	links   map[key]*link
	servers map[string]*server
}

// connectTimeout bounds a TCP connect where the caller does not dial.
const connectTimeout = 15 * time.Second

// link holds the connection to one target: none, one being made, or an open one. Dialling happens outside the lock.
type link struct {
	conn    *connection
	attempt *attempt
	limit   int // sessions that the host has shown to allow; 0 when it was not asked for more
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

// NewPool makes a pool. It does not connect.
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

// Host returns the machine that t describes. It is cheap and does not connect; hosts of equal targets share a
// connection. The first call that needs the connection reports an invalid target.
func (p *Pool) Host(t Target) *Host {
	t = t.withDefaults()
	return &Host{pool: p, target: t, machine: &remote{pool: p, target: t}}
}

// DialContext connects to addr, host:port, in the way in which the pool connects to a Target with this Addr that is not Trusted: by
// Options.Dial or through the jump host via, and only if Options.Allow permits it (ErrNotAllowed). It does not speak SSH with addr. A nil
// via means that there is no jump host.
func (p *Pool) DialContext(ctx context.Context, via *Target, addr string) (net.Conn, error) {
	if p.ctx.Err() != nil {
		return nil, ErrClosed
	}
	return p.reach(ctx, Target{Addr: addr, Via: via}.withDefaults(), func(string) {})
}

// Forget closes the connections to the machine with this Target.ID, for
// example because it was replaced. Commands that run on it end with
// [ErrDisconnected].
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

// Close closes all connections and waits for the goroutines of the pool.
// Commands that still run end with [ErrDisconnected], later calls with
// [ErrClosed].
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

// spawn runs fn in a goroutine that Close waits for. It returns false when the
// pool is closed.
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

// connect returns the connection for t, and makes it if needed. Callers that arrive meanwhile wait for the same
// attempt. The attempt ends early only if the contexts of all of them end.
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

// start begins an attempt; p.mu is held.
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
		if conn != nil && ctx.Err() != nil { // forgotten, closed or left alone meanwhile
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

// retire takes a connection out of use: its sessions continue, new sessions use another connection. If limit is set,
// the next connection carries at most that many sessions.
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

// ended removes the record of a connection that has ended: a long-lived pool sees many machines. The limits learned
// from the host stay.
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
