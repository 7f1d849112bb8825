package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/pgtest"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/postgres"
)

// TestServerRestarts lets writers work while the server is stopped, killed and started: calls fail at once and work again
// without opening the store again, and no record is missing whose batch was acknowledged.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	s := open(t, server.NewDatabase(t), postgres.Options{})
	const writers = 8
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var acknowledged []string
	var failed int
	for w := range writers {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				id := fmt.Sprintf("%d/%d", w, i)
				err := s.Apply(context.WithoutCancel(ctx), store.Batch{Put: []store.Record{record(id)}, Append: []store.Record{{Kind: "change", ID: id}}})
				mu.Lock()
				if err == nil {
					acknowledged = append(acknowledged, id)
				} else {
					failed++
				}
				mu.Unlock()
				if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
					t.Errorf("an outage looks like %v", err)
				}
				if err != nil {
					time.Sleep(10 * time.Millisecond)
				}
			}
		})
	}
	count := func(what string) int {
		mu.Lock()
		defer mu.Unlock()
		return map[string]int{"acknowledged": len(acknowledged), "failed": failed}[what]
	}
	awaitMore := func(what string, more int) {
		t.Helper()
		before := count(what)
		awaitCondition(t, fmt.Sprint(more, " batches that have ", what), func() bool { return count(what) > before+more })
	}
	for _, end := range []func(testing.TB){server.Stop, server.Crash} {
		awaitMore("acknowledged", 50)
		end(t)
		if _, err := s.Get(t.Context(), "k", "a"); err == nil {
			t.Error("Get without a server returned no error")
		}
		awaitMore("failed", 50*writers) // more than could fail after a time limit each
		server.Continue(t)
		awaitMore("acknowledged", 50)
	}
	cancel()
	wg.Wait()
	list, err := s.List(t.Context(), store.Query{Kind: "k"})
	if err != nil {
		t.Fatal(err)
	}
	stored := map[string]bool{}
	for _, r := range list {
		stored[r.ID] = true
	}
	for _, id := range acknowledged {
		if !stored[id] {
			t.Errorf("%s was acknowledged and is not stored", id)
		}
	}
	changes, _, err := s.Feed(t.Context(), "", len(list)+1)
	if err != nil || len(changes) != len(list) {
		t.Errorf("%d records in the feed (%v), %d beside it", len(changes), err, len(list))
	}
	t.Logf("%d batches were acknowledged, %d calls failed", len(acknowledged), failed)
}

// patience bounds the wait for what must happen.
const patience = time.Minute

func awaitCondition(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for began := time.Now(); !holds(); {
		if time.Since(began) > patience {
			t.Fatalf("no %s within %s", what, patience)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
