package vnflcm_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// acceptOnly is a Manager that accepts requests for others.
func acceptOnly(c *vnflcm.Config) { c.Owner, c.AcceptOnly = "api", true }

// TestAcceptOnly accepts operations in a process that runs nothing: they wait until another process takes them up, and the
// first sees their end at once, although it would ask only after up to two seconds.
func TestAcceptOnly(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newToys(t, nil)
		api := x.other(acceptOnly)
		id := api.create()
		opID, err := api.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
		must(t, err)
		if taken, _, err := api.Resume(t.Context()); len(taken) > 0 || err != nil {
			t.Errorf("Resume took %v, %v", taken, err)
		}
		wantIs(t, api.Serve(t.Context(), vnflcm.ServeOptions{}), vnflcm.ErrProgramming)
		if occ, err := api.Operation(t.Context(), opID); err != nil || occ.OperationState != vnflcm.Starting {
			t.Errorf("the operation is %v (%v)", occ, err)
		}
		if processes, err := x.cfg.Store.List(t.Context(), vnflcm.Query{Kind: "process"}); len(processes) > 0 || err != nil {
			t.Errorf("a process that runs nothing has a lease: %v, %v", processes, err)
		}
		ended := make(chan time.Time, 1)
		go func() {
			api.wait(opID, nil, vnflcm.Completed)
			ended <- time.Now()
		}()
		time.Sleep(5500 * time.Millisecond) // Wait polls every two seconds by now
		if _, _, err := x.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
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
		x := newToys(t, nil)
		api := x.other(acceptOnly)
		opID, err := api.Instantiate(t.Context(), api.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
		must(t, err)
		must(t, api.Cancel(t.Context(), opID, vnflcm.CancelGraceful))
		_, _, err = x.Resume(t.Context())
		must(t, err)
		_, err = api.wait(opID, nil, vnflcm.RolledBack)
		wantIs(t, err, vnflcm.ErrCancelled)
	})
}

// TestServeShares lets one process accept operations and four serve: all are done, and the parts are nearly the same.
func TestServeShares(t *testing.T) {
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
		closeManager(t, x.Manager) // it would take up free operations too, without a limit
		var mu sync.Mutex
		done := map[string]int{}
		var serving sync.WaitGroup
		ctx, stop := context.WithCancel(t.Context())
		for i := range processes {
			name := fmt.Sprint("server-", i)
			y := x.other(func(c *vnflcm.Config) {
				c.Owner = name
				c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
					mu.Lock()
					done[name]++
					mu.Unlock()
					time.Sleep(20 * time.Millisecond) // the work
					return next(ctx)
				}
			})
			serving.Go(func() {
				if err := y.Serve(ctx, vnflcm.ServeOptions{Limit: limit}); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		}
		var waiting sync.WaitGroup
		for _, id := range ids {
			opID, err := api.Scale(t.Context(), id, scale(vnflcm.ScaleOut, 1))
			must(t, err)
			waiting.Go(func() { api.wait(opID, nil, vnflcm.Completed) })
		}
		waiting.Wait()
		stop()
		serving.Wait()
		var parts []int
		for _, n := range done {
			parts = append(parts, n)
		}
		if len(parts) != processes || 2*slices.Max(parts) > 3*slices.Min(parts) {
			t.Errorf("the processes did %v steps", done)
		}
	})
}

// TestServeLimit holds that a process at its limit leaves what it accepts to others, or to a later time.
func TestServeLimit(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newToys(t, nil)
		ids := []string{x.create(), x.create(), x.create()}
		var mu sync.Mutex
		now, most := 0, 0
		y := x.other(func(c *vnflcm.Config) {
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
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- y.Serve(ctx, vnflcm.ServeOptions{Limit: 2}) }()
		poll(t, "it serves", func() bool {
			list, err := x.cfg.Store.List(t.Context(), vnflcm.Query{Kind: "process"})
			return err == nil && slices.ContainsFunc(list, func(r vnflcm.Record) bool { return r.ID == "other" })
		})
		wantIs(t, y.Serve(t.Context(), vnflcm.ServeOptions{}), vnflcm.ErrProgramming)
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
		stop()
		wantIs(t, <-served, context.Canceled)
		closed := make(chan error, 1)
		go func() { closed <- y.Serve(t.Context(), vnflcm.ServeOptions{}) }()
		closeManager(t, y.Manager)
		wantIs(t, <-closed, vnflcm.ErrShutdown)
	})
}
