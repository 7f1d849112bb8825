package vnflcm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store/storetest"
)

// exitError has the method by which the Manager recognises a failed command.
type exitError struct{ host string }

func (e *exitError) Error() string { return "kubeadm join on " + e.host + ": exit status 1" }
func (e *exitError) CommandFailure() (host, command string, exitCode int, stderr string) {
	return e.host, "kubeadm join", 1, "no route to host"
}

func TestErrorsThroughFanOutAndReload(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.create()
	x.world.failAt("instantiate_end/join/worker-0", &exitError{"10.0.0.2"})
	x.world.failAt("instantiate_end/join/worker-1", errors.Join(&exitError{"10.0.0.3"}, vnflcm.ErrNotSupported))
	occ, err := x.instantiate(id, "plain", vnflcm.FailedTemp)

	if e, ok := errors.AsType[*exitError](err); !ok || e.host != "10.0.0.2" {
		t.Errorf("errors.As in the process that ran the operation: %v", err)
	}
	if e, ok := errors.AsType[*vnflcm.StepError](err); !ok || e.Name != "join" || e.On != "worker-0" {
		t.Errorf("the step: %+v", e)
	}
	wantIs(t, err, vnflcm.ErrNotSupported)
	_, err = x.Wait(t.Context(), occ.ID) // a later call returns the same error
	if _, ok := errors.AsType[*exitError](err); !ok {
		t.Errorf("errors.As of a second Wait: %v", err)
	}

	y := x.other(nil)
	occ, err = y.wait(occ.ID, nil, vnflcm.FailedTemp)
	wantIs(t, err, vnflcm.ErrNotSupported)
	if errors.Is(err, vnflcm.ErrNotFound) {
		t.Error("errors.Is finds a code that the error does not have")
	}
	want := []vnflcm.StepFailure{
		{Phase: "instantiate_end", Step: "join", On: "worker-0", Host: "10.0.0.2", Command: "kubeadm join", ExitCode: 1,
			Stderr: "no route to host", Message: "kubeadm join on 10.0.0.2: exit status 1"},
		{Phase: "instantiate_end", Step: "join", On: "worker-1", Host: "10.0.0.3", Command: "kubeadm join", ExitCode: 1,
			Stderr: "no route to host", Message: "kubeadm join on 10.0.0.3: exit status 1\nvnflcm: not supported"},
	}
	if diff := cmp.Diff(want, occ.Error.Steps); diff != "" || occ.Error.Status != http.StatusInternalServerError {
		t.Errorf("status %d, steps:\n%s", occ.Error.Status, diff)
	}
	// Another process retries the operation, which fails with another error. The error of this process is obsolete.
	x.world.failAt("instantiate_end/join/worker-0", errCut)
	y.wait(occ.ID, y.Retry(t.Context(), occ.ID), vnflcm.FailedTemp)
	_, err = x.wait(occ.ID, nil, vnflcm.FailedTemp)
	if e, ok := errors.AsType[*exitError](err); ok {
		t.Errorf("an error of an earlier attempt: %v", e)
	}
}

// TestShutdownOfAnotherManagerIsAFailure checks that the shutdown of a second Manager, which a driver uses, is a failure of the operation.
func TestShutdownOfAnotherManagerIsAFailure(t *testing.T) {
	t.Parallel()
	for _, code := range []vnflcm.Code{vnflcm.ErrShutdown, vnflcm.ErrLeased} {
		x := newToys(t, nil)
		x.world.failAt("instantiate_end/init/", fmt.Errorf("inner: %w", code))
		opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
		must(t, err)
		poll(t, "the operation has failed", func() bool {
			occ, err := x.Operation(t.Context(), opID)
			return err == nil && occ.OperationState == vnflcm.FailedTemp
		})
		occ, err := x.Wait(t.Context(), opID)
		wantIs(t, err, code)
		if occ == nil {
			t.Errorf("%v: Wait returned no operation", code)
		}
	}
}

// TestLostFinalWrite checks an operation whose result cannot be written: Wait returns an error, and the next process ends the operation.
func TestLostFinalWrite(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	healthy := x.cfg
	fence := &storetest.Fence{Store: x.cfg.Store}
	x.cfg.Store = fence
	x.cfg.Observe = func(e vnflcm.Event) {
		if e.Kind == vnflcm.PhaseDone && e.Phase == "instantiate_end" {
			fence.Cut(true)
		}
	}
	x.start()
	opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
	must(t, err)
	if _, err = x.Wait(t.Context(), opID); !errors.Is(err, storetest.ErrCut) {
		t.Errorf("Wait: %v", err)
	}
	fence.Cut(false)
	if _, err = x.Wait(cancelled(t), opID); err == nil {
		t.Error("Wait reports a good end that was not written")
	}
	x.cfg = healthy
	x.start()
	x.wait(opID, nil, vnflcm.Completed)
}

func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestProblemOfInvalidRequest(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	x.world.failAt("instantiate_end/init/", &vnflcm.ParamError{Path: "a", Value: "v", Reason: "is bad"})
	occ, err := x.instantiate(x.create(), "plain", vnflcm.FailedTemp)
	wantIs(t, err, vnflcm.ErrInvalidRequest)
	wantIs(t, occ.Error, vnflcm.ErrInvalidRequest)
	if occ.Error.Status != http.StatusUnprocessableEntity {
		t.Errorf("status %d", occ.Error.Status)
	}
}

