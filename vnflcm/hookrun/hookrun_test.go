package hookrun_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/crashtest"
	"github.com/vnfkit/vnfkit/vnflcm/hookrun"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
)

// reveal is a result with its secrets, which print as ***.
func reveal(t testing.TB, r hookrun.Result) string {
	t.Helper()
	text, err := vnflcm.RevealJSON(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const wantResult = `{"published":{"vm0":{"address":"192.0.2.1"}},"vims":[{"vimId":"cluster-vnf-1","vimType":"kubernetes","accessInfo":{"bearer_token":"` + canary + `"}}]}`

// count returns how many records there are of each kind.
func count(t testing.TB, db store.Store) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, kind := range []string{"claim", "hook", "hook-initial", "lease", "process", "state", "step", "vim", "renewal", "instance", "operation", "change"} {
		list, err := db.List(t.Context(), store.Query{Kind: kind})
		if err != nil {
			t.Fatal(err)
		}
		if len(list) > 0 {
			out[kind] = len(list)
		}
	}
	return out
}

// TestRun: a file is enough, also for a second program, which gets the same result and runs nothing.
func TestRun(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "hooks.db")
	driver := &cluster{}
	for range 2 {
		store, err := sqlite.Open(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		result, err := runner(store, driver).Run(t.Context(), call(t))
		if err != nil || reveal(t, result) != wantResult {
			t.Errorf("%s, %v", reveal(t, result), err)
		}
		if diff := cmp.Diff(map[string]int{"hook": 1, "hook-initial": 1, "state": 2, "vim": 1}, count(t, store)); diff != "" {
			t.Errorf("records:\n%s", diff)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]string{"m0", "m1"}, driver.steps()); diff != "" || len(driver.ops) != 1 {
		t.Errorf("%d runs, machines prepared:\n%s", len(driver.ops), diff)
	}
}

// ids of a change: those that were added, removed, replaced.
func ids(c vnflcm.Change) (out [3]string) {
	for i, list := range [][]vnflcm.VNFC{c.Added, c.Removed, c.Replaced} {
		for _, v := range list {
			out[i] += v.ID
		}
	}
	return out
}

// TestOperation: what the driver sees of calls.
func TestOperation(t *testing.T) {
	t.Parallel()
	initial := call(t).Request.(vnflcm.InstantiateVnfRequest)
	driver := &cluster{}
	run := func(id string, change func(*hookrun.Call)) vnflcm.Operation {
		t.Helper()
		c := call(t, func(c *hookrun.Call) { c.OperationID, c.Initial = id, initial }, change)
		if _, err := runner(store.NewMemory(), driver).Run(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		return driver.ops[len(driver.ops)-1]
	}
	op := run("scale", func(c *hookrun.Call) {
		c.Hook, c.Request = vnflcm.ScaleEnd, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}
		c.Before, c.Resources = machines(2), machines(3)
	})
	if op.Kind != vnflcm.OpScale || op.Scale == nil || op.Phase() != "scale_end" || ids(op.Change) != [3]string{"m2", "", ""} || op.Flavour.ID != "simple" ||
		op.Params.IsZero() || op.RollingBack {
		t.Errorf("scale: %+v", op)
	}
	op = run("heal", func(c *hookrun.Call) {
		c.Hook, c.Request, c.Before = vnflcm.HealEnd, vnflcm.HealVnfRequest{VnfcInstanceID: []string{"m1"}}, machines(3)
		c.Resources.VNFCs[1].ResourceID = "vm9"
	})
	if ids(op.Change) != [3]string{"", "", "m1"} || op.WholeVNF() {
		t.Errorf("heal: %+v", op.Change)
	}
	op = run("rollback", func(c *hookrun.Call) {
		c.Hook, c.Change = vnflcm.InstantiateRollbackEnd, vnflcm.Change{Removed: machines(1).VNFCs}
	})
	if op.Kind != vnflcm.OpTerminate || op.Instantiate != nil || op.Terminate == nil || !op.RollingBack || ids(op.Change) != [3]string{"", "m0", ""} {
		t.Errorf("rollback: %+v", op)
	}
}

// TestRemembered: a hook finds in the store what the instance was instantiated with, and what its operation began with.
func TestRemembered(t *testing.T) {
	t.Parallel()
	store, driver := store.NewMemory(), &cluster{}
	run := func(id string, hook vnflcm.Hook, n int, request any) *vnflcm.Operation {
		t.Helper()
		before := len(driver.ops)
		c := call(t, func(c *hookrun.Call) { c.OperationID, c.Hook, c.Request, c.Resources = id, hook, request, machines(n) })
		if _, err := runner(store, driver).Run(t.Context(), c); err != nil {
			t.Fatal(hook, err)
		}
		if len(driver.ops) == before {
			return &vnflcm.Operation{}
		}
		return &driver.ops[before]
	}
	out := vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}
	run("op-1", vnflcm.InstantiateEnd, 2, call(t).Request)
	run("op-2", vnflcm.ScaleStart, 2, out)
	run("op-2", vnflcm.ScaleStart, 3, out) // the program has died and begins again
	op := run("op-2", vnflcm.ScaleEnd, 4, out)
	if ids(op.Change) != [3]string{"m2m3", "", ""} || op.Initial.FlavourID != "simple" || op.Params.IsZero() {
		t.Errorf("scale: %v of %+v", ids(op.Change), op.Initial)
	}
	run("op-3", vnflcm.ScaleStart, 4, out)
	op = run("op-3", vnflcm.ScaleRollbackStart, 5, out)
	if ids(op.Change) != [3]string{"", "m4", ""} || op.Scale.Type != vnflcm.ScaleIn {
		t.Errorf("the start of rolling back a scaling: %v", ids(op.Change))
	}
	if op = run("op-3", vnflcm.ScaleRollbackEnd, 4, out); ids(op.Change) != [3]string{"", "m4", ""} {
		t.Errorf("the end of rolling back a scaling: %v", ids(op.Change))
	}
	if op = run("op-4", vnflcm.HealEnd, 4, vnflcm.HealVnfRequest{}); ids(op.Change) != [3]string{"", "", "m0m1m2m3"} {
		t.Errorf("heal of all: %v", ids(op.Change))
	}
	terminate := vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}
	run("op-5", vnflcm.TerminateStart, 4, terminate)
	if op = run("op-5", vnflcm.TerminateEnd, 0, terminate); ids(op.Change) != [3]string{"", "m0m1m2m3", ""} {
		t.Errorf("terminate: %v", ids(op.Change))
	}
}

