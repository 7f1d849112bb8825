package sshexec

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// Options of a [Pool]. The zero value is usable.
type Options struct {
	// Dial opens the network connection. Default: a net.Dialer.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Observe sees every command before and after it runs. It is called by the
	// goroutine that runs the command and must not block.
	Observe func(CommandEvent)
	// Sessions is how many sessions one connection carries at once; more wait.
	// Default 8 (OpenSSH refuses more than 10).
	Sessions int
	// KeepAlive is the time between two signs of life asked of a host; one that
	// owes an answer for that long is given up. Default 15 s.
	KeepAlive time.Duration
}

// Pool keeps one connection per target and shares it among the callers. A
// connection that broke is made anew by the next call that needs it. Close it
// when it is no longer needed.
type Pool struct {
	options Options
	ctx     context.Context // ends with Close
	cancel  context.CancelCauseFunc
	running sync.WaitGroup // every goroutine of the pool

	transfers transfers

	mu    sync.Mutex
	links map[key]*link
}

// link is the place of one connection: none, being made, or made. Dialling
// happens outside the lock.
type link struct {
	conn    *connection
	attempt *attempt
}

// attempt is a dial that one or more callers wait for.
type attempt struct {
	done    chan struct{}
	cancel  context.CancelCauseFunc
	waiters int
	conn    *connection
	err     error
}

// NewPool makes a pool. It connects to nothing yet.
func NewPool(o Options) *Pool {
	if o.Dial == nil {
		o.Dial = new(net.Dialer).DialContext
	}
	if o.Observe == nil {
		o.Observe = func(CommandEvent) {}
	}
	if o.Sessions <= 0 {
		o.Sessions = 8
	}
	if o.KeepAlive <= 0 {
		o.KeepAlive = 15 * time.Second
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	return &Pool{options: o, ctx: ctx, cancel: cancel, links: map[key]*link{}}
}

// Host returns the machine t means. It connects to nothing yet and is cheap;
// hosts of equal targets share a connection. A target that cannot work is
// reported by the first call that needs the connection.
func (p *Pool) Host(t Target) *Host { return &Host{pool: p, target: t.withDefaults()} }

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

// drop forgets a connection that turned out to be dead.
func (p *Pool) drop(t Target, conn *connection) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.links[t.key()]; l != nil && l.conn == conn {
		l.conn = nil
	}
}

func (l *link) shut(cause error) {
	if l.attempt != nil {
		l.attempt.cancel(cause)
	}
	if l.conn != nil {
		_ = l.conn.client.Close()
	}
}

// connect returns the connection of t, making it when there is none. Callers
// that come while it is being made wait for the same attempt; the attempt ends
// early only when all of them have gone.
func (p *Pool) connect(ctx context.Context, t Target) (*connection, error) {
	if err := t.validate(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	if p.ctx.Err() != nil {
		p.mu.Unlock()
		return nil, ErrClosed
	}
	l := p.links[t.key()]
	if l == nil {
		l = &link{}
		p.links[t.key()] = l
	}
	if l.conn != nil && !l.conn.isDead() {
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
		return nil, context.Cause(ctx)
	}
}

// start begins an attempt; p.mu is held.
func (p *Pool) start(l *link, t Target) {
	ctx, cancel := context.WithCancelCause(p.ctx)
	a := &attempt{done: make(chan struct{}), cancel: cancel}
	l.attempt, l.conn = a, nil
	p.running.Go(func() {
		conn, err := p.dial(ctx, t)
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

var errNobodyWaits = errors.New("nobody waits for the connection")

func (p *Pool) leave(l *link, a *attempt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a.waiters--
	if a.waiters > 0 {
		return
	}
	a.cancel(errNobodyWaits)
	if l.attempt == a {
		l.attempt = nil // whoever comes next starts afresh
	}
}
