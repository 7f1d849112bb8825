package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vnfkit/vnfkit/vnflcm/internal/ledger"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// cancelRequest is stored so that the process that has the operation finds it. The batch also writes the operation,
// with unchanged content: a process that has written every version of the operation knows that there is no
// cancelRequest.
type cancelRequest struct {
	Mode CancelMode `json:"mode"`
}

// Cancel asks for an operation to be stopped (SOL003 v2.6.1 5.4.17), whichever process works on it. In STARTING it ends
// as ROLLED_BACK, later it becomes FAILED_TEMP, unless it completes before. Cancel returns when the request is stored.
// It returns ErrState if no process works on the operation.
func (m *Manager) Cancel(ctx context.Context, opID string, mode CancelMode) error {
	err := m.records.Update(ctx, func(ctx context.Context, b *store.Batch) error {
		rec, version, err := m.operation(ctx, opID)
		if err != nil {
			return err
		}
		if mode != CancelGraceful && mode != CancelForceful {
			return &ParamError{Path: "cancelMode", Value: string(mode), Reason: "must be GRACEFUL or FORCEFUL"}
		}
		if !rec.Occ.OperationState.active() {
			return stateError(rec, "cancelled")
		}
		unchanged, err := m.records.Seal(kindOperation, opID, version, rec)
		if err != nil {
			return err
		}
		b.Put, b.Wake = []store.Record{unchanged}, true
		return m.records.Put(ctx, b, kindCancel, opID, cancelRequest{Mode: mode})
	})
	if err != nil {
		return err
	}
	m.mu.Lock()
	r := m.runs[opID]
	m.mu.Unlock()
	if r != nil {
		r.stop(mode)
	}
	return nil
}

// Retry continues an operation that is in FAILED_TEMP (SOL003 v2.6.1 5.4.14). Steps in its journal are not repeated. If
// the operation was being rolled back, the journal is void and every step is probed.
func (m *Manager) Retry(ctx context.Context, opID string) error {
	return m.leave(ctx, opID, "retried", func(ctx context.Context, r *run) error {
		if !r.rec.Undoing {
			if r.rec.Package != nil {
				r.rec.Package.Paused = false
			}
			return r.enter(ctx, Processing, r.take)
		}
		// The result of Plan applies again: some of the added VNFCs no longer exist.
		switch r.rec.Occ.Operation {
		case OpScaleToLevel:
			r.rec.redoScalings()
		case OpChangeVnfPkg:
			r.rec.redoBatches()
		default:
			r.rec.Done = nil
		}
		r.rec.Change, r.rec.Undo, r.rec.Undoing = r.rec.Planned, Change{}, false
		return r.enter(ctx, Processing, r.take, r.archiveJournal)
	})
}

// Rollback undoes an INSTANTIATE, a SCALE_OUT, a SCALE_TO_LEVEL in which no scale-in has begun, a CHANGE_EXT_CONN or a CHANGE_VNFPKG
// that is in FAILED_TEMP (SOL003 v2.6.1 5.4.15); ErrNotSupported for other operations. It runs the rollback hooks that the
// VNFD names, or the hooks of the inverse operation.
func (m *Manager) Rollback(ctx context.Context, opID string) error {
	return m.leave(ctx, opID, "rolled back", func(ctx context.Context, r *run) error {
		now, err := r.prepareUndo(ctx)
		if err != nil {
			return err
		}
		return r.enter(ctx, RollingBack, r.take, func(ctx context.Context, b *store.Batch) error {
			return r.claim.changeInstance(ctx, b, r.rec.Occ.VnfInstanceID, func(i *instanceRecord) { i.Resources = now })
		})
	})
}

// undoPlan is the phase of the session that finds out what rolling back removes.
const undoPlan = "rollback"

// prepareUndo records what rolling back removes: the VNFCs that exist now and did not exist before, and those that an
// earlier attempt has removed, because the hooks after the removal may not have run. It returns the current resources.
func (r *run) prepareUndo(ctx context.Context) (now Resources, err error) {
	inst, _, err := r.m.instance(ctx, r.rec.Occ.VnfInstanceID)
	if err != nil {
		return now, err
	}
	opened, err := r.m.openPackages(ctx, inst, r.rec)
	if err != nil {
		return now, err
	}
	defer opened.close()
	s, err := r.m.session(ctx, opened, inst, r.rec, undoPlan)
	if err != nil {
		return now, err
	}
	if r.rec.Occ.Operation == OpRevertToSnapshot {
		return now, fmt.Errorf("%w: a REVERT_TO_SNAPSHOT is not rolled back, because a part of the VNF may be as in the snapshot already: retry it, or fail it and revert to another snapshot", ErrNotSupported)
	}
	if !r.rec.canRollBack() {
		return now, fmt.Errorf("%w: only INSTANTIATE, SCALE_OUT, SCALE_TO_LEVEL before its first scale-in, CHANGE_EXT_CONN and CHANGE_VNFPKG can be rolled back (SOL003 v2.6.1 5.6.2.2)", ErrNotSupported)
	}
	if now, err = s.resources(ctx); err != nil {
		return now, err
	}
	r.rec.Undoing = true
	known := slices.Concat(r.rec.VNFCs, r.rec.Undo.Removed)
	for _, v := range now.VNFCs {
		if !slices.ContainsFunc(known, func(old VNFC) bool { return old.ID == v.ID }) {
			r.rec.Undo.Removed = append(r.rec.Undo.Removed, v)
		}
	}
	return now, nil
}