// TestFaults of calls: nothing is run.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*hookrun.Call)
		want   error
	}{
		"zero":            {func(c *hookrun.Call) { *c = hookrun.Call{} }, vnflcm.ErrInvalidRequest},
		"no operation":    {func(c *hookrun.Call) { c.OperationID = "" }, vnflcm.ErrInvalidRequest},
		"slash":           {func(c *hookrun.Call) { c.InstanceID = "a/b" }, vnflcm.ErrInvalidRequest},
		"no request":      {func(c *hookrun.Call) { c.Request = nil }, vnflcm.ErrInvalidRequest},
		"pointer":         {func(c *hookrun.Call) { c.Request = (*vnflcm.HealVnfRequest)(nil) }, vnflcm.ErrInvalidRequest},
		"other request":   {func(c *hookrun.Call) { c.Request = vnflcm.HealVnfRequest{} }, vnflcm.ErrInvalidRequest},
		"unknown flavour": {func(c *hookrun.Call) { c.Request = vnflcm.InstantiateVnfRequest{FlavourID: "none"} }, vnflcm.ErrInvalidRequest},
		"unknown hook":    {func(c *hookrun.Call) { c.Hook = "no_such_hook" }, vnflcm.ErrNotSupported},
		"hook not there": {func(c *hookrun.Call) {
			c.Hook, c.Request = vnflcm.ChangeExtConnStart, vnflcm.ChangeExtVnfConnectivityRequest{}
		}, vnflcm.ErrNotSupported},
		"no initial": {func(c *hookrun.Call) { c.Hook, c.Request = vnflcm.HealEnd, vnflcm.HealVnfRequest{} }, vnflcm.ErrInvalidRequest},
	} {
		driver := &cluster{}
		if _, err := runner(store.NewMemory(), driver).Run(t.Context(), call(t, c.change)); !errors.Is(err, c.want) || len(driver.ops) > 0 {
			t.Errorf("%s: error %v", name, err)
		}
	}
	driver := &cluster{fault: &vnflcm.ParamError{Path: "additionalParams.x", Reason: "is wrong"}}
	if _, err := runner(store.NewMemory(), driver).Run(t.Context(), call(t)); !errors.Is(err, vnflcm.ErrInvalidRequest) || len(driver.ops) > 0 {
		t.Errorf("a fault that the driver finds: error %v", err)
	}
	if _, err := (hookrun.Runner{}).Run(t.Context(), call(t)); err == nil {
		t.Error("a Runner without a Store runs")
	}
	if err := (hookrun.Runner{}).Forget(t.Context(), "vnf-1"); err == nil {
		t.Error("a Runner without a Store forgets")
	}
}

