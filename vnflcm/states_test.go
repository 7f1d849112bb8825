package vnflcm_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// gate blocks its callers until it is opened or their context ends.
type gate struct {
	reached, open chan struct{}
	once          sync.Once
}

func newGate() *gate { return &gate{reached: make(chan struct{}), open: make(chan struct{})} }

func (g *gate) pass(ctx context.Context) error {
	g.once.Do(func() { close(g.reached) })
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// holdAt makes the Managers that start afterwards wait in a step.
func (x *toys) holdAt(key string) *gate {
	g := newGate()
	x.cfg.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
		if keyOf(s) == key {
			if err := g.pass(ctx); err != nil {
				return err
			}
		}
		return next(ctx)
	}
	x.start()
	return g
}

// inState creates an instance with an operation in this state. Afterwards no step fails.
func inState(t *testing.T, want vnflcm.OperationState) (x *toys, id, opID string) {
	t.Helper()
	if want == vnflcm.Starting {
		g := newGate()
		x = newToys(t, func(cfg *vnflcm.Config) {
			cfg.Granter = granter(func(ctx context.Context, _ vnflcm.GrantRequest) (*vnflcm.Grant, error) {
				return &vnflcm.Grant{}, g.pass(ctx)
			})
		})
		id = x.create()
		opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
		must(t, err)
		<-g.reached
		return x, id, opID
	}
	x = newToys(t, nil)
	if want == vnflcm.Completed {
		id = x.create()
		occ, _ := x.instantiate(id, "plain", want)
		return x, id, occ.ID
	}
	if want == vnflcm.Processing {
		g := x.holdAt("instantiate_end/init/")
		id = x.create()
		opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
		must(t, err)
		<-g.reached
		return x, id, opID
	}
	g := x.holdAt("instantiate_rollback/delete/master-0")
	if want != vnflcm.RollingBack {
		close(g.open)
	}
	id = x.create()
	x.world.failAt("instantiate_end/init/", errCut)
	occ, _ := x.instantiate(id, "plain", vnflcm.FailedTemp)
	x.world.failAt("instantiate_end/init/", nil)
	switch want {
	case vnflcm.RollingBack:
		must(t, x.Rollback(t.Context(), occ.ID))
		<-g.reached
	case vnflcm.RolledBack:
		x.wait(occ.ID, x.Rollback(t.Context(), occ.ID), want)
	case vnflcm.Failed:
		x.wait(occ.ID, x.Fail(t.Context(), occ.ID), want)
	}
	return x, id, occ.ID
}

// TestVerbsOfStates checks figure 5.6.2.2-1 of SOL003 v2.6.1: the calls that an operation allows in each state, and the resulting states.
func TestVerbsOfStates(t *testing.T) {
	t.Parallel()
	type verb func(*vnflcm.Manager, context.Context, string) error
	verbs := map[string]verb{
		"retry": (*vnflcm.Manager).Retry, "rollback": (*vnflcm.Manager).Rollback, "fail": (*vnflcm.Manager).Fail,
		"cancel gracefully": func(m *vnflcm.Manager, ctx context.Context, id string) error {
			return m.Cancel(ctx, id, vnflcm.CancelGraceful)
		},
		"cancel forcefully": func(m *vnflcm.Manager, ctx context.Context, id string) error {
			return m.Cancel(ctx, id, vnflcm.CancelForceful)
		},
	}
	allowed := map[vnflcm.OperationState]map[string]vnflcm.OperationState{
		vnflcm.Starting:    {"cancel gracefully": vnflcm.RolledBack, "cancel forcefully": vnflcm.RolledBack},
		vnflcm.Processing:  {"cancel forcefully": vnflcm.FailedTemp, "cancel gracefully": vnflcm.Processing},
		vnflcm.RollingBack: {"cancel forcefully": vnflcm.FailedTemp, "cancel gracefully": vnflcm.RollingBack},
		vnflcm.FailedTemp:  {"retry": vnflcm.Completed, "rollback": vnflcm.RolledBack, "fail": vnflcm.Failed},
		vnflcm.Completed:   {}, vnflcm.Failed: {}, vnflcm.RolledBack: {},
	}
	for from, leads := range allowed {
		for name, do := range verbs {
			t.Run(fmt.Sprintf("%s %s", from, name), func(t *testing.T) {
				t.Parallel()
				x, _, opID := inState(t, from)
				err := do(x.Manager, t.Context(), opID)
				want, ok := leads[name]
				if !ok {
					wantIs(t, err, vnflcm.ErrState)
					want = from
				} else if err != nil {
					t.Fatal(err)
				}
				if ok && want != from {
					x.wait(opID, nil, want)
				}
				occ, err := x.Operation(t.Context(), opID)
				must(t, err)
				if pending := ok && want == from; occ.OperationState != want || occ.IsCancelPending != pending {
					t.Errorf("%s, cancel pending %v; want %s, %v", occ.OperationState, occ.IsCancelPending, want, pending)
				}
			})
		}
	}
}

