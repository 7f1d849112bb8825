package openstack

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/vnfkit/vnfkit/infra/openstack/internal/heat"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Instantiate implements vnflcm.InfraDriver: it uploads the images of the package, makes the stack and waits until it is complete. A
// stack that failed in an earlier attempt is deleted first: nothing runs on it yet.
func (d *Driver) Instantiate(ctx context.Context, op *vnflcm.Operation) error {
	w, err := d.begin(ctx, op)
	if err != nil {
		return err
	}
	if err := w.uploadImages(ctx, nil); err != nil {
		return err
	}
	def, err := w.definition(ctx, nil, nil)
	if err != nil {
		return err
	}
	if err := w.makeStack(ctx, def); err != nil {
		return err
	}
	return w.readConsoleKeys(ctx)
}

// makeStack is the step that makes the stack. Its name is that of the instance, so a stack which an earlier
// process asked for is found, and a second one cannot come to be.
func (w *work) makeStack(ctx context.Context, def heat.Definition) error {
	return vnflcm.Do(ctx, w.op, "create-stack", "", func(ctx context.Context) error {
		s, err := w.made(ctx, def)
		if err == nil && !s.Status.Complete() {
			_, err = w.heat.Created(ctx, s, w.tell(ctx))
		}
		return w.stopped(ctx, err)
	})
}

// made returns the stack that is being made, or is complete. When the answer to the request is lost, it looks
// whether the request has taken effect before it repeats it.
func (w *work) made(ctx context.Context, def heat.Definition) (*heat.Stack, error) {
	return persist(ctx, w.cfg.Poll, func() (*heat.Stack, error) {
		s, err := w.find(ctx)
		if err != nil {
			return nil, err
		}
		if s != nil && (s.Status.Failed() || s.Status.Action() == "DELETE") {
			if err := w.remove(ctx, s); err != nil {
				return nil, err
			}
			s = nil
		}
		if s != nil {
			return s, nil
		}
		return w.heat.Create(ctx, StackName(w.op.InstanceID), w.tags(), def)
	})
}

// stubborn is for how long a request is repeated that Heat does not take: because it does not answer, or is
// still at work on the stack.
const stubborn = 3 * time.Minute

// persist repeats a request while its error is one that passes.
func persist[T any](ctx context.Context, poll time.Duration, request func() (T, error)) (T, error) {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = poll, 10*poll
	result, err := backoff.Retry(ctx, func() (T, error) {
		result, err := request()
		if err != nil && !heat.Busy(err) && !heat.Passing(err) {
			err = backoff.Permanent(err)
		}
		return result, err
	}, backoff.WithBackOff(pause), backoff.WithMaxElapsedTime(stubborn))
	if permanent := (*backoff.PermanentError)(nil); errors.As(err, &permanent) {
		err = permanent.Err
	}
	return result, err
}

// stopped has Heat leave off when the operation was cancelled, or the time is up: what nobody waits for any
// more shall not go on, and the next attempt needs a stack at rest. A process that is shut down lets it go on,
// for the next one to find.
func (w *work) stopped(ctx context.Context, err error) error {
	if !errors.Is(err, heat.ErrOverdue) && (err == nil || !errors.Is(context.Cause(ctx), vnflcm.ErrCancelled)) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	s, stopErr := w.find(ctx) // the request may have taken effect although its answer was not waited for
	if stopErr == nil && s != nil && s.Status.InProgress() {
		stopErr = w.heat.Stop(ctx, s)
	}
	if stopErr != nil {
		return fmt.Errorf("%w (and Heat may go on with it: %w)", err, stopErr)
	}
	return err
}
