package vnflcm

import (
	"context"
	"sync"
	"time"
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
