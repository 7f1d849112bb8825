package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// claim is the right of a process to work on one thing: an operation or a hook. Its record changes only when the right passes to another
// process, so the version of the record is the epoch: every write of the work asserts it, and fails once another process has taken over.
// A claim is safe for concurrent use, but for replace, accept and suspect, which come before the work.
type claim struct {
	ledger  *ledger
	lease   *lease // of the process
	id      string
	guards  string          // kind of the record that only the work changes
	lose    func(error)     // called with ErrLeased when the claim is lost
	running context.Context //nolint:containedctx // of the work: ends when the work is to end

	accepted  int64
	suspected bool

	mu    sync.Mutex // held while the claim is looked at, or passed on
	epoch int64
	term  int64 // of the lease in which the claim was last found to hold

	guarded guardedRecord
}

// newClaim returns a claim that the process of a lease does not have yet: see begin and take. Under the claim nothing else changes the
// content of a record of the kind guards. lose is called with an ErrLeased when the claim is lost. running ends when the work is to end.
func newClaim(running context.Context, held *lease, id, guards string, lose func(error)) *claim {
	return &claim{ledger: held.ledger, lease: held, id: id, guards: guards, lose: lose, running: running}
}

// replace notes the record of the claim that the next write replaces; the zero Record if there is none.
func (c *claim) replace(stored store.Record) {
	c.epoch, c.accepted = stored.Version, stored.Index.Start
}

// accept notes when the work of a new claim was accepted.
func (c *claim) accept(at time.Time) { c.accepted = at.UnixNano() }

// suspect notes whether processes have ended with the work. The next write of the claim stores it.
func (c *claim) suspect(is bool) { c.suspected = is }

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
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), c.lease.ttl)
	defer done()
	term, err := c.lease.alive(ctx)
	if err == nil && term != c.term {
		err = c.verify(ctx)
	}
	if err != nil {
		return c.lost(err)
	}
	c.term = term
	return nil
}

// begin adds to b that this process has the claim from then on. It notes the term of the lease before: while the term lasts, no other
// process can take the claim over.
func (c *claim) begin(ctx context.Context, b *store.Batch) error {
	term, err := c.lease.alive(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.term = term
	c.mu.Unlock()
	return c.pass(b, claimHeld)
}

// written notes that apply has written the claim although it returned an error.
func (c *claim) written() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
}

// take writes b, and that this process has taken the claim. The claim is as it was noted, and the lease of this process holds meanwhile.
// to is claimHeld or claimHook. ErrConflict: another process was faster.
func (c *claim) take(ctx context.Context, b store.Batch, to claimState) error {
	return c.lease.assert(ctx, func(own store.Record) error {
		b.Assert = append(b.Assert, own)
		if err := c.pass(&b, to); err != nil {
			return err
		}
		return c.apply(ctx, b)
	})
}

// verify reads whether the claim is still the one in the store.
func (c *claim) verify(ctx context.Context) error {
	stored, err := c.ledger.store.Get(ctx, kindClaim, c.id)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	if stored.Version != c.epoch {
		return fmt.Errorf("%w: another process has taken over operation %s", ErrLeased, c.id)
	}
	return nil
}

func (c *claim) lost(err error) error {
	if !errors.Is(err, ErrLeased) {
		err = fmt.Errorf("%w: the lease of operation %s cannot be renewed: %w", ErrLeased, c.id, err)
	}
	c.lose(err)
	return err
}

// update applies the batch that build returns, if this process still has the claim; again from the start if another
// writer changed one of the records meanwhile. While the store fails, update tries again for as long as the lease holds,
// but at most for the TTL, and not once the run is to end.
func (c *claim) update(ctx context.Context, build func(context.Context, *store.Batch) error) error {
	patient, done := context.WithTimeout(c.running, c.lease.ttl)
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
		case c.ledger.failed(err) && patient.Err() == nil && ctx.Err() == nil && c.lease.valid():
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
	c.guarded.note(c.guards, b, err)
	return err
}

func (c *claim) write(ctx context.Context, b store.Batch) error {
	isClaim := func(r store.Record) bool { return r.Kind == kindClaim }
	if slices.ContainsFunc(b.Delete, isClaim) {
		return c.ledger.store.Apply(ctx, b)
	}
	if !slices.ContainsFunc(b.Put, isClaim) {
		b.Assert = append(b.Assert, store.Record{Kind: kindClaim, ID: c.id, Version: c.epoch})
		return c.ledger.store.Apply(ctx, b)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.ledger.store.Apply(ctx, b)
	if err == nil {
		c.epoch++
	}
	return err
}

// pass adds to b that the claim is in another state from then on; claimHeld: by this process.
func (c *claim) pass(b *store.Batch, to claimState) error {
	next := claimRecord{State: to, Accepted: c.accepted, Run: c.lease.run, Suspected: c.suspected && to != claimParked}
	if to == claimHeld {
		next.Process = c.lease.id
	}
	record, err := c.ledger.sealed(kindClaim, c.id, c.epoch, next)
	b.Put = append(b.Put, record)
	return err
}

// end adds to b that no process needs the claim any more.
func (c *claim) end(b *store.Batch) {
	if c.epoch > 0 {
		b.Delete = append(b.Delete, store.Record{Kind: kindClaim, ID: c.id, Version: c.epoch})
	}
}

// read returns the record with this id that the claim guards. It reads the record only if this process does not know its latest version.
func (c *claim) read(ctx context.Context, id string) (store.Record, error) {
	return c.guarded.get(ctx, c.ledger.store, c.guards, id)
}

// guardedRecord is the record that the claim guards, as this process last read or wrote it.
// Its version can still change, as by a reseal: then a write fails, and the record is read again.
type guardedRecord struct {
	mu     sync.Mutex
	record store.Record
	known  bool
}

// get returns the record, which it reads if it is unknown.
func (g *guardedRecord) get(ctx context.Context, store *accountable, kind, id string) (store.Record, error) {
	g.mu.Lock()
	record, known := g.record, g.known
	g.mu.Unlock()
	if known {
		return record, nil
	}
	stored, err := store.Get(ctx, kind, id)
	if err == nil {
		g.set(stored, true)
	}
	return stored, err
}

// note stores the version of the record after a batch was applied. After an error the version is unknown.
func (g *guardedRecord) note(kind string, b store.Batch, err error) {
	for _, r := range b.Put {
		if r.Kind == kind {
			r.Version++
			g.set(r, err == nil)
		}
	}
}

// set keeps a record unless it is unknown, or a parallel step has set a later version.
func (g *guardedRecord) set(r store.Record, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !known {
		g.known = false
	} else if r.Version >= g.record.Version {
		g.record, g.known = r, true
	}
}

// giveUp frees the work for any process at once.
func (c *claim) giveUp(ctx context.Context) error {
	var b store.Batch
	err := c.pass(&b, claimFree)
	if err == nil {
		err = c.apply(ctx, b)
	}
	return err
}