// TestFailure: the error of the driver is masked, and the next call continues.
func TestFailure(t *testing.T) {
	t.Parallel()
	store, driver, refused := store.NewMemory(), &cluster{}, errors.New("refused")
	driver.fail = errors.Join(refused, errors.New("login with "+canary))
	var log bytes.Buffer
	r := runner(store, driver)
	r.Logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	_, err := r.Run(t.Context(), call(t))
	if !errors.Is(err, refused) || strings.Contains(err.Error(), canary) {
		t.Errorf("error %v", err)
	}
	if _, err := r.Run(t.Context(), call(t, func(c *hookrun.Call) { c.InstanceID = "vnf-2" })); !errors.Is(err, vnflcm.ErrConflict) {
		t.Errorf("another instance: error %v", err)
	}
	driver.fail = nil
	result, err := r.Run(t.Context(), call(t))
	if err != nil || reveal(t, result) != wantResult {
		t.Errorf("%s, %v", reveal(t, result), err)
	}
	if diff := cmp.Diff([]string{"m0", "m1"}, driver.steps()); diff != "" {
		t.Errorf("machines prepared:\n%s", diff)
	}
	if text := log.String(); strings.Contains(text, canary) || !strings.Contains(text, "prepare") {
		t.Errorf("log: %s", text)
	}
}

// TestSealed: no record has a secret in the clear, while the hook runs and afterwards.
func TestSealed(t *testing.T) {
	t.Parallel()
	db, driver := store.NewMemory(), &cluster{}
	check := func() {
		for kind := range count(t, db) {
			list, err := db.List(t.Context(), store.Query{Kind: kind})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range list {
				if bytes.Contains(r.Body, []byte(canary)) || bytes.Contains(r.Body, []byte("cluster-vnf-1")) || len(r.Body) == 0 {
					t.Errorf("%s %s is not sealed", r.Kind, r.ID)
				}
			}
		}
	}
	r := runner(db, driver)
	r.Observe = func(vnflcm.Event) { check() }
	result, err := r.Run(t.Context(), call(t))
	if err != nil {
		t.Fatal(err)
	}
	check()
	for _, v := range result.VIMs {
		if strings.Contains(v.AccessInfo.LogValue().String(), canary) {
			t.Error("the result prints its secrets")
		}
	}
	r.Key = bytes.Repeat([]byte{8}, 32)
	if _, err := r.Run(t.Context(), call(t)); !errors.Is(err, vnflcm.ErrUnreadable) {
		t.Errorf("another key: error %v", err)
	}
}

