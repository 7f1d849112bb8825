package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm/internal/ledger"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// TestSealed: a body opens only in its record, under its version and beside its index.
func TestSealed(t *testing.T) {
	l := open(t, store.NewMemory(), format, newKey)
	put(t, l, "note", "1", note{Text: "secret", Topic: "a"})
	found := stored(t, l, "note", "1")
	if strings.Contains(string(found.Body), "secret") {
		t.Errorf("the body is in clear: %s", found.Body)
	}
	if want := (store.Index{State: "a"}); found.Index != want {
		t.Errorf("the index is %v, not %v", found.Index, want)
	}
	var got note
	must(t, l.Open(found, &got))
	if want := (note{Text: "secret", Topic: "a"}); got != want {
		t.Errorf("the content is %v, not %v", got, want)
	}
	for name, change := range map[string]func(*store.Record){
		"kind":      func(r *store.Record) { r.Kind = "other" },
		"id":        func(r *store.Record) { r.ID = "2" },
		"version":   func(r *store.Record) { r.Version++ },
		"state":     func(r *store.Record) { r.Index.State = "b" },
		"operation": func(r *store.Record) { r.Index.Operation = "b" },
		"instance":  func(r *store.Record) { r.Index.Instance = "b" },
		"VNFD":      func(r *store.Record) { r.Index.VNFD = "b" },
		"start":     func(r *store.Record) { r.Index.Start++ },
		"body":      func(r *store.Record) { r.Body = append([]byte{r.Body[0] ^ 1}, r.Body[1:]...) },
	} {
		t.Run(name, func(t *testing.T) {
			moved := found
			change(&moved)
			err := l.Open(moved, &got)
			wantIs(t, err, ledger.ErrUnreadable)
			if name := moved.Kind + " " + moved.ID; !strings.Contains(fmt.Sprint(err), name) {
				t.Errorf("the error %q does not name the record %s", err, name)
			}
		})
	}
}

// TestKeys: records stay readable under an old key until they are sealed under the new one.
func TestKeys(t *testing.T) {
	s := store.NewMemory()
	put(t, open(t, s, format, oldKey), "note", "1", note{Text: "x"})
	l := open(t, s, format, newKey, oldKey)
	was := stored(t, l, "note", "1")
	if !l.HasKey(was) || l.IsNewest(was) {
		t.Errorf("HasKey is %t and IsNewest %t for a record under the old key", l.HasKey(was), l.IsNewest(was))
	}
	resealed, err := l.Reseal(was)
	must(t, err)
	must(t, l.Store.Apply(t.Context(), store.Batch{Put: []store.Record{resealed}}))
	var got note
	now := stored(t, l, "note", "1")
	must(t, l.Open(now, &got))
	if !l.IsNewest(now) || got.Text != "x" {
		t.Errorf("the record has the content %v, and IsNewest is %t", got, l.IsNewest(now))
	}
	other, err := ledger.New(s, format, nil, oldKey)
	must(t, err)
	if other.HasKey(now) {
		t.Error("a record under the new key still opens under the old one")
	}
	_, err = ledger.New(s, format, nil, []byte("short"))
	if err == nil {
		t.Error("a key of 5 bytes was taken")
	}
}

// TestUpdate: a batch whose record another writer has changed is built again; one without changes is not written.
func TestUpdate(t *testing.T) {
	l, ctx := open(t, store.NewMemory(), format, newKey), t.Context()
	put(t, l, "note", "1", note{Text: "1"})
	built := 0
	must(t, l.Update(ctx, func(ctx context.Context, b *store.Batch) error {
		err := l.Put(ctx, b, "note", "1", note{Text: "2"})
		if built++; built == 1 { // another writer is faster
			faster, errSeal := l.Seal("note", "1", 1, note{Text: "faster"})
			err = errors.Join(err, errSeal, l.Store.Apply(ctx, store.Batch{Put: []store.Record{faster}}))
		}
		return err
	}))
	var got note
	version, err := l.Get(ctx, "note", "1", &got)
	must(t, err)
	if built != 2 || version != 3 || got.Text != "2" {
		t.Errorf("after %d batches version %d is %v", built, version, got)
	}
	failed := errors.New("failed")
	wantIs(t, l.Update(ctx, func(context.Context, *store.Batch) error { return failed }), failed)
	must(t, l.Update(ctx, func(context.Context, *store.Batch) error { return nil }))
}

