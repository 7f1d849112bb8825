// Package retry repeats what fails for a time, with growing pauses.
package retry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Policy says how long an attempt is repeated, and which errors may pass.
type Policy struct {
	// First and Most are the first and the longest pause between attempts. A pause is about half as long again as the one
	// before, and up to half longer or shorter at random.
	First, Most time.Duration
	// Within is the time in which attempts begin. Default: until the context ends.
	Within time.Duration
	// If reports whether an error may pass. Default: every error may.
	If func(error) bool
	// For says what Do waits for, to a Watch: Wait.For.
	For string
	// Class is Wait.Class.
	Class Class
}

// Do calls try until it succeeds, fails with an error that does not pass, or the time is over. Do returns the error of the
// last attempt. If ctx ends, the error also wraps the cause of ctx; an attempt that the end of ctx may have cut gives no
// reason if an earlier one has given a reason. The Watch of ctx sees every attempt that fails with an error that may pass.
func (p Policy) Do(ctx context.Context, try func() error) error {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = p.First, p.Most
	began := time.Now()
	wait := BeginAs(ctx, p.Class, p.For)
	defer wait.End()
	var reason error
	for {
		err := try()
		if err == nil || ctx.Err() == nil && p.If != nil && !p.If(err) {
			return err
		}
		if reason == nil || ctx.Err() == nil {
			reason = err
			wait.Failed(err)
		}
		pause := pauses.NextBackOff()
		if p.Within > 0 {
			left := p.Within - time.Since(began)
			if left <= 0 && ctx.Err() == nil {
				return reason
			}
			pause = min(pause, left)
		}
		if cause := Pause(ctx, pause); cause != nil {
			return because(cause, reason)
		}
	}
}

// because returns the cause for which a wait ended, with the reason why it had not ended before.
func because(cause, reason error) error {
	if errors.Is(reason, cause) {
		return reason
	}
	return fmt.Errorf("%w; last: %w", cause, reason)
}

// Pause returns nil after this time, or the cause for which ctx has ended.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return context.Cause(ctx)
	}
}
