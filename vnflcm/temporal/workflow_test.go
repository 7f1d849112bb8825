package temporal_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/vnfkit/vnfkit/internal/fleettest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/temporal"
)

// started is a Runner that only notes the operations to start.
type started struct {
	mu  sync.Mutex
	ids []string
}

func (s *started) Start(_ context.Context, operationID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids = append(s.ids, operationID)
	return nil
}

// newVNFM composes a Manager whose operations the test runs. change may alter the composition.
func newVNFM(t *testing.T, change func(*vnflcm.Config)) *vnflcm.Manager {
	t.Helper()
	cfg := fleettest.Config(t.TempDir(), store.NewMemory(), "test")
	cfg.Runner, cfg.LeaseTTL = new(started), time.Hour // a busy machine keeps its lease
	if change != nil {
		change(&cfg)
	}
	m, err := vnflcm.New(t.Context(), cfg)
	must(t, err)
	t.Cleanup(func() { must(t, m.Close(context.WithoutCancel(t.Context()))) })
	return m
}

// instantiate accepts the instantiation of a new VNF.
func instantiate(t *testing.T, m *vnflcm.Manager) (operationID string) {
	t.Helper()
	inst, err := m.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: fleettest.VNFD})
	must(t, err)
	operationID, err = fleettest.Instantiate(t.Context(), m, inst.ID)
	must(t, err)
	return operationID
}

// workflowOf prepares the workflow of an operation in Temporal's own test environment, without a server. Its limits of real time, one
// second for a step of the workflow and three for all of it, are too short for a busy machine.
func workflowOf(m *vnflcm.Manager, o temporal.Options) *testsuite.TestWorkflowEnvironment {
	suite := new(testsuite.WorkflowTestSuite)
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute})
	env.SetTestTimeout(time.Minute)
	temporal.Register(env, m, o)
	return env
}

// runs the workflow of an operation to its end.
func runs(env *testsuite.TestWorkflowEnvironment, operationID string) error {
	env.ExecuteWorkflow("vnflcm.operation", map[string]string{"id": operationID})
	return env.GetWorkflowError()
}

func wantState(t *testing.T, m *vnflcm.Manager, operationID string, want vnflcm.OperationState) {
	t.Helper()
	occ, err := m.Operation(t.Context(), operationID)
	if err != nil || occ.OperationState != want {
		t.Errorf("the operation is %s (%v), want %s", occ.OperationState, err, want)
	}
}

// TestWorkflow runs an operation: a phase after the other, each in the queue of its VIM.
func TestWorkflow(t *testing.T) {
	t.Parallel()
	m := newVNFM(t, nil)
	opID := instantiate(t, m)
	env := workflowOf(m, temporal.Options{Queue: func(inst *vnflcm.VnfInstance) string { return "site-" + inst.VimConnectionInfo[0].VimType }})
	var phases []string
	env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, args converter.EncodedValues) {
		var given struct{ Name string }
		if err := args.Get(&given); err != nil {
			t.Error(err)
		}
		phases = append(phases, info.TaskQueue+" "+given.Name)
	})
	must(t, runs(env, opID))
	var want []string
	for _, phase := range []string{"", "instantiate_start", "instantiate", "instantiate_end", "end"} { // "": the phase that is due
		want = append(want, "site-disk "+phase)
	}
	if diff := cmp.Diff(want, phases); diff != "" {
		t.Error(diff)
	}
	wantState(t, m, opID, vnflcm.Completed)
	must(t, runs(workflowOf(m, temporal.Options{}), opID)) // of an operation that has ended
}

// TestFailedWorkflow: an operation in FAILED_TEMP fails its workflow, which says nothing of the reason. After a retry another
// workflow completes the operation.
func TestFailedWorkflow(t *testing.T) {
	t.Parallel()
	var broken = errors.New("the cloud quotes password hunter2")
	m := newVNFM(t, func(c *vnflcm.Config) {
		c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			if s.On == "worker-3" && broken != nil {
				return broken
			}
			return next(ctx)
		}
	})
	opID := instantiate(t, m)
	err := runs(workflowOf(m, temporal.Options{}), opID)
	failed, ok := errors.AsType[*sdk.ApplicationError](err)
	if !ok || failed.Type() != "FAILED_TEMP" || !failed.NonRetryable() || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the workflow ended with %v", err)
	}
	wantState(t, m, opID, vnflcm.FailedTemp)
	broken = nil
	must(t, m.Retry(t.Context(), opID))
	must(t, runs(workflowOf(m, temporal.Options{}), opID))
	wantState(t, m, opID, vnflcm.Completed)
}

