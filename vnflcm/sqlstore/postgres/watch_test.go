package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/pgtest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sqlstore/postgres"
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
	await(t, notices, 5*time.Second)
	return notices
}

// await returns how long a notice took.
func await(t *testing.T, notices <-chan struct{}, most time.Duration) time.Duration {
	t.Helper()
	began := time.Now()
	select {
	case <-notices:
	case <-time.After(most):
		t.Errorf("no notice within %s", most)
	}
	return time.Since(began)
}

func TestWatch(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)

	t.Run("other processes notice", func(t *testing.T) {
		dsn := server.NewDatabase(t)
		writer, notices := open(t, dsn, postgres.Options{}), watch(t, open(t, dsn, postgres.Options{MaxConns: 1}))
		var longest time.Duration
		for i := range 20 {
			b := vnflcm.Batch{Put: []vnflcm.Record{record(fmt.Sprint(i))}, Wake: true}
			if i%2 == 0 {
				b = vnflcm.Batch{Append: b.Put}
			}
			apply(t, writer, b)
			longest = max(longest, await(t, notices, time.Second))
			time.Sleep(60 * time.Millisecond) // so that the next notice is not held back
		}
		t.Logf("the longest of 20 notices took %s", longest)
		if longest > 100*time.Millisecond {
			t.Errorf("a notice took %s", longest)
		}
		apply(t, writer, vnflcm.Batch{Put: []vnflcm.Record{record("silent")}})
		select {
		case <-notices:
			t.Error("a notice of a batch without Wake and Append")
		case <-time.After(200 * time.Millisecond):
		}
	})

	t.Run("at most 20 per second", func(t *testing.T) {
		dsn := server.NewDatabase(t)
		conn := connect(t, dsn)
		exec(t, conn, "LISTEN vnfkit_changed")
		s := open(t, dsn, postgres.Options{})
		began, batches := time.Now(), 0
		for ; time.Since(began) < time.Second; batches++ {
			apply(t, s, vnflcm.Batch{Put: []vnflcm.Record{record(fmt.Sprint(batches))}, Wake: true})
		}
		heard := 0
		for {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			_, err := conn.WaitForNotification(ctx)
			cancel()
			if err != nil {
				break
			}
			heard++
		}
		t.Logf("%d notices of %d batches", heard, batches)
		if heard < 2 || heard > 23 { // 20, the first, and one that is late
			t.Errorf("%d notices in a second", heard)
		}
	})

	t.Run("the server restarts", func(t *testing.T) {
		dsn := server.NewDatabase(t)
		notices := watch(t, open(t, dsn, postgres.Options{}))
		server.Restart(t)
		await(t, notices, 10*time.Second)
		other := open(t, dsn, postgres.Options{})
		apply(t, other, vnflcm.Batch{Put: []vnflcm.Record{record("a")}, Wake: true})
		await(t, notices, time.Second)
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
		await(t, watching, 5*time.Second)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		select {
		case err := <-ended:
			if err == nil {
				t.Error("Watch of a closed store returned no error")
			}
		case <-time.After(5 * time.Second):
			t.Error("Watch goes on after Close")
		}
	})
}
