package helmcli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/internal/retry"
)

// Time limits for the inspection of a release after the connection to its helm was lost.
const (
	appearing = 15 * time.Second // until the first record must exist, if helm was started
	looking   = 30 * time.Second // to find the state after a call's context has ended
	ending    = 20               // seconds until a killed helm has ended
)

// resolveLost finds the result of an operation whose connection was lost. It waits for the end of a helm that still
// runs. resolved is false if helm has changed nothing, so that another machine may be asked.
func (c *Client) resolveLost(ctx context.Context, m *machine, o operation, was before, lostErr error) (*helmclient.Release, bool, error) {
	c.config.Log.WarnContext(ctx, "the connection broke while helm ran; looking at the release", "machine", m.name, "release", o.name.String(), "error", lostErr)
	start := time.Now()
	if _, err := m.run(ctx, o.afterEnd()); err == nil { // the lock is free: that helm has ended, or never started
		start = start.Add(-appearing)
	}
	waiting := retry.Begin(ctx, "")
	defer waiting.End()
	for wait := backoff.NewExponentialBackOff(); ; {
		r, err := c.Status(ctx, o.name)
		if err != nil && !errors.Is(err, helmclient.ErrNotFound) {
			return nil, true, fmt.Errorf("the result of the operation is not known: %w", errors.Join(err, lostErr))
		}
		switch o.fate(was, r) {
		case done:
			return o.outcome(r)
		case untouched:
			if time.Since(start) >= appearing {
				return nil, false, lostErr
			}
		case underway:
			e := &helmclient.StaleError{Release: o.name, State: r.State, Since: r.Updated, Busy: true}
			if limit := o.patience(); time.Since(start) > limit {
				return nil, true, errors.Join(e, lostErr)
			}
		}
		waiting.Failed(lostErr)
		if cause := retry.Pause(ctx, min(wait.NextBackOff(), interval)); cause != nil {
			return nil, true, errors.Join(cause, lostErr)
		}
	}
}

// patience bounds the wait for a helm whose connection was lost: the Stale of the request, or its timeout twice, since
// hooks have the same timeout.
func (o operation) patience() time.Duration {
	if o.stale > 0 {
		return o.stale
	}
	return 2 * timeout(o.wait)
}

type fate int

const (
	untouched fate = iota // nothing has changed
	underway
	done
)

// fate compares a release with its state before the operation. r is nil if the release does not exist.
func (o operation) fate(was before, r *helmclient.Release) fate {
	switch {
	case o.verb == "uninstall":
		switch {
		case r == nil || r.State == helmclient.Uninstalled:
			return done
		case r.State == helmclient.Uninstalling && was.state != helmclient.Uninstalling:
			return underway
		}
		return untouched
	case r == nil && was.revision > 0 && o.atomic:
		return done // it was removed
	case r == nil || r.Revision <= was.revision:
		return untouched
	case r.State.Pending():
		return underway
	}
	return done
}

// outcome returns the result of an operation that ended while the connection was lost.
func (o operation) outcome(r *helmclient.Release) (*helmclient.Release, bool, error) {
	switch {
	case o.verb == "uninstall":
		return nil, true, nil
	case r == nil:
		return nil, true, fmt.Errorf("%w: %s has failed and was removed again", helmclient.ErrNotReady, o.verb)
	case r.State == helmclient.Deployed:
		return r, true, nil
	}
	return r, true, fmt.Errorf("helm: %s of %s: it is %s: %s", o.verb, o.name, r.State, r.Description)
}

// afterEnd returns a command that succeeds once no helm of this package works on the release on this machine.
func (o operation) afterEnd() command {
	return command{argv: []string{"true"}, lock: lockName(o.name), wait: ending}
}

// ended waits until no helm of this package works on the release on any machine that can be reached. The error names a
// machine where one still runs.
func (c *Client) ended(ctx context.Context, o operation) error {
	for _, m := range c.order() {
		_, err := m.run(ctx, o.afterEnd())
		if f, ok := errors.AsType[*failure](err); ok && f.code == exitLocked {
			return fmt.Errorf("helm still runs on %s: %w", m.name, err)
		}
	}
	return context.Cause(ctx)
}

// cancelled handles a call whose context has ended and whose helm was stopped: a release that would stay pending is
// marked as failed. The error wraps the cause.
func (c *Client) cancelled(ended context.Context, m *machine, o operation, was before, runErr error) error {
	err := fmt.Errorf("helm: %s of %s: %w", o.verb, o.name, context.Cause(ended))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ended), looking)
	defer cancel()
	if _, lockErr := m.run(ctx, o.afterEnd()); lockErr != nil {
		return errors.Join(err, fmt.Errorf("whether helm has stopped is not known: %w", lockErr), runErr)
	}
	r, lookErr := c.state(ctx, m, o.name)
	if errors.Is(lookErr, helmclient.ErrNotFound) {
		return fmt.Errorf("%w; there is no release", err)
	}
	if lookErr != nil {
		return errors.Join(err, lookErr)
	}
	if r.State.Pending() && o.ours(was, r) {
		if markErr := c.markFailed(ctx, m, r, fmt.Sprintf("%s was cancelled", o.verb)); markErr != nil {
			return errors.Join(err, markErr)
		}
		r.State = helmclient.Failed
	}
	return fmt.Errorf("%w; revision %d is %s", err, r.Revision, r.State)
}
