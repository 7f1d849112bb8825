package sshexec

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Wait waits until a login succeeds. If a machine refuses, resets or stalls connections, or does not accept the
// credentials yet, Wait retries, first after a quarter of a second and later every 5 s, until ctx ends. Then the error
// wraps both the cause of ctx and the last reason. A host key mismatch and other final errors end the wait at once, and
// refused credentials when Target.LoginGrace is over.
func (h *Host) Wait(ctx context.Context) error {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval = 250 * time.Millisecond
	pauses.MaxInterval = 5 * time.Second
	var last error
	var refused time.Time // time of the first of the latest refused logins; zero after any other result
	for {
		err := h.probe(ctx)
		if err == nil {
			return nil
		}
		switch {
		case !errors.Is(err, ErrAuth):
			refused = time.Time{}
		case refused.IsZero():
			refused = time.Now()
		case h.target.LoginGrace > 0 && time.Since(refused) > h.target.LoginGrace:
			return h.fail(err)
		}
		if ctx.Err() == nil {
			if !errors.Is(err, ErrConnect) && !errors.Is(err, ErrAuth) {
				return h.fail(err)
			}
			last = err
		} else if last == nil {
			last = err
		}
		timer := time.NewTimer(pauses.NextBackOff())
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return h.fail(fmt.Errorf("waiting for SSH: %w: %w", context.Cause(ctx), last))
		}
	}
}

// attemptLimit limits one attempt, so that a host that disappears during an attempt does not use up the time to wait.
const attemptLimit = 20 * time.Second

var errAttempt = fmt.Errorf("%w: no answer within %v", ErrConnect, attemptLimit)

func (h *Host) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, attemptLimit, errAttempt)
	defer cancel()
	session, err := h.machine.session(ctx, false)
	if err != nil {
		return err
	}
	session.close()
	return nil
}