// Fail gives up an operation that is in FAILED_TEMP (SOL003 v2.6.1 5.4.16) and unlocks the instance. After a
// failed instantiation the instance counts as INSTANTIATED, so that it can be terminated: something of it
// may be there.
func (m *Manager) Fail(ctx context.Context, opID string) error {
	return m.leave(ctx, opID, "failed", func(ctx context.Context, r *run) error {
		now, mixed := r.resourcesLeft(ctx)
		if now != nil {
			r.rec.recordResources(*now, r.rec.replaced())
		}
		return r.finish(ctx, Failed, func(i *instanceRecord) {
			if now != nil {
				i.Resources = *now
			}
			if mixed != nil {
				i.Mixed = mixed
			}
			switch {
			case r.rec.Occ.Operation == OpInstantiate:
				i.Instance.InstantiationState, i.Levels = Instantiated, r.rec.Levels
				i.Links, i.ManagedLinks = r.rec.links(i)
			case r.rec.Occ.Operation == OpChangeExtConn && !r.rec.Undoing && slices.Contains(r.rec.Done, changeExtConnPhase):
				i.Links, i.ManagedLinks = r.rec.links(i)
			case r.rec.Occ.Operation == OpScaleToLevel:
				i.Levels = r.rec.reachedLevels()
			case r.rec.Occ.Operation == OpScale && slices.Contains(r.rec.Done, scaleRollbackPhase):
				i.Levels = r.rec.Before
			case r.rec.Occ.Operation == OpScale && slices.Contains(r.rec.Done, scalePhase):
				i.Levels = r.rec.Levels
			}
		})
	})
}

// resourcesLeft asks the VIM which resources a failed operation leaves, and which parts of them run by another package. Without an answer
// the resources are nil: Fail must work without a VIM.
func (r *run) resourcesLeft(ctx context.Context) (*Resources, *mixture) {
	inst, _, err := r.m.instance(ctx, r.rec.Occ.VnfInstanceID)
	if err != nil || inst.Holder != r.rec.Occ.ID {
		return nil, nil
	}
	now, err := r.readResourcesLeft(ctx, inst)
	if err != nil {
		r.m.cfg.Logger.WarnContext(ctx, "the resources that the failed operation leaves cannot be read", "operation", r.rec.Occ.ID, "error", r.mask.applyTo(err))
		inst.noteUnsure(r.rec.Package, r.rec.unfinishedUnits())
		return nil, inst.Mixed
	}
	return &now, inst.Mixed
}

// readResourcesLeft asks the VIM, and notes in inst by which package the units of an unfinished batch run.
func (r *run) readResourcesLeft(ctx context.Context, inst *instanceRecord) (now Resources, err error) {
	opened, err := r.m.openPackages(ctx, inst, r.rec)
	if err != nil {
		return now, err
	}
	defer opened.close()
	s, err := r.m.session(ctx, opened, inst, r.rec, "fail")
	if err != nil {
		return now, err
	}
	if now, err = s.resources(ctx); err == nil {
		r.noteLeftUnits(ctx, s, inst, now.VNFCs)
	}
	return now, s.masked(err)
}

// leave takes an operation out of FAILED_TEMP: next enters another state, and if that is an active one the
// work starts.
func (m *Manager) leave(ctx context.Context, opID, verb string, next func(context.Context, *run) error) error {
	r, err := m.reserveFailed(ctx, opID, verb)
	if err != nil {
		return err
	}
	if err = r.readParked(ctx, verb); err == nil {
		err = next(context.WithoutCancel(ctx), r)
	}
	if err == nil && r.rec.Occ.OperationState.active() {
		r.handOver(ctx)
		return nil
	}
	r.end(nil)
	return err
}

// readParked reads an operation in FAILED_TEMP, and the version of the claim that the next write has to replace.
func (r *run) readParked(ctx context.Context, verb string) error {
	stored, err := r.m.cfg.Store.Get(ctx, ledger.KindClaim, r.claim.ID())
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	r.claim.Replace(stored)
	if err := r.read(ctx); err != nil {
		return err
	}
	if r.rec.Occ.OperationState != FailedTemp {
		return stateError(r.rec, verb)
	}
	return nil
}

// take adds to b that this process works on the operation from then on, or that any process may.
func (r *run) take(ctx context.Context, b *store.Batch) error {
	if !r.here {
		return r.claim.Pass(b, ledger.Free)
	}
	return r.claim.Begin(ctx, b)
}

// reserveFailed makes the run of an operation in FAILED_TEMP. If its last run in this process is still ending, that
// must not count as a running operation.
func (m *Manager) reserveFailed(ctx context.Context, opID, verb string) (*run, error) {
	for {
		rec, _, err := m.operation(ctx, opID)
		if err == nil && rec.Occ.OperationState != FailedTemp {
			err = stateError(rec, verb)
		}
		if err != nil {
			return nil, err
		}
		r, other, err := m.reserve(ctx, opID)
		if other == nil {
			return r, err
		}
		select {
		case <-other.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func stateError(rec *operationRecord, verb string) error {
	return fmt.Errorf("%w: operation %s is %s and cannot be %s", ErrState, rec.Occ.ID, rec.Occ.OperationState, verb)
}
