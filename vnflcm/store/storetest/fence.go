package storetest

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// ErrCut is what every call of a cut Fence returns. It is a store.ErrShutdown, so that the Manager of the dead process does
// not try again.
var ErrCut = fmt.Errorf("storetest: the process is dead: %w", store.ErrShutdown)

// Fence is a store that can be cut off: then every call fails and changes nothing. Crash tests give it to the Manager
// that dies, and the store behind it to the Manager that resumes.
type Fence struct {
	store.Store
	cut atomic.Bool
}

// Cut makes every call fail with ErrCut and change nothing, as if the process had died or lost the store. With false it lets
// calls reach the store again, as if only the connection had been lost.
func (f *Fence) Cut(cut bool) { f.cut.Store(cut) }

// IsCut reports whether calls fail.
func (f *Fence) IsCut() bool { return f.cut.Load() }

// Get implements store.Store.
func (f *Fence) Get(ctx context.Context, kind, id string) (store.Record, error) {
	if f.IsCut() {
		return store.Record{}, ErrCut
	}
	return f.Store.Get(ctx, kind, id)
}

// Apply implements store.Store.
func (f *Fence) Apply(ctx context.Context, b store.Batch) error {
	if f.IsCut() {
		return ErrCut
	}
	return f.Store.Apply(ctx, b)
}

// List implements store.Store.
func (f *Fence) List(ctx context.Context, q store.Query) ([]store.Record, error) {
	if f.IsCut() {
		return nil, ErrCut
	}
	return f.Store.List(ctx, q)
}

// Feed implements store.Store.
func (f *Fence) Feed(ctx context.Context, after string, limit int) ([]store.Record, string, error) {
	if f.IsCut() {
		return nil, after, ErrCut
	}
	return f.Store.Feed(ctx, after, limit)
}
