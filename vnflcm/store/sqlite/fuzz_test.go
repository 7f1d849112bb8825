package sqlite_test

import (
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// FuzzQuery: a text in every attribute of a record comes back as it is, and a query for the text finds this record and no other.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{"a", "' OR ''='", "%", "a\x00b", "'; DROP TABLE records; --", "\xff"} {
		f.Add(seed)
	}
	s := open(f, filepath.Join(f.TempDir(), "state.db"))
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" || !utf8.ValidString(text) {
			return // empty attributes of a query select nothing; ids are valid text
		}
		ctx := t.Context()
		index := store.Index{State: text, Operation: text, Instance: text, VNFD: text}
		want := []store.Record{{Kind: "k" + text, ID: text, Body: []byte(text), Index: index}}
		other := store.Record{Kind: "k" + text, ID: text + "x", Index: store.Index{State: text + "x", Operation: text + "x", Instance: text + "x", VNFD: text + "x"}}
		if err := s.Apply(ctx, store.Batch{Put: append(want, other)}); err != nil {
			t.Fatal(err)
		}
		want[0].Version, other.Version = 1, 1
		for _, q := range []store.Query{{States: []string{text}}, {Operations: []string{text}}, {Instance: text}, {VNFD: text}} {
			q.Kind = "k" + text
			got, err := s.List(ctx, q)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%+v: %v\n%s", q, err, diff)
			}
		}
		if err := s.Apply(ctx, store.Batch{Delete: append(want, other)}); err != nil {
			t.Error(err)
		}
	})
}
