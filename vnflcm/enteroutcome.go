package vnflcm

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm/internal/ledger"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// enterOutcome enters the state that the outcome leads to (SOL003 v2.6.1 5.6.2.2).
func (r *run) enterOutcome(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if err != nil {
		err = causeOf(ctx, err)
	}
	ctx = context.WithoutCancel(ctx)
	state := r.rec.Occ.OperationState
	if err == nil && state == Processing && r.rec.Package != nil {
		err = r.takePackage(ctx)
	}
	if err == nil && !errors.Is(cause, ErrLeased) {
		return r.complete(ctx, state)
	}
	if err == nil {
		err = cause
	}
	err = newFailure(err, cmp.Or(cause, r.stopped()))
	masked := &maskedError{text: r.mask.applyTo(err), err: err}
	// Check the cause of the run's context. err may come from a Manager that the driver itself owns.
	if errors.Is(cause, ErrShutdown) || errors.Is(cause, ErrLeased) {
		r.left = cause
		if errors.Is(cause, ErrLeased) {
			r.m.cfg.Logger.WarnContext(ctx, "the operation is left to another process", "operation", r.rec.Occ.ID, "error", masked)
			r.m.report(OperationLost, &r.rec.Occ)
		}
		return masked // the operation stays unchanged, for the next process
	}
	if r.m.records.Failed(err) { // not a fault of the operation: it is taken up again once the store answers
		r.left = err
		r.m.cfg.Logger.WarnContext(ctx, "the operation waits for the store", "operation", r.rec.Occ.ID, "error", masked)
		return masked
	}
	r.rec.Occ.Error = newProblem(err, r.mask)
	if state == Starting { // no resource has been changed
		return errors.Join(masked, r.finish(ctx, RolledBack, func(i *instanceRecord) {
			if r.rec.Occ.Operation == OpInstantiate {
				i.clear()
			}
		}))
	}
	if r.rec.isSnapshot() {
		return errors.Join(masked, r.failSnapshot(ctx))
	}
	if state == Processing && r.rec.returnsAfter(err) {
		failed := r.enterRollback(ctx)
		if failed == nil {
			return masked
		}
		r.m.cfg.Logger.WarnContext(ctx, "the operation cannot be rolled back by itself", "operation", r.rec.Occ.ID, "error", failed)
	}
	return errors.Join(masked, r.enter(ctx, FailedTemp))
}

// complete ends an operation, or its rolling back, that went well.
func (r *run) complete(ctx context.Context, state OperationState) error {
	if state == RollingBack {
		return r.finish(ctx, RolledBack, func(i *instanceRecord) {
			i.Levels = r.rec.Before
			if r.rec.Occ.Operation == OpInstantiate {
				i.clear()
			}
		})
	}
	r.rec.Occ.Error = nil
	switch r.rec.Occ.Operation {
	case OpTerminate:
		return r.finish(ctx, Completed, (*instanceRecord).clear)
	case OpChangeVnfPkg:
		return r.finish(ctx, Completed, func(i *instanceRecord) { *i = *r.changed })
	case OpModifyInfo, OpCreateSnapshot, OpRevertToSnapshot:
		return r.finish(ctx, Completed, func(*instanceRecord) {}) // a phase has changed what is to change
	}
	return r.finish(ctx, Completed, func(i *instanceRecord) {
		i.Instance.InstantiationState, i.Levels = Instantiated, r.rec.Levels
		i.Links, i.ManagedLinks = r.rec.links(i)
		i.Stopped = r.rec.stops(i)
	})
}

// clear resets an instance to its state after creation.
func (rec *instanceRecord) clear() {
	rec.Instance.InstantiationState, rec.Instance.VimConnectionInfo = NotInstantiated, nil
	rec.Initial, rec.Levels, rec.Resources, rec.Published, rec.RegisteredVIMs = InstantiateVnfRequest{}, nil, Resources{}, nil, nil
	rec.PackageDigest, rec.DefaultVIM, rec.VIMForm, rec.VIMOwner, rec.Instance.Extensions = "", "", "", nil, Params{}
	rec.Links, rec.ManagedLinks, rec.Adopted, rec.VNFCProperties = nil, nil, nil, nil
	rec.Stopped = false
	rec.Mixed = nil
}

