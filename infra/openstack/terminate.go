package openstack

import (
	"context"
	"errors"
	"fmt"

	"github.com/cenkalti/backoff/v5"

	"github.com/vnfkit/vnfkit/infra/openstack/internal/heat"
	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Terminate implements vnflcm.InfraDriver. It deletes the stack and the uploaded images that no other VNF instance uses,
// and nothing else. A graceful termination first shuts the servers down, so that their programs can end properly. It waits
// for at most gracefulTerminationTimeout seconds, by default 120.
func (d *Driver) Terminate(ctx context.Context, op *vnflcm.Operation) error {
	w, err := d.begin(ctx, op)
	if err != nil {
		return err
	}
	if op.Terminate.TerminationType == vnflcm.TerminateGraceful {
		if err := vnflcm.Do(ctx, op, "shut-down-servers", "", w.shutDown); err != nil {
			return err
		}
	}
	err = vnflcm.Do(ctx, op, "delete-stack", "", func(ctx context.Context) error {
		s, err := w.find(ctx)
		if errors.Is(err, ErrForeignStack) {
			op.Log.WarnContext(ctx, "left alone", "reason", err)
			return nil
		}
		if err != nil || s == nil {
			return err
		}
		return w.remove(ctx, s)
	})
	if err != nil {
		return err
	}
	return w.releaseImages(ctx)
}

// remove deletes a stack. It repeats a deletion that fails, up to Config.DeleteAttempts times: Neutron and Nova can use a
// resource for longer than Heat waits.
func (w *work) remove(ctx context.Context, s *heat.Stack) error {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = w.cfg.Poll, 10*w.cfg.Poll
	for attempt := 1; ; attempt++ {
		_, err := persist(ctx, w.cfg.Poll, func() (struct{}, error) {
			if err := w.heat.Delete(ctx, s); err != nil {
				return struct{}{}, err
			}
			return struct{}{}, w.heat.Deleted(ctx, s, w.tell(ctx))
		})
		if failed := (*StackError)(nil); !errors.As(err, &failed) || attempt == w.cfg.DeleteAttempts {
			return err
		}
		w.op.Report(ctx, fmt.Sprintf("attempt %d of %d: %v", attempt, w.cfg.DeleteAttempts, err))
		if cause := retry.Pause(ctx, pause.NextBackOff()); cause != nil {
			return errors.Join(err, cause)
		}
	}
}