func TestAtPath(t *testing.T) {
	t.Parallel()
	err := vnflcm.AtPath("a.b", errors.Join(&vnflcm.ParamError{Path: "c", Reason: "x"}, errors.Join(&vnflcm.ParamError{Path: "d[0]", Reason: "y"}, errCut)))
	if diff := cmp.Diff([]string{"a.b.c", "a.b.d[0]"}, faults(err)); diff != "" || !errors.Is(err, errCut) {
		t.Errorf("%v:\n%s", err, diff)
	}
	if err := vnflcm.AtPath("a", nil); err != nil {
		t.Error(err)
	}
}

// TestEventsOfAnOperation checks the events of an operation and their order.
func TestEventsOfAnOperation(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []string
	x := newToys(t, func(cfg *vnflcm.Config) {
		cfg.Observe = func(e vnflcm.Event) {
			mu.Lock()
			defer mu.Unlock()
			text := string(e.Kind)
			switch e.Kind {
			case vnflcm.OperationChanged:
				text += " " + string(e.State)
			case vnflcm.PhaseStarted, vnflcm.PhaseDone:
				text += " " + e.Phase
			default:
				text += " " + e.Phase + "/" + e.Name + "/" + e.On + " " + e.Host + e.Message
			}
			got = append(got, text)
			if e.Time.IsZero() || e.InstanceID == "" || e.OperationID == "" || e.Operation == "" || e.State == "" {
				t.Errorf("incomplete: %+v", e)
			}
			if e.Operation == vnflcm.OpTerminate {
				t.Errorf("the event of an INSTANTIATE that is rolled back has the operation TERMINATE: %+v", e)
			}
		}
	})
	x.world.failAt("instantiate_end/init/", errCut)
	opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "undo",
		TargetScaleLevelInfo: []vnflcm.ScaleInfo{{AspectID: "workers"}}})
	x.wait(opID, err, vnflcm.FailedTemp)
	x.wait(opID, x.Rollback(t.Context(), opID), vnflcm.RolledBack)
	mu.Lock()
	defer mu.Unlock()
	want := []string{
		"operation STARTING", "operation PROCESSING",
		"phase-started instantiate",
		"step-started instantiate/create/master-0 ", "step-done instantiate/create/master-0 ",
		"step-started instantiate/create/worker-0 ", "step-done instantiate/create/worker-0 ",
		"phase-done instantiate",
		"phase-started instantiate_end",
		"step-started instantiate_end/init/ ", "step-failed instantiate_end/init/ cut off",
		"operation FAILED_TEMP", "operation ROLLING_BACK",
		"phase-started instantiate_rollback_start",
		"phase-done instantiate_rollback_start",
		"phase-started instantiate_rollback",
		"phase-done instantiate_rollback",
		"operation ROLLED_BACK",
	}
	var phases []string
	for _, e := range got { // steps of the rollback run concurrently
		if len(e) < 40 || e[:4] != "step" || !strings.Contains(e, "rollback") {
			phases = append(phases, e)
		}
	}
	if diff := cmp.Diff(want, phases); diff != "" {
		t.Errorf("events:\n%s\nall: %q", diff, got)
	}
}

// verbose fails with an error of a MiB, after it has reported and logged as much.
type verbose struct{ cluster }

func (d *verbose) Hooks() vnflcm.Hooks {
	flood := strings.Repeat("flooding words ", 1<<16)
	hooks := d.cluster.Hooks()
	hooks[vnflcm.InstantiateEnd] = func(ctx context.Context, op *vnflcm.Operation) error {
		return vnflcm.Do(ctx, op, "flood", "", func(ctx context.Context) error {
			op.Report(ctx, flood)
			op.Log.InfoContext(ctx, flood, "text", flood, "error", errors.New(flood))
			return errors.Join(errCut, &exitError{flood})
		})
	}
	return hooks
}

// TestLongErrors checks that errors, events, logs and records stay small if a driver quotes a large answer of a peer.
func TestLongErrors(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var events []string
	var log bytes.Buffer
	x := newToys(t, func(cfg *vnflcm.Config) {
		cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		cfg.Observe = func(e vnflcm.Event) {
			mu.Lock()
			defer mu.Unlock()
			events = append(events, e.Message)
		}
	})
	x.cfg.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": &verbose{cluster{world: x.world}}}
	x.start()
	occ, err := x.instantiate(x.create(), "plain", vnflcm.FailedTemp)
	wantIs(t, err, errCut)
	const limit = 40 << 10
	if n := len(err.Error()); n > limit || !strings.Contains(err.Error(), "… and more") {
		t.Errorf("the error has %d bytes", n)
	}
	document, err := json.Marshal(occ)
	must(t, err)
	if len(document) > 2*limit || len(occ.Error.Steps) != 1 || !strings.HasPrefix(occ.Error.Steps[0].Message, errCut.Error()) {
		t.Errorf("the operation has %d bytes, and %d failed steps", len(document), len(occ.Error.Steps))
	}
	mu.Lock()
	defer mu.Unlock()
	for _, message := range events {
		if len(message) > limit {
			t.Errorf("an event has %d bytes", len(message))
		}
	}
	if n := len(x.stored()); n > 4*limit {
		t.Errorf("the store has %d bytes", n)
	}
	if log.Len() > 6*limit {
		t.Errorf("the log has %d bytes", log.Len())
	}
}
