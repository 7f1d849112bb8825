package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// claim is the right of this process to work on an operation. Its record changes only when the right passes to
// another process, so the version of the record is the epoch: every write of the operation asserts it, and fails once
// another process has taken over.
type claim struct {
	records *records
	process *process
	opID    string
	kind    string          // of the record that the operation has locked: kindInstance or kindHook
	lose    func(error)     // called with ErrLeased when the claim is lost
	clear   func()          // called once the operation is not suspected any more
	running context.Context //nolint:containedctx // of the run: ends when the work is to end

	accepted  int64       // StartTime of the operation
	suspected bool        // there is a suspectRecord
	watched   atomic.Bool // the run is suspected, and has made no progress yet

	mu    sync.Mutex // held while the claim is looked at, or passed on
	epoch int64
	term  int64 // of the lease of the process in which the claim was last found to hold

	locked lockedInstance
}

// lockedInstance is the record of the instance that the operation has locked, as this process last read or wrote it.
// Under the claim nothing else changes the content of the record. Its version can still change, as by Reseal: then a
// write fails, and the record is read again.
type lockedInstance struct {
	mu     sync.Mutex
	record store.Record
	known  bool
}

// get returns the record, which it reads if it is unknown.
func (l *lockedInstance) get(ctx context.Context, store store.Store, kind, id string) (store.Record, error) {
	l.mu.Lock()
	record, known := l.record, l.known
	l.mu.Unlock()
	if known {
		return record, nil
	}
	stored, err := store.Get(ctx, kind, id)
	if err == nil {
		l.set(stored, true)
	}
	return stored, err
}

// note stores the version of the record after a batch was applied. After an error the version is unknown.
func (l *lockedInstance) note(kind string, b store.Batch, err error) {
	for _, r := range b.Put {
		if r.Kind == kind {
			r.Version++
			l.set(r, err == nil)
		}
	}
}

// set keeps a record unless it is unknown, or a parallel step has set a later version.
func (l *lockedInstance) set(r store.Record, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !known {
		l.known = false
	} else if r.Version >= l.record.Version {
		l.record, l.known = r, true
	}
}

type claimRecord struct {
	State    claimState `json:"state"`
	Process  string     `json:"process,omitempty"` // that has the claim, if it is held
	Accepted int64      `json:"accepted"`          // StartTime of the operation: the oldest is taken up first
	// Run is the run of the process that wrote the claim. Claims of earlier versions of vnfkit have none.
	Run       string `json:"run,omitempty"`
	Suspected bool   `json:"suspected,omitempty"` // there is a suspectRecord
}

type claimState string

const (
	claimFree   claimState = "free"   // any process may take the operation up
	claimHeld   claimState = "held"   // by Process
	claimParked claimState = "parked" // the operation is in FAILED_TEMP, where no process works on it
	claimHook   claimState = "hook"   // of RunHook: whether a process works on the hook is known by a lease
)

func (c claimRecord) index() store.Index {
	return store.Index{State: string(c.State), Start: c.Accepted}
}

// hold returns nil while this process may begin work on the operation. Otherwise the claim is lost: the error is
// ErrLeased.
func (c *claim) hold(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	// A deadline of the caller must not cost the claim.
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), c.process.ttl)
	defer done()
	term, err := c.process.alive(ctx)
	if err == nil && term != c.term {
		err = c.verify(ctx)
	}
	if err != nil {
		return c.lost(err)
	}
	c.term = term
	return nil
}

