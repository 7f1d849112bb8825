package vnflcm_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// TestRetention removes completed operations, keeps failures longer, and keeps changes that a reader has not read.
func TestRetention(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.instantiated("plain")
	x.world.failAt("scale_end/join/worker-2", errCut)
	failed, err := x.Scale(t.Context(), id, scale(vnflcm.ScaleOut, 1))
	x.wait(failed, err, vnflcm.FailedTemp)
	must(t, x.Fail(t.Context(), failed))
	all, end, err := x.Changes(t.Context(), "", 100)
	must(t, err)
	_, middle, err := x.Changes(t.Context(), "", 3)
	must(t, err)

	now, long := time.Nanosecond, time.Hour
	plan := func(r vnflcm.Retention, unread ...vnflcm.Cursor) vnflcm.Purged {
		t.Helper()
		p, err := x.PlanPurge(t.Context(), r, unread...)
		must(t, err)
		return p
	}
	for name, c := range map[string]struct {
		of     vnflcm.Retention
		unread []vnflcm.Cursor
		want   vnflcm.Purged
	}{
		"everything stays":             {vnflcm.Retention{}, nil, vnflcm.Purged{}},
		"nothing is old":               {vnflcm.Retention{Completed: long, Failed: long}, nil, vnflcm.Purged{}},
		"failures stay longer":         {vnflcm.Retention{Completed: now, Failed: long}, nil, vnflcm.Purged{Completed: 1, Changes: len(all)}},
		"failures stay for ever":       {vnflcm.Retention{Completed: now}, nil, vnflcm.Purged{Completed: 1, Changes: len(all)}},
		"failures end too":             {vnflcm.Retention{Completed: now, Failed: now}, nil, vnflcm.Purged{Completed: 1, Failed: 1, Changes: len(all)}},
		"readers have read all":        {vnflcm.Retention{Completed: now}, []vnflcm.Cursor{end, end}, vnflcm.Purged{Completed: 1, Changes: len(all)}},
		"a reader is in the middle":    {vnflcm.Retention{Completed: now}, []vnflcm.Cursor{end, middle}, vnflcm.Purged{Completed: 1, Changes: 3}},
		"a reader is at the beginning": {vnflcm.Retention{Completed: now}, []vnflcm.Cursor{middle, ""}, vnflcm.Purged{Completed: 1}},
	} {
		if diff := cmp.Diff(c.want, plan(c.of, c.unread...)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	for _, wrong := range []vnflcm.Retention{{Completed: -1}, {Failed: -1}, {Failed: long}, {Completed: long, Failed: now}} {
		_, err := x.Purge(t.Context(), wrong)
		wantIs(t, err, vnflcm.ErrInvalidRequest)
	}
	if again, _, err := x.Changes(t.Context(), "", 100); len(again) != len(all) || err != nil {
		t.Fatalf("a plan has removed changes: %d of %d are left, %v", len(again), len(all), err)
	}

	got, err := x.Purge(t.Context(), vnflcm.Retention{Completed: now, Failed: long}, middle)
	if diff := cmp.Diff(vnflcm.Purged{Completed: 1, Changes: 3}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if left, err := x.Operations(t.Context(), vnflcm.OperationQuery{}); err != nil || len(left.Items) != 1 || left.Items[0].ID != failed {
		t.Errorf("operations that are left: %v, %v", left.Items, err)
	}
	unread, _, err := x.Changes(t.Context(), middle, 100)
	if left, _, err1 := x.Changes(t.Context(), "", 100); err != nil || err1 != nil || len(left) != len(all)-3 || len(unread) != len(left) {
		t.Errorf("%d changes are left, %d of them unread (%v, %v)", len(left), len(unread), err, err1)
	}
	if diff := cmp.Diff(vnflcm.Purged{Changes: len(all) - 3}, plan(vnflcm.Retention{Completed: now, Failed: long})); diff != "" {
		t.Errorf("after the purge:\n%s", diff)
	}
}

// lateFeed is a store whose changes were made by a process with a clock that is far behind.
type lateFeed struct{ store.Store }

func (s lateFeed) Feed(ctx context.Context, after string, limit int) ([]store.Record, string, error) {
	list, next, err := s.Store.Feed(ctx, after, limit)
	for i := range list {
		list[i].Index.Start = 1
	}
	return list, next, err
}

// TestRetentionByPlace checks that the place in the feed decides what is unread, and no clock.
func TestRetentionByPlace(t *testing.T) {
	t.Parallel()
	x := newToys(t, func(cfg *vnflcm.Config) { cfg.Store = lateFeed{cfg.Store} })
	x.instantiated("plain")
	_, middle, err := x.cfg.Store.Feed(t.Context(), "", 2)
	must(t, err)
	got, err := x.PlanPurge(t.Context(), vnflcm.Retention{Completed: time.Hour}, vnflcm.Cursor(middle))
	if diff := cmp.Diff(vnflcm.Purged{Changes: 2}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}
