package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
)

// NewMemory returns a Store that ends with the process: for tests and for trying out.
func NewMemory() Store {
	return &memoryStore{records: map[string]map[string]Record{}, watched: map[chan struct{}]bool{}}
}

type memoryStore struct {
	mu      sync.RWMutex
	records map[string]map[string]Record // by kind and id
	feed    [][2]string                  // keys of the records that were appended; their positions count from 1
	watched map[chan struct{}]bool
}

func (s *memoryStore) Get(ctx context.Context, kind, id string) (Record, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r, ok := s.records[kind][id]
	if !ok {
		return Record{}, ErrNotFound
	}
	r.Body = slices.Clone(r.Body)
	return r, ctx.Err()
}

func (s *memoryStore) Apply(ctx context.Context, b Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range slices.Concat(b.Assert, b.Put, b.Append, b.Delete) {
		if s.records[r.Kind][r.ID].Version != r.Version {
			return ErrConflict
		}
	}
	for _, r := range b.Delete {
		if r.Version == 0 {
			return ErrConflict
		}
	}
	for _, r := range b.Append {
		s.feed = append(s.feed, r.Key())
	}
	for _, r := range slices.Concat(b.Put, b.Append) {
		r.Version++
		r.Body = slices.Clone(r.Body)
		if s.records[r.Kind] == nil {
			s.records[r.Kind] = map[string]Record{}
		}
		s.records[r.Kind][r.ID] = r
	}
	for _, r := range b.Delete {
		delete(s.records[r.Kind], r.ID)
	}
	for changed := range s.watched {
		if b.Wake && len(changed) == 0 {
			changed <- struct{}{}
		}
	}
	return nil
}

func (s *memoryStore) List(ctx context.Context, q Query) ([]Record, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []Record
	for _, r := range s.records[q.Kind] {
		if q.matches(r) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, inOrder)
	if q.Limit > 0 && len(out) > q.Limit {
		out = out[:q.Limit]
	}
	for i := range out {
		out[i].Body = slices.Clone(out[i].Body)
	}
	return out, ctx.Err()
}

func (s *memoryStore) Feed(ctx context.Context, after string, limit int) (list []Record, next string, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	position := 0
	if after != "" {
		if position, err = strconv.Atoi(after); err != nil || position < 0 {
			return nil, after, fmt.Errorf("%w: the position %q", ErrInvalid, after)
		}
	}
	if limit == 0 {
		return nil, strconv.Itoa(len(s.feed)), ctx.Err()
	}
	for ; position < len(s.feed) && len(list) < limit; position++ {
		if r, there := s.records[s.feed[position][0]][s.feed[position][1]]; there {
			r.Body = slices.Clone(r.Body)
			list = append(list, r)
			after = strconv.Itoa(position + 1)
		}
	}
	return list, after, ctx.Err()
}

// Watch implements Watcher for several Managers of one process.
func (s *memoryStore) Watch(ctx context.Context, changed func()) error {
	notice := make(chan struct{}, 1)
	s.mu.Lock()
	s.watched[notice] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watched, notice)
	}()
	for {
		select {
		case <-notice:
			changed()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
