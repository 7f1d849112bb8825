package vnflcm

import (
	"context"
	"errors"
	"time"
)

// settle enters the state that the outcome leads to (SOL003 v2.6.1 5.6.2.2).
func (r *run) settle(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	ctx = context.WithoutCancel(ctx)
	state := r.rec.Occ.OperationState
	if err == nil && !errors.Is(cause, ErrLeased) {
		return r.complete(ctx, state)
	}
	if err == nil {
		err = cause
	}
	masked := &maskedError{text: r.mask.apply(err.Error()), err: err}
	// Asked of the run, not of err: a driver may have had a Manager of its own shut down.
	if r.left = r.lease.valid(); errors.Is(cause, ErrShutdown) || errors.Is(cause, ErrLeased) {
		r.left = cause
	}
	if r.left != nil {
		return masked // the operation goes on elsewhere: it is not ours to write any more
	}
	r.rec.Occ.Error = newProblem(err, r.mask.apply)
	switch {
	case state == Starting: // nothing was touched yet
		return errors.Join(masked, r.finish(ctx, RolledBack, func(i *instanceRecord) {
			if r.rec.Occ.Operation == OpInstantiate {
				i.clear()
			}
		}))
	case errors.Is(err, errUnlocked):
		return errors.Join(masked, r.finish(ctx, Failed, func(*instanceRecord) {}))
	}
	return errors.Join(masked, r.enter(ctx, FailedTemp), r.forgetCancel(ctx))
}

// forgetCancel removes what Cancel wrote down. It comes after the state in which nothing can be cancelled, so
// that a Cancel which comes late finds that state and takes its request back.
func (r *run) forgetCancel(ctx context.Context) error {
	return r.m.records.remove(ctx, kindCancel, r.rec.Occ.ID)
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
	r.rec.Occ.ResourceChanges = &ResourceChanges{AffectedVnfcs: r.rec.Change.affected()}
	inst, _, err := r.m.instance(ctx, r.rec.Occ.VnfInstanceID)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	if inst != nil && inst.Holder == r.rec.Occ.ID { // a crash may have come between unlocking and this
		r.showConnectivity(inst)
	}
	if r.rec.Occ.Operation == OpTerminate {
		return r.finish(ctx, Completed, (*instanceRecord).clear)
	}
	return r.finish(ctx, Completed, func(i *instanceRecord) {
		i.Instance.InstantiationState, i.Levels = Instantiated, r.rec.Levels
		i.Links, i.ManagedLinks = r.rec.links(i)
	})
}

// clear makes an instance what it was when it was created.
func (rec *instanceRecord) clear() {
	rec.Instance.InstantiationState, rec.Instance.VimConnectionInfo = NotInstantiated, nil
	rec.Initial, rec.Levels, rec.Resources, rec.Published = InstantiateVnfRequest{}, nil, Resources{}, nil
	rec.PackageDigest, rec.DefaultVIM, rec.Instance.Extensions = "", "", Params{}
	rec.Links, rec.ManagedLinks = nil, nil
}

// finish unlocks the instance and enters a final state. What only the operation needed is removed. Each part
// may be repeated: after a crash between two of them finish is called again.
func (r *run) finish(ctx context.Context, state OperationState, change func(*instanceRecord)) error {
	if err := r.lease.renew(ctx); err != nil { // nobody else has it, or this fails
		return err
	}
	if err := r.unlock(ctx, change); err != nil && !errors.Is(err, ErrNotFound) {
		return err // there may be no instance: it could be deleted once it was unlocked
	}
	if err := r.m.records.removeAll(ctx, kindStep, r.rec.Occ.ID+"/"); err != nil {
		return err
	}
	return errors.Join(r.enter(ctx, state), r.forgetCancel(ctx))
}

// unlock applies change to the instance, if this operation still holds it, and gives it free. The drivers'
// state goes before the lock does: the next operation makes its own.
func (r *run) unlock(ctx context.Context, change func(*instanceRecord)) error {
	inst, _, err := r.m.instance(ctx, r.rec.Occ.VnfInstanceID)
	if err != nil || inst.Holder != r.rec.Occ.ID {
		return err
	}
	change(inst)
	if inst.Instance.InstantiationState == NotInstantiated {
		if err := r.m.records.removeAll(ctx, kindState, inst.Instance.ID+"/"); err != nil {
			return err
		}
	}
	return r.m.updateInstance(ctx, inst.Instance.ID, func(i *instanceRecord) {
		if i.Holder == r.rec.Occ.ID {
			change(i)
			i.Holder = ""
		}
	})
}

func (r *run) enter(ctx context.Context, state OperationState) error {
	was, since := r.rec.Occ.OperationState, r.rec.Occ.StateEnteredTime
	r.rec.Occ.OperationState, r.rec.Occ.StateEnteredTime = state, time.Now().Round(0) // as it will be read back
	if err := r.save(ctx); err != nil {
		r.rec.Occ.OperationState, r.rec.Occ.StateEnteredTime = was, since
		return err
	}
	r.m.announce(ctx, &r.rec.Occ)
	return nil
}

// announce tells the log and the observer which state an operation has entered.
func (m *Manager) announce(ctx context.Context, occ *VnfLcmOpOcc) {
	m.cfg.Logger.InfoContext(ctx, "operation state", "operation", occ.ID, "instance", occ.VnfInstanceID,
		"kind", occ.Operation, "state", occ.OperationState)
	if m.cfg.Observe == nil {
		return
	}
	e := Event{Time: time.Now(), Kind: OperationChanged, InstanceID: occ.VnfInstanceID,
		Operation: occ.Operation, State: occ.OperationState, StepInfo: StepInfo{OperationID: occ.ID}}
	if occ.Error != nil && !occ.OperationState.active() {
		e.Message = occ.Error.Detail
	}
	m.cfg.Observe(e)
}
