package soak_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/crashtest"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/storetest"
)

// process is a VNFM. Its store and its connections can be cut, and stopped for a while.
type process struct {
	*crashtest.Process
	*network
}

func newProcess(dial mgmttest.Dial) *process {
	n := &network{dial: dial, conns: map[net.Conn]bool{}}
	return &process{crashtest.New(crashtest.Death{End: n.kill}), n}
}

// configure makes a Manager that of the process. onEvent is called whenever a step begins.
func (p *process) configure(c *vnflcm.Config, onEvent func()) {
	p.Attach(c)
	c.Store = stoppedStore{c.Store, p.network}
	intercept := c.Intercept
	c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
		return intercept(ctx, s, func(ctx context.Context) error {
			onEvent()
			return next(ctx)
		})
	}
}

// network has the connections of a process.
type network struct {
	dial mgmttest.Dial

	mu    sync.Mutex
	dead  bool
	conns map[net.Conn]bool
	goOn  chan struct{} // closed when the process continues; nil: it is not stopped
}

// Dial connects to a machine or an API, as long as the process lives.
func (n *network) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := n.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dead {
		return nil, errors.Join(storetest.ErrCut, c.Close())
	}
	n.conns[c] = true
	return &conn{c, n}, nil
}

// cut ends all connections.
func (n *network) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.conns {
		_ = c.Close()
	}
}

// stop lets the process send and write nothing for a while, as SIGSTOP does.
func (n *network) stop(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	goOn := make(chan struct{})
	n.goOn = goOn
	time.AfterFunc(d, func() { close(goOn) })
}

// await returns when the process is not stopped.
func (n *network) await() {
	n.mu.Lock()
	goOn := n.goOn
	n.mu.Unlock()
	if goOn != nil {
		<-goOn
	}
}

// kill ends all connections, and lets no new ones be made.
func (n *network) kill() {
	n.mu.Lock()
	n.dead = true
	n.mu.Unlock()
	n.cut()
}

// conn is a connection of a process that may be stopped.
type conn struct {
	net.Conn
	of *network
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	c.of.await()
	return c.Conn.Write(p)
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.of.mu.Lock()
	delete(c.of.conns, c.Conn)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// stoppedStore is the store of a process that may be stopped.
type stoppedStore struct {
	store.Store
	of *network
}

// Apply implements store.Store.
func (s stoppedStore) Apply(ctx context.Context, b store.Batch) error {
	s.of.await()
	return s.Store.Apply(ctx, b)
}
