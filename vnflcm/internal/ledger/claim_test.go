package ledger_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm/internal/ledger"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// claimOn returns a claim of a process on operation o1, which guards records of kind note, and the errors with which it was lost.
func claimOn(t *testing.T, lease *ledger.Lease) (c *ledger.Claim, lost *[]error) {
	lost = new([]error)
	return ledger.NewClaim(t.Context(), lease, "o1", "note", func(err error) { *lost = append(*lost, err) }), lost
}

// begin begins the work of a process on a new operation.
func begin(t *testing.T, c *ledger.Claim) {
	t.Helper()
	c.Accept(time.Unix(0, 5))
	var b store.Batch
	must(t, c.Begin(t.Context(), &b))
	must(t, c.Apply(t.Context(), b))
}

func claimRecord(t *testing.T, l *ledger.Ledger) (r ledger.ClaimRecord, version int64) {
	t.Helper()
	version, err := l.Get(t.Context(), ledger.KindClaim, "o1", &r)
	must(t, err)
	return r, version
}

// TestTakeover: a process whose claim was taken over can write nothing more, whichever record the write is for.
func TestTakeover(t *testing.T) {
	s, ctx := store.NewMemory(), t.Context()
	l, first := process(t, s, "p1")
	_, second := process(t, s, "p2")
	old, lost := claimOn(t, first)
	begin(t, old)
	must(t, old.Hold(ctx))
	taken := stored(t, l, ledger.KindClaim, "o1")

	c, _ := claimOn(t, second)
	c.Replace(taken)
	c.Suspect(true)
	gone := stored(t, l, ledger.KindProcess, "p1")
	must(t, c.Take(ctx, store.Batch{Assert: []store.Record{gone}}, ledger.Held))
	got, version := claimRecord(t, l)
	want := ledger.ClaimRecord{State: ledger.Held, Process: "p2", Accepted: 5, Run: second.Run(), Suspected: true}
	if diff := cmp.Diff(want, got); diff != "" || version != 2 || c.Epoch() != 2 {
		t.Errorf("version %d, epoch %d: %s", version, c.Epoch(), diff)
	}

	write := func(ctx context.Context, b *store.Batch) error { return l.Put(ctx, b, "result", "1", "late") }
	wantIs(t, old.Update(ctx, write), ledger.ErrLeased)
	wantIs(t, old.Verify(ctx), ledger.ErrLeased)
	wantIs(t, old.GiveUp(ctx), store.ErrConflict)
	if _, err := l.Store.Get(ctx, "result", "1"); err == nil {
		t.Error("a process that has lost its claim has written")
	}
	if len(*lost) != 1 {
		t.Errorf("the claim was lost with %v", *lost)
	}
	must(t, c.Update(ctx, write))
}

// TestTakeoverOfLiving: a takeover fails if the process has shown a sign of life since it was looked at, or another process was faster.
func TestTakeoverOfLiving(t *testing.T) {
	s, ctx := store.NewMemory(), t.Context()
	l, first := process(t, s, "p1")
	_, second := process(t, s, "p2")
	old, _ := claimOn(t, first)
	begin(t, old)
	gone := stored(t, l, ledger.KindProcess, "p1")
	must(t, first.Renew(ctx))

	c, _ := claimOn(t, second)
	c.Replace(stored(t, l, ledger.KindClaim, "o1"))
	wantIs(t, c.Take(ctx, store.Batch{Assert: []store.Record{gone}}, ledger.Held), store.ErrConflict)
	must(t, old.GiveUp(ctx))
	wantIs(t, c.Take(ctx, store.Batch{}, ledger.Held), store.ErrConflict)
	c.Replace(stored(t, l, ledger.KindClaim, "o1"))
	must(t, c.Take(ctx, store.Batch{}, ledger.Held))
}

