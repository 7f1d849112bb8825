package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
	"github.com/vnfkit/vnfkit/vnflcm/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, filepath.Join(t.TempDir(), "state.db")) })
}

// TestOpenAtOnceAndShare lets several stores, as of several processes, open one new file at the same time and
// write to it: every record has one winner, and all see the same.
func TestOpenAtOnceAndShare(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	const stores, rounds = 4, 25
	all := make([]*sqlite.Store, stores)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			s, err := sqlite.Open(context.WithoutCancel(t.Context()), path)
			if err != nil {
				t.Errorf("Open: %v", err)
				return
			}
			all[i] = s
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	wins := make([]int, rounds)
	var mu sync.Mutex
	for _, s := range all {
		wg.Go(func() {
			for round := range rounds {
				err := s.Apply(t.Context(), store.Batch{Put: []store.Record{{Kind: "k", ID: fmt.Sprint(round), Body: []byte("x")}}})
				if err != nil && !errors.Is(err, store.ErrConflict) {
					t.Errorf("Put: %v", err)
				}
				if err == nil {
					mu.Lock()
					wins[round]++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	for round, n := range wins {
		if n != 1 {
			t.Errorf("round %d has %d winners", round, n)
		}
	}
	for _, s := range all {
		if list, err := s.List(t.Context(), store.Query{Kind: "k"}); err != nil || len(list) != rounds {
			t.Errorf("List: %d records, %v", len(list), err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"state.db", "with space.db", "a?b#c%41.db"} {
		path := filepath.Join(t.TempDir(), name)
		first, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := first.Apply(t.Context(), store.Batch{Put: []store.Record{{Kind: "k", ID: "a", Body: []byte("kept")}}}); err != nil {
			t.Fatal(err)
		}
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := open(t, path).Get(t.Context(), "k", "a")
		if err != nil || string(got.Body) != "kept" {
			t.Errorf("%s: after reopening %q, %v", name, got.Body, err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if _, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "none", "state.db")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Open in a folder that is not there: %v", err)
	}
}
