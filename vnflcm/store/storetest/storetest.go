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

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// Run runs the checks, each on a new and empty store that open returns. open may use t.Cleanup to close it.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	t.Helper()
	for _, c := range []struct {
		name  string
		check func(*testing.T, store.Store)
	}{
		{"versions", versions}, {"list", list}, {"delete", remove}, {"bodies", bodies}, {"kinds", kinds}, {"batches", batches},
		{"one writer wins", oneWriterWins}, {"no update is lost", noUpdateIsLost}, {"assertions hold", assertionsHold},
		{"assertions of missing records hold", missingAssertionsHold}, {"queries", queries}, {"hostile texts", hostile}, {"pages", pages}, {"feed", feed}, {"the feed skips nothing", feedSkipsNothing},
		{"ended context", endedContext},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, open(t)) })
	}
}

// apply puts one record.
func apply(ctx context.Context, s store.Store, r store.Record) error {
	return s.Apply(ctx, store.Batch{Put: []store.Record{r}})
}

func put(t *testing.T, s store.Store, kind, id string, version int64, body string) {
	t.Helper()
	if err := apply(t.Context(), s, store.Record{Kind: kind, ID: id, Version: version, Body: []byte(body)}); err != nil {
		t.Fatalf("Put %s %s version %d: %v", kind, id, version, err)
	}
}

