package vnflcm_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/storetest"
)

const shortTTL = time.Second // only for synctest; on a busy machine a process would lose its lease

// poll waits until ok returns true, and fails the test after a limited time.
func poll(t *testing.T, what string, ok func() bool) {
	t.Helper()
	_, err := backoff.Retry(t.Context(), func() (struct{}, error) {
		if !ok() {
			return struct{}{}, errors.New("not yet")
		}
		return struct{}{}, nil
	}, backoff.WithBackOff(backoff.NewConstantBackOff(5*time.Millisecond)), backoff.WithMaxElapsedTime(patience))
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

// renewals waits until every process has renewed its lease n times.
func (x *toys) renewals(n int64) {
	x.t.Helper()
	versions := func() map[string]int64 {
		out := map[string]int64{}
		list, err := x.cfg.Store.List(x.t.Context(), store.Query{Kind: "process"})
		must(x.t, err)
		for _, r := range list {
			out[r.ID] = r.Version
		}
		return out
	}
	first := versions()
	poll(x.t, "the leases are renewed", func() bool {
		now := versions()
		for id, version := range first {
			if now[id] < version+n {
				return false
			}
		}
		return len(first) > 0
	})
}

// TestHeartbeat checks that a process renews a single record for all of its operations.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		const operations, renewals = 50, 4
		store := &counted{Store: store.NewMemory()}
		var mu sync.Mutex
		running, finish := map[string]bool{}, make(chan struct{})
		x := newToys(t, func(c *vnflcm.Config) {
			c.Store, c.LeaseTTL = store, shortTTL
			c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
				mu.Lock()
				running[s.OperationID] = true
				mu.Unlock()
				<-finish
				return next(ctx)
			}
		})
		var ids []string
		for range operations {
			opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
			must(t, err)
			ids = append(ids, opID)
		}
		poll(t, "a step of each operation runs", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(running) == operations
		})
		before := store.writes.Load()
		x.renewals(renewals)
		if n := store.writes.Load() - before; n > renewals+1 { // one renewal may have begun before
			t.Errorf("%d writes during %d renewals", n, renewals)
		}
		close(finish)
		for _, opID := range ids {
			x.wait(opID, nil, vnflcm.Completed)
		}
	})
}

// other returns a Manager with the same composition, as in another process.
func (x *toys) other(change func(*vnflcm.Config)) *toys {
	x.t.Helper()
	y := &toys{t: x.t, world: x.world, cfg: x.cfg}
	y.cfg.Intercept = nil
	if change != nil {
		change(&y.cfg)
	}
	y.start()
	return y
}

func TestOtherProcessTakesNothingWhileTheFirstLives(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newToys(t, func(cfg *vnflcm.Config) { cfg.LeaseTTL = shortTTL })
		g := x.holdAt("instantiate_end/init/")
		opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
		must(t, err)
		<-g.reached
		y := x.other(nil)
		y.renewals(6)
		wantIs(t, y.Retry(t.Context(), opID), vnflcm.ErrState)

		waited := make(chan error)
		go func() { _, err := y.Wait(t.Context(), opID); waited <- err }()
		close(g.open)
		x.wait(opID, nil, vnflcm.Completed)
		must(t, <-waited) // the other process notices the end too
	})
}

func TestCancelFromAnotherProcess(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newToys(t, func(cfg *vnflcm.Config) { cfg.LeaseTTL = shortTTL })
		g := x.holdAt("instantiate_end/init/")
		opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
		must(t, err)
		<-g.reached
		y := x.other(nil)
		must(t, y.Cancel(t.Context(), opID, vnflcm.CancelForceful))
		_, err = y.wait(opID, nil, vnflcm.FailedTemp)
		wantIs(t, err, vnflcm.ErrCancelled)
	})
}

