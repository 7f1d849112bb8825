package ledger_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm/internal/ledger"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// TestLease: a lease is what other processes read of a process, from its first renewal until it leaves.
func TestLease(t *testing.T) {
	l, ctx := open(t, store.NewMemory(), format, newKey), t.Context()
	lease := ledger.NewLease(l, ledger.KindProcess, "p1", ttl, 4)
	if lease.Valid() {
		t.Error("a lease holds before its first renewal")
	}
	must(t, lease.Retire(ctx))
	_, err := l.Store.Get(ctx, ledger.KindProcess, "p1")
	wantIs(t, err, store.ErrNotFound)
	lease = ledger.NewLease(l, ledger.KindProcess, "p1", ttl, 4)
	term, err := lease.Alive(ctx)
	must(t, err)
	same, err := lease.Alive(ctx)
	must(t, err)
	if !lease.Valid() || same != term || stored(t, l, ledger.KindProcess, lease.ID()).Version != 1 {
		t.Errorf("the lease holds: %t, in the terms %d and %d", lease.Valid(), term, same)
	}
	for _, limit := range []int{4, 0} {
		var got ledger.LeaseRecord
		_, err = l.Get(ctx, ledger.KindProcess, "p1", &got)
		must(t, err)
		want := ledger.LeaseRecord{Run: lease.Run(), TTL: ttl, Limit: limit, Format: format}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		must(t, lease.Retire(ctx))
	}
	if got := l.TTLOf(stored(t, l, ledger.KindProcess, "p1"), time.Second); got != ttl {
		t.Errorf("the TTL is %v", got)
	}
	lease.Leave(ctx)
	_, err = l.Store.Get(ctx, ledger.KindProcess, "p1")
	wantIs(t, err, store.ErrNotFound)
}

// TestLeaseRunsOut: a lease holds for four fifths of its TTL. A renewal after that is a new term.
func TestLeaseRunsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, lease := process(t, store.NewMemory(), "p1")
		term, err := lease.Alive(t.Context())
		must(t, err)
		time.Sleep(ttl*4/5 - time.Nanosecond)
		if !lease.Valid() {
			t.Error("the lease has run out early")
		}
		time.Sleep(time.Nanosecond)
		if lease.Valid() {
			t.Error("the lease has not run out")
		}
		next, err := lease.Alive(t.Context())
		must(t, err)
		if !lease.Valid() || next == term {
			t.Errorf("the term is %d after %d", next, term)
		}
	})
}

// TestSightings: a record has stood still when its version was the same for the time, by the clock of the process that looks.
func TestSightings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen, r := ledger.Sightings{}, store.Record{Kind: "process", ID: "p1", Version: 1}
		if seen.HasChanged(r) || seen.StoodStill(r, ttl) {
			t.Error("a record has changed or stood still before it was seen")
		}
		time.Sleep(ttl)
		if !seen.StoodStill(r, ttl) {
			t.Error("the record has stood still")
		}
		r.Version++
		if !seen.HasChanged(r) || seen.StoodStill(r, ttl) {
			t.Error("the record has changed")
		}
		time.Sleep(ttl)
		seen.Retain(func(key [2]string) bool { return key == r.Key() })
		if !seen.StoodStill(r, ttl) {
			t.Error("a record that was retained is forgotten")
		}
		seen.Forget(r)
		if seen.StoodStill(r, ttl) {
			t.Error("a record that was forgotten is known")
		}
	})
}

// TestIsDue: work is due after the TTL, and then in growing intervals until the record changes.
func TestIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen, r, began := ledger.Sightings{}, store.Record{Version: 1}, time.Now()
		var due []time.Duration
		for range 200 {
			if seen.IsDue(r, ttl) {
				due = append(due, time.Since(began)/ttl)
			}
			time.Sleep(ttl)
		}
		if diff := cmp.Diff([]time.Duration{1, 3, 7, 15, 31, 63, 127, 191}, due); diff != "" {
			t.Error(diff)
		}
		r.Version++
		seen.IsDue(r, ttl)
		time.Sleep(ttl)
		if !seen.IsDue(r, ttl) {
			t.Error("work is not due after a change")
		}
	})
}

// exclusive returns the Exclusive of a process, and closes the process.
func exclusive(t *testing.T, s store.Store) (e ledger.Exclusive, end func()) {
	ended := make(chan struct{})
	isEnded := func() bool {
		select {
		case <-ended:
			return true
		default:
			return false
		}
	}
	return ledger.Exclusive{Ledger: open(t, s, format, newKey), TTL: ttl, Log: slog.New(slog.DiscardHandler),
		Changed: func() <-chan struct{} {
			if isEnded() {
				return nil
			}
			return ended
		}, Closed: isEnded}, func() { close(ended) }
}

// TestExclusive: work runs in one process at a time, and in another one when the first has lost the store.
func TestExclusive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := store.NewMemory()
		shared := &outage{Store: s}
		first, endFirst := exclusive(t, shared)
		second, endSecond := exclusive(t, s)
		working, events := 0, make(chan string, 10)
		run := func(name string, e ledger.Exclusive) chan error {
			done := make(chan error, 1)
			go func() {
				done <- e.Do(t.Context(), "work", func(ctx context.Context, _ *ledger.Lease) error {
					if working++; working > 1 {
						t.Error("two processes work")
					}
					events <- name
					<-ctx.Done()
					working--
					return context.Cause(ctx)
				})
			}()
			synctest.Wait()
			return done
		}
		done1 := run("first", first)
		done2 := run("second", second)
		time.Sleep(10 * ttl)
		if len(events) != 1 || <-events != "first" {
			t.Error("the second process works beside the first")
		}
		shared.down.Store(true)
		time.Sleep(3 * ttl)
		if len(events) != 1 || <-events != "second" {
			t.Error("the second process does not work after the first has lost the store")
		}
		shared.down.Store(false)
		endSecond()
		wantIs(t, <-done2, store.ErrShutdown)
		time.Sleep(ttl)
		if len(events) != 1 || <-events != "first" {
			t.Error("the first process does not work after the second has ended")
		}
		endFirst()
		wantIs(t, <-done1, store.ErrShutdown)
	})
}

// TestExclusiveResult: Do returns the error of the work, and waits no longer than its context.
func TestExclusiveResult(t *testing.T) {
	e, end := exclusive(t, store.NewMemory())
	failed := errors.New("failed")
	for range 2 { // the lease is free at once
		wantIs(t, e.Do(t.Context(), "work", func(context.Context, *ledger.Lease) error { return failed }), failed)
	}
	err := e.Do(t.Context(), "work", func(ctx context.Context, _ *ledger.Lease) error {
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(failed)
		return e.Do(ctx, "work", func(context.Context, *ledger.Lease) error { return nil })
	})
	wantIs(t, err, failed)
	end()
	wantIs(t, e.Do(t.Context(), "work", nil), store.ErrShutdown)
}
