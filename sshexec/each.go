package sshexec

import (
	"context"
	"errors"
	"sync"
)

// Each calls fn for all hosts, for at most limit of them at once (less than one
// means all). A host that fails does not stop the others. The error joins one
// *[HostError] per host that failed, in the order of hosts, so that errors.Is
// and errors.As look through it. Once ctx has ended no further call is made; the
// hosts not reached fail with its cause.
func Each(ctx context.Context, limit int, hosts []*Host, fn func(context.Context, *Host) error) error {
	if limit < 1 || limit > len(hosts) {
		limit = len(hosts)
	}
	failures := make([]error, len(hosts))
	slots := make(chan struct{}, limit)
	var running sync.WaitGroup
	for i, h := range hosts {
		if !acquire(ctx, slots) {
			failures[i] = &HostError{Host: h.Name(), Err: context.Cause(ctx)}
			continue
		}
		running.Go(func() {
			defer func() { <-slots }()
			failures[i] = named(h, fn(ctx, h))
		})
	}
	running.Wait()
	return errors.Join(failures...)
}

func acquire(ctx context.Context, slots chan struct{}) bool {
	if ctx.Err() != nil {
		return false
	}
	select {
	case slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// named makes err a *HostError unless it is one.
func named(h *Host, err error) error {
	var already *HostError
	if err == nil || errors.As(err, &already) && already == err { //nolint:errorlint // only the outermost counts
		return err
	}
	return &HostError{Host: h.Name(), Err: err}
}
