package vnflcm_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/storetest"
)

// stoppable is the store of a process that can be stopped as by SIGSTOP: its calls wait until it continues.
type stoppable struct {
	store.Store
	at func(store.Batch) bool // the process stops once, before it writes a batch for which at returns true

	mu      sync.Mutex
	stopped chan struct{} // closed when the process has stopped
	gate    chan struct{} // closed when the process continues
	is      bool
}

func newStoppable(s store.Store, at func(store.Batch) bool) *stoppable {
	return &stoppable{Store: s, at: at, stopped: make(chan struct{}), gate: make(chan struct{})}
}

func (s *stoppable) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.is {
		s.is = true
		close(s.stopped)
	}
}

func (s *stoppable) wait() {
	s.mu.Lock()
	is := s.is
	s.mu.Unlock()
	if is {
		<-s.gate
	}
}

func (s *stoppable) Get(ctx context.Context, kind, id string) (store.Record, error) {
	s.wait()
	return s.Store.Get(ctx, kind, id)
}

func (s *stoppable) List(ctx context.Context, q store.Query) ([]store.Record, error) {
	s.wait()
	return s.Store.List(ctx, q)
}

func (s *stoppable) Apply(ctx context.Context, b store.Batch) error {
	if s.at != nil && s.at(b) {
		s.stop()
	}
	s.wait()
	return s.Store.Apply(ctx, b)
}

// puts matches batches that put a record of each of the kinds.
func puts(kinds ...string) func(store.Batch) bool {
	return func(b store.Batch) bool {
		for _, kind := range kinds {
			if !slices.ContainsFunc(b.Put, func(r store.Record) bool { return r.Kind == kind }) {
				return false
			}
		}
		return true
	}
}

// publishing returns a hook that makes every kind of write.
func (x *toys) publishing() func(context.Context, *vnflcm.Operation) error {
	build := (&cluster{world: x.world}).Hooks()[vnflcm.InstantiateEnd]
	return func(ctx context.Context, op *vnflcm.Operation) error {
		if err := build(ctx, op); err != nil {
			return err
		}
		if err := op.State().Put(ctx, "token", op.ID); err != nil {
			return err
		}
		if err := op.State().Delete(ctx, "never"); err != nil {
			return err
		}
		if err := op.RegisterVIM(ctx, vnflcm.VimConnectionInfo{VimID: "made", VimType: "kubernetes"}); err != nil {
			return err
		}
		return op.Publish(ctx, op.VNFCs[0], map[string]string{"role": "master"})
	}
}

// TestStoppedProcessOverwritesNothing stops a process just before each kind of write. Another process takes over the operation, completes
// it and scales out. When the first process continues, it must not overwrite these changes.
func TestStoppedProcessOverwritesNothing(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]func(store.Batch) bool{
		"journal":                 puts("step"),
		"state":                   puts("state"),
		"VIM":                     puts("vim", "instance"),
		"published":               func(b store.Batch) bool { return puts("instance")(b) && len(b.Put) == 1 && b.Put[0].Version > 0 },
		"resources after a phase": func(b store.Batch) bool { return puts("instance", "operation")(b) && !puts("claim")(b) },
		"end":                     func(b store.Batch) bool { return puts("instance", "operation")(b) && len(b.Delete) > 0 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) {
				x := newToys(t, func(cfg *vnflcm.Config) { cfg.LeaseTTL = shortTTL })
				hooks := (&cluster{world: x.world}).Hooks()
				hooks[vnflcm.InstantiateEnd] = x.publishing()
				x.cfg.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": hooked{hooks}}
				healthy := x.cfg
				store := newStoppable(x.cfg.Store, at)
				x.cfg.Store = store
				x.start()
				id := x.create()
				opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
				must(t, err)
				<-store.stopped

				x.cfg = healthy
				y := x.other(nil)
				y.wait(opID, nil, vnflcm.Completed)
				scaled, err := y.Scale(t.Context(), id, scale(vnflcm.ScaleOut, 1))
				y.wait(scaled, err, vnflcm.Completed)
				before, instance := y.records(), y.get(id)

				close(store.gate)
				closeManager(t, x.Manager)
				if diff := cmp.Diff(before, y.records()); diff != "" {
					t.Errorf("the stopped process wrote:\n%s", diff)
				}
				if diff := cmp.Diff(instance, y.get(id)); diff != "" {
					t.Errorf("the instance changed:\n%s", diff)
				}
			})
		})
	}
}

