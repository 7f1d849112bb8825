package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// indexed returns records whose indexes differ in one attribute each.
func indexed() []store.Record {
	first := store.Index{State: "PROCESSING", Operation: "HEAL", Instance: "i1", VNFD: "d1", Start: 20}
	out := []store.Record{{ID: "b", Index: first}, {ID: "a", Index: first}}
	for i, change := range []func(*store.Index){
		func(x *store.Index) { x.State = "COMPLETED" },
		func(x *store.Index) { x.Operation = "SCALE" },
		func(x *store.Index) { x.Instance = "i2" },
		func(x *store.Index) { x.VNFD = "D1" },
		func(x *store.Index) { x.Start = 10 },
		func(x *store.Index) { x.Start = -5 },
		func(x *store.Index) { *x = store.Index{} },
	} {
		r := store.Record{ID: fmt.Sprint(i), Index: first}
		change(&r.Index)
		out = append(out, r)
	}
	for i := range out {
		out[i].Kind, out[i].Body = "k", []byte(out[i].ID)
	}
	return out
}

func ids(list []store.Record) (out []string) {
	for _, r := range list {
		out = append(out, r.ID)
	}
	return out
}

// queries select by every attribute of the index, and the index follows the record.
func queries(t *testing.T, s store.Store) {
	if err := s.Apply(t.Context(), store.Batch{Put: append(indexed(), store.Record{Kind: "other", ID: "a", Index: indexed()[0].Index})}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		q    store.Query
		want []string
	}{
		"all":                {store.Query{}, []string{"5", "6", "4", "0", "1", "2", "3", "a", "b"}},
		"one state":          {store.Query{States: []string{"COMPLETED"}}, []string{"0"}},
		"two states":         {store.Query{States: []string{"COMPLETED", "PROCESSING"}}, []string{"5", "4", "0", "1", "2", "3", "a", "b"}},
		"operation":          {store.Query{Operations: []string{"SCALE", "none"}}, []string{"1"}},
		"instance":           {store.Query{Instance: "i2"}, []string{"2"}},
		"VNFD, case counts":  {store.Query{VNFD: "D1"}, []string{"3"}},
		"from":               {store.Query{From: 20}, []string{"0", "1", "2", "3", "a", "b"}},
		"before":             {store.Query{Before: 20, States: []string{"PROCESSING"}}, []string{"5", "4"}},
		"several":            {store.Query{States: []string{"PROCESSING"}, Operations: []string{"HEAL"}, Instance: "i1", VNFD: "d1", From: 11}, []string{"a", "b"}},
		"prefix and another": {store.Query{Prefix: "a", Instance: "i1"}, []string{"a"}},
		"none":               {store.Query{Instance: "%"}, nil},
		"no SQL":             {store.Query{Instance: "' OR ''='"}, nil},
	} {
		c.q.Kind = "k"
		got, err := s.List(t.Context(), c.q)
		if diff := cmp.Diff(c.want, ids(got)); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	r := indexed()[0]
	got, err := s.Get(t.Context(), "k", r.ID)
	if r.Version = 1; err != nil || !cmp.Equal(r, got) {
		t.Errorf("Get: %v\n%s", err, cmp.Diff(r, got))
	}
	r.Index.State, r.Index.Start = "FAILED_TEMP", 30
	if err := s.Apply(t.Context(), store.Batch{Put: []store.Record{r}}); err != nil {
		t.Fatal(err)
	}
	list, err := s.List(t.Context(), store.Query{Kind: "k", States: []string{"FAILED_TEMP"}, From: 30})
	if r.Version = 2; err != nil || !cmp.Equal([]store.Record{r}, list) {
		t.Errorf("List after a change of the index: %v\n%s", err, cmp.Diff([]store.Record{r}, list))
	}
}

// hostileTexts are texts that SQL, its patterns and its quoting could take for something else.
var hostileTexts = []string{`'; DELETE FROM records; --`, `' OR ''='`, `"`, `\`, `\'`, "%", "_", "?", "$1", ":id", "/*", "a\nb", "\u202e", "''", "NULL"}

// hostile texts in every attribute are kept as they are, and select the records that have them and no other.
func hostile(t *testing.T, s store.Store) {
	for _, text := range hostileTexts {
		r := store.Record{Kind: "k" + text, ID: text, Body: []byte(text), Index: store.Index{State: text, Operation: text, Instance: text, VNFD: text}}
		if err := apply(t.Context(), s, r); err != nil {
			t.Fatalf("Put %q: %v", text, err)
		}
		r.Kind = "k"
		if err := apply(t.Context(), s, r); err != nil {
			t.Fatalf("Put %q: %v", text, err)
		}
	}
	for _, text := range hostileTexts {
		for name, q := range map[string]store.Query{
			"kind": {Kind: "k" + text}, "prefix": {Kind: "k" + text, Prefix: text}, "state": {Kind: "k", States: []string{text}},
			"operation": {Kind: "k", Operations: []string{text}}, "instance": {Kind: "k", Instance: text}, "VNFD": {Kind: "k", VNFD: text},
		} {
			got, err := s.List(t.Context(), q)
			if diff := cmp.Diff([]string{text}, ids(got)); err != nil || diff != "" {
				t.Errorf("%s %q: %v\n%s", name, text, err, diff)
			}
		}
		got, err := s.Get(t.Context(), "k", text)
		if err != nil || string(got.Body) != text {
			t.Errorf("Get %q: %q, %v", text, got.Body, err)
		}
	}
}

// pages of every size together are the list.
func pages(t *testing.T, s store.Store) {
	if err := s.Apply(t.Context(), store.Batch{Put: indexed()}); err != nil {
		t.Fatal(err)
	}
	for _, q := range []store.Query{{Kind: "k"}, {Kind: "k", States: []string{"PROCESSING"}}, {Kind: "k", Instance: "i1"},
		{Kind: "k", States: []string{"PROCESSING", "COMPLETED", "", "PROCESSING", "none"}}, {Kind: "k", Instance: "i1", States: []string{"PROCESSING", "COMPLETED"}},
	} {
		all, err := s.List(t.Context(), q)
		if err != nil || len(all) < 5 {
			t.Fatalf("List: %d records, %v", len(all), err)
		}
		for q.Limit = 1; q.Limit <= len(all)+1; q.Limit++ {
			var got []store.Record
			for page := q; ; {
				list, err := s.List(t.Context(), page)
				if err != nil || len(list) > q.Limit {
					t.Fatalf("a page of %d: %d records, %v", q.Limit, len(list), err)
				}
				if len(list) == 0 {
					break
				}
				got = append(got, list...)
				last := list[len(list)-1]
				page.AfterStart, page.AfterID = last.Index.Start, last.ID
			}
			if diff := cmp.Diff(ids(all), ids(got)); diff != "" {
				t.Errorf("pages of %d:\n%s", q.Limit, diff)
			}
		}
	}
}

// feed checks that Feed returns the appended records, from any position, in their current content.
func feed(t *testing.T, s store.Store) {
	entry := func(id string) store.Record { return store.Record{Kind: "change", ID: id, Body: []byte(id)} }
	read := func(after string, limit int) ([]string, string) {
		list, next, err := s.Feed(t.Context(), after, limit)
		if err != nil {
			t.Fatalf("Feed after %q: %v", after, err)
		}
		return ids(list), next
	}
	if got, next := read("", 10); len(got) > 0 || next != "" {
		t.Errorf("an empty feed: %v, %q", got, next)
	}
	put(t, s, "change", "not appended", 0, "")
	for _, b := range []store.Batch{{Append: []store.Record{entry("z"), entry("y")}}, {Append: []store.Record{entry("x")}, Put: []store.Record{{Kind: "k", ID: "a"}}}} {
		if err := s.Apply(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	refused := store.Batch{Append: []store.Record{entry("w")}, Assert: []store.Record{{Kind: "k", ID: "a", Version: 7}}}
	if err := s.Apply(t.Context(), refused); err == nil {
		t.Error("a batch with a wrong assertion was written")
	}
	if err := s.Apply(t.Context(), store.Batch{Append: []store.Record{entry("x")}}); err == nil {
		t.Error("a record that is there was appended again")
	}
	first, after := read("", 2)
	rest, end := read(after, 2)
	if diff := cmp.Diff([]string{"z", "y", "x"}, append(first, rest...)); diff != "" {
		t.Errorf("the feed:\n%s", diff)
	}
	if again, next := read(end, 2); len(again) > 0 || next != end {
		t.Errorf("after the end: %v, %q; want nothing and %q", again, next, end)
	}
	if none, next := read("", 0); len(none) > 0 {
		t.Errorf("a limit of 0: %v", none)
	} else if got, _ := read(next, 2); len(got) > 0 {
		t.Errorf("after the position of a limit of 0: %v", got)
	}
	put(t, s, "change", "y", 1, "changed")
	if err := s.Apply(t.Context(), store.Batch{Append: []store.Record{entry("v")}, Delete: []store.Record{{Kind: "change", ID: "z", Version: 1}}}); err != nil {
		t.Fatal(err)
	}
	if got, _ := read("", 10); !cmp.Equal(got, []string{"y", "x", "v"}) {
		t.Errorf("after a change and a deletion: %v", got)
	}
	if got, _ := read(end, 10); !cmp.Equal(got, []string{"v"}) {
		t.Errorf("from the position before: %v", got)
	}
	if _, _, err := s.Feed(t.Context(), "nonsense", 1); err == nil {
		t.Error("an invalid position was accepted")
	}
}

// feedSkipsNothing appends while a reader follows: each record is read once, also if a batch with an earlier position
// commits after one with a later position.
func feedSkipsNothing(t *testing.T, s store.Store) {
	const writers, each = 8, 25
	ctx := context.WithoutCancel(t.Context())
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				b := store.Batch{Append: []store.Record{{Kind: "change", ID: fmt.Sprintf("%d/%d", w, i)}}}
				if err := s.Apply(ctx, b); err != nil {
					t.Error(err)
				}
			}
		})
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		wg.Wait()
	}()
	seen, next := map[string]int{}, ""
	last := map[int]int{}
	read := func() {
		list, position, err := s.Feed(ctx, next, 7)
		if err != nil {
			t.Error(err)
		}
		for _, r := range list {
			seen[r.ID]++
			var w, i int
			if _, err := fmt.Sscanf(r.ID, "%d/%d", &w, &i); err != nil || i < last[w] {
				t.Errorf("%s comes after %d (%v)", r.ID, last[w], err)
			}
			last[w] = i
		}
		next = position
	}
	for open := true; open; {
		select {
		case <-written:
			open = false
		default:
			read()
		}
	}
	for range writers*each/7 + 1 {
		read()
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s came %d times", id, n)
		}
	}
	if len(seen) != writers*each {
		t.Errorf("%d of %d records came", len(seen), writers*each)
	}
}
