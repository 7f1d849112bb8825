package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// Exclusive runs work in one of all processes on a store.
type Exclusive struct {
	Ledger  *Ledger
	TTL     time.Duration          // of the leases
	Log     *slog.Logger           // of failures of the store
	Changed func() <-chan struct{} // returns a channel that is closed when the store may have changed; or nil
	Closed  func() bool            // reports whether the process ends
}

// Do calls work when no living process has the lease of this name, and holds the lease until work returns. It returns the error of work. The
// context of work ends with ErrLeased before another process may take the lease; if work then returns, Do waits for its next turn.
// store.ErrShutdown: the process ends.
func (e Exclusive) Do(ctx context.Context, name string, work func(context.Context, *Lease) error) error {
	for {
		held := NewLease(e.Ledger, KindLease, name, e.TTL, 0)
		if err := e.acquire(ctx, held); err != nil {
			return err
		}
		if err := e.workUnder(ctx, held, work); !errors.Is(err, ErrLeased) || ctx.Err() != nil {
			return err
		}
	}
}

// acquire waits until no other process has the lease.
func (e Exclusive) acquire(ctx context.Context, held *Lease) error {
	for seen := (Sightings{}); ; {
		changed := e.Changed()
		if e.Closed() {
			return store.ErrShutdown
		}
		taken, err := e.tryLease(ctx, held, seen)
		if taken {
			return nil
		}
		if err != nil && ctx.Err() == nil {
			e.Log.WarnContext(ctx, "a lease cannot be taken now", "lease", held.id, "error", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the lease %s: %w", held.id, context.Cause(ctx))
		case <-changed:
			_ = retry.Pause(ctx, LeastPause)
		case <-time.After(LookEvery(e.TTL)):
		}
	}
}

// tryLease takes a lease that no living process has, as far as this process has seen.
func (e Exclusive) tryLease(ctx context.Context, held *Lease, seen Sightings) (bool, error) {
	stored, err := e.Ledger.Store.Get(ctx, KindLease, held.id)
	if errors.Is(err, store.ErrNotFound) {
		stored, err = store.Record{Kind: KindLease, ID: held.id}, nil
	}
	if err != nil || stored.Version > 0 && !seen.StoodStill(stored, e.Ledger.TTLOf(stored, e.TTL)) {
		return false, err
	}
	err = held.take(ctx, stored.Version)
	if errors.Is(err, store.ErrConflict) { // another process was faster
		return false, nil
	}
	return err == nil, err
}

// workUnder does the work while the lease holds.
func (e Exclusive) workUnder(ctx context.Context, held *Lease, work func(context.Context, *Lease) error) error {
	defer endLease(ctx, held)
	working, end := context.WithCancelCause(ctx)
	defer end(nil)
	done := make(chan error, 1)
	go func() { done <- work(working, held) }()
	every := time.NewTicker(held.ttl / 8) // the work ends at 7/8 of the TTL if the store does not answer
	defer every.Stop()
	for {
		changed := e.Changed()
		if e.Closed() {
			end(store.ErrShutdown)
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
func endLease(ctx context.Context, held *Lease) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), held.ttl/8)
	defer done()
	held.Leave(ctx)
}

// renewLease returns an error that is ErrLeased when the lease has run out.
func renewLease(ctx context.Context, held *Lease) error {
	ctx, done := context.WithTimeout(ctx, held.ttl/8)
	defer done()
	if err := held.Renew(ctx); err != nil && !held.Valid() {
		return fmt.Errorf("%w: the lease %s cannot be renewed: %w", ErrLeased, held.id, err)
	}
	return nil
}
