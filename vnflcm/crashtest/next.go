package crashtest

import (
	"context"
	"slices"
	"sync"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// processKind is the kind of the records by which processes see each other.
const processKind = "process"

// nextStore is the store of the next process. To that process the dead process is gone at once, not after its LeaseTTL, and no other
// process shares the operations. Other processes on the store see the dead process until its LeaseTTL has passed.
type nextStore struct {
	store.Store
	p   *Process
	own *names // of the records of the next process
}

// List implements store.Store.
func (s nextStore) List(ctx context.Context, q store.Query) ([]store.Record, error) {
	list, err := s.Store.List(ctx, q)
	if q.Kind == processKind {
		list = slices.DeleteFunc(list, func(r store.Record) bool { return !s.own.has(r.ID) })
	}
	return list, err
}

// Apply implements store.Store. A takeover asserts that the dead process has no record: it removes the record instead.
func (s nextStore) Apply(ctx context.Context, b store.Batch) error {
	s.own.add(b.Put)
	for i, r := range b.Assert {
		if r.Kind != processKind || r.Version > 0 || !s.p.processes.has(r.ID) {
			continue
		}
		if stored, err := s.Get(ctx, r.Kind, r.ID); err == nil {
			b.Assert, b.Delete = slices.Delete(slices.Clone(b.Assert), i, i+1), append(b.Delete, stored)
			break
		}
	}
	return s.Store.Apply(ctx, b)
}

// Watch implements store.Watcher, if the store does.
func (s nextStore) Watch(ctx context.Context, changed func()) error {
	if w, is := s.Store.(store.Watcher); is {
		return w.Watch(ctx, changed)
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// names are the ids of the records of a process.
type names struct {
	mu  sync.Mutex
	ids map[string]bool
}

func (n *names) add(put []store.Record) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range put {
		if r.Kind == processKind {
			n.ids[r.ID] = true
		}
	}
}

func (n *names) has(id string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ids[id]
}
