package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Run runs the checks, each on a new and empty store that open returns. open may use t.Cleanup to close it.
func Run(t *testing.T, open func(t *testing.T) vnflcm.Store) {
	t.Helper()
	for _, c := range []struct {
		name  string
		check func(*testing.T, vnflcm.Store)
	}{
		{"versions", versions}, {"list", list}, {"delete", remove}, {"bodies", bodies}, {"kinds", kinds},
		{"one writer wins", oneWriterWins}, {"no update is lost", noUpdateIsLost}, {"ended context", endedContext},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, open(t)) })
	}
}

func put(t *testing.T, s vnflcm.Store, kind, id string, version int64, body string) {
	t.Helper()
	if err := s.Put(t.Context(), vnflcm.Record{Kind: kind, ID: id, Version: version, Body: []byte(body)}); err != nil {
		t.Fatalf("Put %s %s version %d: %v", kind, id, version, err)
	}
}

// bodies come back byte for byte, whatever they hold and whatever the caller does with his slice.
func bodies(t *testing.T, s vnflcm.Store) {
	all := make([]byte, 64<<10)
	for i := range all {
		all[i] = byte(i)
	}
	for id, body := range map[string][]byte{"nil": nil, "empty": {}, "every byte": all, "no UTF-8": {0xff, 0, 0xfe}} {
		given := slices.Clone(body)
		if err := s.Put(t.Context(), vnflcm.Record{Kind: "k", ID: id, Body: given}); err != nil {
			t.Fatalf("Put %s: %v", id, err)
		}
		clear(given)
		got, err := s.Get(t.Context(), "k", id)
		if err != nil || !bytes.Equal(got.Body, body) {
			t.Errorf("Get %s: %d bytes, %v; want the %d that were put", id, len(got.Body), err, len(body))
		}
		clear(got.Body)
		if again, err := s.Get(t.Context(), "k", id); err != nil || !bytes.Equal(again.Body, body) {
			t.Errorf("Get %s again: the caller's changes show (%v)", id, err)
		}
	}
}

// kinds are apart, and so are ids that differ in case or hold signs with a meaning elsewhere.
func kinds(t *testing.T, s vnflcm.Store) {
	ids := []string{"a", "A", "a_b", "a%b", "a*b", `a'b"c\`, "a;--", "ä", " a", "a ", "a/b/c/"}
	for _, kind := range []string{"k", "K", "k/"} {
		for _, id := range ids {
			put(t, s, kind, id, 0, kind+id)
		}
	}
	for _, kind := range []string{"k", "K", "k/"} {
		for _, id := range ids {
			if got, err := s.Get(t.Context(), kind, id); err != nil || string(got.Body) != kind+id {
				t.Errorf("Get %q %q: %q, %v", kind, id, got.Body, err)
			}
		}
		if got, err := s.List(t.Context(), kind, "a_"); err != nil || len(got) != 1 {
			t.Errorf("List of %q from a_: %d records, %v; want 1", kind, len(got), err)
		}
	}
}

// noUpdateIsLost lets writers count in one record: each must see the others' counts.
func noUpdateIsLost(t *testing.T, s vnflcm.Store) {
	const writers, each = 4, 10
	put(t, s, "k", "n", 0, "")
	ctx := context.WithoutCancel(t.Context())
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for done := 0; done < each; {
				r, err := s.Get(ctx, "k", "n")
				if err == nil {
					r.Body = append(r.Body, 'x')
					err = s.Put(ctx, r)
				}
				switch {
				case err == nil:
					done++
				case !errors.Is(err, vnflcm.ErrConflict):
					t.Errorf("Get and Put: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	r, err := s.Get(ctx, "k", "n")
	if err != nil || len(r.Body) != writers*each || r.Version != writers*each+1 {
		t.Errorf("%d of %d updates are there, version %d (%v)", len(r.Body), writers*each, r.Version, err)
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
	if err := s.Delete(t.Context(), "k", "other", 0); !errors.Is(err, vnflcm.ErrNotFound) {
		t.Errorf("Delete of what never was: %v, want ErrNotFound", err)
	}
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
	put(t, s, "k", "b", 0, "one")
	if err := s.Delete(ctx, "k", "b", 1); err == nil {
		t.Error("Delete with an ended context succeeded")
	}
	if _, err := s.Get(ctx, "k", "b"); err == nil || errors.Is(err, vnflcm.ErrNotFound) {
		t.Errorf("Get with an ended context: %v", err)
	}
	if _, err := s.List(ctx, "k", ""); err == nil {
		t.Error("List with an ended context succeeded")
	}
}
