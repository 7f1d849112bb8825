package vnflcm

import (
	"context"
	"sync"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm/internal/ledger"
)

// notice notifies any number of goroutines of an event.
type notice struct {
	mu   sync.Mutex
	next chan struct{}
}

// wait returns a channel that is closed by the next tell.
func (n *notice) wait() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.next
}

func (n *notice) tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.next)
	n.next = make(chan struct{})
}

// startWatching starts to follow the writes of other processes, if the Store supports it.
func (m *Manager) startWatching(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.watcher == nil || m.stop != nil || m.closed {
		return
	}
	ctx, m.stop = context.WithCancel(context.WithoutCancel(ctx)) // until Close
	m.keeping.Go(func() { m.watch(ctx) })
}

// watch passes on notifications about the writes of other processes, until ctx ends. While the store cannot be watched,
// waiting goroutines poll it.
func (m *Manager) watch(ctx context.Context) {
	for ctx.Err() == nil {
		err := m.watcher.Watch(ctx, m.changed.tell)
		if ctx.Err() == nil {
			m.cfg.Logger.WarnContext(ctx, "the store cannot be watched now", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(m.cfg.LeaseTTL / 4):
		}
	}
}

// Exclusively calls work in one of all processes that call it with the same name on the same Store, for work that must
// not be done twice at a time, such as sending notifications. The other calls wait. When the working process has died,
// or has lost the store, another process calls work after the LeaseTTL of the first.
//
// The context of work ends with ctx, and with ErrLeased before another process may call work; Exclusively then waits
// for its next turn. It returns when work has returned for another reason, when ctx has ended, or ErrShutdown when the
// Manager is closed. If a process is stopped during work, it may execute one more action when it continues: work must
// tolerate that.
func (m *Manager) Exclusively(ctx context.Context, name string, work func(context.Context) error) error {
	m.startWatching(ctx)
	l := ledger.Exclusive{Ledger: m.records.Ledger, TTL: m.cfg.LeaseTTL, Log: m.cfg.Logger, Changed: m.changed.wait, Closed: m.isClosed}
	return l.Do(ctx, name, func(ctx context.Context, _ *ledger.Lease) error { return work(ctx) })
}
