package vnflcm

import (
	"context"
	"errors"
	"slices"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// returnsAfter reports whether the operation rolls back by itself after an error: a change of the package whose request asks for it. Who
// pauses or cancels it decides what comes next, and a process must not end again.
func (rec *operationRecord) returnsAfter(err error) bool {
	if rec.Package == nil || rec.Undoing {
		return false
	}
	for _, stop := range []Code{ErrPaused, ErrCancelled, ErrProcessEnded} {
		if errors.Is(err, stop) {
			return false
		}
	}
	options, errOptions := rec.Package.To.Request.options()
	return errOptions == nil && options.RollbackOnFailure
}

// enterRollback makes an operation that has failed roll back in this run. The feed shows FAILED_TEMP and ROLLING_BACK, as after a request to
// roll back (SOL003 v2.6.1 5.6.2.2); no process finds the operation in between.
func (r *run) enterRollback(ctx context.Context) error {
	now, err := r.prepareUndo(ctx)
	if err != nil {
		r.rec.Undoing, r.rec.Undo = false, Change{}
		return err
	}
	failed := *r.rec
	err = r.enter(ctx, RollingBack, func(_ context.Context, b *store.Batch) error {
		failed.Occ.OperationState, failed.Occ.StateEnteredTime = FailedTemp, r.rec.Occ.StateEnteredTime
		return r.m.records.appendChange(b, OperationEntered, failed.VNF, &failed)
	}, func(ctx context.Context, b *store.Batch) error {
		return r.claim.changeInstance(ctx, b, r.rec.Occ.VnfInstanceID, func(i *instanceRecord) { i.Resources = now })
	})
	r.returning = err == nil
	if err != nil {
		r.rec.Undoing, r.rec.Undo = false, Change{}
	}
	return err
}

// hasReturnedFrom reports whether the operation has begun to roll back by itself since a phase: the phase has failed, and is not due again.
func (rec *operationRecord) hasReturnedFrom(name string) bool {
	if rec.Package == nil || rec.Occ.OperationState != RollingBack {
		return false
	}
	return slices.ContainsFunc(rec.packagePhases(), func(p phase) bool { return p.name == name })
}