// TestRequestsOfInstanceStates checks which operations can begin in each state of an instance.
func TestRequestsOfInstanceStates(t *testing.T) {
	t.Parallel()
	requests := map[string]func(*toys, string) error{
		"instantiate": func(x *toys, id string) error {
			_, err := x.Instantiate(x.t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
			return err
		},
		"scale": func(x *toys, id string) error {
			_, err := x.Scale(x.t.Context(), id, scale(vnflcm.ScaleOut, 1))
			return err
		},
		"heal": func(x *toys, id string) error {
			_, err := x.Heal(x.t.Context(), id, vnflcm.HealVnfRequest{})
			return err
		},
		"terminate": func(x *toys, id string) error { _, err := scenarios[5].begin(x, id); return err },
		"delete":    func(x *toys, id string) error { return x.Delete(x.t.Context(), id, "") },
	}
	fresh := map[string]bool{"instantiate": true, "delete": true}
	running := map[string]bool{"scale": true, "heal": true, "terminate": true}
	for state, allowed := range map[vnflcm.OperationState]map[string]bool{
		vnflcm.RolledBack: fresh, vnflcm.Completed: running, vnflcm.Failed: running,
		vnflcm.Starting: nil, vnflcm.Processing: nil, vnflcm.FailedTemp: nil, vnflcm.RollingBack: nil, // locked
	} {
		for name, request := range requests {
			t.Run(fmt.Sprintf("%s %s", state, name), func(t *testing.T) {
				t.Parallel()
				x, id, _ := inState(t, state)
				err := request(x, id)
				switch {
				case allowed[name]:
					must(t, err)
				case allowed == nil:
					wantIs(t, err, vnflcm.ErrConflict)
				default:
					wantIs(t, err, vnflcm.ErrState)
				}
			})
		}
	}
}

func TestUnknownIDs(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	ctx := t.Context()
	for name, do := range map[string]func() error{
		"get":       func() error { _, err := x.Get(ctx, "x"); return err },
		"scale":     func() error { _, err := x.Scale(ctx, "x", scale(vnflcm.ScaleOut, 1)); return err },
		"delete":    func() error { return x.Delete(ctx, "x", "") },
		"operation": func() error { _, err := x.Operation(ctx, "x"); return err },
		"wait":      func() error { _, err := x.Wait(ctx, "x"); return err },
		"retry":     func() error { return x.Retry(ctx, "x") },
		"cancel":    func() error { return x.Cancel(ctx, "x", vnflcm.CancelForceful) },
	} {
		if err := do(); !errors.Is(err, vnflcm.ErrNotFound) {
			t.Errorf("%s: %v, want ErrNotFound", name, err)
		}
	}
	_, _, opID := inState(t, vnflcm.Completed)
	wantIs(t, x.Cancel(ctx, opID, "SOMEHOW"), vnflcm.ErrNotFound)
	y, _, opID := inState(t, vnflcm.Processing)
	wantIs(t, y.Cancel(ctx, opID, "SOMEHOW"), vnflcm.ErrInvalidRequest)
}

// TestOneOperationAtATime sends eight concurrent requests for an instance. One is accepted; the other seven fail with ErrConflict and
// leave no records.
func TestOneOperationAtATime(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) store.Store{
		"memory": func(*testing.T) store.Store { return store.NewMemory() }, "sqlite": openSQLite,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, func(cfg *vnflcm.Config) { cfg.Store = open(t) })
			id := x.instantiated("plain")
			g := x.holdAt("heal_start/leave/worker-0")
			var mu sync.Mutex
			var accepted []string
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					opID, err := x.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{"worker-0"}})
					if err != nil {
						wantIs(t, err, vnflcm.ErrConflict)
						return
					}
					mu.Lock()
					defer mu.Unlock()
					accepted = append(accepted, opID)
				})
			}
			wg.Wait()
			close(g.open)
			if len(accepted) != 1 {
				t.Fatalf("%d requests were accepted, want 1", len(accepted))
			}
			x.wait(accepted[0], nil, vnflcm.Completed)
			operations, err := x.Operations(t.Context(), vnflcm.OperationQuery{InstanceID: id})
			must(t, err)
			leases, err := x.cfg.Store.List(t.Context(), store.Query{Kind: "claim"})
			must(t, err)
			if len(operations.Items) != 2 || len(leases) != 0 {
				t.Errorf("%d operations and %d leases, want 2 and 0", len(operations.Items), len(leases))
			}
		})
	}
}

