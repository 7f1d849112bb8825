package sshexec

import (
	"context"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/vnfkit/vnfkit/internal/retry"
)

// transfers is the state of file transfers of a pool.
type transfers struct {
	slots       chan struct{} // one slot per running transfer
	sftpMethods sync.Map      // sftpMethodKey to sftpMethod, for each host
}

// forget deletes the cached SFTP methods of the machine with this Target.ID.
func (t *transfers) forget(id string) {
	t.sftpMethods.Range(func(k, _ any) bool {
		if k.(sftpMethodKey).id == id { //nolint:forcetypeassert // all keys have this type
			t.sftpMethods.Delete(k)
		}
		return true
	})
}

// transfer waits for a slot among the transfers of the pool, and returns a function that releases it. A caller that has
// a slot must not ask for another one.
func (p *Pool) transfer(ctx context.Context) (release func(), err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	select {
	case p.transfers.slots <- struct{}{}:
		return func() { <-p.transfers.slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-p.ctx.Done():
		return nil, ErrClosed
	}
}

// cutsInVain is the number of consecutive lost connections without progress after which a transfer fails.
const cutsInVain = 5

// resuming calls attempt until it succeeds or fails with an error other than a lost connection. mark returns the
// progress of the transfer. may returns whether the transfer can be resumed.
func resuming(ctx context.Context, attempt func() error, mark func() int64, may func() bool) error {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = reachFirst, reachLast
	for cuts := 1; ; cuts++ {
		before := mark()
		err := attempt()
		if err == nil || ctx.Err() != nil || !cut(err) || !may() {
			return err
		}
		if mark() > before {
			cuts = 1
			pauses.Reset()
		}
		if cuts == cutsInVain || retry.Pause(ctx, pauses.NextBackOff()) != nil {
			return err
		}
	}
}

// progressPause is the minimum time between two reports of progress.
const progressPause = 250 * time.Millisecond

// meter reports progress.
type meter struct {
	report func(Progress)

	mu   sync.Mutex
	at   Progress
	last time.Time
}

func (h *Host) meter(path string, total int64, report func(Progress)) *meter {
	return &meter{report: report, at: Progress{Host: h.target.Name, Path: path, Total: total}, last: time.Now()}
}

// add counts bytes that have arrived.
func (m *meter) add(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at.Done += n
	if now := time.Now(); m.report != nil && now.Sub(m.last) >= progressPause {
		m.last = now
		m.report(m.at)
	}
}

// total sets Progress.Total.
func (m *meter) total(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at.Total = n
}

// set sets the number of bytes that have arrived.
func (m *meter) set(done int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at.Done = done
}

// end reports the end of the transfer. No reports follow.
func (m *meter) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at.Total = m.at.Done
	if m.report != nil {
		m.report(m.at)
	}
	m.report = nil
}

// done returns the number of bytes that have arrived.
func (m *meter) done() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at.Done
}

// mute stops the reports after a failure.
func (m *meter) mute() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.report = nil
}
