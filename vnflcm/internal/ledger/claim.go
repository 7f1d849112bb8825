package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// Claim is the right of this process to work on an operation. Its record changes only when the right passes to another process, so the
// version of the record is the epoch: every write of the work asserts it, and fails once another process has taken over. A process gets the
// claim by Begin or Take, works with Hold and Update, and ends with Pass, End or GiveUp. During the work the claim is safe for concurrent
// use; methods that change the claim come before or after the work, one at a time.
type Claim struct {
	ledger  *Ledger
	lease   *Lease // of the process
	id      string
	guards  string          // kind of the record that only the work changes
	onLost  func(error)     // called with ErrLeased when the claim is lost
	running context.Context //nolint:containedctx // of the work: ends when the work is to end

	accepted  int64
	suspected bool

	mu    sync.Mutex // held while the claim is looked at, or passed on
	epoch int64
	term  int64 // of the lease in which the claim was last found to hold

	guarded guardedRecord
}

// NewClaim returns the claim on the operation id for the process that has a lease. running is the context of the work. guards is the kind of
// the record that only the work changes: see Read. lose is called with an ErrLeased when the claim is lost.
func NewClaim(running context.Context, held *Lease, id, guards string, lose func(error)) *Claim {
	return &Claim{ledger: held.ledger, lease: held, id: id, guards: guards, onLost: lose, running: running}
}

// ID returns the id of the operation.
func (c *Claim) ID() string { return c.id }

// Lease returns the lease that the claim depends on.
func (c *Claim) Lease() *Lease { return c.lease }

// Guards returns the kind of the record that only the work changes.
func (c *Claim) Guards() string { return c.guards }

// Epoch returns the version of the record: 0 if the record does not exist, 1 if no other process has had the claim.
func (c *Claim) Epoch() int64 { return c.epoch }

// Suspected returns the argument of the last Suspect.
func (c *Claim) Suspected() bool { return c.suspected }

// Replace notes the record that the next write replaces; the zero Record if the claim is new.
func (c *Claim) Replace(stored store.Record) {
	c.epoch, c.accepted = stored.Version, stored.Index.Start
}

// Accept notes when the operation was accepted.
func (c *Claim) Accept(at time.Time) { c.accepted = at.UnixNano() }

// Suspect notes whether processes have ended while they worked on the operation. The next write of the claim stores it.
func (c *Claim) Suspect(is bool) { c.suspected = is }

// ClaimRecord is the content of the record of a claim.
type ClaimRecord struct {
	State ClaimState `json:"state"`
	// Process is the id of the lease of the process that has the claim, if the claim is Held.
	Process string `json:"process,omitempty"`
	// Accepted is when the operation was accepted, in nanoseconds since 1970: the oldest is taken up first.
	Accepted int64 `json:"accepted"`
	// Run is the Run of the process that wrote the claim. Claims of earlier versions of vnfkit have none.
	Run string `json:"run,omitempty"`
	// Suspected says that processes have ended while they worked on the operation.
	Suspected bool `json:"suspected,omitempty"`
}

// ClaimState says which process may work on an operation.
type ClaimState string

// States of a claim.
const (
	Free       ClaimState = "free"   // any process may take the claim
	Held       ClaimState = "held"   // ClaimRecord.Process has the claim
	Parked     ClaimState = "parked" // no process works on the operation until it is retried or rolled back
	UnderLease ClaimState = "hook"   // of a hook: the process that has the lease of the hook may take the claim
)

// Index selects claims by their states, the oldest operation first.
func (c ClaimRecord) Index() store.Index {
	return store.Index{State: string(c.State), Start: c.Accepted}
}

// Hold returns nil while this process may begin further work on the operation. Otherwise the claim is lost, and the error is ErrLeased.
func (c *Claim) Hold(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	// A deadline of the caller must not cost the claim.
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), c.lease.ttl)
	defer done()
	term, err := c.lease.Alive(ctx)
	if err == nil && term != c.term {
		err = c.Verify(ctx)
	}
	if err != nil {
		return c.Lose(err)
	}
	c.term = term
	return nil
}

// Begin adds to b that this process has the claim, on a new operation or on one that was Parked.
func (c *Claim) Begin(ctx context.Context, b *store.Batch) error {
	term, err := c.lease.Alive(ctx) // before b is written: while the term lasts, no other process can take the claim over
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.term = term
	c.mu.Unlock()
	return c.Pass(b, Held)
}

// Written notes that Apply has written the claim although it returned an error.
func (c *Claim) Written() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
}

// Take writes b and takes the claim, which has the version that Replace noted, to Held or UnderLease. The batch asserts the record of the
// lease of this process. store.ErrConflict: another process was faster.
func (c *Claim) Take(ctx context.Context, b store.Batch, to ClaimState) error {
	return c.lease.assert(ctx, func(own store.Record) error {
		b.Assert = append(b.Assert, own)
		if err := c.Pass(&b, to); err != nil {
			return err
		}
		return c.Apply(ctx, b)
	})
}

