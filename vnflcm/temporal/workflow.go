package temporal

import (
	"fmt"
	"time"

	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// SignalCancel is the signal that cancels the operation of a workflow. Its argument is a vnflcm.CancelMode; another one is
// ignored, with a warning in the log of the worker.
const SignalCancel = "cancel"

// Names that are stored in Temporal, as are the attributes of the types below.
const (
	workflowName     = "vnflcm.operation"
	activityDescribe = "vnflcm.describe"
	activityPhase    = "vnflcm.phase"
	activityCancel   = "vnflcm.cancel"
	signalStart      = "start"
)

// operation is the argument of the workflow.
type operation struct {
	ID string `json:"id"`
}

// description is what the workflow knows of its operation.
type description struct {
	InstanceID string                `json:"instanceId"`
	Kind       vnflcm.LcmOperation   `json:"operation"`
	State      vnflcm.OperationState `json:"state"`
	Queue      string                `json:"queue,omitempty"` // of the phases; "": that of the workflow
}

// phase is the argument of the activity of a phase.
type phase struct {
	OperationID string `json:"operationId"`
	Name        string `json:"name,omitempty"` // "": the phase that is due
}

// outcome is the result of the activity of a phase.
type outcome struct {
	Next  string                `json:"next,omitempty"` // "": no phase is left
	State vnflcm.OperationState `json:"state"`
}

// ended is a state in which no phase is left.
func ended(state vnflcm.OperationState) bool { return state.Final() || state == vnflcm.FailedTemp }

// run is the workflow: one phase after the other, until the operation has ended, and a last look shows that it was not started
// again meanwhile.
func run(ctx workflow.Context, op operation) (description, error) {
	listenForCancel(ctx, op.ID)
	// The operation ends by its phases, not with the context of the workflow.
	ctx, done := workflow.NewDisconnectedContext(ctx)
	defer done()
	started := workflow.GetSignalChannel(ctx, signalStart)
	for {
		for started.Len() > 0 { // what has been asked for so far is done now
			started.Receive(ctx, nil)
		}
		now, err := runPhases(ctx, op.ID)
		if err != nil {
			return now, err
		}
		if started.Len() == 0 && ended(now.State) {
			return now, failure(op.ID, now)
		}
	}
}

// runPhases runs an operation until no phase is left, and describes it then.
func runPhases(ctx workflow.Context, operationID string) (now description, err error) {
	if now, err = describe(ctx, operationID); err != nil || ended(now.State) {
		return now, err
	}
	for name := ""; !ended(now.State); {
		var result outcome
		err := workflow.ExecuteActivity(remote(ctx, now.Queue, name), activityPhase, phase{OperationID: operationID, Name: name}).Get(ctx, &result)
		if err != nil {
			return now, err
		}
		name = result.Next
		if result.State != now.State {
			now.State = result.State
			if err := publish(ctx, now); err != nil {
				return now, err
			}
		}
	}
	return describe(ctx, operationID)
}

// describe reads the operation, and publishes its kind and state.
func describe(ctx workflow.Context, operationID string) (now description, err error) {
	if err := workflow.ExecuteLocalActivity(local(ctx), activityDescribe, operationID).Get(ctx, &now); err != nil {
		return now, err
	}
	return now, publish(ctx, now)
}

// failure is how the workflow of an operation that did not succeed fails.
func failure(operationID string, now description) error {
	if now.State != vnflcm.FailedTemp && now.State != vnflcm.Failed {
		return nil
	}
	return sdk.NewNonRetryableApplicationError(fmt.Sprintf("operation %s of VNF instance %s is %s; the VNFM has the reason", operationID, now.InstanceID, now.State),
		string(now.State), nil)
}

// listenForCancel passes on signals, and the cancellation of the workflow.
func listenForCancel(ctx workflow.Context, operationID string) {
	cancelled, asked := ctx.Done(), workflow.GetSignalChannel(ctx, SignalCancel)
	ctx, _ = workflow.NewDisconnectedContext(ctx) // until the workflow ends
	cancel := func(ctx workflow.Context, mode vnflcm.CancelMode) {
		_ = workflow.ExecuteLocalActivity(local(ctx), activityCancel, operationID, mode).Get(ctx, nil) // is attempted until it succeeds
	}
	workflow.Go(ctx, func(ctx workflow.Context) {
		cancelled.Receive(ctx, nil)
		cancel(ctx, vnflcm.CancelGraceful)
	})
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var mode vnflcm.CancelMode
			asked.Receive(ctx, &mode)
			cancel(ctx, mode)
		}
	})
}

// The times between attempts of an activity. It is attempted until it succeeds: what ends an operation is in the Store.
var retries = sdk.RetryPolicy{InitialInterval: 500 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 15 * time.Second}

// heartbeat is the time after which a worker that does not send heartbeats is given up.
const heartbeat = 15 * time.Second

// longest bounds a phase, because Temporal asks for a bound. The time limits of drivers are shorter.
const longest = 365 * 24 * time.Hour

// local is for activities that only read or write the Store. They run in the worker of the workflow, and do not wait for
// phases to end.
func local(ctx workflow.Context) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: 20 * time.Second, RetryPolicy: &retries})
}

func remote(ctx workflow.Context, queue, name string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{TaskQueue: queue, StartToCloseTimeout: longest, HeartbeatTimeout: heartbeat,
		RetryPolicy: &retries, Summary: name})
}
