package retry_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/retry"
)

// recorder is a Watch that writes down its calls.
type recorder []string

func (r *recorder) Waiting(w *retry.Wait, attempt int, reason error) {
	*r = append(*r, fmt.Sprintf("%s: %d %v", w.For, attempt, reason))
}

func (r *recorder) Ended(w *retry.Wait) { *r = append(*r, w.For+" ended") }

// TestWatch checks that the Watch of a context sees each failed attempt of its waits, and their ends.
func TestWatch(t *testing.T) {
	for name, c := range map[string]struct {
		wait func(context.Context)
		want recorder
	}{
		"a policy": {func(ctx context.Context) {
			n := 0
			_ = retry.Policy{First: time.Second, Most: time.Second, For: "the API"}.Do(ctx, func() error {
				if n++; n < 3 {
					return errBusy
				}
				return nil
			})
		}, recorder{"the API: 0 <nil>", "the API: 1 busy", "the API: 2 busy", "the API ended"}},
		"an error that does not pass": {func(ctx context.Context) {
			_ = retry.Policy{First: time.Second, Most: time.Second, If: func(error) bool { return false }}.Do(ctx, func() error { return errOther })
		}, recorder{": 0 <nil>", " ended"}},
		"an attempt that the end of the context may have cut": {func(ctx context.Context) {
			ctx, cancel := context.WithCancelCause(ctx)
			n := 0
			_ = retry.Policy{First: time.Second, Most: time.Second}.Do(ctx, func() error {
				if n++; n == 2 {
					cancel(errLimit)
					return errOther
				}
				return errBusy
			})
		}, recorder{": 0 <nil>", ": 1 busy", " ended"}},
		"a policy in a wait": {func(ctx context.Context) {
			w := retry.Begin(ctx, "outer")
			defer w.End()
			_ = retry.Policy{First: time.Second, Most: time.Second, For: "inner"}.Do(ctx, func() error { return nil })
			w.Failed(errBusy)
		}, recorder{"outer: 0 <nil>", "inner: 0 <nil>", "inner ended", "outer: 1 busy", "outer ended"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got recorder
				c.wait(retry.WithWatch(t.Context(), &got))
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
				c.wait(t.Context()) // without a Watch
			})
		})
	}
}
