package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/vnfkit/vnfkit/internal/pgtest"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/postgres"
)

// watch watches a store until the test ends, and returns a channel that has a value after each notice.
func watch(t *testing.T, s *postgres.Store) <-chan struct{} {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	notices := make(chan struct{}, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		err := s.Watch(ctx, func() {
			select {
			case notices <- struct{}{}:
			default:
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Watch: %v", err)
		}
	})
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	await(t, notices)
	return notices
}

func await(t *testing.T, notices <-chan struct{}) {
	t.Helper()
	select {
	case <-notices:
	case <-time.After(patience):
		t.Fatalf("no notice within %s", patience)
	}
}

// awaitNotice waits for the next notice of a session that listens, and returns its payload.
func awaitNotice(t *testing.T, conn *pgx.Conn) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	notice, err := conn.WaitForNotification(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return notice.Payload
}

func TestWatch(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)

	t.Run("other processes notice", func(t *testing.T) {
		dsn := server.NewDatabase(t)
		writer, notices := open(t, dsn, postgres.Options{}), watch(t, open(t, dsn, postgres.Options{MaxConns: 1}))
		for i := range 20 {
			b := store.Batch{Put: []store.Record{record(fmt.Sprint(i))}, Wake: true}
			if i%2 == 0 {
				b = store.Batch{Append: b.Put}
			}
			apply(t, writer, b)
			await(t, notices)
		}
	})

	t.Run("batches without Wake and Append give no notice", func(t *testing.T) {
		dsn := server.NewDatabase(t)
		listener, beside := connect(t, dsn), connect(t, dsn)
		exec(t, listener, "LISTEN vnfkit_changed")
		writer := open(t, dsn, postgres.Options{})
		for i := range 20 {
			apply(t, writer, store.Batch{Put: []store.Record{record(fmt.Sprint(i))}})
		}
		exec(t, beside, "SELECT pg_notify('vnfkit_changed', 'of the test')")
		if got := awaitNotice(t, listener); got != "of the test" {
			t.Error("a notice of a batch without Wake and Append")
		}
	})

	t.Run("at most 20 per second", func(t *testing.T) {
		dsn := server.NewDatabase(t)
		conn := connect(t, dsn)
		exec(t, conn, "LISTEN vnfkit_changed")
		s := open(t, dsn, postgres.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var writing sync.WaitGroup
		began, batches := time.Now(), 0
		writing.Go(func() {
			for ; ctx.Err() == nil; batches++ {
				if err := s.Apply(context.WithoutCancel(ctx), store.Batch{Put: []store.Record{record(fmt.Sprint(batches))}, Wake: true}); err != nil {
					t.Error(err)
					return
				}
			}
		})
		const notices = 20
		for range notices {
			awaitNotice(t, conn)
		}
		took := time.Since(began)
		cancel()
		writing.Wait()
		t.Logf("%d notices of %d batches within %s", notices, batches, took)
		if took < (notices-1)*50*time.Millisecond { // the first is sent at once
			t.Errorf("%d notices within %s", notices, took)
		}
	})

	t.Run("the server restarts", func(t *testing.T) {
		dsn := server.NewDatabase(t)
		notices := watch(t, open(t, dsn, postgres.Options{}))
		server.Restart(t)
		await(t, notices)
		other := open(t, dsn, postgres.Options{})
		apply(t, other, store.Batch{Put: []store.Record{record("a")}, Wake: true})
		await(t, notices)
	})

	t.Run("refused", func(t *testing.T) {
		dsn := server.NewDatabase(t)
		address, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		address.User = url.UserPassword("postgres", "wrong")
		s := open(t, dsn, postgres.Options{ListenDSN: address.String()})
		if err := s.Watch(t.Context(), func() { t.Error("changed was called") }); err == nil {
			t.Error("Watch with a wrong password returned no error")
		}
	})

	t.Run("closed", func(t *testing.T) {
		s, err := postgres.Open(t.Context(), server.NewDatabase(t), postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		watching := make(chan struct{}, 1)
		go func() { ended <- s.Watch(context.WithoutCancel(t.Context()), func() { watching <- struct{}{} }) }()
		await(t, watching)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		select {
		case err := <-ended:
			if err == nil {
				t.Error("Watch of a closed store returned no error")
			}
		case <-time.After(patience):
			t.Error("Watch goes on after Close")
		}
	})
}
