package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/vnfkit/vnfkit/vnflcm/internal/ledger"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// run is an operation that this process works on.
type run struct {
	m      *Manager
	ctx    context.Context //nolint:containedctx // the life of the run, not of a call
	rec    *operationRecord
	stored ledger.Slot // of rec
	claim  *operationClaim
	mask   *masker
	cancel context.CancelCauseFunc
	done   chan struct{}
	// Work of this run that is not stored yet.
	performed performance
	running   running
	here      bool // this process works on the operation, or will once it is accepted, retried or rolled back

	err  error // why it ended other than well; set before done is closed
	left error // why the operation was left to the next process: ErrShutdown, ErrLeased or ErrStore; set like err

	mu       sync.Mutex
	stopping error // a cancel was asked for: no further step starts
	starting bool  // no resource has been changed yet, so a cancel interrupts at once
	begun    bool  // this process has the claim

	returning bool            // the operation has begun to roll back by itself
	changed   *instanceRecord // the instance as a CHANGE_VNFPKG that went well leaves it

	suspicion suspicion // until there is progress; guarded by m.mu
}

// reserve makes this process's one run of an operation. If there is one already, it is returned as other.
func (m *Manager) reserve(ctx context.Context, opID string) (r, other *run, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reserveLocked(ctx, opID)
}

func (m *Manager) reserveLocked(ctx context.Context, opID string) (r, other *run, err error) {
	if m.closed {
		return nil, nil, ErrShutdown
	}
	if other := m.runs[opID]; other != nil {
		return nil, other, nil
	}
	r = &run{m: m, done: make(chan struct{}), mask: newMasker(nil), stored: ledger.Slot{Kind: kindOperation, ID: opID},
		here: m.works() && len(m.runs) < m.cfg.Limit && m.admits(opID, unsuspected)}
	// The work outlives the request that started it; Close, Cancel and a lost claim end it.
	running, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	r.ctx, r.cancel = running, cancel
	lose := func(err error) {
		m.noteLost(r.claim)
		cancel(err)
	}
	r.claim = &operationClaim{Claim: ledger.NewClaim(running, m.process, opID, kindInstance, lose), records: m.records, clear: func() { m.clear(r) }}
	m.runs[opID] = r
	return r, nil, nil
}

// works reports whether this process works on operations without being asked to.
func (m *Manager) works() bool { return !m.cfg.AcceptOnly && m.cfg.Runner == nil }

// limit returns how many operations this process takes up.
func (m *Manager) limit() int {
	if m.works() {
		return m.cfg.Limit
	}
	return 0
}

// read reads the operation.
func (r *run) read(ctx context.Context) (err error) {
	r.rec, r.stored.Version, err = r.m.operation(ctx, r.claim.ID())
	r.stored.Shared = true
	return err
}

// work runs the operation to its end, or until it fails.
func (r *run) work() {
	r.start()
	err := r.enterOutcome(r.ctx, r.execute(r.ctx))
	if r.returning {
		err = r.enterOutcome(r.ctx, r.execute(r.ctx))
	}
	r.end(err)
}

// start notes that this process has the claim.
func (r *run) start() {
	r.mu.Lock()
	r.begun, r.starting = true, r.rec.Occ.OperationState == Starting
	r.mu.Unlock()
	if r.mayBeCancelled() {
		r.checkCancel(r.ctx)
	}
}

// mayBeCancelled reports whether there can be a cancelRequest: another process may have written the operation.
func (r *run) mayBeCancelled() bool { return r.stored.Shared || r.stored.Unknown }

// end gives the operation back: Wait returns why the work ended.
func (r *run) end(err error) {
	if errors.Is(r.left, ErrShutdown) {
		r.giveUp(context.WithoutCancel(r.ctx))
	} else if r.left != nil {
		r.m.noteLost(r.claim)
	}
	r.err = err
	r.cancel(nil)
	r.m.mu.Lock()
	delete(r.m.runs, r.claim.ID())
	if r.rec != nil {
		r.m.outcomes.keep(outcome{opID: r.claim.ID(), state: r.rec.Occ.OperationState, at: r.rec.Occ.StateEnteredTime, err: err})
	}
	r.m.stopLoops()
	r.m.mu.Unlock()
	close(r.done)
	r.m.changed.tell() // there is room for another operation
}

