package ledger_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm/internal/ledger"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// setFormat writes the format of a store, as a migration does.
func setFormat(t *testing.T, l *ledger.Ledger, f ledger.Format) {
	t.Helper()
	_, version, err := l.ReadFormat(t.Context())
	must(t, err)
	var b store.Batch
	must(t, l.PutFormat(&b, version, f))
	must(t, l.Store.Apply(t.Context(), b))
}

// TestCheck: a process works only on a store whose format it knows and whose records it can open.
func TestCheck(t *testing.T) {
	used := func(newest int, key []byte) store.Store {
		s := store.NewMemory()
		put(t, open(t, s, newest, key), "note", "1", note{})
		return s
	}
	migrating := used(format-1, newKey)
	setFormat(t, open(t, migrating, format, newKey), ledger.Format{Number: format - 1, Migrating: true})
	unmarked := store.NewMemory()
	must(t, unmarked.Apply(t.Context(), store.Batch{Put: []store.Record{{Kind: "note", ID: "1"}}}))
	damaged, lost := used(format, newKey), used(format, newKey)
	for _, s := range []store.Store{damaged, lost} {
		was, err := s.Get(t.Context(), ledger.KindMeta, "key")
		must(t, err)
		was.Body = []byte("damaged")
		must(t, s.Apply(t.Context(), store.Batch{Put: []store.Record{was}}))
	}
	must(t, lost.Apply(t.Context(), store.Batch{Delete: []store.Record{{Kind: "note", ID: "1", Version: 1}}}))

	for name, c := range map[string]struct {
		store store.Store
		want  error
	}{
		"empty":                        {store.NewMemory(), nil},
		"newest format":                {used(format, newKey), nil},
		"format before":                {used(format-1, newKey), nil},
		"earlier format":               {used(format-2, newKey), ledger.ErrUnreadable},
		"newer format":                 {used(format+1, newKey), ledger.ErrUnreadable},
		"interrupted migration before": {migrating, ledger.ErrUnreadable},
		"other key":                    {used(format, oldKey), ledger.ErrUnreadable},
		"without a format":             {unmarked, ledger.ErrUnreadable},
		"damaged format":               {damaged, nil},
		"damaged and nothing else":     {lost, ledger.ErrUnreadable},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := ledger.New(c.store, format, nil, newKey)
			must(t, err)
			if err := check(t.Context(), l); c.want == nil {
				must(t, err)
			} else {
				wantIs(t, err, c.want)
			}
		})
	}
}

// TestFormat: ReadFormat returns what PutFormat has written, and names a format that this version does not know.
func TestFormat(t *testing.T) {
	l := open(t, store.NewMemory(), format, newKey)
	for i, want := range []ledger.Format{{Number: format}, {Number: format - 1}, {Number: format, Migrating: true}} {
		setFormat(t, l, want)
		got, version, err := l.ReadFormat(t.Context())
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" || version != int64(i+2) {
			t.Errorf("version %d: %s", version, diff)
		}
	}
	setFormat(t, l, ledger.Format{Number: 1})
	got, _, err := l.ReadFormat(t.Context())
	wantIs(t, err, ledger.ErrUnreadable)
	if want := (ledger.Format{Number: 1}); got != want {
		t.Errorf("the format is %v, not %v", got, want)
	}
}

// TestFence: a process that knows the new format continues after a migration, any other can do nothing more.
func TestFence(t *testing.T) {
	s := store.NewMemory()
	older := open(t, s, format-1, newKey)
	var reported []error
	older.OnNewer(func(err error) { reported = append(reported, err) })
	newer := open(t, s, format, newKey)
	if newer.Newest() != format {
		t.Errorf("Newest is %d", newer.Newest())
	}
	lease := ledger.NewLease(older, ledger.KindProcess, "older", ttl, 1)
	must(t, lease.Renew(t.Context()))
	setFormat(t, newer, ledger.Format{Number: format})
	put(t, newer, "note", "1", note{})
	must(t, older.Closed()) // it has not looked yet

	record, err := older.Seal("note", "2", 0, note{})
	must(t, err)
	wantIs(t, older.Store.Apply(t.Context(), store.Batch{Put: []store.Record{record}}), store.ErrShutdown)
	wantIs(t, older.Closed(), store.ErrShutdown)
	_, err = older.Store.Get(t.Context(), "note", "1")
	wantIs(t, err, store.ErrShutdown)
	_, err = lease.Alive(t.Context())
	wantIs(t, err, store.ErrShutdown)
	if len(reported) != 1 {
		t.Errorf("the newer format was reported %d times", len(reported))
	}
}
