package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Exclusively calls work in one of all processes that call it with the same name on the same Store, for work that must not
// be done twice at a time, such as sending notifications. The other calls wait. When the process that works has died, or has
// lost the store, another process calls work after the LeaseTTL of the first.
//
// The context of work ends with ctx, and with ErrLeased before another process may call work; Exclusively then waits for its
// next turn. It returns when work has returned for another reason, when ctx has ended, or ErrShutdown when the Manager is
// closed. A process that is stopped within work can do a last thing when it continues: work must tolerate it.
func (m *Manager) Exclusively(ctx context.Context, name string, work func(context.Context) error) error {
	m.startWatching(ctx)
	for {
		lease := &process{records: m.records, kind: kindLease, owner: name, run: uuid.NewString(), ttl: m.cfg.LeaseTTL}
		if err := m.acquire(ctx, lease); err != nil {
			return err
		}
		if err := m.workUnder(ctx, lease, work); !errors.Is(err, ErrLeased) || ctx.Err() != nil {
			return err
		}
	}
}

// acquire waits until no other process has the lease.
func (m *Manager) acquire(ctx context.Context, lease *process) error {
	for seen := (sightings{}); ; {
		changed := m.changed.wait()
		if m.isClosed() {
			return ErrShutdown
		}
		taken, err := m.tryLease(ctx, lease, seen)
		if taken {
			return nil
		}
		if err != nil && ctx.Err() == nil {
			m.cfg.Logger.WarnContext(ctx, "a lease cannot be taken now", "lease", lease.owner, "error", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the lease %s: %w", lease.owner, context.Cause(ctx))
		case <-changed:
			pause(ctx, shortest)
		case <-time.After(m.watchEvery()):
		}
	}
}

// tryLease takes a lease that no living process has, as far as this process has seen.
func (m *Manager) tryLease(ctx context.Context, lease *process, seen sightings) (bool, error) {
	stored, err := m.cfg.Store.Get(ctx, kindLease, lease.owner)
	if errors.Is(err, ErrNotFound) {
		stored, err = Record{Kind: kindLease, ID: lease.owner}, nil
	}
	if err != nil || stored.Version > 0 && !seen.stoodStill(stored, m.ttlOf(stored)) {
		return false, err
	}
	err = lease.take(ctx, stored.Version)
	if errors.Is(err, ErrConflict) { // another process was faster
		return false, nil
	}
	return err == nil, err
}

// workUnder does the work while the lease holds.
func (m *Manager) workUnder(ctx context.Context, lease *process, work func(context.Context) error) error {
	defer endLease(ctx, lease)
	working, end := context.WithCancelCause(ctx)
	defer end(nil)
	done := make(chan error, 1)
	go func() { done <- work(working) }()
	every := time.NewTicker(lease.ttl / 8) // the work ends at 7/8 of the TTL if the store does not answer
	defer every.Stop()
	for {
		changed := m.changed.wait()
		if m.isClosed() {
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
			if err := m.renewLease(ctx, lease); err != nil {
				end(err)
			}
		}
	}
}

// endLease lets another process take the lease at once. If the store does not answer, the lease runs out.
func endLease(ctx context.Context, lease *process) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), lease.ttl/8)
	defer done()
	lease.leave(ctx)
}

// renewLease returns an error that is ErrLeased when the lease has run out.
func (m *Manager) renewLease(ctx context.Context, lease *process) error {
	ctx, done := context.WithTimeout(ctx, lease.ttl/8)
	defer done()
	if err := lease.renew(ctx); err != nil && !lease.valid() {
		return fmt.Errorf("%w: the lease %s cannot be renewed: %w", ErrLeased, lease.owner, err)
	}
	return nil
}
