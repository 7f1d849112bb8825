// Package storetest checks an implementation of vnflcm.Store:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) vnflcm.Store { return newMyStore(t) })
//	}
package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Run runs the checks, each on a new and empty store.
func Run(t *testing.T, open func(t *testing.T) vnflcm.Store) {
	t.Helper()
	for name, check := range map[string]func(*testing.T, vnflcm.Store){
		"versions": versions, "list": list, "delete": remove, "one writer wins": oneWriterWins, "ended context": endedContext,
	} {
		t.Run(name, func(t *testing.T) { check(t, open(t)) })
	}
}

func put(t *testing.T, s vnflcm.Store, kind, id string, version int64, body string) {
	t.Helper()
	if err := s.Put(t.Context(), vnflcm.Record{Kind: kind, ID: id, Version: version, Body: []byte(body)}); err != nil {
		t.Fatalf("Put %s %s version %d: %v", kind, id, version, err)
	}
}

func versions(t *testing.T, s vnflcm.Store) {
	if _, err := s.Get(t.Context(), "k", "a"); !errors.Is(err, vnflcm.ErrNotFound) {
		t.Fatalf("Get of nothing: %v, want ErrNotFound", err)
	}
	put(t, s, "k", "a", 0, "one")
	put(t, s, "k", "a", 1, "two")
	for _, version := range []int64{0, 1, 3} {
		err := s.Put(t.Context(), vnflcm.Record{Kind: "k", ID: "a", Version: version, Body: []byte("lost")})
		if !errors.Is(err, vnflcm.ErrConflict) {
			t.Errorf("Put over version %d: %v, want ErrConflict", version, err)
		}
	}
	got, err := s.Get(t.Context(), "k", "a")
	want := vnflcm.Record{Kind: "k", ID: "a", Version: 2, Body: []byte("two")}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("Get: %v\n%s", err, diff)
	}
}

func list(t *testing.T, s vnflcm.Store) {
	for _, id := range []string{"b/2", "a", "b/10", "b", "bb", "b0", "c/ü"} {
		put(t, s, "k", id, 0, id)
	}
	put(t, s, "other", "b/1", 0, "")
	for prefix, want := range map[string][]string{
		"": {"a", "b", "b/10", "b/2", "b0", "bb", "c/ü"}, "b/": {"b/10", "b/2"}, "c/ü": {"c/ü"}, "d": nil,
	} {
		records, err := s.List(t.Context(), "k", prefix)
		var got []string
		for _, r := range records {
			got = append(got, r.ID)
			if string(r.Body) != r.ID || r.Version != 1 || r.Kind != "k" {
				t.Errorf("List %q: wrong record %+v", prefix, r)
			}
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("List %q: %v\n%s", prefix, err, diff)
		}
	}
}

func remove(t *testing.T, s vnflcm.Store) {
	put(t, s, "k", "a", 0, "one")
	put(t, s, "k", "a", 1, "two")
	if err := s.Delete(t.Context(), "k", "a", 1); !errors.Is(err, vnflcm.ErrConflict) {
		t.Errorf("Delete of an old version: %v, want ErrConflict", err)
	}
	if err := s.Delete(t.Context(), "k", "a", 2); err != nil {
		t.Errorf("Delete: %v", err)
	}
	if err := s.Delete(t.Context(), "k", "a", 2); !errors.Is(err, vnflcm.ErrNotFound) {
		t.Errorf("Delete of nothing: %v, want ErrNotFound", err)
	}
	put(t, s, "k", "a", 0, "again")
}

func oneWriterWins(t *testing.T, s vnflcm.Store) {
	const writers, rounds = 8, 10
	for round := range rounds {
		id := fmt.Sprint(round)
		var won atomic.Int32
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				err := s.Put(context.WithoutCancel(t.Context()), vnflcm.Record{Kind: "k", ID: id, Body: []byte("x")})
				switch {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, vnflcm.ErrConflict):
					t.Errorf("Put: %v", err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Errorf("%d of %d writers won, want 1", won.Load(), writers)
		}
	}
}

func endedContext(t *testing.T, s vnflcm.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Put(ctx, vnflcm.Record{Kind: "k", ID: "a", Body: []byte("x")}); err == nil {
		t.Error("Put with an ended context succeeded")
	}
	if _, err := s.Get(t.Context(), "k", "a"); !errors.Is(err, vnflcm.ErrNotFound) {
		t.Errorf("Put with an ended context wrote: %v", err)
	}
}
