package sshexec

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vnfkit/vnfkit/internal/retry"
)

// Wait waits until a login succeeds. If a machine refuses, resets or stalls connections, or does not accept the
// credentials yet, Wait retries, first after a quarter of a second and later every 5 s, until ctx ends. Then the error
// wraps both the cause of ctx and the last reason. A host key mismatch and other final errors end the wait at once, and
// refused credentials when Target.LoginGrace is over.
func (h *Host) Wait(ctx context.Context) error {
	var refused time.Time // time of the first of the latest refused logins; zero after any other result
	mayPass := func(err error) bool {
		switch {
		case !errors.Is(err, ErrAuth):
			refused = time.Time{}
			return errors.Is(err, ErrConnect)
		case refused.IsZero():
			refused = time.Now()
		}
		return h.target.LoginGrace <= 0 || time.Since(refused) <= h.target.LoginGrace
	}
	reach := retry.Policy{First: reachFirst, Most: reachLast, If: mayPass, For: "SSH of " + h.target.Name + " at " + h.target.Addr}
	err := reach.Do(ctx, func() error { return h.probe(ctx) })
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return h.fail(fmt.Errorf("waiting for SSH: %w", err))
	default:
		return h.fail(err)
	}
}

// The first and the longest pause between attempts to reach a host.
const (
	reachFirst = 250 * time.Millisecond
	reachLast  = 5 * time.Second
)

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
