package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// lease says which process works on an operation. Its record is written with compare-and-swap only, so its
// version is the fence: who reads an old version can no longer renew it.
type lease struct {
	records *records
	opID    string
	owner   string
	ttl     time.Duration

	mu      sync.Mutex
	version int64
	expires time.Time
}

type leaseRecord struct {
	Owner   string    `json:"owner"`
	Expires time.Time `json:"expires"`
}

// acquire takes the lease, or renews it. Another owner's lease must have run out first.
func (l *lease) acquire(ctx context.Context) error {
	var held leaseRecord
	version, err := l.records.get(ctx, kindLease, l.opID, &held)
	switch {
	case errors.Is(err, ErrNotFound):
		version = 0
	case err != nil:
		return err
	case held.Owner != l.owner && time.Now().Before(held.Expires):
		return fmt.Errorf("%w: operation %s is with %s until %s", ErrLeased, l.opID, held.Owner, held.Expires.Format(time.RFC3339))
	}
	return l.write(ctx, version)
}

func (l *lease) renew(ctx context.Context) error {
	l.mu.Lock()
	version := l.version
	l.mu.Unlock()
	return l.write(ctx, version)
}

func (l *lease) write(ctx context.Context, version int64) error {
	expires := time.Now().Add(l.ttl)
	version, err := l.records.put(ctx, kindLease, l.opID, version, leaseRecord{Owner: l.owner, Expires: expires})
	if errors.Is(err, ErrConflict) {
		return fmt.Errorf("%w: operation %s", ErrLeased, l.opID)
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.version, l.expires = version, expires
	l.mu.Unlock()
	return nil
}

// valid fails once the lease has run out: whatever this process found out since is another's to find.
func (l *lease) valid() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Now().After(l.expires) {
		return fmt.Errorf("%w: the lease of operation %s has run out", ErrLeased, l.opID)
	}
	return nil
}

func (l *lease) release(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// If this fails the lease runs out by itself.
	_ = l.records.store.Apply(ctx, Batch{Delete: []Record{{Kind: kindLease, ID: l.opID, Version: l.version}}})
	l.expires = time.Time{}
}

// keep renews the lease until ctx ends and calls tick each time. lost is called when it cannot be held.
// A renewal under way is not interrupted: the version in the store must stay known, for release.
func (l *lease) keep(ctx context.Context, tick func(context.Context), lost func(error)) {
	ticker := time.NewTicker(l.ttl / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		renewal, done := context.WithTimeout(context.WithoutCancel(ctx), l.ttl/3)
		err := l.renew(renewal)
		done()
		if errors.Is(err, ErrLeased) || l.valid() != nil {
			lost(errors.Join(ErrLeased, err))
			return
		}
		tick(ctx)
	}
}

// sweepLeases removes the leases that dead processes left of operations on which nobody has to work any more,
// or which never came to be.
func (m *Manager) sweepLeases(ctx context.Context) error {
	list, err := m.cfg.Store.List(ctx, kindLease, "")
	errs := []error{err}
	for _, stored := range list {
		var held leaseRecord
		err := m.records.open(stored, &held)
		if err == nil && held.Owner != m.cfg.Owner && time.Now().Before(held.Expires) || m.works(stored.ID) {
			continue
		}
		rec, _, err := m.operation(ctx, stored.ID)
		if err == nil && rec.Occ.OperationState.active() {
			continue
		}
		if err == nil || errors.Is(err, ErrNotFound) {
			err = m.cfg.Store.Apply(ctx, Batch{Delete: []Record{stored}})
		}
		if !errors.Is(err, ErrConflict) && !errors.Is(err, ErrNotFound) { // taken or removed meanwhile
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// works reports whether this process works on the operation.
func (m *Manager) works(opID string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.runs[opID] != nil
}