// TestStoppedAlone stops the only process for longer than its lease: it continues its operation.
func TestStoppedAlone(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newToys(t, func(cfg *vnflcm.Config) { cfg.LeaseTTL = shortTTL })
		store := newStoppable(x.cfg.Store, puts("step"))
		x.cfg.Store = store
		x.start()
		opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
		must(t, err)
		<-store.stopped
		<-time.After(shortTTL * 3 / 2)
		close(store.gate)
		x.wait(opID, nil, vnflcm.Completed)
	})
}

// takeovers receives the events of operations that change their process.
type takeovers chan vnflcm.EventKind

func (o takeovers) observe(e vnflcm.Event) {
	if e.Kind == vnflcm.OperationTaken || e.Kind == vnflcm.OperationLost {
		o <- e.Kind
	}
}

// TestStoppedProcessBeginsNothing stops a process between two steps. After the takeover this process must not begin a step. Both processes
// report the takeover.
func TestStoppedProcessBeginsNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newToys(t, func(cfg *vnflcm.Config) { cfg.LeaseTTL = shortTTL })
		first, second := make(takeovers, 8), make(takeovers, 8)
		healthy := x.cfg
		x.cfg.Observe, healthy.Observe = first.observe, second.observe
		store := newStoppable(x.cfg.Store, nil)
		g := newGate()
		var mu sync.Mutex
		begun := 0
		x.cfg.Store = store
		x.cfg.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			if keyOf(s) == "instantiate_end/init/" {
				_ = g.pass(context.WithoutCancel(ctx)) // the check of the claim has passed; Do has not begun
			}
			return next(ctx)
		}
		x.world.after = func(context.Context, string) error {
			mu.Lock()
			defer mu.Unlock()
			begun++
			return nil
		}
		x.start()
		opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
		must(t, err)
		<-g.reached
		store.stop()
		x.cfg = healthy
		y := x.other(nil)
		y.wait(opID, nil, vnflcm.Completed)
		mu.Lock()
		before := begun
		mu.Unlock()
		close(g.open)
		close(store.gate)
		if lost, taken := <-first, <-second; lost != vnflcm.OperationLost || taken != vnflcm.OperationTaken {
			t.Errorf("the stopped process reports %s, the other %s", lost, taken)
		}
		closeManager(t, x.Manager)
		if begun != before {
			t.Errorf("the stopped process ran %d steps after the takeover", begun-before)
		}
	})
}

// TestLostStoreIsNoFailure cuts the only process from the store for longer than its lease. The process must continue its operation itself.
func TestLostStoreIsNoFailure(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newToys(t, func(cfg *vnflcm.Config) { cfg.LeaseTTL = shortTTL })
		fence := &storetest.Fence{Store: x.cfg.Store}
		x.cfg.Store = fence
		g := x.holdAt("instantiate_end/init/")
		opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
		must(t, err)
		<-g.reached
		fence.Cut(true)
		<-time.After(2 * shortTTL)
		fence.Cut(false)
		close(g.open)
		x.wait(opID, nil, vnflcm.Completed)
	})
}

// TestDeadProcess checks that the operation of a dead process is taken over after the TTL, and that the record of the process is removed.
func TestDeadProcess(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newToys(t, func(cfg *vnflcm.Config) { cfg.LeaseTTL = shortTTL })
		healthy := x.cfg
		fence := &storetest.Fence{Store: x.cfg.Store}
		x.cfg.Store = fence
		g := x.holdAt("instantiate_end/init/")
		opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
		must(t, err)
		<-g.reached
		fence.Cut(true) // the process is dead
		x.cfg = healthy
		y := x.other(nil)
		died := time.Now()
		y.wait(opID, nil, vnflcm.Completed)
		if took := time.Since(died); took < shortTTL {
			t.Errorf("the operation was taken over after %v", took)
		}
		poll(t, "the record of the dead process is removed", func() bool {
			list, err := y.cfg.Store.List(t.Context(), store.Query{Kind: "process"})
			return err == nil && len(list) == 1
		})
		close(g.open)
	})
}