// bodies checks that bodies come back byte for byte, also after the caller has changed its slice.
func bodies(t *testing.T, s store.Store) {
	all := make([]byte, 64<<10)
	for i := range all {
		all[i] = byte(i)
	}
	for id, body := range map[string][]byte{"nil": nil, "empty": {}, "every byte": all, "no UTF-8": {0xff, 0, 0xfe}} {
		given := slices.Clone(body)
		if err := apply(t.Context(), s, store.Record{Kind: "k", ID: id, Body: given}); err != nil {
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
func kinds(t *testing.T, s store.Store) {
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
		if got, err := s.List(t.Context(), store.Query{Kind: kind, Prefix: "a_"}); err != nil || len(got) != 1 {
			t.Errorf("List of %q from a_: %d records, %v; want 1", kind, len(got), err)
		}
	}
}

// noUpdateIsLost lets concurrent writers count in one record: no count may be lost.
func noUpdateIsLost(t *testing.T, s store.Store) {
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
					err = apply(ctx, s, r)
				}
				switch {
				case err == nil:
					done++
				case !errors.Is(err, store.ErrConflict):
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

func versions(t *testing.T, s store.Store) {
	if _, err := s.Get(t.Context(), "k", "a"); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("Get of nothing: %v, want ErrNotFound", err)
	}
	put(t, s, "k", "a", 0, "one")
	put(t, s, "k", "a", 1, "two")
	for _, version := range []int64{0, 1, 3} {
		err := apply(t.Context(), s, store.Record{Kind: "k", ID: "a", Version: version, Body: []byte("lost")})
		if !errors.Is(err, store.ErrConflict) {
			t.Errorf("Put over version %d: %v, want ErrConflict", version, err)
		}
	}
	got, err := s.Get(t.Context(), "k", "a")
	want := store.Record{Kind: "k", ID: "a", Version: 2, Body: []byte("two")}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("Get: %v\n%s", err, diff)
	}
}

func list(t *testing.T, s store.Store) {
	for _, id := range []string{"b/2", "a", "b/10", "b", "bb", "b0", "c/ü", "c/ÿ", "c/\U0010ffff"} {
		put(t, s, "k", id, 0, id)
	}
	put(t, s, "other", "b/1", 0, "")
	for prefix, want := range map[string][]string{
		"": {"a", "b", "b/10", "b/2", "b0", "bb", "c/ü", "c/ÿ", "c/\U0010ffff"}, "b/": {"b/10", "b/2"}, "c/ü": {"c/ü"}, "c/ÿ": {"c/ÿ"}, "c/\U0010ffff": {"c/\U0010ffff"}, "d": nil,
	} {
		records, err := s.List(t.Context(), store.Query{Kind: "k", Prefix: prefix})
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

func remove(t *testing.T, s store.Store) {
	put(t, s, "k", "a", 0, "one")
	put(t, s, "k", "a", 1, "two")
	for _, c := range []struct {
		id      string
		version int64
		want    error
	}{{"other", 0, store.ErrConflict}, {"other", 1, store.ErrConflict}, {"a", 0, store.ErrConflict}, {"a", 1, store.ErrConflict}, {"a", 2, nil}, {"a", 2, store.ErrConflict}} {
		err := s.Apply(t.Context(), store.Batch{Delete: []store.Record{{Kind: "k", ID: c.id, Version: c.version}}})
		if !errors.Is(err, c.want) {
			t.Errorf("Delete of %s at version %d: %v, want %v", c.id, c.version, err, c.want)
		}
	}
	put(t, s, "k", "a", 0, "again")
}

// batches checks that a batch is written as a whole or not at all, whichever of its records has another version.
func batches(t *testing.T, s store.Store) {
	at := func(id string, version int64) []store.Record {
		return []store.Record{{Kind: "k", ID: id, Version: version, Body: []byte(id)}}
	}
	put(t, s, "k", "a", 0, "a")
	put(t, s, "k", "b", 0, "b")
	for name, b := range map[string]store.Batch{
		"assertion of an old version":    {Assert: at("a", 2), Put: at("n", 0), Delete: at("b", 1)},
		"assertion of a missing record":  {Assert: at("none", 1), Put: at("n", 0), Delete: at("b", 1)},
		"assertion that there is none":   {Assert: at("a", 0), Put: at("n", 0), Delete: at("b", 1)},
		"put over another version":       {Put: append(at("n", 0), at("a", 2)...), Delete: at("b", 1)},
		"put of a record that is there":  {Put: append(at("n", 0), at("a", 0)...), Delete: at("b", 1)},
		"deletion of another version":    {Put: append(at("n", 0), at("a", 1)...), Delete: at("b", 2)},
		"deletions, one of another":      {Put: at("n", 0), Delete: append(at("a", 1), at("b", 2)...)},
		"deletion of a missing record":   {Put: append(at("n", 0), at("a", 1)...), Delete: append(at("b", 1), at("none", 1)...)},
		"the second of three assertions": {Assert: append(append(at("a", 1), at("b", 7)...), at("none", 0)...), Put: at("n", 0)},
	} {
		if err := s.Apply(t.Context(), b); !errors.Is(err, store.ErrConflict) {
			t.Errorf("%s: %v, want ErrConflict", name, err)
		}
	}
	want := []store.Record{{Kind: "k", ID: "a", Version: 1, Body: []byte("a")}, {Kind: "k", ID: "b", Version: 1, Body: []byte("b")}}
	if got, err := s.List(t.Context(), store.Query{Kind: "k"}); err != nil || !cmp.Equal(want, got) {
		t.Errorf("refused batches changed records: %v\n%s", err, cmp.Diff(want, got))
	}
	err := s.Apply(t.Context(), store.Batch{Urgent: true, Assert: append(at("b", 1), at("none", 0)...), Put: append(at("n", 0), at("m", 0)...), Delete: at("a", 1)})
	var ids []string
	got, listed := s.List(t.Context(), store.Query{Kind: "k"})
	for _, r := range got {
		ids = append(ids, r.ID)
	}
	if diff := cmp.Diff([]string{"b", "m", "n"}, ids); err != nil || listed != nil || diff != "" {
		t.Errorf("Apply: %v, %v\n%s", err, listed, diff)
	}
	if err := s.Apply(t.Context(), store.Batch{}); err != nil {
		t.Errorf("an empty batch: %v", err)
	}
}

// assertionsHold races writers that assert the version of a claim with takeovers that raise it: no write may take effect
// after a takeover that it did not see.
func assertionsHold(t *testing.T, s store.Store) {
	const rounds, writers = 20, 4
	ctx := context.WithoutCancel(t.Context())
	for round := range rounds {
		claim, counter := store.Record{Kind: "claim", ID: fmt.Sprint(round)}, store.Record{Kind: "count", ID: fmt.Sprint(round)}
		if err := s.Apply(ctx, store.Batch{Put: []store.Record{claim, counter}}); err != nil {
			t.Fatal(err)
		}
		claim.Version = 1
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				for {
					r, err := s.Get(ctx, counter.Kind, counter.ID)
					if err == nil {
						r.Body = append(r.Body, 'x')
						err = s.Apply(ctx, store.Batch{Assert: []store.Record{claim}, Put: []store.Record{r}})
					}
					now, failed := s.Get(ctx, claim.Kind, claim.ID)
					switch {
					case err != nil && !errors.Is(err, store.ErrConflict) || failed != nil:
						t.Errorf("a writer: %v, %v", err, failed)
						return
					case now.Version != 1 && err != nil:
						return // taken over
					}
				}
			})
		}
		put(t, s, claim.Kind, claim.ID, 1, "taken over")
		then, err := s.Get(ctx, counter.Kind, counter.ID)
		wg.Wait()
		after, failed := s.Get(ctx, counter.Kind, counter.ID)
		if err != nil || failed != nil || then.Version != after.Version {
			t.Errorf("round %d: the count was %d after the takeover and became %d (%v, %v)", round, then.Version, after.Version, err, failed)
		}
	}
}

