//go:build unix

package temporal_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	sdk "go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/vnfkit/vnfkit/internal/fleettest"
	"github.com/vnfkit/vnfkit/internal/pgtest"
	"github.com/vnfkit/vnfkit/internal/temporaltest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/postgres"
	"github.com/vnfkit/vnfkit/vnflcm/temporal"
)

const queue = "vnfm"

// engine is a Temporal server, a database, and the process that takes requests.
type engine struct {
	*vnflcm.Manager
	server   *temporaltest.Server
	client   client.Client
	store    *postgres.Store
	dir, dsn string
}

func newEngine(t *testing.T) *engine {
	t.Helper()
	e := &engine{server: temporaltest.Start(t), dir: t.TempDir(), dsn: pgtest.Start(t).NewDatabase(t)}
	e.client = e.server.Dial(t)
	for range 2 { // the second time they exist
		must(t, temporal.CreateAttributes(t.Context(), e.client, temporaltest.Namespace))
	}
	var err error
	e.store, err = postgres.Open(t.Context(), e.dsn, postgres.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, e.store.Close()) })
	cfg := fleettest.Config(e.dir, e.store, "api")
	cfg.AcceptOnly, cfg.Runner = true, temporal.Runner(e.client, queue)
	e.Manager, err = vnflcm.New(t.Context(), cfg)
	must(t, err)
	t.Cleanup(func() { must(t, e.Close(context.WithoutCancel(t.Context()))) })
	return e
}

// worker starts a process that works.
func (e *engine) worker(t *testing.T, name string) *fleettest.Process {
	return fleettest.Start(t, e.dir, name, nil, "VNFKIT_PROCESS_DSN="+e.dsn, "VNFKIT_PROCESS_TEMPORAL="+e.server.Address)
}

// serveProcess is a process that works until its standard input ends.
func serveProcess(name, dir string) error {
	ctx := context.Background()
	c, err := client.NewLazyClient(client.Options{HostPort: os.Getenv("VNFKIT_PROCESS_TEMPORAL"), Namespace: temporaltest.Namespace, Identity: name,
		Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		return err
	}
	defer c.Close()
	store, err := eventually(func() (*postgres.Store, error) {
		return postgres.Open(ctx, os.Getenv("VNFKIT_PROCESS_DSN"), postgres.Options{})
	})
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	progress := new(temporal.Progress)
	cfg := fleettest.Config(dir, store, name)
	cfg.Runner, cfg.Observe = temporal.Runner(c, queue), progress.Observe
	m, err := vnflcm.New(ctx, cfg)
	if err != nil {
		return err
	}
	w, err := eventually(func() (interface{ Stop() }, error) {
		w := temporal.Worker(c, queue, m, temporal.Options{Progress: progress})
		return w, w.Start()
	})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	w.Stop()
	return m.Close(ctx)
}

// patience bounds the wait for what must happen. Temporal notices after 15 s that a process has died, and tries again within 15 s.
const patience = 3 * time.Minute

// eventually tries until it succeeds: the servers restart meanwhile.
func eventually[T any](try func() (T, error)) (out T, err error) {
	for deadline := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		if out, err = try(); err == nil || time.Now().After(deadline) {
			return out, err
		}
	}
}

// TestFleet has four processes run 500 operations (or VNFKIT_FLEET_OPERATIONS) as workflows. Meanwhile the processes are killed and
// stopped at random, and the Temporal server is killed twice. Every operation ends once.
func TestFleet(t *testing.T) {
	n, err := strconv.Atoi(cmp.Or(os.Getenv("VNFKIT_FLEET_OPERATIONS"), "500"))
	must(t, err)
	e := newEngine(t)
	f := fleettest.StartFleet(func(name string) *fleettest.Process { return e.worker(t, name) })
	during := time.Duration(n) * 200 * time.Millisecond
	ctx, stop := context.WithTimeout(t.Context(), during)
	defer stop()
	var disturbing sync.WaitGroup
	disturbing.Go(func() { f.Disturb(ctx) })
	disturbing.Go(func() {
		for range 2 {
			<-time.After(during/4 + time.Duration(rand.Int64N(int64(during/4)))) //nolint:gosec // a time, no secret
			e.server.Kill()
			<-time.After(3 * time.Second)
			e.server.Continue(t)
		}
	})
	began := time.Now()
	accepted := fleettest.AcceptMany(t, e.Manager, n, during)
	disturbing.Wait()
	fleettest.AwaitEnds(t, e.Manager, 5*time.Minute)
	t.Logf("%d operations ended within %s; %d processes killed, %d stopped", len(accepted), time.Since(began).Round(time.Second), f.Killed, f.Stopped)
	fleettest.CheckFeed(t, e.Manager, accepted)
	fleettest.CheckLog(t, e.dir)
	e.awaitWorkflows(t, n)
	f.End()
	for _, kind := range []string{"claim", "step", "cancel"} {
		if left, err := e.store.List(t.Context(), store.Query{Kind: kind}); err != nil || len(left) > 0 {
			t.Errorf("%d records of kind %s are left (%v)", len(left), kind, err)
		}
	}
}

