package temporal

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	sdk "go.temporal.io/sdk/temporal"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// activities do the work of the workflow in a worker.
type activities struct {
	manager  *vnflcm.Manager
	queue    func(*vnflcm.VnfInstance) string
	progress *Progress
}

// describe reads an operation, and finds the queue of its phases.
func (a *activities) describe(ctx context.Context, operationID string) (description, error) {
	occ, err := a.manager.Operation(ctx, operationID)
	if err != nil {
		return description{}, reported(ctx, err)
	}
	out := description{InstanceID: occ.VnfInstanceID, Kind: occ.Operation, State: occ.OperationState}
	if a.queue == nil {
		return out, nil
	}
	inst, err := a.manager.Get(ctx, occ.VnfInstanceID)
	if err != nil {
		return out, reported(ctx, err)
	}
	out.Queue = a.queue(inst)
	return out, nil
}

// cancel asks the Manager to cancel an operation, which may have ended.
func (a *activities) cancel(ctx context.Context, operationID string, mode vnflcm.CancelMode) error {
	err := a.manager.Cancel(ctx, operationID, mode)
	if _, invalid := errors.AsType[*vnflcm.ParamError](err); invalid || errors.Is(err, vnflcm.ErrState) || errors.Is(err, vnflcm.ErrNotFound) {
		activity.GetLogger(ctx).Warn("the operation is not cancelled", "operation", operationID, "error", err)
		return nil
	}
	return reported(ctx, err)
}

// runPhase runs one phase. Once it runs, only the end of the worker or of the Manager interrupts it: the lease in the Store
// says which process has the operation, also while the Temporal server cannot be reached.
func (a *activities) runPhase(ctx context.Context, p phase) (outcome, error) {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	go a.attend(ctx, work, stop, p)
	next, err := a.manager.RunPhase(work, p.OperationID, p.Name)
	for errors.Is(err, vnflcm.ErrLeased) { // by a process that lives, or has just died
		select {
		case <-ctx.Done(): // Temporal has given the phase to another worker
			return outcome{}, context.Cause(ctx)
		case <-work.Done():
			return outcome{}, reported(ctx, vnflcm.ErrShutdown)
		case <-time.After(leasedEvery):
		}
		next, err = a.manager.RunPhase(work, p.OperationID, p.Name)
	}
	return a.outcome(ctx, p, next, err)
}

// leasedEvery is the time between two looks at an operation that another process has.
const leasedEvery = 300 * time.Millisecond

// outcome is what the Store says after a phase.
func (a *activities) outcome(ctx context.Context, p phase, next string, err error) (outcome, error) {
	occ, unread := a.manager.Operation(context.WithoutCancel(ctx), p.OperationID)
	switch {
	case unread != nil:
		return outcome{}, reported(ctx, errors.Join(err, unread))
	case ended(occ.OperationState):
		return outcome{State: occ.OperationState}, nil
	case err != nil && !errors.Is(err, vnflcm.ErrState): // ErrState: another phase is due
		return outcome{}, reported(ctx, err)
	}
	return outcome{Next: next, State: occ.OperationState}, nil
}

// attend sends heartbeats while work is under way, and stops it with the worker.
func (a *activities) attend(ctx, work context.Context, stop func(), p phase) {
	every := time.NewTicker(heartbeat / 5)
	defer every.Stop()
	for {
		select {
		case <-work.Done():
			return
		case <-activity.GetWorkerStopChannel(ctx):
			stop()
			return
		case <-every.C:
			activity.RecordHeartbeat(ctx, a.progress.of(p))
		}
	}
}

// reported logs an error, and returns what Temporal may store of it: errors of a store or a driver can quote what has no place
// in a history.
func reported(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	activity.GetLogger(ctx).Warn("an operation cannot continue now", "error", err)
	switch {
	case errors.Is(err, vnflcm.ErrNotFound):
		return sdk.NewNonRetryableApplicationError("the VNFM has no such operation", "NOT_FOUND", nil)
	case errors.Is(err, vnflcm.ErrShutdown):
		return sdk.NewApplicationError("the worker shuts down", "SHUTDOWN")
	}
	return sdk.NewApplicationError("the operation cannot continue now; the log of the worker has the reason", "WAITING")
}