// TestDrop: records are removed, and a record that is missing must stay missing.
func TestDrop(t *testing.T) {
	l, ctx := open(t, store.NewMemory(), format, newKey), t.Context()
	for _, id := range []string{"a/1", "a/2", "b/1", "c"} {
		put(t, l, "note", id, note{})
	}
	must(t, l.Update(ctx, func(ctx context.Context, b *store.Batch) error {
		return errors.Join(l.DropAll(ctx, b, "note", "a/"), l.Drop(ctx, b, "note", "c"), l.Drop(ctx, b, "note", "no\x00record"))
	}))
	var left []string
	must(t, l.EachPage(ctx, store.Query{Kind: "note", Limit: 1}, func(list []store.Record) error {
		left = append(left, list[0].ID)
		return nil
	}))
	if diff := cmp.Diff([]string{"b/1"}, left); diff != "" {
		t.Error(diff)
	}
	var b store.Batch
	must(t, l.Drop(ctx, &b, "note", "new"))
	put(t, l, "note", "new", note{})
	wantIs(t, l.Store.Apply(ctx, b), store.ErrConflict)
}

// TestSlot: after a write whose answer is lost, the next one reads the version.
func TestSlot(t *testing.T) {
	shared := &outage{Store: store.NewMemory()}
	l, ctx := open(t, shared, format, newKey), t.Context()
	s := ledger.Slot{Kind: "note", ID: "1"}
	fill := func() error {
		var b store.Batch
		must(t, l.Fill(ctx, &b, &s, note{}))
		return l.Store.Apply(ctx, b)
	}
	must(t, fill()) // the caller does not learn that
	must(t, fill())
	s.Written()
	if want := (ledger.Slot{Kind: "note", ID: "1", Version: 2, Shared: true}); s != want {
		t.Errorf("the slot is %+v, not %+v", s, want)
	}
	shared.down.Store(true)
	wantIs(t, fill(), ledger.ErrStore)
}

// TestPosition: a list continues behind its position, which shows nothing of the records.
func TestPosition(t *testing.T) {
	l := open(t, store.NewMemory(), format, newKey)
	position, err := l.Position(store.Query{Kind: "note", AfterStart: 7, AfterID: "secret.id"})
	must(t, err)
	if strings.Contains(position, "secret") {
		t.Errorf("the position %q is in clear", position)
	}
	q := store.Query{Kind: "note"}
	must(t, l.ContinueAfter(&q, position))
	if diff := cmp.Diff(store.Query{Kind: "note", AfterStart: 7, AfterID: "secret.id"}, q); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{position[1:], "?", position + "A"} {
		wantIs(t, l.ContinueAfter(&store.Query{Kind: "note"}, bad), store.ErrInvalid)
	}
	wantIs(t, l.ContinueAfter(&store.Query{Kind: "other"}, position), store.ErrInvalid)
	must(t, l.ContinueAfter(&store.Query{Kind: "note"}, ""))
}

// TestStoreFails: failures of the store are ErrStore of this ledger, texts that databases refuse are not.
func TestStoreFails(t *testing.T) {
	shared := &outage{Store: store.NewMemory()}
	l, other, ctx := open(t, shared, format, newKey), open(t, store.NewMemory(), format, newKey), t.Context()
	wantIs(t, l.Store.Apply(ctx, store.Batch{Put: []store.Record{{Kind: "note", ID: "\xff"}}}), store.ErrInvalid)
	wantIs(t, ledger.Storable("id", strings.Repeat("x", 2001)), store.ErrInvalid)
	must(t, ledger.Storable("id", strings.Repeat("x", 2000)))
	_, err := l.Store.Get(ctx, "note", "\xff")
	wantIs(t, err, store.ErrNotFound)
	shared.down.Store(true)
	_, get := l.Store.Get(ctx, "note", "1")
	_, list := l.Store.List(ctx, store.Query{Kind: "note"})
	_, _, feed := l.Store.Feed(ctx, "", 1)
	for name, err := range map[string]error{"Get": get, "List": list, "Feed": feed, "Apply": l.Store.Apply(ctx, store.Batch{})} {
		t.Run(name, func(t *testing.T) {
			wantIs(t, err, ledger.ErrStore)
			wantIs(t, err, errDown)
			if !l.Failed(fmt.Errorf("wrapped: %w", err)) || other.Failed(err) {
				t.Errorf("Failed is %t, and %t of another ledger", l.Failed(err), other.Failed(err))
			}
		})
	}
}
