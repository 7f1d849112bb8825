package vnflcm_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// acceptOnly configures a Manager that only accepts requests for other processes.
func acceptOnly(c *vnflcm.Config) { c.AcceptOnly = true }

func works(c *vnflcm.Config) { c.AcceptOnly = false }

// TestAcceptOnly accepts operations in a process that runs none. The operations wait until another process takes them over, and the first
// process notices their end at once, although it polls only every two seconds.
func TestAcceptOnly(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		api := newToys(t, acceptOnly)
		id := api.create()
		opID, err := api.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
		must(t, err)
		time.Sleep(patience)
		if occ, err := api.Operation(t.Context(), opID); err != nil || occ.OperationState != vnflcm.Starting {
			t.Errorf("the operation is %v (%v)", occ, err)
		}
		if processes, err := api.cfg.Store.List(t.Context(), store.Query{Kind: "process"}); len(processes) > 0 || err != nil {
			t.Errorf("a process that runs nothing has a lease: %v, %v", processes, err)
		}
		ended := make(chan time.Time, 1)
		go func() {
			api.wait(opID, nil, vnflcm.Completed)
			ended <- time.Now()
		}()
		time.Sleep(5500 * time.Millisecond) // Wait polls every two seconds by now
		x := api.other(works)
		occ, _ := x.wait(opID, nil, vnflcm.Completed)
		if late := (<-ended).Sub(occ.StateEnteredTime); late != 0 {
			t.Errorf("the end was seen after %v", late)
		}

		x.world.failAt("scale_end/join/worker-2", errCut)
		opID, err = api.Scale(t.Context(), id, scale(vnflcm.ScaleOut, 1))
		_, _ = api.wait(opID, err, vnflcm.FailedTemp)
		x.world.failAt("scale_end/join/worker-2", nil)
		api.wait(opID, api.Retry(t.Context(), opID), vnflcm.Completed)
	})
}

// TestCancelBeforeItStarts cancels an operation that no process has taken up yet.
func TestCancelBeforeItStarts(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		api := newToys(t, acceptOnly)
		opID, err := api.Instantiate(t.Context(), api.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
		must(t, err)
		must(t, api.Cancel(t.Context(), opID, vnflcm.CancelGraceful))
		api.other(works)
		_, err = api.wait(opID, nil, vnflcm.RolledBack)
		wantIs(t, err, vnflcm.ErrCancelled)
	})
}

// TestShares lets one process accept operations and four processes run them. All operations must complete, and each process must run
// nearly the same number.
func TestShares(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		operations, limit := 200, 60
		if !fulltest.Enabled() {
			operations, limit = 60, 18
		}
		const processes = 4
		x := newToys(t, nil)
		api := x.other(acceptOnly)
		ids := make([]string, operations)
		for i := range ids {
			ids[i] = x.instantiated("plain")
		}
		closeManager(t, x.Manager) // this process would run operations too
		var mu sync.Mutex
		done := map[string]int{}
		for i := range processes {
			name := fmt.Sprint("server-", i)
			x.other(func(c *vnflcm.Config) {
				c.Limit = limit
				c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
					mu.Lock()
					done[name]++
					mu.Unlock()
					time.Sleep(20 * time.Millisecond) // simulates work
					return next(ctx)
				}
			})
		}
		poll(t, "the processes see each other", func() bool {
			list, err := x.cfg.Store.List(t.Context(), store.Query{Kind: "process"})
			return err == nil && len(list) == processes
		})
		var waiting sync.WaitGroup
		for _, id := range ids {
			opID, err := api.Scale(t.Context(), id, scale(vnflcm.ScaleOut, 1))
			must(t, err)
			waiting.Go(func() { api.wait(opID, nil, vnflcm.Completed) })
		}
		waiting.Wait()
		var parts []int
		for _, n := range done {
			parts = append(parts, n)
		}
		if len(parts) != processes || 2*slices.Max(parts) > 3*slices.Min(parts) {
			t.Errorf("the processes did %v steps", done)
		}
	})
}