// missingAssertionsHold races two writers of which each inserts a record if that of the other is missing.
func missingAssertionsHold(t *testing.T, s store.Store) {
	ctx := context.WithoutCancel(t.Context())
	for round := range 20 {
		records := []store.Record{{Kind: "k", ID: fmt.Sprintf("%02da", round)}, {Kind: "k", ID: fmt.Sprintf("%02db", round)}}
		var won atomic.Int32
		var wg sync.WaitGroup
		for i := range records {
			wg.Go(func() {
				err := s.Apply(ctx, store.Batch{Assert: records[1-i : 2-i], Put: records[i : i+1]})
				switch {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, store.ErrConflict):
					t.Errorf("Apply: %v", err)
				}
			})
		}
		wg.Wait()
		list, err := s.List(ctx, store.Query{Kind: "k", Prefix: fmt.Sprintf("%02d", round)})
		if err != nil || won.Load() > 1 || len(list) != int(won.Load()) {
			t.Errorf("round %d: %d writers won and %d records are there (%v), want at most 1", round, won.Load(), len(list), err)
		}
	}
}

func oneWriterWins(t *testing.T, s store.Store) {
	const writers, rounds = 8, 10
	for round := range rounds {
		id := fmt.Sprint(round)
		var won atomic.Int32
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				err := apply(context.WithoutCancel(t.Context()), s, store.Record{Kind: "k", ID: id, Body: []byte("x")})
				switch {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, store.ErrConflict):
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

func endedContext(t *testing.T, s store.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := apply(ctx, s, store.Record{Kind: "k", ID: "a", Body: []byte("x")}); err == nil {
		t.Error("Put with an ended context succeeded")
	}
	if _, err := s.Get(t.Context(), "k", "a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Put with an ended context wrote: %v", err)
	}
	put(t, s, "k", "b", 0, "one")
	if err := s.Apply(ctx, store.Batch{Delete: []store.Record{{Kind: "k", ID: "b", Version: 1}}}); err == nil {
		t.Error("Delete with an ended context succeeded")
	}
	if _, err := s.Get(ctx, "k", "b"); err == nil || errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get with an ended context: %v", err)
	}
	if _, err := s.List(ctx, store.Query{Kind: "k"}); err == nil {
		t.Error("List with an ended context succeeded")
	}
}