// TestRetryRunsOnlyWhatIsMissing checks that a retry does not repeat completed steps (SOL003 v2.6.1 5.4.14).
func TestRetryRunsOnlyWhatIsMissing(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.create()
	x.world.failAt("instantiate_end/join/worker-1", errCut)
	occ, _ := x.instantiate(id, "plain", vnflcm.FailedTemp)
	occ, _ = x.wait(occ.ID, x.Retry(t.Context(), occ.ID), vnflcm.FailedTemp)
	x.world.failAt("instantiate_end/join/worker-1", nil)
	x.wait(occ.ID, x.Retry(t.Context(), occ.ID), vnflcm.Completed)
	for key, n := range x.world.done {
		if n != 1 {
			t.Errorf("%s ran %d times", key, n)
		}
	}
	if inst := x.get(id); inst.InstantiationState != vnflcm.Instantiated {
		t.Errorf("the instance is %s", inst.InstantiationState)
	}
}

// TestVerbsInARow calls retry, rollback and fail immediately after the state is announced, and twice. The work of one call must not be
// mistaken for that of the next, and a refused call must not disturb running work.
func TestVerbsInARow(t *testing.T) {
	t.Parallel()
	failed := make(chan string, 100)
	x := newToys(t, func(cfg *vnflcm.Config) {
		cfg.Observe = func(e vnflcm.Event) {
			if e.Kind == vnflcm.OperationChanged && e.State == vnflcm.FailedTemp {
				failed <- e.OperationID
			}
		}
	})
	id := x.create()
	x.world.failAt("instantiate_end/init/", errCut)
	opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
	must(t, err)
	for range 20 {
		<-failed
		var wg sync.WaitGroup
		var mu sync.Mutex
		var accepted int
		for range 3 {
			wg.Go(func() {
				err := x.Retry(t.Context(), opID)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					accepted++
				}
			})
		}
		wg.Wait()
		if accepted == 0 {
			t.Fatal("no retry was accepted")
		}
		for range accepted - 1 {
			<-failed // a retry that was called after the first retry had failed
		}
	}
	<-failed
	x.wait(opID, nil, vnflcm.FailedTemp)
	x.world.failAt("instantiate_end/init/", nil)
	x.wait(opID, x.Retry(t.Context(), opID), vnflcm.Completed)
}

// TestRefusedVerbLeavesTheWorkAlone checks that a refused call does not take the lease of the running operation.
func TestRefusedVerbLeavesTheWorkAlone(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newToys(t, func(cfg *vnflcm.Config) { cfg.LeaseTTL = shortTTL })
		g := x.holdAt("instantiate_end/init/")
		opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
		must(t, err)
		<-g.reached
		wantIs(t, x.Fail(t.Context(), opID), vnflcm.ErrState)
		wantIs(t, x.Retry(t.Context(), opID), vnflcm.ErrState)
		x.renewals(3)
		close(g.open)
		x.wait(opID, nil, vnflcm.Completed)
	})
}

