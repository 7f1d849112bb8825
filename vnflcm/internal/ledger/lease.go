package ledger

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// Lease is a record that a process renews for other processes on the same store. The lease of kind KindProcess is the sign of life of the
// process, on which all of its claims depend. A lease of kind KindLease is the right to work that only one process may do. A Lease is safe
// for concurrent use.
type Lease struct {
	ledger *Ledger
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

// LeaseRecord is the content of the record of a lease. It holds no time: clocks of two machines are never compared.
type LeaseRecord struct {
	Run string        `json:"run"` // Lease.Run
	TTL time.Duration `json:"ttl"` // how long other processes wait without a renewal
	// Limit is how many operations the process works on at once, 0 if it takes up none.
	Limit int `json:"limit,omitempty"`
	// Format is the newest format of a store that the process knows. Versions that know only format 1 write none.
	Format int `json:"format,omitempty"`
}

// NewLease returns a lease that is not in the store yet: Alive and Renew write it. limit is how many operations the process takes up, 0 for
// none.
func NewLease(l *Ledger, kind, id string, ttl time.Duration, limit int) *Lease {
	return &Lease{ledger: l, kind: kind, id: id, run: uuid.NewString(), ttl: ttl, limit: limit}
}

// ID returns the id of the record.
func (l *Lease) ID() string { return l.id }

// Run returns a random id of this lease. It distinguishes the holders of a lease, and processes that have died.
func (l *Lease) Run() string { return l.run }

// Valid reports whether the lease holds. It ends at four fifths of the TTL, before any other process may take over.
// The monotonic and the wall clock both count: the first stands still while a machine is suspended, the second can be
// set back.
func (l *Lease) Valid() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.validAt(time.Now())
}

func (l *Lease) validAt(now time.Time) bool {
	limit := l.ttl * 4 / 5
	return !l.replaced && !l.renewed.IsZero() && now.Sub(l.renewed) < limit && now.Round(0).Sub(l.renewed.Round(0)) < limit
}

// Alive renews the lease if it has run out or is not in the store yet. It returns the term, which grows when a lease that had run out is
// renewed: other processes may have taken claims over in between.
func (l *Lease) Alive(ctx context.Context) (int64, error) {
	if err := l.ledger.Closed(); err != nil {
		return 0, err
	}
	if !l.Valid() {
		l.renewing.Lock()
		defer l.renewing.Unlock()
		if !l.Valid() {
			if err := l.renewLocked(ctx); err != nil {
				return 0, err
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.term, nil
}

// Renew writes the record. ErrLeased: another process has taken the lease.
func (l *Lease) Renew(ctx context.Context) error {
	l.renewing.Lock()
	defer l.renewing.Unlock()
	return l.renewLocked(ctx)
}

func (l *Lease) renewLocked(ctx context.Context) error {
	for {
		if l.isReplaced() {
			return fmt.Errorf("%w: another process has taken the lease %q", ErrLeased, l.id)
		}
		err := l.writeLocked(ctx)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		if err := l.findVersion(ctx); err != nil {
			return err
		}
	}
}

// writeLocked replaces the record, whose version is known.
func (l *Lease) writeLocked(ctx context.Context) error {
	began := time.Now()
	record, err := l.ledger.Seal(l.kind, l.id, l.version, LeaseRecord{Run: l.run, TTL: l.ttl, Limit: l.limit, Format: l.ledger.Newest()})
	if err == nil {
		err = l.ledger.Store.Apply(ctx, store.Batch{Put: []store.Record{record}, Urgent: true})
	}
	if err == nil {
		l.version++
		l.extend(began)
	}
	return err
}

// take replaces this version of the record, which may belong to another process. store.ErrConflict: it has another version.
func (l *Lease) take(ctx context.Context, version int64) error {
	l.renewing.Lock()
	defer l.renewing.Unlock()
	l.version = version
	return l.writeLocked(ctx)
}

// Retire publishes that this process takes up no further operation, if the lease is in the store.
func (l *Lease) Retire(ctx context.Context) error {
	l.renewing.Lock()
	defer l.renewing.Unlock()
	if l.limit == 0 || l.version == 0 {
		return nil
	}
	l.limit = 0
	return l.renewLocked(ctx)
}

func (l *Lease) isReplaced() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.replaced
}

// findVersion reads the version that the next renewal has to replace. The lease may be that of another process, the record may have been
// removed while this process was stopped, or the answer to a renewal was lost.
func (l *Lease) findVersion(ctx context.Context) error {
	var found LeaseRecord
	version, err := l.ledger.Get(ctx, l.kind, l.id, &found)
	if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, ErrUnreadable) {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.replaced = err == nil && found.Run != l.run && !l.renewed.IsZero()
	l.version = version
	return nil
}

// extend records a renewal that began at that time. If it was late, other processes may have taken claims over.
func (l *Lease) extend(began time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.validAt(time.Now()) {
		l.term++
	}
	l.renewed = began
}

// assert calls write with the record of this process, whose version stays valid until write returns. A takeover asserts it.
func (l *Lease) assert(ctx context.Context, write func(self store.Record) error) error {
	if _, err := l.Alive(ctx); err != nil {
		return err
	}
	l.renewing.Lock()
	defer l.renewing.Unlock()
	return write(store.Record{Kind: l.kind, ID: l.id, Version: l.version})
}

// Leave removes the record, so that no other process has to wait until the lease has run out.
func (l *Lease) Leave(ctx context.Context) {
	l.renewing.Lock()
	defer l.renewing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.renewed.IsZero() || l.replaced {
		return
	}
	l.renewed = time.Time{}
	_ = l.ledger.Store.Apply(ctx, store.Batch{Delete: []store.Record{{Kind: l.kind, ID: l.id, Version: l.version}}})
	l.version = 0
}

// TTLOf returns the TTL of the LeaseRecord in holder, or ours if holder cannot be read.
func (l *Ledger) TTLOf(holder store.Record, ours time.Duration) time.Duration {
	said := LeaseRecord{TTL: ours}
	_ = l.Open(holder, &said)
	return said.TTL
}