// Verify reads the claim from the store. ErrLeased: another process has taken the claim.
func (c *Claim) Verify(ctx context.Context) error {
	stored, err := c.ledger.Store.Get(ctx, KindClaim, c.id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if stored.Version != c.epoch {
		return fmt.Errorf("%w: another process has taken over operation %s", ErrLeased, c.id)
	}
	return nil
}

// Lose calls the function lose of NewClaim with err, as an ErrLeased, and returns that.
func (c *Claim) Lose(err error) error {
	if !errors.Is(err, ErrLeased) {
		err = fmt.Errorf("%w: the lease of operation %s cannot be renewed: %w", ErrLeased, c.id, err)
	}
	c.onLost(err)
	return err
}

// Update applies the batch that build makes, if this process still has the claim (ErrLeased). It calls build again if another writer has
// changed one of the records meanwhile. While the store fails, Update tries again for as long as the lease holds, but at most for the TTL,
// and not once the context of the work has ended.
func (c *Claim) Update(ctx context.Context, build func(context.Context, *store.Batch) error) error {
	patient, done := context.WithTimeout(c.running, c.lease.ttl)
	defer done()
	for tries := 0; ; tries++ {
		var b store.Batch
		err := build(ctx, &b)
		conflict := false
		if err == nil {
			err = c.Apply(ctx, b)
			conflict = errors.Is(err, store.ErrConflict)
		}
		switch {
		case c.ledger.Failed(err) && patient.Err() == nil && ctx.Err() == nil && c.lease.Valid():
			_ = retry.Pause(patient, retryEvery) //nolint:contextcheck // ends with the work; ctx does not
			continue
		case !conflict || tries == maxConflicts:
			return err
		}
		if err := c.Verify(ctx); errors.Is(err, ErrLeased) {
			return c.Lose(err)
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

// Apply writes b. Unless b writes the claim, the batch asserts the epoch.
func (c *Claim) Apply(ctx context.Context, b store.Batch) error {
	err := c.write(ctx, b)
	c.guarded.note(c.guards, b, err)
	return err
}

func (c *Claim) write(ctx context.Context, b store.Batch) error {
	isClaim := func(r store.Record) bool { return r.Kind == KindClaim }
	if slices.ContainsFunc(b.Delete, isClaim) {
		return c.ledger.Store.Apply(ctx, b)
	}
	if !slices.ContainsFunc(b.Put, isClaim) {
		b.Assert = append(b.Assert, store.Record{Kind: KindClaim, ID: c.id, Version: c.epoch})
		return c.ledger.Store.Apply(ctx, b)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.ledger.Store.Apply(ctx, b)
	if err == nil {
		c.epoch++
	}
	return err
}

// Pass adds to b that the claim has another state.
func (c *Claim) Pass(b *store.Batch, to ClaimState) error {
	next := ClaimRecord{State: to, Accepted: c.accepted, Run: c.lease.run, Suspected: c.suspected && to != Parked}
	if to == Held {
		next.Process = c.lease.id
	}
	record, err := c.ledger.Seal(KindClaim, c.id, c.epoch, next)
	b.Put = append(b.Put, record)
	return err
}

// End adds to b that the claim is removed, because the operation has ended.
func (c *Claim) End(b *store.Batch) {
	if c.epoch > 0 {
		b.Delete = append(b.Delete, store.Record{Kind: KindClaim, ID: c.id, Version: c.epoch})
	}
}

// GiveUp writes that any process may take the claim. store.ErrConflict: this process has lost the claim.
func (c *Claim) GiveUp(ctx context.Context) error {
	var b store.Batch
	err := c.Pass(&b, Free)
	if err == nil {
		err = c.Apply(ctx, b)
	}
	return err
}

// Read returns the record with this id, of the kind that the claim guards. Only the work changes its content, so Read asks the store only if
// this process does not know the latest version. One claim guards one record.
func (c *Claim) Read(ctx context.Context, id string) (store.Record, error) {
	return c.guarded.get(ctx, c.ledger.Store, c.guards, id)
}

// guardedRecord is the record that a claim guards, as this process last read or wrote it. The version of the record can still change, for
// example by Reseal: then a write fails, and the record is read again.
type guardedRecord struct {
	mu     sync.Mutex
	record store.Record
	known  bool
}

// get returns the record, which it reads if it is unknown.
func (g *guardedRecord) get(ctx context.Context, from *Store, kind, id string) (store.Record, error) {
	g.mu.Lock()
	record, known := g.record, g.known
	g.mu.Unlock()
	if known {
		return record, nil
	}
	stored, err := from.Get(ctx, kind, id)
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