// TestStartedAgain starts an operation again while it runs: before the workflow ends, it looks at the operation once more.
func TestStartedAgain(t *testing.T) {
	t.Parallel()
	reached, told := make(chan struct{}), make(chan struct{})
	var once sync.Once
	m := newVNFM(t, func(c *vnflcm.Config) {
		c.Intercept = func(ctx context.Context, _ vnflcm.StepInfo, next func(context.Context) error) error {
			once.Do(func() { close(reached); <-told })
			return next(ctx)
		}
	})
	opID := instantiate(t, m)
	env := workflowOf(m, temporal.Options{})
	go func() {
		<-reached
		env.SignalWorkflow("start", nil) // as Runner does
		close(told)
	}()
	looked := 0
	env.SetOnLocalActivityStartedListener(func(info *activity.Info, _ context.Context, _ []any) {
		if info.ActivityType.Name == "vnflcm.describe" {
			looked++
		}
	})
	must(t, runs(env, opID))
	if looked != 3 { // before and after its phases, and once more
		t.Errorf("the workflow looked at its operation %d times", looked)
	}
	wantState(t, m, opID, vnflcm.Completed)
}

// TestCancel cancels an operation by the signal, and by the cancellation of its workflow.
func TestCancel(t *testing.T) {
	t.Parallel()
	cancels := map[string]func(*testsuite.TestWorkflowEnvironment){
		"signal": func(env *testsuite.TestWorkflowEnvironment) {
			env.SignalWorkflow(temporal.SignalCancel, vnflcm.CancelForceful)
		},
		"cancellation": func(env *testsuite.TestWorkflowEnvironment) { env.CancelWorkflow() },
		"unknown mode, then another": func(env *testsuite.TestWorkflowEnvironment) {
			env.SignalWorkflow(temporal.SignalCancel, "GENTLE")
			env.SignalWorkflow(temporal.SignalCancel, vnflcm.CancelGraceful)
		},
	}
	for name, cancel := range cancels {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reached := make(chan struct{})
			var once sync.Once
			m := newVNFM(t, func(c *vnflcm.Config) {
				c.Intercept = func(ctx context.Context, _ vnflcm.StepInfo, next func(context.Context) error) error {
					once.Do(func() {
						close(reached)
						for asked := []store.Record(nil); len(asked) == 0 && ctx.Err() == nil; {
							time.Sleep(time.Millisecond)
							asked, _ = c.Store.List(context.WithoutCancel(ctx), store.Query{Kind: "cancel"})
						}
					})
					return next(ctx)
				}
			})
			opID := instantiate(t, m)
			env := workflowOf(m, temporal.Options{})
			go func() {
				<-reached
				cancel(env)
			}()
			err := runs(env, opID)
			if failed, ok := errors.AsType[*sdk.ApplicationError](err); !ok || failed.Type() != "FAILED_TEMP" {
				t.Errorf("the workflow ended with %v", err)
			}
			occ, err := m.Operation(t.Context(), opID)
			must(t, err)
			if occ.Error == nil || !strings.Contains(occ.Error.Detail, "cancel") {
				t.Errorf("the operation ended with %+v", occ.Error)
			}
		})
	}
}

// TestProgress reads the heartbeats of a phase, whose fourth step takes until one has the three steps before.
func TestProgress(t *testing.T) {
	t.Parallel()
	progress, said := new(temporal.Progress), make(chan map[string]any, 1)
	var got map[string]any
	m := newVNFM(t, func(c *vnflcm.Config) {
		c.Observe = progress.Observe
		c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			if s.On == "worker-3" {
				for got = <-said; got["stepsDone"] != 3.0; {
					got = <-said
				}
			}
			return next(ctx)
		}
	})
	env := workflowOf(m, temporal.Options{Progress: progress})
	env.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) {
		var progress map[string]any
		if err := details.Get(&progress); err != nil {
			t.Error(err)
		}
		said <- progress
	})
	must(t, runs(env, instantiate(t, m)))
	if diff := cmp.Diff(map[string]any{"phase": "instantiate", "stepsDone": 3.0, "stepsRunning": 1.0}, got); diff != "" {
		t.Error(diff)
	}
}

// TestUnknownOperation: the store was replaced.
func TestUnknownOperation(t *testing.T) {
	t.Parallel()
	err := runs(workflowOf(newVNFM(t, nil), temporal.Options{}), "no-such-operation")
	if failed, ok := errors.AsType[*sdk.ApplicationError](err); !ok || failed.Type() != "NOT_FOUND" {
		t.Errorf("the workflow ended with %v", err)
	}
}
