package temporal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Runner returns the Runner for vnflcm.Config. It starts a workflow for each operation. The workflows run in the Workers of
// the task queue. If the Temporal server does not answer within 5 s, the Manager tries again later.
func Runner(c client.Client, queue string) vnflcm.Runner { return &runner{client: c, queue: queue} }

// WorkflowID is the id of the workflow of an operation.
func WorkflowID(operationID string) string { return "vnflcm-" + operationID }

type runner struct {
	client client.Client
	queue  string
}

// patience bounds the call of Start: the client of the VNFM waits for it.
const patience = 5 * time.Second

// untouched is the length of the history of a workflow that no worker has completed a task of: it was started, and its first
// task was scheduled and perhaps started.
const untouched = 3

func (r *runner) Start(ctx context.Context, operationID string) error {
	ctx, done := context.WithTimeout(ctx, patience)
	defer done()
	options := client.StartWorkflowOptions{ID: WorkflowID(operationID), TaskQueue: r.queue, WorkflowExecutionErrorWhenAlreadyStarted: true,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE}
	op := operation{ID: operationID}
	_, err := r.client.ExecuteWorkflow(ctx, options, workflowName, op)
	if _, exists := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); exists {
		err = r.startAgain(ctx, options, op)
	}
	if err != nil {
		return fmt.Errorf("the workflow of operation %s cannot be started: %w", operationID, err)
	}
	return nil
}

// startAgain makes sure that a running workflow does not end before it has looked at the operation again: it may be about to
// end because the operation was in FAILED_TEMP. A workflow that has not begun, or that waits for the end of a phase, will
// look anyway; and then each signal would add to what a busy server has to do.
func (r *runner) startAgain(ctx context.Context, options client.StartWorkflowOptions, op operation) error {
	found, err := r.client.DescribeWorkflowExecution(ctx, options.ID, "")
	if err != nil {
		return err
	}
	if len(found.PendingActivities) > 0 || found.WorkflowExecutionInfo.HistoryLength <= untouched {
		return nil
	}
	options.WorkflowExecutionErrorWhenAlreadyStarted = false
	_, err = r.client.SignalWithStartWorkflow(ctx, options.ID, signalStart, nil, options, workflowName, op)
	return err
}
