package postgres_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/pgtest"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/postgres"
)

func appendOne(t *testing.T, s store.Store, id string) {
	t.Helper()
	apply(t, s, store.Batch{Append: []store.Record{record(id)}})
}

// read returns the ids of the records after a position, and the next position.
func read(t *testing.T, s store.Store, after string) ([]string, string) {
	t.Helper()
	list, next, err := s.Feed(t.Context(), after, 100)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range list {
		out = append(out, r.ID)
	}
	return out, next
}

func wantFeed(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s:\n%s", what, diff)
	}
}

// TestFeedWaitsForEarlierTransactions has a transaction that appends first and commits last.
func TestFeedWaitsForEarlierTransactions(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	dsn := server.NewDatabase(t)
	s := open(t, dsn, postgres.Options{})
	appendOne(t, s, "before")
	_, position := read(t, s, "")

	conn := connect(t, dsn)
	slow, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exec(t, slow, `INSERT INTO vnfkit_records VALUES ('k', 'slow', 1, '', '', '', '', 0, '', 1, pg_current_xact_id(), 0)`)
	appendOne(t, s, "fast")
	got, next := read(t, s, position)
	wantFeed(t, "while the slow transaction is open", got)
	if next != position {
		t.Errorf("the position moved from %s to %s", position, next)
	}
	if err := slow.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	appendOne(t, s, "after")
	got, next = read(t, s, position)
	wantFeed(t, "after its commit", got, "slow", "fast", "after")

	aborted, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exec(t, aborted, `SELECT pg_current_xact_id()`)
	appendOne(t, s, "late")
	got, _ = read(t, s, next)
	wantFeed(t, "while a transaction of somebody else is open", got)
	if err := aborted.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, _ = read(t, s, next)
	wantFeed(t, "after it has been rolled back", got, "late")
}

// TestFeedAfterRestore dumps a database, appends to the original, and restores the dump into a cluster whose
// transaction ids are lower. A reader of the original then gets all records that are appended to the copy.
func TestFeedAfterRestore(t *testing.T) {
	t.Parallel()
	original := pgtest.Start(t)
	dsn := original.NewDatabase(t)
	s := open(t, dsn, postgres.Options{})
	for range 50 { // transactions that the other cluster does not have
		appendOne(t, s, "old")
		apply(t, s, store.Batch{Delete: []store.Record{{Kind: "k", ID: "old", Version: 1}}})
	}
	appendOne(t, s, "kept")
	dump := filepath.Join(original.Dir(), "dump")
	original.Program(t, "pg_dump", "--format=custom", "--file="+dump, dsn)
	appendOne(t, s, "lost")
	_, position := read(t, s, "")

	other := pgtest.Start(t)
	copied := other.NewDatabase(t)
	other.Program(t, "pg_restore", "--exit-on-error", "--dbname="+copied, dump)
	restored := open(t, copied, postgres.Options{})
	got, _ := read(t, restored, "")
	wantFeed(t, "the restored feed", got, "kept")
	appendOne(t, restored, "new")
	got, next := read(t, restored, position)
	wantFeed(t, "what a reader of the original gets", got, "new")
	got, _ = read(t, restored, "")
	wantFeed(t, "what a new reader gets", got, "kept", "new")

	again := open(t, copied, postgres.Options{})
	appendOne(t, again, "newer")
	got, _ = read(t, restored, next)
	wantFeed(t, "after opening once more", got, "newer")
	if era := other.SQL(t, copied, "SELECT era FROM vnfkit_era"); era != "2" {
		t.Errorf("era %s", era)
	}
}

// TestEraByTransactionIDs has positions that this cluster has not yet reached, and no other sign of a restore.
func TestEraByTransactionIDs(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	dsn := server.NewDatabase(t)
	s := open(t, dsn, postgres.Options{})
	appendOne(t, s, "high")
	server.SQL(t, dsn, "UPDATE vnfkit_records SET xid = '4000000000000'")
	_ = open(t, dsn, postgres.Options{})
	appendOne(t, s, "new") // also by a process that was connected before
	got, _ := read(t, s, "")
	wantFeed(t, "the feed", got, "high", "new")
}