// TestEnd: the last hook of an instance, or Forget, leaves nothing of it but the result of that hook.
func TestEnd(t *testing.T) {
	t.Parallel()
	store, driver := store.NewMemory(), &cluster{}
	r := runner(store, driver)
	run := func(change func(*hookrun.Call)) {
		t.Helper()
		if _, err := r.Run(t.Context(), call(t, change)); err != nil {
			t.Fatal(err)
		}
	}
	want := func(want map[string]int) {
		t.Helper()
		if diff := cmp.Diff(want, count(t, store)); diff != "" {
			t.Errorf("records:\n%s", diff)
		}
	}
	run(func(*hookrun.Call) {})
	run(func(c *hookrun.Call) { c.OperationID, c.InstanceID = "op-2", "vnf-10" })
	run(func(c *hookrun.Call) {
		c.OperationID, c.Hook, c.Initial = "op-3", vnflcm.TerminateEnd, c.Request.(vnflcm.InstantiateVnfRequest)
		c.Request = vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}
	})
	want(map[string]int{"hook": 2, "hook-initial": 1, "state": 2, "vim": 2})
	driver.fail = errors.New("refused")
	if _, err := r.Run(t.Context(), call(t, func(c *hookrun.Call) { c.OperationID = "op-4" })); err == nil {
		t.Fatal("no error")
	}
	want(map[string]int{"hook": 3, "hook-initial": 2, "state": 4, "vim": 2, "claim": 1, "step": 2})
	for range 2 {
		if err := r.Forget(t.Context(), "vnf-1"); err != nil {
			t.Fatal(err)
		}
	}
	want(map[string]int{"hook": 1, "hook-initial": 1, "state": 2, "vim": 2})
}

// onMachines is a driver with nothing outside of the machines: its VNFs are terminated without it.
type onMachines struct{ *cluster }

func (d onMachines) Hooks() vnflcm.Hooks { return vnflcm.Hooks{vnflcm.InstantiateEnd: d.setUp} }

// TestMissingHooks: hooks of the termination that the driver lacks do nothing but remove the records. Other hooks are refused.
func TestMissingHooks(t *testing.T) {
	t.Parallel()
	for _, hooks := range [][]vnflcm.Hook{{vnflcm.TerminateStart, vnflcm.TerminateEnd}, {vnflcm.InstantiateRollbackStart, vnflcm.InstantiateRollbackEnd}} {
		store, driver := store.NewMemory(), onMachines{&cluster{}}
		r := runner(store, driver)
		if _, err := r.Run(t.Context(), call(t)); err != nil {
			t.Fatal(err)
		}
		for _, hook := range hooks {
			_, err := r.Run(t.Context(), call(t, func(c *hookrun.Call) {
				if c.Hook = hook; hook == vnflcm.TerminateStart || hook == vnflcm.TerminateEnd {
					c.OperationID, c.Request = "op-2", vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}
				}
			}))
			if err != nil {
				t.Errorf("%s: %v", hook, err)
			}
		}
		if diff := cmp.Diff(map[string]int{"hook": 1, "vim": 1}, count(t, store)); diff != "" {
			t.Errorf("records after %s:\n%s", hooks[1], diff)
		}
		_, err := r.Run(t.Context(), call(t, func(c *hookrun.Call) {
			c.Hook, c.Request = vnflcm.ScaleStart, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}
		}))
		if !errors.Is(err, vnflcm.ErrNotSupported) {
			t.Errorf("scaling: %v", err)
		}
	}
}

// TestTwice: a second call waits for the first one, and returns its result.
func TestTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := store.NewMemory()
		driver := &cluster{entered: make(chan struct{}), resume: make(chan struct{})}
		type answer struct {
			result hookrun.Result
			err    error
		}
		answers := make(chan answer, 2)
		begin := func() {
			result, err := runner(store, driver).Run(context.WithoutCancel(t.Context()), call(t))
			answers <- answer{result, err}
		}
		go begin()
		<-driver.entered
		go begin()
		impatient, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := runner(store, driver).Run(impatient, call(t)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call that does not wait: error %v", err)
		}
		close(driver.resume)
		for range 2 {
			if a := <-answers; a.err != nil || reveal(t, a.result) != wantResult {
				t.Errorf("%s, %v", reveal(t, a.result), a.err)
			}
		}
		if diff := cmp.Diff([]string{"m0", "m1"}, driver.steps()); diff != "" || len(driver.ops) != 1 {
			t.Errorf("%d runs, machines prepared:\n%s", len(driver.ops), diff)
		}
	})
}

// TestCancelled: the hook ends with its context, and the next call continues at once.
func TestCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := store.NewMemory()
		driver := &cluster{entered: make(chan struct{}, 1), resume: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-driver.entered; cancel() }()
		if _, err := runner(store, driver).Run(ctx, call(t)); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		if n := count(t, store)["lease"]; n != 0 {
			t.Errorf("%d leases are left", n)
		}
		driver.entered, driver.resume = nil, nil
		if result, err := runner(store, driver).Run(t.Context(), call(t)); err != nil || reveal(t, result) != wantResult {
			t.Errorf("%s, %v", reveal(t, result), err)
		}
	})
}

