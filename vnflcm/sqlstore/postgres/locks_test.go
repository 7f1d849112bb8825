package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/vnfkit/vnfkit/internal/pgtest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sqlstore/postgres"
)

// begin starts a transaction in a session beside the store.
func begin(t *testing.T, dsn string) pgx.Tx {
	t.Helper()
	tx, err := connect(t, dsn).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

// awaitWaiting waits until a session of the database waits for a lock.
func awaitWaiting(t *testing.T, dsn string) {
	t.Helper()
	conn := connect(t, dsn)
	awaitCondition(t, "session that waits for a lock", func() bool {
		var n int
		err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n > 0
	})
}

func TestLocks(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)

	t.Run("a deadlock is tried again", func(t *testing.T) {
		dsn := server.NewDatabase(t)
		// A session looks for a deadlock once, after it has waited for this time, and ends its own statement. This must be the
		// session of the batch, and the stranger must wait by then.
		s := open(t, dsn+"&deadlock_timeout=3s", postgres.Options{})
		apply(t, s, vnflcm.Batch{Put: []vnflcm.Record{record("a"), record("b")}})
		stranger := begin(t, dsn)
		exec(t, stranger, `SET LOCAL deadlock_timeout = '1min'`)
		exec(t, stranger, `UPDATE vnfkit_records SET vnfd = vnfd WHERE id = 'b'`)
		a, b := record("a"), record("b")
		a.Version, b.Version = 1, 1
		applied := make(chan error, 1)
		go func() { applied <- s.Apply(t.Context(), vnflcm.Batch{Put: []vnflcm.Record{b, a}}) }()
		awaitWaiting(t, dsn)
		exec(t, stranger, `UPDATE vnfkit_records SET vnfd = vnfd WHERE id = 'a'`) // waits until the server has ended the batch
		if err := stranger.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-applied; err != nil {
			t.Errorf("Apply: %v", err)
		}
		if got := server.SQL(t, server.DSN(), "SELECT sum(deadlocks) FROM pg_stat_database"); got == "0" {
			t.Error("there was no deadlock")
		}
	})

	t.Run("a batch whose context ends while it waits is never written", func(t *testing.T) {
		dsn := server.NewDatabase(t)
		s := open(t, dsn, postgres.Options{})
		apply(t, s, vnflcm.Batch{Put: []vnflcm.Record{record("a")}})
		stranger := begin(t, dsn)
		exec(t, stranger, `SELECT FROM vnfkit_records FOR UPDATE`)
		a := record("a")
		a.Version = 1
		reason := errors.New("lease lost")
		ctx, cancel := context.WithCancelCause(t.Context())
		applied := make(chan error, 1)
		go func() { applied <- s.Apply(ctx, vnflcm.Batch{Put: []vnflcm.Record{a}}) }()
		awaitWaiting(t, dsn)
		began := time.Now()
		cancel(reason)
		if err := <-applied; !errors.Is(err, reason) || time.Since(began) > time.Second {
			t.Errorf("Apply: %v after %s", err, time.Since(began))
		}
		if err := stranger.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		apply(t, s, vnflcm.Batch{Put: []vnflcm.Record{a}}) // a batch that still waited would come first
	})
}