// TestFailShowsWhatIsLeft checks that after Fail the document of the instance has the resources that exist in the VIM.
func TestFailShowsWhatIsLeft(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.create()
	x.world.failAt("instantiate/create/worker-0", errCut)
	occ, _ := x.instantiate(id, "plain", vnflcm.FailedTemp)
	x.wait(occ.ID, x.Fail(t.Context(), occ.ID), vnflcm.Failed)
	inst := x.get(id)
	if inst.InstantiationState != vnflcm.Instantiated || len(inst.InstantiatedVnfInfo.VnfcResourceInfo) != 1 {
		t.Errorf("the instance: %+v", inst.InstantiatedVnfInfo)
	}
	x.world.failAt("instantiate/create/worker-0", nil)
	opID, err := scenarios[5].begin(x, id)
	x.wait(opID, err, vnflcm.Completed)
	if n := len(x.world.state(id).Machines); n != 0 {
		t.Errorf("%d machines are left", n)
	}
}

// TestCancelModes checks that a graceful cancel finishes the running steps, and that a forceful cancel interrupts them.
func TestCancelModes(t *testing.T) {
	t.Parallel()
	for mode, want := range map[vnflcm.CancelMode]map[string]int{
		vnflcm.CancelGraceful: {"instantiate_end/init/": 1}, vnflcm.CancelForceful: {"instantiate_end/init/": 0},
	} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			x := newToys(t, nil)
			g := x.holdAt("instantiate_end/init/")
			opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
			must(t, err)
			<-g.reached
			must(t, x.Cancel(t.Context(), opID, mode))
			occ, err := x.Operation(t.Context(), opID)
			must(t, err)
			if mode == vnflcm.CancelGraceful && (!occ.IsCancelPending || occ.CancelMode != mode) {
				t.Errorf("the cancel does not show: %+v", occ)
			}
			if mode == vnflcm.CancelGraceful {
				close(g.open)
			}
			_, err = x.wait(opID, nil, vnflcm.FailedTemp)
			wantIs(t, err, vnflcm.ErrCancelled)
			if n := x.world.done["instantiate_end/init/"]; n != want["instantiate_end/init/"] {
				t.Errorf("the step under way finished %d times", n)
			}
			if n := x.world.done["instantiate_end/join/master-0"]; n != 0 {
				t.Error("a further step started")
			}
			x.cfg.Intercept = nil
			x.start()
			occ, _ = x.wait(opID, x.Retry(t.Context(), opID), vnflcm.Completed) // the earlier cancel does not apply to the retry
			if occ.IsCancelPending {
				t.Error("a cancel is pending for a completed operation")
			}
		})
	}
}

// TestCancelRacesWithTheEnd checks that a cancel at the end of an operation, before or after it, does not remain for a later attempt.
func TestCancelRacesWithTheEnd(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.instantiated("plain")
	for range 20 {
		opID, err := x.Heal(t.Context(), id, vnflcm.HealVnfRequest{})
		must(t, err)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if err := x.Cancel(t.Context(), opID, vnflcm.CancelGraceful); err != nil && !errors.Is(err, vnflcm.ErrState) {
					t.Errorf("Cancel: %v", err)
				}
			})
		}
		wg.Wait()
		occ, err := x.Wait(t.Context(), opID)
		if occ == nil {
			t.Fatal(err)
		}
		if occ.OperationState == vnflcm.FailedTemp {
			x.wait(opID, x.Retry(t.Context(), opID), vnflcm.Completed)
		}
		left, err := x.cfg.Store.List(t.Context(), store.Query{Kind: "cancel"})
		if err != nil || len(left) > 0 {
			t.Fatalf("%d requests to cancel are left (%v)", len(left), err)
		}
	}
}

func TestWaitSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x, _, opID := inState(t, vnflcm.Processing)
		for name, m := range map[string]*vnflcm.Manager{"the process at work": x.Manager, "another": x.other(nil).Manager} {
			for _, patience := range []time.Duration{0, 20 * time.Millisecond} { // the operation ends before the cancel, or between two polls
				ctx, cancel := context.WithTimeoutCause(t.Context(), patience, errCut)
				_, err := m.Wait(ctx, opID)
				cancel()
				if !errors.Is(err, errCut) || !strings.Contains(err.Error(), opID) {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	})
}