// giveUp frees the operation for any process. If this fails, it is tried again later.
func (r *run) giveUp(ctx context.Context) {
	if err := r.claim.GiveUp(ctx); err != nil {
		r.m.noteLost(r.claim)
	}
}

// execute runs every phase that is due, except the last.
func (r *run) execute(ctx context.Context) error {
	return r.withPackages(ctx, func(opened openPackages, inst *instanceRecord) error {
		for due := r.rec.due(); due != PhaseEnd; due = r.rec.due() {
			if err := r.perform(ctx, opened, inst, due); err != nil {
				return err
			}
		}
		return nil
	})
}

// withPackages calls do with the packages and the record of the instance, which the operation must have locked.
func (r *run) withPackages(ctx context.Context, do func(openPackages, *instanceRecord) error) error {
	inst, _, err := r.claim.instance(ctx, r.rec.Occ.VnfInstanceID)
	if err != nil {
		return err
	}
	if inst.Holder != r.rec.Occ.ID {
		return fmt.Errorf("%w: the operation does not hold the lock of its instance", ErrConflict)
	}
	if r.rec.Occ.Operation == OpModifyInfo && r.rec.VIMType == "" {
		return do(openPackages{}, inst) // the package of an instance that is not instantiated is not needed
	}
	opened, err := r.m.openPackages(ctx, inst, r.rec)
	if err != nil {
		return err
	}
	defer opened.close()
	return do(opened, inst)
}

// perform runs the phase that is due.
func (r *run) perform(ctx context.Context, opened openPackages, inst *instanceRecord, due string) error {
	if due == PhaseBegin {
		err := r.begin(ctx, opened, inst)
		r.setStarting(false)
		return err
	}
	if err := r.mayBegin(ctx); err != nil {
		return err
	}
	phases := r.rec.phases()
	return r.runPhase(ctx, opened, phases[slices.IndexFunc(phases, func(p phase) bool { return p.name == due })])
}

// begin asks for the grant and enters PROCESSING.
func (r *run) begin(ctx context.Context, opened openPackages, inst *instanceRecord) error {
	if r.m.needsGrant(r.rec.Occ.Operation) {
		if err := r.obtainGrant(ctx, opened, inst); err != nil {
			return err
		}
	}
	if err := errors.Join(r.stopped(), r.checkUntil()); err != nil {
		return err
	}
	// The result of the write must be known: from here on a cancel no longer leads to ROLLED_BACK.
	return r.enter(context.WithoutCancel(ctx), Processing)
}

// save stores the operation, together with what each of also adds to the batch.
func (r *run) save(ctx context.Context, also ...func(context.Context, *store.Batch) error) error {
	err := r.claim.Update(ctx, func(ctx context.Context, b *store.Batch) error {
		if r.stored.Unknown { // perhaps because of a cancel
			r.checkCancel(ctx)
		}
		for _, add := range also {
			if err := add(ctx, b); err != nil {
				return err
			}
		}
		return r.m.records.Fill(ctx, b, &r.stored, r.rec) // last: add may have changed it
	})
	if err == nil {
		r.stored.Written()
		r.claim.progressed()
	}
	return err
}

// mayBegin says why no further phase or step may begin: it was cancelled, or this process has lost its claim.
func (r *run) mayBegin(ctx context.Context) error {
	if err := r.stopped(); err != nil && !finishes(ctx) {
		return err
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return r.claim.Hold(ctx)
}

func (r *run) stopped() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopping
}

// stop ends the work on request.
func (r *run) stop(mode CancelMode) {
	r.mu.Lock()
	r.stopping = ErrCancelled
	now := mode == CancelForceful || r.starting
	r.mu.Unlock()
	if now {
		r.cancel(ErrCancelled)
	}
}

func (r *run) setStarting(starting bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.starting = starting
}

// checkCancel looks for a cancel that another process wrote down.
func (r *run) checkCancel(ctx context.Context) {
	var cancel cancelRequest
	switch _, err := r.m.records.Get(ctx, kindCancel, r.rec.Occ.ID, &cancel); {
	case err == nil:
		r.stop(cancel.Mode)
	case errors.Is(err, ErrUnreadable):
		r.m.cfg.Logger.WarnContext(ctx, "the operation continues, because the request to cancel it cannot be read: cancel it again", "operation", r.rec.Occ.ID, "error", err)
	}
}