// TestPass: the states of a claim that this process leaves.
func TestPass(t *testing.T) {
	for _, to := range []ledger.ClaimState{ledger.Free, ledger.Parked} {
		t.Run(string(to), func(t *testing.T) {
			l, lease := process(t, store.NewMemory(), "p1")
			c, _ := claimOn(t, lease)
			begin(t, c)
			c.Suspect(true)
			var b store.Batch
			must(t, c.Pass(&b, to))
			must(t, c.Apply(t.Context(), b))
			got, _ := claimRecord(t, l)
			want := ledger.ClaimRecord{State: to, Accepted: 5, Run: lease.Run(), Suspected: to == ledger.Free}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if index, want := stored(t, l, ledger.KindClaim, "o1").Index, (store.Index{State: string(to), Start: 5}); index != want {
				t.Errorf("the index is %v, not %v", index, want)
			}
			b = store.Batch{}
			c.End(&b)
			must(t, c.Apply(t.Context(), b))
			_, err := l.Store.Get(t.Context(), ledger.KindClaim, "o1")
			wantIs(t, err, store.ErrNotFound)
		})
	}
}

// TestGuarded: the record that a claim guards is read once, and again when its version has changed.
func TestGuarded(t *testing.T) {
	l, lease := process(t, store.NewMemory(), "p1")
	c, _ := claimOn(t, lease)
	begin(t, c)
	put(t, l, "note", "1", note{Text: "1"})
	for i := range 3 {
		if i == 1 {
			put(t, l, "note", "1", note{Text: "resealed"})
		}
		must(t, c.Update(t.Context(), func(ctx context.Context, b *store.Batch) error {
			found, err := c.Read(ctx, "1")
			if err != nil {
				return err
			}
			next, err := l.Seal("note", "1", found.Version, note{Text: "2"})
			b.Put = append(b.Put, next)
			return err
		}))
	}
	found, err := c.Read(t.Context(), "1")
	must(t, err)
	if diff := cmp.Diff(stored(t, l, "note", "1"), found); diff != "" || found.Version != 5 {
		t.Errorf("version %d: %s", found.Version, diff)
	}
}

// TestHold: work may begin while the lease holds, and after a renewal that was late only if no other process has taken the claim.
func TestHold(t *testing.T) {
	for name, takenOver := range map[string]bool{"only stopped": false, "taken over": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, ctx := store.NewMemory(), t.Context()
				l, lease := process(t, s, "p1")
				c, lost := claimOn(t, lease)
				begin(t, c)
				must(t, c.Hold(ctx))
				time.Sleep(ttl) // the process was stopped
				if takenOver {
					_, second := process(t, s, "p2")
					other, _ := claimOn(t, second)
					other.Replace(stored(t, l, ledger.KindClaim, "o1"))
					must(t, other.Take(ctx, store.Batch{}, ledger.Held))
					wantIs(t, c.Hold(ctx), ledger.ErrLeased)
				} else {
					must(t, c.Hold(ctx))
				}
				if takenOver != (len(*lost) == 1) {
					t.Errorf("the claim was lost with %v", *lost)
				}
			})
		})
	}
}

// TestOutage: a write waits for the store while the lease holds; when the lease has run out, the claim is lost.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared, ctx := &outage{Store: store.NewMemory()}, t.Context()
		l, lease := process(t, shared, "p1")
		c, lost := claimOn(t, lease)
		begin(t, c)
		write := func(_ context.Context, b *store.Batch) error {
			record, err := l.Seal("result", "1", 0, "x")
			b.Put = []store.Record{record}
			return err
		}
		shared.down.Store(true)
		time.AfterFunc(ttl/2, func() { shared.down.Store(false) })
		must(t, c.Update(ctx, write))

		shared.down.Store(true)
		wantIs(t, c.Update(ctx, write), ledger.ErrStore)
		time.Sleep(ttl)
		wantIs(t, c.Hold(ctx), ledger.ErrLeased)
		if len(*lost) != 1 {
			t.Errorf("the claim was lost with %v", *lost)
		}
	})
}
