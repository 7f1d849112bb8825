package vnflcm_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store/storetest"
)

// shift is one call of work by Exclusively.
type shift struct {
	began chan struct{} // closed when work begins
	ended chan error    // receives the cause of the end of its context
}

func newShift() *shift { return &shift{make(chan struct{}), make(chan error, 1)} }

// work returns when its context ends.
func (s *shift) work(ctx context.Context) error {
	close(s.began)
	<-ctx.Done()
	s.ended <- context.Cause(ctx)
	return ctx.Err()
}

// TestExclusively lets several processes wait for the same work. The work of each process ends for another reason.
func TestExclusively(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newToys(t, func(cfg *vnflcm.Config) { cfg.LeaseTTL = shortTTL })
		fence := &storetest.Fence{Store: x.cfg.Store}
		cut := x.other(func(cfg *vnflcm.Config) { cfg.Store = fence })
		var wg sync.WaitGroup
		defer wg.Wait()

		first := newShift()
		ctx, cancel := context.WithCancel(t.Context())
		wg.Go(func() {
			if err := x.Exclusively(ctx, "mail", first.work); !errors.Is(err, context.Canceled) {
				t.Errorf("the first ended with %v", err)
			}
		})
		<-first.began

		var again atomic.Bool // set if the process that lost the store gets the work again
		second, third := newShift(), newShift()
		wg.Go(func() {
			err := cut.Exclusively(t.Context(), "mail", func(ctx context.Context) error {
				if again.Swap(true) {
					return third.work(ctx)
				}
				return second.work(ctx)
			})
			if !errors.Is(err, vnflcm.ErrShutdown) {
				t.Errorf("the process that was cut off ended with %v", err)
			}
		})
		select {
		case <-second.began:
			t.Error("two processes work at once")
		case <-time.After(2 * shortTTL):
		}
		cancel()
		<-second.began

		last := newShift()
		finish := make(chan struct{})
		other := x.other(nil)
		wg.Go(func() {
			err := other.Exclusively(t.Context(), "mail", func(ctx context.Context) error {
				close(last.began)
				select {
				case <-finish:
					return errCut
				case <-ctx.Done():
					return ctx.Err()
				}
			})
			if !errors.Is(err, errCut) {
				t.Errorf("the last ended with %v, want the error of the work", err)
			}
		})
		fence.Cut(true)
		<-last.began
		if err := <-second.ended; !errors.Is(err, vnflcm.ErrLeased) {
			t.Errorf("the work without a store ended with %v, want ErrLeased", err)
		}
		fence.Cut(false)
		close(finish)
		<-third.began // the process that was cut off gets the work again
		closeManager(t, cut.Manager)
		if err := <-third.ended; !errors.Is(err, vnflcm.ErrShutdown) {
			t.Errorf("the work of a closed Manager ended with %v, want ErrShutdown", err)
		}
	})
}

func TestAwaitChanges(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newToys(t, nil)
		x.create()
		from, err := x.LatestChange(t.Context())
		must(t, err)
		short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if list, next, err := x.AwaitChanges(short, from, 10); !errors.Is(err, context.DeadlineExceeded) || len(list) > 0 || next != from {
			t.Errorf("nothing new: %v, %q after %q, %v", list, next, from, err)
		}
		created := make(chan string, 1)
		go func() { created <- x.create() }()
		list, next, err := x.AwaitChanges(t.Context(), from, 10)
		if id := <-created; err != nil || len(list) != 1 || list[0].VNF.InstanceID != id || next == from {
			t.Errorf("the creation of %s: %v, %q after %q, %v", id, list, next, from, err)
		}
		time.AfterFunc(50*time.Millisecond, func() { closeManager(t, x.Manager) })
		if _, _, err := x.AwaitChanges(t.Context(), next, 10); !errors.Is(err, vnflcm.ErrShutdown) {
			t.Errorf("a closed Manager: %v", err)
		}
	})
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	type note struct{ Text string }
	notes := x.Documents("notes")
	for _, id := range []string{"b", "a", "c"} {
		must(t, notes.Put(t.Context(), id, 0, note{id + " text"}))
	}
	must(t, x.Documents("note").Put(t.Context(), "s/d", 0, note{"other collection"}))
	must(t, notes.Put(t.Context(), "a", 1, note{"changed"}))
	must(t, notes.Delete(t.Context(), "c", 1))

	read := func(list []vnflcm.Document, err error) (out []string) {
		t.Helper()
		must(t, err)
		for _, d := range list {
			var n note
			must(t, d.Decode(&n))
			out = append(out, d.ID+" "+n.Text)
		}
		return out
	}
	all, err := notes.List(t.Context(), "", 0)
	if diff := cmp.Diff([]string{"a changed", "b b text"}, read(all, err)); diff != "" {
		t.Errorf("the documents:\n%s", diff)
	}
	page, err := notes.List(t.Context(), "a", 1)
	if diff := cmp.Diff([]string{"b b text"}, read(page, err)); diff != "" {
		t.Errorf("the page after a:\n%s", diff)
	}
	one, err := notes.Get(t.Context(), "a")
	if diff := cmp.Diff([]string{"a changed"}, read([]vnflcm.Document{one}, err)); diff != "" || one.Version != 2 {
		t.Errorf("document a, version %d:\n%s", one.Version, diff)
	}
	for name, err := range map[string]error{
		"a new document in place of one": notes.Put(t.Context(), "a", 0, note{}),
		"an old version":                 notes.Put(t.Context(), "a", 1, note{}),
		"deleting an old version":        notes.Delete(t.Context(), "a", 1),
		"deleting what is not there":     notes.Delete(t.Context(), "c", 1),
	} {
		if !errors.Is(err, vnflcm.ErrConflict) {
			t.Errorf("%s: %v, want ErrConflict", name, err)
		}
	}
	if _, err := notes.Get(t.Context(), "c"); !errors.Is(err, vnflcm.ErrNotFound) {
		t.Errorf("a document that was deleted: %v", err)
	}

	next := x.other(func(cfg *vnflcm.Config) { cfg.Key, cfg.OldKeys = otherKey, [][]byte{testKey} })
	if left, err := next.Reseal(t.Context()); err != nil || left > 0 {
		t.Errorf("Reseal: %d left, %v", left, err)
	}
	if d, err := notes.Get(t.Context(), "b"); err != nil || !errors.Is(d.Decode(&note{}), vnflcm.ErrUnreadable) {
		t.Errorf("a Manager with the old key still reads a document: %v", err)
	}
}