// awaitWorkflows waits until Temporal lists so many workflows by the state of their operation, and none that is in another state.
// An operation can have a second one, which began when the operation had just ended, and did nothing.
func (e *engine) awaitWorkflows(t *testing.T, n int) {
	t.Helper()
	count := func(query string) int64 {
		found, err := e.client.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Namespace: temporaltest.Namespace, Query: query})
		must(t, err)
		return found.Count
	}
	_, err := eventually(func() (any, error) {
		all, done := count(""), count("ExecutionStatus = 'Completed' AND VnfOperationState = 'COMPLETED'")
		if int(all) < n || all != done {
			return nil, fmt.Errorf("%d of %d workflows are completed, want %d", done, all, n)
		}
		t.Logf("%d workflows", all)
		return nil, nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestTakeover kills the process that runs a phase, and tells how long it takes until another one begins the next step.
func TestTakeover(t *testing.T) {
	e := newEngine(t)
	first := e.worker(t, "first")
	operationID := instantiate(t, e.Manager)
	await := func(process string) {
		t.Helper()
		for deadline := time.Now().Add(patience); !fleettest.Began(e.dir, process); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("process %s begins no step", process)
			}
		}
	}
	await("first")
	first.Signal(syscall.SIGKILL)
	killed := time.Now()
	e.record(t, "running", operationID)
	second := e.worker(t, "second")
	await("second")
	t.Logf("another process began a step %s after the first was killed", time.Since(killed).Round(100*time.Millisecond))
	wait(t, e.Manager, operationID, vnflcm.Completed)
	second.End()
	fleettest.CheckLog(t, e.dir)
}

// TestRetriedAtOnce retries operations as soon as they are in FAILED_TEMP, while their workflows may not have ended. The TTL
// is so long that the Manager does not start the workflows again by itself.
func TestRetriedAtOnce(t *testing.T) {
	e := newEngine(t)
	var mu sync.Mutex
	failed := map[string]bool{}
	cfg := fleettest.Config(e.dir, e.store, "worker")
	cfg.LeaseTTL, cfg.Runner = time.Hour, temporal.Runner(e.client, queue)
	cfg.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
		mu.Lock()
		defer mu.Unlock()
		if !failed[s.OperationID] {
			failed[s.OperationID] = true
			return errors.New("the first attempt fails")
		}
		return next(ctx)
	}
	m, err := vnflcm.New(t.Context(), cfg)
	must(t, err)
	defer func() { must(t, m.Close(context.WithoutCancel(t.Context()))) }()
	w := temporal.Worker(e.client, queue, m, temporal.Options{})
	must(t, w.Start())
	defer w.Stop()
	for range 10 {
		operationID := instantiate(t, m)
		wait(t, m, operationID, vnflcm.FailedTemp)
		must(t, m.Retry(t.Context(), operationID))
		wait(t, m, operationID, vnflcm.Completed)
		must(t, e.client.GetWorkflow(t.Context(), temporal.WorkflowID(operationID), "").Get(t.Context(), nil))
		e.record(t, "completed", operationID)
	}
	operationID := instantiate(t, m)
	err = e.client.GetWorkflow(t.Context(), temporal.WorkflowID(operationID), "").Get(t.Context(), nil)
	if failed, ok := errors.AsType[*sdk.ApplicationError](err); !ok || failed.Type() != "FAILED_TEMP" {
		t.Errorf("the workflow of an operation that is not retried ended with %v", err)
	}
	e.record(t, "failed", operationID)
}

// record writes the history of an operation's workflow into the folder that VNFKIT_RECORD_HISTORIES names, for TestReplay.
func (e *engine) record(t *testing.T, name, operationID string) {
	t.Helper()
	dir := os.Getenv("VNFKIT_RECORD_HISTORIES")
	if dir == "" {
		return
	}
	whole := new(history.History)
	events := e.client.GetWorkflowHistory(t.Context(), temporal.WorkflowID(operationID), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		must(t, err)
		whole.Events = append(whole.Events, event)
	}
	text, err := protojson.Marshal(whole)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, name+".json"), text, 0o600))
}

func wait(t *testing.T, m *vnflcm.Manager, operationID string, want vnflcm.OperationState) {
	t.Helper()
	ctx, done := context.WithTimeout(t.Context(), patience)
	defer done()
	if occ, err := m.Wait(ctx, operationID); occ == nil || occ.OperationState != want {
		t.Fatalf("the operation is %+v (%v), want %s", occ, err, want)
	}
}
