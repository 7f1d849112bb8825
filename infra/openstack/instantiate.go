package openstack

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vnfkit/vnfkit/infra/openstack/internal/heat"
	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Instantiate implements vnflcm.InfraDriver. It uploads the images of the package, creates the stack and waits until the
// stack is complete. If an earlier attempt has left a failed stack, Instantiate deletes that stack first.
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

// makeStack runs the step that creates the stack. The name of the stack contains the id of the instance and is unique in
// the project. So makeStack finds a stack that an earlier process asked for, and Heat refuses a second stack.
func (w *work) makeStack(ctx context.Context, def heat.Definition) error {
	return vnflcm.Do(ctx, w.op, "create-stack", "", func(ctx context.Context) error {
		s, err := w.made(ctx, def)
		if err == nil && !s.Status.Complete() {
			_, err = w.heat.Created(ctx, s, w.tell(ctx))
		}
		return w.stopped(ctx, err)
	})
}

// made returns the stack, which may still be in progress, and creates it if necessary. If the answer to the request is
// lost, made looks for the stack before it repeats the request.
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

// stubborn is how long persist repeats a request while Heat does not answer or is busy with the stack.
const stubborn = 3 * time.Minute

// persist repeats a request, with increasing pauses, while its error is temporary (heat.Busy, heat.Passing).
func persist[T any](ctx context.Context, poll time.Duration, request func() (T, error)) (result T, err error) {
	policy := retry.Policy{First: poll, Most: 10 * poll, Within: stubborn, If: func(err error) bool { return heat.Busy(err) || heat.Passing(err) }}
	err = policy.Do(ctx, func() (err error) {
		result, err = request()
		return err
	})
	return result, err
}

// stopped tells Heat to stop if the operation was cancelled or Heat did not finish in time, waits until Heat has stopped,
// and returns err. After that no process waits for Heat, and the next attempt needs a stack that Heat does not change: it
// would wait for the action in progress and fail with it. If the process is shut down, stopped lets Heat continue: the next
// process waits for the same action.
func (w *work) stopped(ctx context.Context, err error) error { return w.stoppedAt(ctx, err, w.find) }

// stoppedAt does what stopped does for the stack that find returns.
func (w *work) stoppedAt(ctx context.Context, err error, find func(context.Context) (*heat.Stack, error)) error {
	if !errors.Is(err, heat.ErrOverdue) && (err == nil || !errors.Is(context.Cause(ctx), vnflcm.ErrCancelled)) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	s, stopErr := find(ctx) // Heat may have accepted the request although its answer did not arrive
	if stopErr == nil && s != nil && s.Status.InProgress() {
		if stopErr = w.heat.Stop(ctx, s); stopErr == nil {
			_, stopErr = w.heat.AtRest(ctx, s, w.tell(ctx))
		}
	}
	if stopErr != nil {
		return fmt.Errorf("%w (and Heat may go on with it: %w)", err, stopErr)
	}
	return err
}