// TestStaleProcessWritesNothing cuts a process from the store for longer than its lease. Another process takes over the operation and
// completes it. When the first process reaches the store again, it writes nothing.
func TestStaleProcessWritesNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newToys(t, func(cfg *vnflcm.Config) { cfg.LeaseTTL = shortTTL })
		healthy := x.cfg
		fence := &storetest.Fence{Store: x.cfg.Store}
		x.cfg.Store = fence
		g := newGate()
		stale := make(chan error, 1)
		x.cfg.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			if keyOf(s) == "instantiate_end/init/" {
				_ = g.pass(context.WithoutCancel(ctx)) // a driver that ignores its context
				err := next(ctx)
				stale <- err
				return err
			}
			return next(ctx)
		}
		x.start()
		id := x.create()
		opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
		must(t, err)
		<-g.reached
		fence.Cut(true)

		x.cfg = healthy
		y := x.other(nil)
		y.wait(opID, nil, vnflcm.Completed)
		before := y.records()
		fence.Cut(false)
		close(g.open)
		wantIs(t, <-stale, vnflcm.ErrLeased)
		closeManager(t, x.Manager)
		if diff := cmp.Diff(before, y.records()); diff != "" {
			t.Errorf("the stale process wrote:\n%s", diff)
		}
	})
}

func TestCloseLeavesProcessingForTheNext(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	g := x.holdAt("instantiate_end/join/worker-1")
	id := x.create()
	opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
	must(t, err)
	<-g.reached
	waited := make(chan error)
	go func() { _, err := x.Wait(context.WithoutCancel(t.Context()), opID); waited <- err }()
	closeManager(t, x.Manager)
	if err := <-waited; !errors.Is(err, vnflcm.ErrShutdown) {
		t.Errorf("Wait in the closed Manager: %v, want ErrShutdown", err)
	}
	occ, err := x.Operation(t.Context(), opID)
	must(t, err)
	if occ.OperationState != vnflcm.Processing || occ.Error != nil {
		t.Errorf("after Close: %s, %v", occ.OperationState, occ.Error)
	}
	_, err = x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
	wantIs(t, err, vnflcm.ErrShutdown)

	y := x.other(nil) // takes over the operation
	y.wait(opID, nil, vnflcm.Completed)
	for key, n := range y.world.done {
		if n != 1 {
			t.Errorf("%s ran %d times", key, n)
		}
	}
}

func TestCloseGivesUpWaiting(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	g := newGate()
	x.cfg.Intercept = func(ctx context.Context, _ vnflcm.StepInfo, _ func(context.Context) error) error {
		return g.pass(context.WithoutCancel(ctx))
	}
	x.start()
	_, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
	must(t, err)
	<-g.reached
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantIs(t, x.Close(ctx), context.Canceled)
	close(g.open)
}

// TestTakeoverPassesOverDamagedRecords checks that a record that cannot be read does not block the other operations.
func TestTakeoverPassesOverDamagedRecords(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newToys(t, nil)
		g := x.holdAt("instantiate_end/init/")
		opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
		must(t, err)
		<-g.reached
		closeManager(t, x.Manager)
		claim, err := x.cfg.Store.Get(t.Context(), "claim", opID)
		must(t, err)
		claim.ID, claim.Version = "0", 0 // sealed for another id, so unreadable; its holder counts as dead after the TTL
		must(t, x.cfg.Store.Apply(t.Context(), store.Batch{Put: []store.Record{claim, {Kind: "operation", ID: "0", Body: []byte("damaged beyond repair")}}}))
		x.cfg.Intercept, x.cfg.LeaseTTL = nil, shortTTL
		x.start()
		x.wait(opID, nil, vnflcm.Completed)
		poll(t, "the unreadable operation is parked", func() bool {
			now, err := x.cfg.Store.Get(t.Context(), "claim", "0")
			return err == nil && now.Version == 3 // taken over, then set aside
		})
	})
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	good := vnflcm.Config{Store: store.NewMemory(), Key: testKey, Packages: toyPackage("cluster"), Logger: slog.New(slog.DiscardHandler)}
	for name, change := range map[string]func(*vnflcm.Config){
		"no store":    func(c *vnflcm.Config) { c.Store = nil },
		"no packages": func(c *vnflcm.Config) { c.Packages = nil },
		"short key":   func(c *vnflcm.Config) { c.Key = []byte("short") },
	} {
		cfg := good
		change(&cfg)
		if _, err := vnflcm.New(t.Context(), cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	m, err := vnflcm.New(t.Context(), good)
	must(t, err)
	closeManager(t, m)
}
