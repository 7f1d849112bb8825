package sshexec

import (
	"context"
	"errors"
	"fmt"

	"github.com/vnfkit/vnfkit/internal/fanout"
)

// Fan configures concurrent calls for many hosts. The zero value calls all hosts at once and lets each call finish.
type Fan struct {
	// Limit is the number of hosts that are called at once. Default: all. File transfers have a separate limit,
	// Options.Transfers.
	Limit int
	// FailFast ends all calls once one call has failed: the contexts of running calls are cancelled, and no further calls are
	// made. The errors of these calls wrap [ErrAbandoned].
	FailFast bool
}

// Each calls fn for all hosts. The error joins one *[HostError] per failed host, in the order of hosts, so errors.Is and errors.As
// find the errors of each host. After the end of ctx Each makes no further calls; the remaining hosts fail with the cause of ctx.
func Each(ctx context.Context, f Fan, hosts []*Host, fn func(context.Context, *Host) error) error {
	_, err := Map(ctx, f, hosts, func(ctx context.Context, h *Host) (struct{}, error) { return struct{}{}, fn(ctx, h) })
	return err
}

// Map is [Each] for calls that return a value. results has one element per host, in the order of hosts, and the zero value for
// failed hosts.
func Map[T any](ctx context.Context, f Fan, hosts []*Host, fn func(context.Context, *Host) (T, error)) (results []T, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	results, failures, called := make([]T, len(hosts)), make([]error, len(hosts)), make([]bool, len(hosts))
	_ = fanout.Each(ctx, len(hosts), f.Limit, func(i int) error { // failures has the errors
		called[i] = true
		result, err := fn(ctx, hosts[i])
		if err == nil {
			results[i] = result
			return nil
		}
		failures[i] = named(hosts[i], err)
		if f.FailFast {
			cancel(fmt.Errorf("%w: %s has failed", ErrAbandoned, hosts[i].Name()))
		}
		return nil
	})
	for i, h := range hosts {
		if !called[i] {
			failures[i] = &HostError{Host: h.Name(), Err: context.Cause(ctx)}
		}
	}
	return results, errors.Join(failures...)
}

// named returns err as a *HostError.
func named(h *Host, err error) error {
	var already *HostError
	if errors.As(err, &already) && already == err { //nolint:errorlint // only the outermost counts
		return err
	}
	return &HostError{Host: h.Name(), Err: err}
}