// TestLimit checks that a process at its limit leaves accepted operations to other processes or runs them later.
func TestLimit(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newToys(t, acceptOnly)
		ids := []string{x.create(), x.create(), x.create()}
		var mu sync.Mutex
		now, most := 0, 0
		y := x.other(func(c *vnflcm.Config) {
			works(c)
			c.Limit = 2
			c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
				count := func(n int) {
					mu.Lock()
					defer mu.Unlock()
					now += n
					most = max(most, now)
				}
				if s.Name == "init" {
					count(1)
					defer count(-1)
					time.Sleep(10 * time.Second) // a third operation would begin meanwhile
				}
				return next(ctx)
			}
		})
		var ops []string
		for _, id := range ids {
			opID, err := y.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
			must(t, err)
			ops = append(ops, opID)
		}
		for _, opID := range ops {
			y.wait(opID, nil, vnflcm.Completed)
		}
		if mu.Lock(); most != 2 {
			t.Errorf("%d operations were at work at once, want 2", most)
		}
		mu.Unlock()
	})
}

// TestClosingProcess checks that a closing process that waits for a driver does not count as available. Another process, even with more
// operations, takes over new operations at once.
func TestClosingProcess(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		reached, open := make(chan string), make(chan struct{})
		var steps atomic.Int32
		api := newToys(t, acceptOnly)
		busy := func(c *vnflcm.Config) {
			works(c)
			c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
				if steps.Add(1) <= 3 {
					reached <- s.OperationID
					<-open // a driver that ignores its context
				}
				return next(ctx)
			}
		}
		x, y := api.other(busy), api.other(busy)
		var held []string
		for _, process := range []*toys{x, y, y} {
			_, err := process.Instantiate(t.Context(), process.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
			must(t, err)
			held = append(held, <-reached)
		}
		closed := make(chan struct{})
		go func() { defer close(closed); closeManager(t, x.Manager) }()
		synctest.Wait()
		begin := time.Now()
		opID, err := api.Instantiate(t.Context(), api.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
		api.wait(opID, err, vnflcm.Completed)
		if took := time.Since(begin); took >= time.Second { // in the time of synctest
			t.Errorf("the operation took %v", took)
		}
		close(open)
		<-closed
		for _, opID := range held {
			y.wait(opID, nil, vnflcm.Completed)
		}
	})
}

// afterTake is a Store that calls hook once, after the first takeover of a claim.
type afterTake struct {
	store.Store
	once sync.Once
	hook func()
}

func (s *afterTake) Apply(ctx context.Context, b store.Batch) error {
	err := s.Store.Apply(ctx, b)
	if slices.ContainsFunc(b.Put, func(r store.Record) bool { return r.Kind == "claim" && r.Index.State == "held" && r.Version > 0 }) {
		s.once.Do(s.hook)
	}
	return err
}

// TestLimitHoldsDuringTakeovers accepts an operation while the process takes over two operations. The process must run two at a time and
// end all three.
func TestLimitHoldsDuringTakeovers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newToys(t, acceptOnly)
		bare := vnflcm.InstantiateVnfRequest{FlavourID: "bare"}
		var operations []string
		for range 2 {
			opID, err := x.Instantiate(t.Context(), x.create(), bare)
			must(t, err)
			operations = append(operations, opID)
		}
		local, ready, accepted := x.create(), make(chan struct{}), make(chan string, 1)
		free := make(chan struct{})
		var running atomic.Int32
		driver := &noting{cloud{world: x.world}, func(*vnflcm.Operation) {}, func(*vnflcm.Operation) {
			running.Add(1)
			<-free
		}}
		var y *toys
		y = x.other(func(c *vnflcm.Config) {
			c.AcceptOnly, c.Limit, c.Infra = false, 2, map[string]vnflcm.InfraDriver{"toy": driver}
			c.Store = &afterTake{Store: c.Store, hook: func() {
				<-ready
				opID, err := y.Instantiate(t.Context(), local, bare)
				if err != nil {
					t.Error(err)
				}
				accepted <- opID
			}}
		})
		close(ready)
		operations = append(operations, <-accepted)
		time.Sleep(patience)
		if n := running.Load(); n != 2 {
			t.Errorf("%d operations run at a time, want 2", n)
		}
		close(free)
		for _, opID := range operations {
			y.wait(opID, nil, vnflcm.Completed)
		}
	})
}
