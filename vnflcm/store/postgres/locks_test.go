package postgres_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/vnfkit/vnfkit/internal/pgtest"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/postgres"
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

// awaitWaiting waits until so many sessions of the database wait for a lock.
func awaitWaiting(t *testing.T, dsn string, sessions int) {
	t.Helper()
	conn := connect(t, dsn)
	awaitCondition(t, "session that waits for a lock", func() bool {
		var n int
		err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n == sessions
	})
}

func TestLocks(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)

	t.Run("a deadlock is tried again", func(t *testing.T) {
		dsn := server.NewDatabase(t)
		// A session looks for a deadlock once, after it has waited for this time, and ends its own statement. The session of the
		// batch is the last one that begins to wait, so that there is a deadlock when it looks.
		s := open(t, dsn+"&deadlock_timeout=100ms", postgres.Options{})
		apply(t, s, store.Batch{Put: []store.Record{record("a"), record("b"), record("c")}})
		stranger, other := begin(t, dsn), begin(t, dsn)
		exec(t, stranger, `SET LOCAL deadlock_timeout = '1h'`)
		exec(t, stranger, `UPDATE vnfkit_records SET vnfd = vnfd WHERE id = 'c'`)
		exec(t, other, `UPDATE vnfkit_records SET vnfd = vnfd WHERE id = 'b'`)
		a, b, c := record("a"), record("b"), record("c")
		a.Version, b.Version, c.Version = 1, 1, 1
		applied, updated := make(chan error, 1), make(chan error, 1)
		go func() { applied <- s.Apply(t.Context(), store.Batch{Put: []store.Record{c, b, a}}) }()
		awaitWaiting(t, dsn, 1) // the batch has a and waits for b
		go func() {
			_, err := stranger.Exec(t.Context(), `UPDATE vnfkit_records SET vnfd = vnfd WHERE id = 'a'`)
			updated <- err
		}()
		awaitWaiting(t, dsn, 2)
		if err := other.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-updated; err != nil { // the server has ended the batch
			t.Fatal(err)
		}
		if err := stranger.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-applied; err != nil {
			t.Errorf("Apply: %v", err)
		}
		if err := s.Close(); err != nil { // at its end a session counts its deadlocks
			t.Error(err)
		}
		awaitCondition(t, "deadlock", func() bool {
			return server.SQL(t, server.DSN(), "SELECT sum(deadlocks) FROM pg_stat_database") != "0"
		})
	})

	t.Run("a batch whose context ends while it waits is never written", func(t *testing.T) {
		dsn := server.NewDatabase(t)
		s := open(t, dsn, postgres.Options{})
		apply(t, s, store.Batch{Put: []store.Record{record("a")}})
		stranger := begin(t, dsn)
		exec(t, stranger, `SELECT FROM vnfkit_records FOR UPDATE`)
		a := record("a")
		a.Version = 1
		reason := errors.New("lease lost")
		ctx, cancel := context.WithCancelCause(t.Context())
		applied := make(chan error, 1)
		go func() { applied <- s.Apply(ctx, store.Batch{Put: []store.Record{a}}) }()
		awaitWaiting(t, dsn, 1)
		cancel(reason)
		if err := <-applied; !errors.Is(err, reason) { // while the stranger has the lock
			t.Errorf("Apply: %v", err)
		}
		if err := stranger.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		apply(t, s, store.Batch{Put: []store.Record{a}}) // a batch that still waited would come first
	})
}
