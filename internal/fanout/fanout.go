// Package fanout calls a function for many items at once.
package fanout

import (
	"context"
	"errors"
	"sync"
)

// Each calls do for the numbers from 0 to n-1, in this order and at most limit at once (limit < 1: all), waits for the
// calls, and joins their errors in the order of the numbers. Once ctx has ended, Each begins no further call; if it left
// calls out, the error also wraps the cause of ctx.
func Each(ctx context.Context, n, limit int, do func(i int) error) error {
	if limit < 1 {
		limit = max(1, n)
	}
	errs := make([]error, n+1)
	slots := make(chan struct{}, limit)
	var running sync.WaitGroup
	for i := range n {
		if errs[n] = acquire(ctx, slots); errs[n] != nil {
			break
		}
		running.Go(func() {
			defer func() { <-slots }()
			errs[i] = do(i)
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// acquire waits for a slot, or returns the cause for which ctx has ended.
func acquire(ctx context.Context, slots chan struct{}) error {
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
	}
	return context.Cause(ctx)
}