// begin notes the term of the lease before the claim is written: while the term lasts, no other process can take the claim
// over.
func (c *claim) begin(ctx context.Context) error {
	term, err := c.process.alive(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.term = term
	return err
}

// verify reads whether the claim is still the one in the store.
func (c *claim) verify(ctx context.Context) error {
	stored, err := c.records.store.Get(ctx, kindClaim, c.opID)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	if stored.Version != c.epoch {
		return fmt.Errorf("%w: another process has taken over operation %s", ErrLeased, c.opID)
	}
	return nil
}

func (c *claim) lost(err error) error {
	if !errors.Is(err, ErrLeased) {
		err = fmt.Errorf("%w: the lease of operation %s cannot be renewed: %w", ErrLeased, c.opID, err)
	}
	c.lose(err)
	return err
}

// update applies the batch that build returns, if this process still has the claim; again from the start if another
// writer changed one of the records meanwhile. While the store fails, update tries again for as long as the lease holds,
// but at most for the TTL, and not once the run is to end.
func (c *claim) update(ctx context.Context, build func(context.Context, *store.Batch) error) error {
	patient, done := context.WithTimeout(c.running, c.process.ttl)
	defer done()
	for tries := 0; ; tries++ {
		var b store.Batch
		err := build(ctx, &b)
		conflict := false
		if err == nil {
			err = c.apply(ctx, b)
			conflict = errors.Is(err, ErrConflict)
		}
		switch {
		case c.records.store.failedWith(err) && patient.Err() == nil && ctx.Err() == nil && c.process.valid():
			pause(patient, retryEvery) //nolint:contextcheck // ends with the run; ctx does not
			continue
		case !conflict || tries == maxConflicts:
			return err
		}
		if err := c.verify(ctx); errors.Is(err, ErrLeased) {
			return c.lost(err)
		} else if err != nil {
			return err
		}
	}
}

// retryEvery is the pause after a failure of the store.
const retryEvery = 100 * time.Millisecond

// maxConflicts is how often a write is tried again. Parallel steps of a large VNF may publish at the same time; a store
// that refuses more often contradicts itself.
const maxConflicts = 1000

// apply writes b. Unless b passes the claim on, it asserts it.
func (c *claim) apply(ctx context.Context, b store.Batch) error {
	err := c.write(ctx, b)
	c.locked.note(c.kind, b, err)
	return err
}

func (c *claim) write(ctx context.Context, b store.Batch) error {
	isClaim := func(r store.Record) bool { return r.Kind == kindClaim }
	if slices.ContainsFunc(b.Delete, isClaim) {
		return c.records.store.Apply(ctx, b)
	}
	if !slices.ContainsFunc(b.Put, isClaim) {
		b.Assert = append(b.Assert, store.Record{Kind: kindClaim, ID: c.opID, Version: c.epoch})
		return c.records.store.Apply(ctx, b)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.records.store.Apply(ctx, b)
	if err == nil {
		c.epoch++
	}
	return err
}

// pass adds to b that the claim is in another state from then on; claimHeld: by this process.
func (c *claim) pass(b *store.Batch, to claimState) error {
	next := claimRecord{State: to, Accepted: c.accepted, Run: c.process.run, Suspected: c.suspected && to != claimParked}
	if to == claimHeld {
		next.Process = c.process.id
	}
	record, err := c.records.sealed(kindClaim, c.opID, c.epoch, next)
	b.Put = append(b.Put, record)
	return err
}

// end adds to b that no process needs the claim any more.
func (c *claim) end(b *store.Batch) {
	if c.epoch > 0 {
		b.Delete = append(b.Delete, store.Record{Kind: kindClaim, ID: c.opID, Version: c.epoch})
	}
}

// changeInstance adds to b that change is made to the instance which the operation has locked.
func (c *claim) changeInstance(ctx context.Context, b *store.Batch, instanceID string, change func(*instanceRecord)) error {
	inst, version, err := c.instance(ctx, instanceID)
	if err != nil {
		return err
	}
	if inst.Holder != c.opID || inst.Epoch > c.epoch {
		return c.lost(fmt.Errorf("%w: VNF instance %s is locked by operation %q", ErrLeased, instanceID, inst.Holder))
	}
	change(inst)
	inst.Epoch = c.epoch
	record, err := c.records.sealed(c.kind, instanceID, version, inst)
	b.Put = append(b.Put, record)
	return err
}

// instance returns a copy of the record of the instance that the operation has locked, and its version.
func (c *claim) instance(ctx context.Context, id string) (*instanceRecord, int64, error) {
	var inst instanceRecord
	stored, err := c.locked.get(ctx, c.records.store, c.kind, id)
	if err == nil {
		err = c.records.open(stored, &inst)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("VNF instance %s: %w", id, err)
	}
	return &inst, stored.Version, nil
}
