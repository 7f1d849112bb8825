package vnflcm

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// Store keeps records that it cannot read: the Manager seals their bodies. Every journal entry is a record
// of its own, so that parallel steps never write the same one. storetest checks an implementation.
type Store interface {
	// Get returns the record, or an error that is ErrNotFound.
	Get(ctx context.Context, kind, id string) (Record, error)
	// Put writes r if the stored version is r.Version (0: there must be none) and stores it with version
	// r.Version+1. Otherwise it returns an error that is ErrConflict and changes nothing.
	Put(ctx context.Context, r Record) error
	// Delete removes the record if its version is the given one: ErrConflict if it is another, ErrNotFound
	// if there is none.
	Delete(ctx context.Context, kind, id string, version int64) error
	// List returns the records of a kind whose id begins with prefix, in the order of their ids.
	List(ctx context.Context, kind, prefix string) ([]Record, error)
}

// Record is what a Store keeps. Kind and ID are in clear.
type Record struct {
	Kind, ID string // "instance" i1, "operation" o1, "step" o1/instantiate_end/join/w1, "state" i1/hostkey/vm7
	Version  int64  // 1 after the first Put
	Body     []byte
}

// NewMemoryStore returns a Store that ends with the process: for tests and for trying out.
func NewMemoryStore() Store { return &memoryStore{records: map[[2]string]Record{}} }

type memoryStore struct {
	mu      sync.RWMutex
	records map[[2]string]Record
}

func (s *memoryStore) Get(ctx context.Context, kind, id string) (Record, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r, ok := s.records[[2]string{kind, id}]
	if !ok {
		return Record{}, ErrNotFound
	}
	r.Body = slices.Clone(r.Body)
	return r, ctx.Err()
}

func (s *memoryStore) Put(ctx context.Context, r Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := [2]string{r.Kind, r.ID}
	if s.records[key].Version != r.Version {
		return ErrConflict
	}
	r.Version++
	r.Body = slices.Clone(r.Body)
	s.records[key] = r
	return nil
}

func (s *memoryStore) Delete(ctx context.Context, kind, id string, version int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := [2]string{kind, id}
	switch r, ok := s.records[key]; {
	case !ok:
		return ErrNotFound
	case r.Version != version:
		return ErrConflict
	}
	delete(s.records, key)
	return nil
}

func (s *memoryStore) List(ctx context.Context, kind, prefix string) ([]Record, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []Record
	for key, r := range s.records {
		if key[0] == kind && strings.HasPrefix(key[1], prefix) {
			r.Body = slices.Clone(r.Body)
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b Record) int { return strings.Compare(a.ID, b.ID) })
	return out, ctx.Err()
}
