package vnflcm_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

var errRefused = errors.New("connection refused")

// TestTextOfFailure checks the text with which an operation ends after machines have failed: a cancelled operation says first that it was
// cancelled, and a reason that several machines have stands there once.
func TestTextOfFailure(t *testing.T) {
	t.Parallel()
	const cancelled, join = "vnflcm: the operation was cancelled\n", "instantiate_end: join on "
	const master, worker0, worker1 = "master0 (master-0)", "worker0 (worker-0)", "worker1 (worker-1)"
	for name, c := range map[string]struct {
		mode vnflcm.CancelMode // "": the operation is not cancelled
		fail func(ctx context.Context, on string) error
		want string
	}{
		"same reason": {"", func(context.Context, string) error { return errRefused }, join + master + ", " + worker0 + ", " + worker1 + ": connection refused"},
		"other reasons": {"", func(_ context.Context, on string) error { return fmt.Errorf("port of %s: %w", on, errRefused) },
			join + master + ": port of master0: connection refused\n" + join + worker0 + ": port of worker0: connection refused\n" + join + worker1 + ": port of worker1: connection refused"},
		"reasons of connections": {"", func(_ context.Context, on string) error { return fmt.Errorf("%s: %w", on, errRefused) },
			join + master + ", " + worker0 + ", " + worker1 + ": connection refused"},
		"reasons of a step": {"", func(context.Context, string) error { return errors.Join(errRefused, errCut, errRefused) }, join + master + ", " + worker0 + ", " + worker1 + ": connection refused\ncut off"},
		"cancelled":         {vnflcm.CancelForceful, func(ctx context.Context, _ string) error { return context.Cause(ctx) }, cancelled + join + master + ", " + worker0 + ": stopped"},
		"cancelled by the context": {vnflcm.CancelForceful, func(ctx context.Context, _ string) error { return ctx.Err() },
			cancelled + join + master + ", " + worker0 + ": context canceled"},
		"cancelled while it waits": {vnflcm.CancelForceful, func(ctx context.Context, on string) error {
			return fmt.Errorf("%s: %w; last: %w", on, context.Cause(ctx), errRefused)
		}, cancelled + join + master + ", " + worker0 + ": connection refused"},
		"gracefully": {vnflcm.CancelGraceful, func(context.Context, string) error { return nil }, cancelled + join + worker1 + ": stopped"},
		"gracefully, and a machine failed": {vnflcm.CancelGraceful, func(_ context.Context, on string) error {
			if on == "master0" {
				return errRefused
			}
			return nil
		}, cancelled + join + master + ": connection refused\n" + join + worker1 + ": stopped"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var running atomic.Int32
			both, stop := make(chan struct{}), make(chan struct{})
			x := newToys(t, func(cfg *vnflcm.Config) {
				cfg.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
					if s.Name != "join" {
						return next(ctx)
					}
					if running.Add(1) == 2 {
						close(both)
					}
					select {
					case <-ctx.Done():
					case <-stop:
					}
					if err := c.fail(ctx, s.Host); err != nil {
						return err
					}
					return next(ctx)
				}
			})
			opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
			must(t, err)
			<-both
			if c.mode != "" {
				must(t, x.Cancel(t.Context(), opID, c.mode))
			}
			if c.mode != vnflcm.CancelForceful {
				close(stop)
			}
			occ, err := x.wait(opID, nil, vnflcm.FailedTemp)
			if diff := cmp.Diff(c.want, occ.Error.Detail); diff != "" {
				t.Errorf("the document:\n%s", diff)
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Errorf("the error of Wait:\n%s", diff)
			}
			if c.mode == vnflcm.CancelForceful && !errors.Is(err, vnflcm.ErrCancelled) {
				t.Errorf("no ErrCancelled: %v", err)
			}
		})
	}
}
