package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// process is the record of this Manager for other processes on the same Store. Every claim of the process is valid as
// long as the process renews that record. A lease for one purpose is renewed in the same way (Exclusively).
type process struct {
	records *records
	kind    string // of the record
	id      string // of the record
	run     string // random; distinguishes the holders of a lease, and processes that have died
	ttl     time.Duration

	renewing sync.Mutex // held while the record is written; guards version and limit
	version  int64
	limit    int // more than 0 while the process takes up operations

	mu       sync.Mutex
	renewed  time.Time // when the latest successful renewal began; zero before the first
	term     int64     // raised by a renewal that came after the lease had run out
	replaced bool      // another process has taken the lease; never of the record of a Manager, whose id is random
}

type processRecord struct {
	Run string        `json:"run"`
	TTL time.Duration `json:"ttl"`
	// Limit is how many operations the process works on at once, 0 if it takes up none.
	Limit int `json:"limit,omitempty"`
	// Format is the newest format of a store that the process knows. Versions that know only format 1 write none.
	Format int `json:"format,omitempty"`
}

// valid reports whether the lease holds. It ends at four fifths of the TTL, before any other process may take over.
// The monotonic and the wall clock both count: the first stands still while a machine is suspended, the second can be
// set back.
func (p *process) valid() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.validAt(time.Now())
}

func (p *process) validAt(now time.Time) bool {
	limit := p.ttl * 4 / 5
	return !p.replaced && !p.renewed.IsZero() && now.Sub(p.renewed) < limit && now.Round(0).Sub(p.renewed.Round(0)) < limit
}

// alive returns the term of a lease that holds. It renews a lease that has run out.
func (p *process) alive(ctx context.Context) (int64, error) {
	if err := p.records.store.fence.closed(); err != nil {
		return 0, err
	}
	if !p.valid() {
		p.renewing.Lock()
		defer p.renewing.Unlock()
		if !p.valid() {
			if err := p.renewLocked(ctx); err != nil {
				return 0, err
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.term, nil
}

// renew writes the record. It returns ErrLeased when another process has taken the lease.
func (p *process) renew(ctx context.Context) error {
	p.renewing.Lock()
	defer p.renewing.Unlock()
	return p.renewLocked(ctx)
}

func (p *process) renewLocked(ctx context.Context) error {
	for {
		if p.isReplaced() {
			return fmt.Errorf("%w: another process has taken the lease %q", ErrLeased, p.id)
		}
		err := p.writeLocked(ctx)
		if !errors.Is(err, ErrConflict) {
			return err
		}
		if err := p.findVersion(ctx); err != nil {
			return err
		}
	}
}

// writeLocked replaces the record, whose version is known.
func (p *process) writeLocked(ctx context.Context) error {
	began := time.Now()
	record, err := p.records.sealed(p.kind, p.id, p.version, processRecord{Run: p.run, TTL: p.ttl, Limit: p.limit, Format: p.records.store.fence.newest})
	if err == nil {
		err = p.records.store.Apply(ctx, store.Batch{Put: []store.Record{record}, Urgent: true})
	}
	if err == nil {
		p.version++
		p.extend(began)
	}
	return err
}

// take replaces this version of the record, which may belong to another process. ErrConflict: it has another version.
func (p *process) take(ctx context.Context, version int64) error {
	p.renewing.Lock()
	defer p.renewing.Unlock()
	p.version = version
	return p.writeLocked(ctx)
}

// retire publishes that this process takes up no further operation, if other processes have seen it.
func (p *process) retire(ctx context.Context) error {
	p.renewing.Lock()
	defer p.renewing.Unlock()
	if p.limit == 0 || p.version == 0 {
		return nil
	}
	p.limit = 0
	return p.renewLocked(ctx)
}

func (p *process) isReplaced() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.replaced
}

// findVersion reads the version that the next renewal has to replace. The lease may be that of another process, the record may have been
// removed while this process was stopped, or the answer to a renewal was lost.
func (p *process) findVersion(ctx context.Context) error {
	var found processRecord
	version, err := p.records.get(ctx, p.kind, p.id, &found)
	if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrUnreadable) {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replaced = err == nil && found.Run != p.run && !p.renewed.IsZero()
	p.version = version
	return nil
}

// extend records a renewal that began at that time. If it was late, other processes may have taken claims over.
func (p *process) extend(began time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.validAt(time.Now()) {
		p.term++
	}
	p.renewed = began
}

// assert calls write with the record of this process, whose version stays valid until write returns. A takeover asserts it.
func (p *process) assert(ctx context.Context, write func(self store.Record) error) error {
	if _, err := p.alive(ctx); err != nil {
		return err
	}
	p.renewing.Lock()
	defer p.renewing.Unlock()
	return write(store.Record{Kind: p.kind, ID: p.id, Version: p.version})
}

// leave removes the record, so that no other process has to wait for its end. What cannot be removed runs out.
func (p *process) leave(ctx context.Context) {
	p.renewing.Lock()
	defer p.renewing.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.renewed.IsZero() || p.replaced {
		return
	}
	p.renewed = time.Time{}
	_ = p.records.store.Apply(ctx, store.Batch{Delete: []store.Record{{Kind: p.kind, ID: p.id, Version: p.version}}})
	p.version = 0
}
