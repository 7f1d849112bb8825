package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
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

	mu     sync.Mutex
	writes int // since CutAt
	last   int // the write at which f is cut off, 0 for none
	done   bool
	ended  func()
}

// CutAt cuts f off at the write of that number, counted from now on: after it is applied, or instead of it. The write returns ErrCut. ended is
// called at the cut, for what else ends with the process; it may be nil. With the number 0 it only counts.
func (f *Fence) CutAt(write int, applied bool, ended func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writes, f.last, f.done, f.ended = 0, write, applied, ended
}

// Writes returns the number of writes since CutAt, or since the beginning.
func (f *Fence) Writes() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.writes
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
	if !f.isLast() {
		return f.Store.Apply(ctx, b)
	}
	f.Cut(true)
	if f.ended != nil {
		f.ended()
	}
	if f.done {
		return errors.Join(ErrCut, f.Store.Apply(ctx, b))
	}
	return ErrCut
}

// isLast counts a write and reports whether f is cut off at it.
func (f *Fence) isLast() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writes++
	return f.writes == f.last
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
