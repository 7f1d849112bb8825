package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// leases takes leases, each for one purpose.
type leases struct {
	ledger  *ledger
	ttl     time.Duration
	log     *slog.Logger
	changed func() <-chan struct{} // is closed when the store may have changed
	closed  func() bool
}

func (l leases) exclusively(ctx context.Context, name string, work func(context.Context, *lease) error) error {
	for {
		held := newLease(l.ledger, kindLease, name, l.ttl, 0)
		if err := l.acquire(ctx, held); err != nil {
			return err
		}
		if err := l.workUnder(ctx, held, work); !errors.Is(err, ErrLeased) || ctx.Err() != nil {
			return err
		}
	}
}

// acquire waits until no other process has the lease.
func (l leases) acquire(ctx context.Context, held *lease) error {
	for seen := (sightings{}); ; {
		changed := l.changed()
		if l.closed() {
			return ErrShutdown
		}
		taken, err := l.tryLease(ctx, held, seen)
		if taken {
			return nil
		}
		if err != nil && ctx.Err() == nil {
			l.log.WarnContext(ctx, "a lease cannot be taken now", "lease", held.id, "error", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the lease %s: %w", held.id, context.Cause(ctx))
		case <-changed:
			pauseLooking(ctx)
		case <-time.After(watchEvery(l.ttl)):
		}
	}
}

// tryLease takes a lease that no living process has, as far as this process has seen.
func (l leases) tryLease(ctx context.Context, held *lease, seen sightings) (bool, error) {
	stored, err := l.ledger.store.Get(ctx, kindLease, held.id)
	if errors.Is(err, ErrNotFound) {
		stored, err = store.Record{Kind: kindLease, ID: held.id}, nil
	}
	if err != nil || stored.Version > 0 && !seen.stoodStill(stored, l.ledger.ttlOf(stored, l.ttl)) {
		return false, err
	}
	err = held.take(ctx, stored.Version)
	if errors.Is(err, ErrConflict) { // another process was faster
		return false, nil
	}
	return err == nil, err
}

// workUnder does the work while the lease holds.
func (l leases) workUnder(ctx context.Context, held *lease, work func(context.Context, *lease) error) error {
	defer endLease(ctx, held)
	working, end := context.WithCancelCause(ctx)
	defer end(nil)
	done := make(chan error, 1)
	go func() { done <- work(working, held) }()
	every := time.NewTicker(held.ttl / 8) // the work ends at 7/8 of the TTL if the store does not answer
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
			if err := renewLease(ctx, held); err != nil {
				end(err)
			}
		}
	}
}

// endLease frees the lease for another process at once. If the store does not answer, the lease expires.
func endLease(ctx context.Context, held *lease) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), held.ttl/8)
	defer done()
	held.leave(ctx)
}

// renewLease returns an error that is ErrLeased when the lease has run out.
func renewLease(ctx context.Context, held *lease) error {
	ctx, done := context.WithTimeout(ctx, held.ttl/8)
	defer done()
	if err := held.renew(ctx); err != nil && !held.valid() {
		return fmt.Errorf("%w: the lease %s cannot be renewed: %w", ErrLeased, held.id, err)
	}
	return nil
}
