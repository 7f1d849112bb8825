package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// lease is a record that a process renews for other processes on the same store: its sign of life (kindProcess), on which every claim of
// the process depends, or the right to work that only one process may do (kindLease).
type lease struct {
	ledger *ledger
	kind   string // of the record
	id     string // of the record
	run    string // random; distinguishes the holders of a lease, and processes that have died
	ttl    time.Duration

	renewing sync.Mutex // held while the record is written; guards version and limit
	version  int64
	limit    int // more than 0 while the process takes up operations

	mu       sync.Mutex
	renewed  time.Time // when the latest successful renewal began; zero before the first
	term     int64     // raised by a renewal that came after the lease had run out
	replaced bool      // another process has taken the lease; never of the record of a Manager, whose id is random
}

type leaseRecord struct {
	Run string        `json:"run"`
	TTL time.Duration `json:"ttl"`
	// Limit is how many operations the process works on at once, 0 if it takes up none.
	Limit int `json:"limit,omitempty"`
	// Format is the newest format of a store that the process knows. Versions that know only format 1 write none.
	Format int `json:"format,omitempty"`
}

// newLease returns a lease that no process has yet. limit is how many operations the process takes up, 0 for none.
func newLease(l *ledger, kind, id string, ttl time.Duration, limit int) *lease {
	return &lease{ledger: l, kind: kind, id: id, run: uuid.NewString(), ttl: ttl, limit: limit}
}

// valid reports whether the lease holds. It ends at four fifths of the TTL, before any other process may take over.
// The monotonic and the wall clock both count: the first stands still while a machine is suspended, the second can be
// set back.
func (l *lease) valid() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.validAt(time.Now())
}

func (l *lease) validAt(now time.Time) bool {
	limit := l.ttl * 4 / 5
	return !l.replaced && !l.renewed.IsZero() && now.Sub(l.renewed) < limit && now.Round(0).Sub(l.renewed.Round(0)) < limit
}

// alive returns the term of a lease that holds. It renews a lease that has run out.
func (l *lease) alive(ctx context.Context) (int64, error) {
	if err := l.ledger.closed(); err != nil {
		return 0, err
	}
	if !l.valid() {
		l.renewing.Lock()
		defer l.renewing.Unlock()
		if !l.valid() {
			if err := l.renewLocked(ctx); err != nil {
				return 0, err
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.term, nil
}

// renew writes the record. It returns ErrLeased when another process has taken the lease.
func (l *lease) renew(ctx context.Context) error {
	l.renewing.Lock()
	defer l.renewing.Unlock()
	return l.renewLocked(ctx)
}

func (l *lease) renewLocked(ctx context.Context) error {
	for {
		if l.isReplaced() {
			return fmt.Errorf("%w: another process has taken the lease %q", ErrLeased, l.id)
		}
		err := l.writeLocked(ctx)
		if !errors.Is(err, ErrConflict) {
			return err
		}
		if err := l.findVersion(ctx); err != nil {
			return err
		}
	}
}

// writeLocked replaces the record, whose version is known.
func (l *lease) writeLocked(ctx context.Context) error {
	began := time.Now()
	record, err := l.ledger.sealed(l.kind, l.id, l.version, leaseRecord{Run: l.run, TTL: l.ttl, Limit: l.limit, Format: l.ledger.newest()})
	if err == nil {
		err = l.ledger.store.Apply(ctx, store.Batch{Put: []store.Record{record}, Urgent: true})
	}
	if err == nil {
		l.version++
		l.extend(began)
	}
	return err
}

// take replaces this version of the record, which may belong to another process. ErrConflict: it has another version.
func (l *lease) take(ctx context.Context, version int64) error {
	l.renewing.Lock()
	defer l.renewing.Unlock()
	l.version = version
	return l.writeLocked(ctx)
}

// retire publishes that this process takes up no further operation, if other processes have seen it.
func (l *lease) retire(ctx context.Context) error {
	l.renewing.Lock()
	defer l.renewing.Unlock()
	if l.limit == 0 || l.version == 0 {
		return nil
	}
	l.limit = 0
	return l.renewLocked(ctx)
}

func (l *lease) isReplaced() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.replaced
}

// findVersion reads the version that the next renewal has to replace. The lease may be that of another process, the record may have been
// removed while this process was stopped, or the answer to a renewal was lost.
func (l *lease) findVersion(ctx context.Context) error {
	var found leaseRecord
	version, err := l.ledger.get(ctx, l.kind, l.id, &found)
	if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrUnreadable) {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.replaced = err == nil && found.Run != l.run && !l.renewed.IsZero()
	l.version = version
	return nil
}

// extend records a renewal that began at that time. If it was late, other processes may have taken claims over.
func (l *lease) extend(began time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.validAt(time.Now()) {
		l.term++
	}
	l.renewed = began
}

// assert calls write with the record of this process, whose version stays valid until write returns. A takeover asserts it.
func (l *lease) assert(ctx context.Context, write func(self store.Record) error) error {
	if _, err := l.alive(ctx); err != nil {
		return err
	}
	l.renewing.Lock()
	defer l.renewing.Unlock()
	return write(store.Record{Kind: l.kind, ID: l.id, Version: l.version})
}

// leave removes the record, so that no other process has to wait for its end. What cannot be removed runs out.
func (l *lease) leave(ctx context.Context) {
	l.renewing.Lock()
	defer l.renewing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.renewed.IsZero() || l.replaced {
		return
	}
	l.renewed = time.Time{}
	_ = l.ledger.store.Apply(ctx, store.Batch{Delete: []store.Record{{Kind: l.kind, ID: l.id, Version: l.version}}})
	l.version = 0
}

// ttlOf returns the TTL that a process has written into its record. An unreadable record has the TTL ours.
func (l *ledger) ttlOf(holder store.Record, ours time.Duration) time.Duration {
	said := leaseRecord{TTL: ours}
	_ = l.open(holder, &said)
	return said.TTL
}
