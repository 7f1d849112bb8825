package storetest

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// ErrCut is what every call of a cut Fence returns. It is a vnflcm.ErrShutdown, so that the Manager of the dead process does
// not try again.
var ErrCut = fmt.Errorf("storetest: the process is dead: %w", vnflcm.ErrShutdown)

// Fence is a store that can be cut off: then every call fails and changes nothing. Crash tests give it to the Manager
// that dies, and the store behind it to the Manager that resumes.
type Fence struct {
	vnflcm.Store
	cut atomic.Bool
}

// Cut ends the process, or with false brings it back: it was only out of reach.
func (f *Fence) Cut(cut bool) { f.cut.Store(cut) }

// IsCut reports whether the process is dead.
func (f *Fence) IsCut() bool { return f.cut.Load() }

// Get implements vnflcm.Store.
func (f *Fence) Get(ctx context.Context, kind, id string) (vnflcm.Record, error) {
	if f.IsCut() {
		return vnflcm.Record{}, ErrCut
	}
	return f.Store.Get(ctx, kind, id)
}

// Apply implements vnflcm.Store.
func (f *Fence) Apply(ctx context.Context, b vnflcm.Batch) error {
	if f.IsCut() {
		return ErrCut
	}
	return f.Store.Apply(ctx, b)
}

// List implements vnflcm.Store.
func (f *Fence) List(ctx context.Context, q vnflcm.Query) ([]vnflcm.Record, error) {
	if f.IsCut() {
		return nil, ErrCut
	}
	return f.Store.List(ctx, q)
}

// Feed implements vnflcm.Store.
func (f *Fence) Feed(ctx context.Context, after string, limit int) ([]vnflcm.Record, string, error) {
	if f.IsCut() {
		return nil, after, ErrCut
	}
	return f.Store.Feed(ctx, after, limit)
}
