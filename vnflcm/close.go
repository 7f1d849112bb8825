package vnflcm

import (
	"context"
	"maps"
	"slices"
)

// Close stops the work of this process and waits for it until ctx ends: steps under way are interrupted, and their
// operations stay as they are, for the next process. If ctx ends first, Close returns the cause of that, and drivers that ignore their
// contexts still run.
func (m *Manager) Close(ctx context.Context) error {
	m.mu.Lock()
	m.closed = true
	runs := slices.Collect(maps.Values(m.runs))
	m.stopLoops()
	m.mu.Unlock()
	m.changed.tell()
	for _, r := range runs {
		r.cancel(ErrShutdown)
	}
	m.retire(ctx)
	for _, r := range runs {
		select {
		case <-r.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	ended := make(chan struct{})
	go func() { m.keeping.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done(): // such as during a look of a driver that ignores its context
		return context.Cause(ctx)
	}
	m.disown(ctx)
	m.process.Leave(ctx)
	return nil
}

// retire lets other processes take up the operations of this process at once, although it may take a while to end.
func (m *Manager) retire(ctx context.Context) {
	ctx, done := context.WithTimeout(ctx, m.cfg.LeaseTTL/4)
	defer done()
	if err := m.process.Retire(ctx); err != nil {
		m.cfg.Logger.WarnContext(ctx, "other processes count this process until it has ended", "error", err)
	}
}

// stopLoops ends the goroutines of a Manager that is closed, or whose store has a newer format. The goroutine that watches the store ends at
// once, the rest end when no run needs the lease. m.mu is held.
func (m *Manager) stopLoops() {
	if !m.closed && m.records.Closed() == nil {
		return
	}
	if m.stop != nil {
		m.stop()
	}
	if len(m.runs) == 0 && m.keep != nil {
		m.keep()
	}
}

// reportNewer is called once when this process has found out that the store has a newer format.
func (m *Manager) reportNewer(err error) {
	m.cfg.Logger.Error("this process can do nothing more", "error", err)
	m.mu.Lock()
	m.stopLoops()
	m.mu.Unlock()
	m.changed.tell()
}