// finish unlocks the instance, enters a final state and removes what only the operation needed. before adds to the batch what comes before.
func (r *run) finish(ctx context.Context, state OperationState, change func(*instanceRecord), before ...func(context.Context, *store.Batch) error) error {
	return r.enter(ctx, state, append(before, r.unlock(change), func(ctx context.Context, b *store.Batch) error {
		r.claim.End(b)
		return errors.Join(r.dropCount(ctx, b), r.archiveJournal(ctx, b), r.releaseSnapshot(ctx, b))
	})...)
}

// unlock returns what adds to a batch that change is made to the instance and that the next operation may begin. The
// drivers' state is removed with an instance that is not instantiated any more. A missing instance is no error: the
// operation on it must be able to end.
func (r *run) unlock(change func(*instanceRecord)) func(context.Context, *store.Batch) error {
	return func(ctx context.Context, b *store.Batch) error {
		id, emptied, unused := r.rec.Occ.VnfInstanceID, false, false
		err := r.claim.changeInstance(ctx, b, id, func(i *instanceRecord) {
			had := r.rec.Package != nil || i.Mixed != nil
			change(i)
			i.endMixture()
			unused = had && i.Mixed == nil
			r.rec.recordInstance(i)
			i.Holder = ""
			emptied = i.Instance.InstantiationState == NotInstantiated
		})
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err == nil && unused {
			err = r.m.records.Drop(ctx, b, kindPackageUse, id)
		}
		switch {
		case err == nil && emptied:
			err = errors.Join(r.m.records.DropAll(ctx, b, kindState, id+"/"), r.m.records.Drop(ctx, b, kindExpiry, id))
		case err == nil:
			err = r.noteEnd(ctx, b)
		}
		return err
	}
}

// enter stores that the operation is in another state, together with the additions of also to the batch. In a state in
// which no process works on the operation, it also removes the cancel request.
func (r *run) enter(ctx context.Context, state OperationState, also ...func(context.Context, *store.Batch) error) error {
	was, since := r.rec.Occ.OperationState, r.rec.Occ.StateEnteredTime
	if was == Starting && r.rec.Asked != nil {
		also = append(also, r.dropGrantOrder)
	}
	r.rec.Occ.OperationState, r.rec.Occ.StateEnteredTime = state, time.Now().Round(0) // the same value as after reading it back
	if !state.active() {
		also = append(also, r.dropCancel, r.dropSuspect)
	}
	if state == FailedTemp {
		also = append(also, func(ctx context.Context, b *store.Batch) error {
			return errors.Join(r.claim.Pass(b, ledger.Parked), r.keepHistory(ctx, b))
		})
	}
	also = append(also, func(_ context.Context, b *store.Batch) error {
		return r.m.records.appendChange(b, OperationEntered, r.rec.VNF, r.rec)
	})
	if err := r.save(ctx, also...); err != nil {
		r.rec.Occ.OperationState, r.rec.Occ.StateEnteredTime = was, since
		return err
	}
	r.m.announce(ctx, &r.rec.Occ)
	return nil
}

// dropCancel adds to b that there is no cancelRequest any more.
func (r *run) dropCancel(ctx context.Context, b *store.Batch) error {
	if !r.mayBeCancelled() {
		return nil
	}
	return r.m.records.Drop(ctx, b, kindCancel, r.rec.Occ.ID)
}

// announce reports a new state of an operation, and why it has failed, to the log and the observer.
func (m *Manager) announce(ctx context.Context, occ *VnfLcmOpOcc) {
	log := m.cfg.Logger.With("operation", occ.ID, "instance", occ.VnfInstanceID, "kind", occ.Operation, "state", occ.OperationState)
	if occ.Error != nil && !occ.OperationState.active() {
		log = log.With("error", occ.Error.Detail)
	}
	log.InfoContext(ctx, "operation state")
	m.report(OperationChanged, occ)
}

// report tells the observer about an operation.
func (m *Manager) report(kind EventKind, occ *VnfLcmOpOcc) {
	if m.cfg.Observe == nil {
		return
	}
	e := Event{Time: time.Now(), Kind: kind, InstanceID: occ.VnfInstanceID,
		Operation: occ.Operation, State: occ.OperationState, StepInfo: StepInfo{OperationID: occ.ID}}
	if !occ.OperationState.active() {
		e.Duration = max(0, occ.StateEnteredTime.Sub(occ.StartTime))
	}
	if occ.Error != nil && !occ.OperationState.active() {
		e.Message = occ.Error.Detail
	}
	observe(m.cfg.Logger, m.cfg.Observe, e)
}
