package vnflcm_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/storetest"
)

// engine is a Runner that stores the operations to start, as a workflow engine does.
type engine struct {
	mu      sync.Mutex
	started []string
	err     error
}

func (e *engine) Start(_ context.Context, opID string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.started = append(e.started, opID)
	return e.err
}

func (e *engine) starts() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.started...)
}

// workers returns n processes that run phases for an engine.
func workers(t *testing.T, n int) (*engine, []*toys) {
	t.Helper()
	e := &engine{}
	x := newToys(t, func(c *vnflcm.Config) { c.Runner, c.LeaseTTL = e, shortTTL })
	out := []*toys{x}
	for range n - 1 {
		out = append(out, x.other(nil))
	}
	return e, out
}

// runPhases runs an operation to its end. It runs each phase twice, and in the next process.
func runPhases(t *testing.T, opID string, processes []*toys) (phases []string, err error) {
	t.Helper()
	for phase, n := vnflcm.PhaseBegin, 0; phase != ""; n++ {
		if n > 20 {
			t.Fatalf("the operation does not end: %q", phases)
		}
		phases = append(phases, phase)
		next, err := processes[n%len(processes)].RunPhase(t.Context(), opID, phase)
		again, errAgain := processes[(n+1)%len(processes)].RunPhase(t.Context(), opID, phase)
		if again != next || (err == nil) != (errAgain == nil) {
			t.Errorf("phase %s leads to %q (%v), and to %q (%v) in a second run", phase, next, err, again, errAgain)
		}
		if err != nil {
			return phases, err
		}
		phase = next
	}
	return phases, nil
}

// TestAcceptOnlyWithRunner checks that a process with AcceptOnly starts its operations by its Runner.
func TestAcceptOnlyWithRunner(t *testing.T) {
	t.Parallel()
	e := &engine{}
	x := newToys(t, func(c *vnflcm.Config) { c.Runner, c.AcceptOnly = e, true })
	opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
	must(t, err)
	if diff := cmp.Diff([]string{opID}, e.starts()); diff != "" {
		t.Errorf("operations that the engine has to start:\n%s", diff)
	}
}

func TestRunPhase(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		engine, w := workers(t, 3)
		x := w[0]
		id := x.create()
		opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
		must(t, err)
		if diff := cmp.Diff([]string{opID}, engine.starts()); diff != "" {
			t.Errorf("operations that the engine has to start:\n%s", diff)
		}
		next, err := x.RunPhase(t.Context(), opID, "instantiate")
		if wantIs(t, err, vnflcm.ErrState); next != vnflcm.PhaseBegin {
			t.Errorf("%s is due", next)
		}
		phases, err := runPhases(t, opID, w)
		must(t, err)
		want := []string{"begin", "instantiate_start", "instantiate", "instantiate_end", "end"}
		if diff := cmp.Diff(want, phases); diff != "" {
			t.Error(diff)
		}
		x.wait(opID, nil, vnflcm.Completed)
		undisturbed := newToys(t, nil)
		other := undisturbed.instantiated("plain")
		if diff := cmp.Diff(undisturbed.world.state(other), x.world.state(id)); diff != "" {
			t.Errorf("the world differs from a run without an engine:\n%s", diff)
		}
		for _, kind := range []string{"claim", "step", "cancel"} {
			if left, err := x.cfg.Store.List(t.Context(), store.Query{Kind: kind}); len(left) > 0 || err != nil {
				t.Errorf("%d records of kind %s are left, %v", len(left), kind, err)
			}
		}

		x.world.failAt("scale_end/join/worker-2", errCut)
		opID, err = x.Scale(t.Context(), id, scale(vnflcm.ScaleOut, 1))
		must(t, err)
		_, err = runPhases(t, opID, w)
		if err == nil || errors.Is(err, vnflcm.ErrLeased) {
			t.Errorf("the failure: %v", err)
		}
		x.world.failAt("scale_end/join/worker-2", nil)
		must(t, w[1].Retry(t.Context(), opID))
		if starts := engine.starts(); starts[len(starts)-1] != opID || len(starts) != 3 {
			t.Errorf("the engine got %v", starts)
		}
		for phase := "scale_end"; phase != ""; {
			phase, err = w[2].RunPhase(t.Context(), opID, phase)
			must(t, err)
		}
		x.wait(opID, nil, vnflcm.Completed)
	})
}

