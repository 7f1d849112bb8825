package helmcli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/vnfkit/vnfkit/helmclient"
)

// Times of looking after a helm that nobody hears of any more.
const (
	appearing = 15 * time.Second // until its first trace must be there, if it was begun at all
	looking   = 30 * time.Second // for finding out the state after a call's context has ended
	ending    = 20               // seconds for a helm that was killed to be gone
)

// settle finds out what has become of an operation whose master was lost in the middle. It waits for the end of a helm
// that still works. settled is false when helm has done nothing, so that another master may be asked.
func (c *Client) settle(ctx context.Context, m *master, o operation, was before, lostErr error) (*helmclient.Release, bool, error) {
	c.config.Log.WarnContext(ctx, "the connection broke while helm ran; looking at the release", "master", m.name, "release", o.name.String(), "error", lostErr)
	start := time.Now()
	if _, err := m.run(ctx, o.afterEnd()); err == nil { // the lock is free: that helm has ended, or was never begun
		start = start.Add(-appearing)
	}
	for wait := backoff.NewExponentialBackOff(); ; {
		r, err := c.Status(ctx, o.name)
		if err != nil && !errors.Is(err, helmclient.ErrNotFound) {
			return nil, true, fmt.Errorf("what has become of the operation is not known: %w", errors.Join(err, lostErr))
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
		select {
		case <-ctx.Done():
			return nil, true, errors.Join(context.Cause(ctx), lostErr)
		case <-time.After(min(wait.NextBackOff(), interval)):
		}
	}
}

// patience is how long a helm that nobody hears of may go on: what the caller says of others, or what it was given, and
// as much again for hooks.
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

// fate compares a release with what it was. r is nil when there is none.
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
		return done // it was removed again
	case r == nil || r.Revision <= was.revision:
		return untouched
	case r.State.Pending():
		return underway
	}
	return done
}

// outcome is the result of an operation that has ended unheard.
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

// afterEnd is a command that succeeds once no helm of ours works on the release on this master.
func (o operation) afterEnd() command {
	return command{argv: []string{"true"}, lock: lockName(o.name), wait: ending}
}

// ended waits until no helm of ours works on the release on any master that can be reached. An error says where one does.
func (c *Client) ended(ctx context.Context, o operation) error {
	for _, m := range c.order() {
		_, err := m.run(ctx, o.afterEnd())
		if f, ok := errors.AsType[*failure](err); ok && f.code == exitLocked {
			return fmt.Errorf("helm still runs on %s: %w", m.name, err)
		}
	}
	return context.Cause(ctx)
}

// cancelled finds out what is true after the call's context has ended and helm was stopped: a release that would be
// pending for ever is marked as failed. The error wraps the cause.
func (c *Client) cancelled(ended context.Context, m *master, o operation, was before, runErr error) error {
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
