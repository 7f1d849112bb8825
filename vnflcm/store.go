package vnflcm

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// Store keeps records. The Manager seals their bodies, so a Store cannot read them. Every journal entry is a
// record of its own, so that parallel steps never write the same record. storetest checks an implementation.
type Store interface {
	// Get returns the record, or an error that is ErrNotFound.
	Get(ctx context.Context, kind, id string) (Record, error)
	// List returns the records of a kind whose id begins with prefix, in the order of their ids.
	List(ctx context.Context, kind, prefix string) ([]Record, error)
	// Apply writes the whole batch or nothing. It returns an error that is ErrConflict if a record has another
	// version than the batch gives, or is missing.
	Apply(ctx context.Context, b Batch) error
}

// Record is what a Store keeps. Kind and ID are in clear.
type Record struct {
	Kind, ID string // "instance" i1, "operation" o1, "step" o1/instantiate_end/join/w1, "state" i1/hostkey/vm7
	Version  int64  // 1 after the first Put
	Body     []byte
}

// Batch is what Store.Apply writes at once. A record is in a batch only once. The Version of each record is the
// one that the store must have; 0 means that the store must have no record of that kind and id.
type Batch struct {
	// Assert holds records that the batch depends on and does not change; their bodies are ignored. The assertion
	// holds at the moment in which the batch takes effect. A database therefore has to lock the row: a plain read in
	// a transaction of isolation READ COMMITTED lets another transaction change the row before the commit.
	Assert []Record
	// Put holds records that are stored with their Version+1.
	Put []Record
	// Delete holds records that are removed. Their versions are at least 1, their bodies are ignored.
	Delete []Record
	// Urgent says that the batch renews a lease: a Store in which writers wait for each other lets the batch go first.
	Urgent bool
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

func (s *memoryStore) Apply(ctx context.Context, b Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range slices.Concat(b.Assert, b.Put, b.Delete) {
		if s.records[r.key()].Version != r.Version {
			return ErrConflict
		}
	}
	for _, r := range b.Delete {
		if r.Version == 0 {
			return ErrConflict
		}
	}
	for _, r := range b.Put {
		r.Version++
		r.Body = slices.Clone(r.Body)
		s.records[r.key()] = r
	}
	for _, r := range b.Delete {
		delete(s.records, r.key())
	}
	return nil
}

func (r Record) key() [2]string { return [2]string{r.Kind, r.ID} }

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
