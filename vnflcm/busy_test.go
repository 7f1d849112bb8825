package vnflcm_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// slowLists is a Store whose lists for clients block until their context ends, while slow is set.
type slowLists struct {
	store.Store
	slow    atomic.Bool
	reading atomic.Int32
	lists   atomic.Int32
}

func (s *slowLists) List(ctx context.Context, q store.Query) ([]store.Record, error) {
	if !q.Background {
		return s.Store.List(ctx, q)
	}
	s.lists.Add(1)
	if s.slow.Load() {
		s.reading.Add(1)
		defer s.reading.Add(-1)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return s.Store.List(ctx, q)
}

// TestListsTakeTurns checks that a limited number of lists reads the store at once, that further lists wait and are refused after a
// while, and that operations do not wait. A client that disconnects frees its slot.
func TestListsTakeTurns(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		store := &slowLists{Store: store.NewMemory()}
		x := newToys(t, func(cfg *vnflcm.Config) { cfg.Store = store })
		id := x.instantiated("plain")
		store.slow.Store(true)
		clients, disconnect := context.WithCancel(t.Context())
		defer disconnect()
		most := max(1, runtime.GOMAXPROCS(0)/2)
		ended := make(chan error)
		list := func(ctx context.Context) {
			_, err := x.Operations(ctx, vnflcm.OperationQuery{Limit: 10})
			ended <- err
		}
		for range most {
			go list(clients)
		}
		synctest.Wait()
		if got := int(store.reading.Load()); got != most {
			t.Fatalf("%d lists read, want %d", got, most)
		}
		began := time.Now()
		_, err := x.Instances(t.Context(), vnflcm.InstanceQuery{Limit: 10})
		wantIs(t, err, vnflcm.ErrBusy)
		if waited := time.Since(began); waited != 5*time.Second {
			t.Errorf("the list waited for %s", waited)
		}
		_, err = x.Documents("notes").List(t.Context(), "", 10)
		wantIs(t, err, vnflcm.ErrBusy)
		opID, err := x.Heal(t.Context(), id, vnflcm.HealVnfRequest{})
		x.wait(opID, err, vnflcm.Completed)

		waiting, leave := context.WithCancel(t.Context())
		go list(waiting)
		synctest.Wait()
		leave()
		wantIs(t, <-ended, context.Canceled)
		disconnect()
		for range most {
			wantIs(t, <-ended, context.Canceled)
		}
		store.slow.Store(false)
		if page, err := x.Operations(t.Context(), vnflcm.OperationQuery{Limit: 10}); err != nil || len(page.Items) != 2 {
			t.Errorf("%d operations, %v", len(page.Items), err)
		}
	})
}

// TestPageEndsWhenBusy checks that a page that gets no slot for its next read returns the items that it has read.
func TestPageEndsWhenBusy(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		store := &slowLists{Store: store.NewMemory()}
		x := newToys(t, func(cfg *vnflcm.Config) { cfg.Store = store })
		for range 300 {
			x.create()
		}
		clients, disconnect := context.WithCancel(t.Context())
		defer disconnect()
		others := make(chan error)
		seen := 0
		q := vnflcm.InstanceQuery{Limit: 10, Match: func(*vnflcm.VnfInstance) bool {
			if seen++; seen == 1 {
				store.slow.Store(true)
				for range max(1, runtime.GOMAXPROCS(0)/2) {
					go func() {
						_, err := x.Instances(clients, vnflcm.InstanceQuery{Limit: 10})
						others <- err
					}()
				}
				synctest.Wait() // the other lists have the remaining slots, or wait for the slot of this list
			}
			return false
		}}
		first, err := x.Instances(t.Context(), q)
		must(t, err)
		if first.Next == "" || seen != 11 {
			t.Errorf("the page has looked at %d instances, and continues at %q", seen, first.Next)
		}
		disconnect()
		for range max(1, runtime.GOMAXPROCS(0)/2) {
			wantIs(t, <-others, context.Canceled)
		}
		store.slow.Store(false)
		for q.After = first.Next; q.After != ""; {
			page, err := x.Instances(t.Context(), q)
			must(t, err)
			q.After = page.Next
		}
		if seen != 300 {
			t.Errorf("%d instances were looked at, want 300", seen)
		}
	})
}

// TestImpossibleLists checks that values that no record can have are ignored, and that a list with only these values is empty and does
// not read the store.
func TestImpossibleLists(t *testing.T) {
	t.Parallel()
	store := &slowLists{Store: store.NewMemory()}
	x := newToys(t, func(cfg *vnflcm.Config) { cfg.Store = store })
	x.instantiated("plain")
	instances, err := x.Instances(t.Context(), vnflcm.InstanceQuery{States: []vnflcm.InstantiationState{"BROKEN", ""}})
	if err != nil || len(instances.Items) > 0 {
		t.Errorf("%d instances, %v", len(instances.Items), err)
	}
	for _, q := range []vnflcm.OperationQuery{{States: []vnflcm.OperationState{"completed"}}, {Operations: []vnflcm.LcmOperation{"CHANGE_FLAVOUR"}}} {
		operations, err := x.Operations(t.Context(), q)
		if err != nil || len(operations.Items) > 0 {
			t.Errorf("%d operations, %v", len(operations.Items), err)
		}
	}
	if n := store.lists.Load(); n > 0 {
		t.Errorf("the store was asked %d times", n)
	}
	many := vnflcm.OperationQuery{States: []vnflcm.OperationState{vnflcm.Completed, "x", vnflcm.Completed}, Operations: []vnflcm.LcmOperation{"y", vnflcm.OpInstantiate}}
	if operations, err := x.Operations(t.Context(), many); err != nil || len(operations.Items) != 1 {
		t.Errorf("%d operations, %v", len(operations.Items), err)
	}
}