// TestRunPhaseElsewhere runs a phase that another process is running. The call must be refused while the lease of this process is valid,
// and continue the phase after the process has lost the store for longer than its lease.
func TestRunPhaseElsewhere(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		_, w := workers(t, 1)
		x := w[0]
		fence := &storetest.Fence{Store: x.cfg.Store}
		y := x.other(nil)
		x.cfg.Store = fence
		g := x.holdAt("instantiate_end/init/")
		opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
		must(t, err)
		for _, phase := range []string{"begin", "instantiate_start", "instantiate"} {
			_, err := x.RunPhase(t.Context(), opID, phase)
			must(t, err)
		}
		first := make(chan error, 1)
		go func() {
			_, err := x.RunPhase(t.Context(), opID, "instantiate_end")
			first <- err
		}()
		<-g.reached
		for range 2 {
			for _, p := range []*toys{x, y} {
				next, err := p.RunPhase(t.Context(), opID, "instantiate_end")
				if wantIs(t, err, vnflcm.ErrLeased); next != "instantiate_end" {
					t.Errorf("next is %q", next)
				}
			}
			x.renewals(5) // longer than the TTL
		}
		fence.Cut(true)
		poll(t, "the other process continues the phase", func() bool {
			next, err := y.RunPhase(t.Context(), opID, "instantiate_end")
			if err != nil {
				wantIs(t, err, vnflcm.ErrLeased)
				return false
			}
			return next == vnflcm.PhaseEnd
		})
		fence.Cut(false)
		close(g.open)
		wantIs(t, <-first, vnflcm.ErrLeased)
		_, err = y.RunPhase(t.Context(), opID, "")
		must(t, err)
		y.wait(opID, nil, vnflcm.Completed)

		fence.Cut(true)
		poll(t, "the record of the process that is gone is removed", func() bool {
			left, err := y.cfg.Store.List(t.Context(), store.Query{Kind: "process"})
			return err == nil && len(left) == 1
		})
	})
}

// TestRunPhaseInterrupted ends the context of a phase, and cancels the operation of another.
func TestRunPhaseInterrupted(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		_, w := workers(t, 2)
		x, y := w[0], w[1]
		opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
		must(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		next, err := x.RunPhase(ctx, opID, "begin")
		if wantIs(t, err, vnflcm.ErrShutdown); next != "begin" {
			t.Errorf("next is %q", next)
		}
		next, err = y.RunPhase(t.Context(), opID, "begin")
		if must(t, err); next != "instantiate_start" {
			t.Errorf("next is %q", next)
		}
		must(t, x.Cancel(t.Context(), opID, vnflcm.CancelGraceful))
		next, err = y.RunPhase(t.Context(), opID, next)
		if wantIs(t, err, vnflcm.ErrCancelled); next != "" {
			t.Errorf("next is %q", next)
		}
		_, err = x.wait(opID, nil, vnflcm.FailedTemp)
		wantIs(t, err, vnflcm.ErrCancelled)
	})
}

// TestRunnerIsToldAgain checks that an operation whose Start failed, or which the Runner has lost, is started again.
func TestRunnerIsToldAgain(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		e := &engine{err: errors.New("the engine is away")}
		x := newToys(t, func(c *vnflcm.Config) { c.Runner, c.LeaseTTL = e, 200*time.Millisecond })
		opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
		must(t, err)
		poll(t, "the Runner is told again", func() bool { return len(e.starts()) >= 3 })
		for _, id := range e.starts() {
			if id != opID {
				t.Errorf("the Runner got %s", id)
			}
		}
		alone := newToys(t, nil)
		_, err = alone.RunPhase(t.Context(), opID, "")
		wantIs(t, err, vnflcm.ErrProgramming)
	})
}
