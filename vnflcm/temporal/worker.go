package temporal

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Options configure a Worker.
type Options struct {
	// Limit is how many phases the worker runs at once. Default 64.
	Limit int
	// Queue returns the task queue whose workers run the phases of an operation on an instance, for example one for each
	// VIM or site: the instance has its VIM connections. It may be asked several times for one operation. "" means the queue of the
	// workflow; so does nil.
	Queue func(*vnflcm.VnfInstance) string
	// Progress is sent to Temporal with the heartbeats. Default: only the name of the phase is sent.
	Progress *Progress
}

// Worker returns a worker that runs workflows and phases of a task queue. The caller starts it, and stops it before it closes
// the Manager, which needs a Runner. A worker that stops leaves its phases to others.
func Worker(c client.Client, queue string, m *vnflcm.Manager, o Options) worker.Worker {
	w := worker.New(c, queue, worker.Options{
		MaxConcurrentActivityExecutionSize: cmp.Or(max(o.Limit, 0), 64),
		WorkerStopTimeout:                  10 * time.Second,
		MaxHeartbeatThrottleInterval:       heartbeat / 5,
	})
	Register(w, m, o)
	return w
}

// Register adds the workflow and its activities to a worker that the caller has made. Limit has no effect; the caller sets
// WorkerStopTimeout to 10 s or more, so that steps can be interrupted in order, and MaxHeartbeatThrottleInterval to at most 3 s.
func Register(r worker.Registry, m *vnflcm.Manager, o Options) {
	a := &activities{manager: m, queue: o.Queue, progress: o.Progress}
	r.RegisterWorkflowWithOptions(run, workflow.RegisterOptions{Name: workflowName})
	r.RegisterActivityWithOptions(a.describe, activity.RegisterOptions{Name: activityDescribe})
	r.RegisterActivityWithOptions(a.runPhase, activity.RegisterOptions{Name: activityPhase})
	r.RegisterActivityWithOptions(a.cancel, activity.RegisterOptions{Name: activityCancel})
}
