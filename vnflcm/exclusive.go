package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

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
	l := leases{records: m.records, ttl: m.cfg.LeaseTTL, log: m.cfg.Logger, changed: m.changed.wait, closed: m.isClosed}
	return l.exclusively(ctx, name, func(ctx context.Context, _ *process) error { return work(ctx) })
}

// leases takes leases, each for one purpose.
type leases struct {
	records *records
	ttl     time.Duration
	log     *slog.Logger
	changed func() <-chan struct{} // is closed when the store may have changed
	closed  func() bool
}

func (l leases) exclusively(ctx context.Context, name string, work func(context.Context, *process) error) error {
	for {
		lease := &process{records: l.records, kind: kindLease, id: name, run: uuid.NewString(), ttl: l.ttl}
		if err := l.acquire(ctx, lease); err != nil {
			return err
		}
		if err := l.workUnder(ctx, lease, work); !errors.Is(err, ErrLeased) || ctx.Err() != nil {
			return err
		}
	}
}

// acquire waits until no other process has the lease.
func (l leases) acquire(ctx context.Context, lease *process) error {
	for seen := (sightings{}); ; {
		changed := l.changed()
		if l.closed() {
			return ErrShutdown
		}
		taken, err := l.tryLease(ctx, lease, seen)
		if taken {
			return nil
		}
		if err != nil && ctx.Err() == nil {
			l.log.WarnContext(ctx, "a lease cannot be taken now", "lease", lease.id, "error", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the lease %s: %w", lease.id, context.Cause(ctx))
		case <-changed:
			pause(ctx, shortest)
		case <-time.After(watchEvery(l.ttl)):
		}
	}
}

// tryLease takes a lease that no living process has, as far as this process has seen.
func (l leases) tryLease(ctx context.Context, lease *process, seen sightings) (bool, error) {
	stored, err := l.records.store.Get(ctx, kindLease, lease.id)
	if errors.Is(err, ErrNotFound) {
		stored, err = store.Record{Kind: kindLease, ID: lease.id}, nil
	}
	if err != nil || stored.Version > 0 && !seen.stoodStill(stored, l.records.ttlOf(stored, l.ttl)) {
		return false, err
	}
	err = lease.take(ctx, stored.Version)
	if errors.Is(err, ErrConflict) { // another process was faster
		return false, nil
	}
	return err == nil, err
}

// workUnder does the work while the lease holds.
func (l leases) workUnder(ctx context.Context, lease *process, work func(context.Context, *process) error) error {
	defer endLease(ctx, lease)
	working, end := context.WithCancelCause(ctx)
	defer end(nil)
	done := make(chan error, 1)
	go func() { done <- work(working, lease) }()
	every := time.NewTicker(lease.ttl / 8) // the work ends at 7/8 of the TTL if the store does not answer
	defer every.Stop()
	for {
		changed := l.changed()
		if l.closed() {
			end(ErrShutdown)
		}
		select {
		case err := <-done:
			if ended := context.Cause(working); ended != nil && ctx.Err() == nil {
				return ended
			}
			return err
		case <-changed:
		case <-every.C:
			if err := renewLease(ctx, lease); err != nil {
				end(err)
			}
		}
	}
}

// endLease frees the lease for another process at once. If the store does not answer, the lease expires.
func endLease(ctx context.Context, lease *process) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), lease.ttl/8)
	defer done()
	lease.leave(ctx)
}

// renewLease returns an error that is ErrLeased when the lease has run out.
func renewLease(ctx context.Context, lease *process) error {
	ctx, done := context.WithTimeout(ctx, lease.ttl/8)
	defer done()
	if err := lease.renew(ctx); err != nil && !lease.valid() {
		return fmt.Errorf("%w: the lease %s cannot be renewed: %w", ErrLeased, lease.id, err)
	}
	return nil
}
