package mgmttest

import (
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// counted are the kinds of records that Counted returns.
var counted = []string{"instance", "state", "step", "claim", "cancel", "package-use", "vim", "renewal"}

// kinds are the kinds of all records.
var kinds = append([]string{"operation", "evidence", "snapshot", "vim-default", "meta"}, counted...)

// Snapshot is a world at rest and what its store has, for other labs to begin with.
type Snapshot struct {
	world   *sandbox.World
	records []store.Record
}

// Snapshot holds as long as the lab is open and at rest.
func (l *Lab) Snapshot() *Snapshot {
	l.t.Helper()
	return &Snapshot{world: l.World, records: l.Records(kinds...)}
}

// Records returns the records of these kinds.
func (l *Lab) Records(kinds ...string) (out []store.Record) {
	l.t.Helper()
	for _, kind := range kinds {
		list, err := l.Store.List(l.t.Context(), store.Query{Kind: kind})
		check(l.t, err)
		out = append(out, list...)
	}
	return out
}

// Counted returns the number of records by kind, without operations and their evidence, which stay when an operation has ended.
func (l *Lab) Counted() map[string]int {
	l.t.Helper()
	out := map[string]int{}
	for _, kind := range counted {
		out[kind] = len(l.Records(kind))
	}
	return out
}

// Forgotten checks that the store has no records of an instance except those of its operations.
func (l *Lab) Forgotten() {
	l.t.Helper()
	want := map[string]int{}
	for _, kind := range counted {
		want[kind] = 0
	}
	want["vim"], want["evidence"] = 1, 0 // the VIM is the sandbox
	got := l.Counted()
	got["evidence"] = len(l.Records("evidence"))
	if diff := cmp.Diff(want, got); diff != "" {
		l.t.Errorf("records are left:\n%s", diff)
	}
}

// Stored returns the complete content of the store, in its stored form.
func (l *Lab) Stored() string {
	l.t.Helper()
	var out strings.Builder
	for _, r := range l.Records(kinds...) {
		out.WriteString(r.Kind + " " + r.ID + " " + string(r.Body) + "\n")
	}
	return out.String()
}

// DropJournal removes the journal, so that the next process has to use probes.
func (l *Lab) DropJournal() {
	l.t.Helper()
	for _, r := range l.Records("step") {
		check(l.t, l.Store.Apply(l.t.Context(), store.Batch{Delete: []store.Record{r}}))
	}
}