// stalled is a store that answers the process of its Runner no more once it is cut, and answers again later: as a machine that is
// suspended while the lease runs out.
type stalled struct {
	store.Store
	stop, next chan struct{}
}

func (s stalled) Apply(ctx context.Context, b store.Batch) error {
	select {
	case <-s.stop:
		select {
		case <-s.next:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	default:
	}
	return s.Store.Apply(ctx, b)
}

// TestTakenOver: a process whose lease has run out writes nothing more, and returns the result of its successor.
func TestTakenOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, slow := store.NewMemory(), &cluster{entered: make(chan struct{}), resume: make(chan struct{})}
		s := stalled{store, make(chan struct{}), make(chan struct{})}
		done := make(chan error, 1)
		var late hookrun.Result
		go func() {
			var err error
			late, err = runner(s, slow).Run(context.WithoutCancel(t.Context()), call(t))
			done <- err
		}()
		<-slow.entered
		close(s.stop)
		next := &cluster{}
		result, err := runner(store, next).Run(t.Context(), call(t))
		if err != nil || reveal(t, result) != wantResult || len(next.steps()) != 0 {
			t.Errorf("%s, %v; machines prepared again: %q", reveal(t, result), err, next.steps())
		}
		before := count(t, store)
		close(s.next)
		if err := <-done; err != nil || reveal(t, late) != wantResult {
			t.Errorf("the first process: %s, %v", reveal(t, late), err)
		}
		if diff := cmp.Diff(before, count(t, store)); diff != "" {
			t.Errorf("the first process has written:\n%s", diff)
		}
	})
}

// TestCrash: the process dies at every point of every step, and the next one continues.
func TestCrash(t *testing.T) {
	t.Parallel()
	for _, step := range []vnflcm.StepInfo{{Name: "prepare", On: "m0"}, {Name: "prepare", On: "m1"}, {Name: "register"}} {
		step.Phase = "instantiate_end"
		for _, point := range crashtest.Points {
			if point == crashtest.InsideDo {
				continue // TestTakenOver
			}
			t.Run(step.Name+" "+step.On+" "+string(point), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					db, driver := store.NewMemory(), &cluster{}
					dying := crashtest.New(crashtest.Death{Step: crashtest.At(step), Point: point})
					c := vnflcm.Config{Store: db}
					dying.Attach(&c)
					dead := runner(c.Store, driver)
					dead.Intercept, dead.LeaseTTL = c.Intercept, ttl/4
					ctx, cancel := context.WithTimeout(t.Context(), ttl/4) // the end of the process
					defer cancel()
					if _, err := dead.Run(ctx, call(t)); err == nil || !dying.Dead() {
						t.Fatalf("error %v; dead: %t", err, dying.Dead())
					}
					journal, err := db.List(t.Context(), store.Query{Kind: "step"})
					if err != nil {
						t.Fatal(err)
					}
					if point == crashtest.JournalLost {
						if err := db.Apply(t.Context(), store.Batch{Delete: journal}); err != nil {
							t.Fatal(err)
						}
						journal = nil
					}
					done := map[string]bool{}
					for _, r := range journal {
						done[r.ID] = true
					}
					next := runner(db, driver)
					next.Intercept = func(ctx context.Context, s vnflcm.StepInfo, do func(context.Context) error) error {
						if done[s.Key()] {
							t.Errorf("%s is in the journal and ran again", s.Key())
						}
						return do(ctx)
					}
					result, err := next.Run(t.Context(), call(t))
					if err != nil || reveal(t, result) != wantResult {
						t.Errorf("%s, %v", reveal(t, result), err)
					}
					if diff := cmp.Diff(map[string]int{"hook": 1, "hook-initial": 1, "state": 2, "vim": 1}, count(t, db)); diff != "" {
						t.Errorf("records:\n%s", diff)
					}
				})
			})
		}
	}
}
