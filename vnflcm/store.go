package vnflcm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Store keeps records. The Manager seals their bodies, so a Store cannot read them. Every journal entry is a separate
// record, so that parallel steps never write the same record. storetest checks an implementation.
type Store interface {
	// Get returns the record, or an error that is ErrNotFound.
	Get(ctx context.Context, kind, id string) (Record, error)
	// List returns the records that q selects, in the order of Index.Start and, of equal Start, of their ids, byte by byte.
	List(ctx context.Context, q Query) ([]Record, error)
	// Apply writes the whole batch or nothing. It returns an error that is ErrConflict if a record has another
	// version than the batch gives, or is missing.
	Apply(ctx context.Context, b Batch) error
	// Feed returns at most limit of the records that batches have appended after a position, in an order that never
	// changes: a record that a reader does not get yet comes after all that it gets. The position "" is before the first
	// record. next is the position of the last record that Feed returns, or after if there is none. Records that were
	// deleted are left out. With a limit of 0, next is the position behind all records that a reader gets now.
	Feed(ctx context.Context, after string, limit int) (list []Record, next string, err error)
}

// Watcher is a Store that notices what other processes write. Without it a Manager asks the Store from time to time.
type Watcher interface {
	// Watch calls changed soon after a process has applied a batch with Wake, and may call it at other times. It returns
	// when ctx has ended, or with an error when it cannot notice changes any more.
	Watch(ctx context.Context, changed func()) error
}

// Record is one record of a Store. Everything except the body is in clear.
type Record struct {
	Kind, ID string // "instance" i1, "operation" o1, "step" o1/instantiate_end/join/w1, "state" i1/hostkey/vm7
	Version  int64  // 1 after the first Put
	Index    Index
	Body     []byte
}

// Index has the attributes by which records are found. A sealed body is bound to its index.
type Index struct {
	State     string // of an operation, an instance or a claim
	Operation string // kind of the operation
	Instance  string // id of the VNF instance
	VNFD      string // id of the VNFD
	Start     int64  // Unix time in nanoseconds: start of an operation, time of a change
}

// Query selects records of one kind. Every attribute that is set must match.
type Query struct {
	Kind       string
	Prefix     string   // of the id
	States     []string // one of them
	Operations []string // one of them
	Instance   string
	VNFD       string
	From       int64 // the least Start
	Before     int64 // Start is less
	// AfterStart and AfterID are the place in the order after which the list begins.
	AfterStart int64
	AfterID    string
	Limit      int // at most so many records; 0: all
	// Background says that the list is for a client: a Store with few connections reads it over separate ones, so that many
	// clients do not delay operations.
	Background bool
}

// matches reports whether a record is selected.
func (q Query) matches(r Record) bool {
	return r.Kind == q.Kind && strings.HasPrefix(r.ID, q.Prefix) &&
		(len(q.States) == 0 || slices.Contains(q.States, r.Index.State)) &&
		(len(q.Operations) == 0 || slices.Contains(q.Operations, r.Index.Operation)) &&
		(q.Instance == "" || q.Instance == r.Index.Instance) && (q.VNFD == "" || q.VNFD == r.Index.VNFD) &&
		(q.From == 0 || r.Index.Start >= q.From) && (q.Before == 0 || r.Index.Start < q.Before) &&
		(q.AfterID == "" || inOrder(Record{ID: q.AfterID, Index: Index{Start: q.AfterStart}}, r) < 0)
}

// inOrder compares two records by their place in a list.
func inOrder(a, b Record) int {
	return cmp.Or(cmp.Compare(a.Index.Start, b.Index.Start), cmp.Compare(a.ID, b.ID))
}

// Batch is what Store.Apply writes at once. A record is in a batch only once. The Version of each record is the
// one that the store must have; 0 means that the store must have no record of that kind and id.
type Batch struct {
	// Assert holds records that the batch depends on and does not change; only kind, id and version count. The assertion
	// holds at the moment in which the batch takes effect. A database therefore has to lock the row: a plain read in
	// a transaction of isolation READ COMMITTED lets another transaction change the row before the commit.
	Assert []Record
	// Put holds records that are stored with their Version+1.
	Put []Record
	// Append holds new records, which are stored as Put stores them and are added to the feed.
	Append []Record
	// Delete holds records that are removed. Their versions are at least 1; their bodies are ignored.
	Delete []Record
	// Urgent says that the batch renews a lease: a Store in which writers wait for each other lets the batch go first.
	Urgent bool
	// Wake says that processes that Watch the Store should read it soon.
	Wake bool
}

// NewMemoryStore returns a Store that ends with the process: for tests and for trying out.
func NewMemoryStore() Store {
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
		s.feed = append(s.feed, r.key())
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

func (r Record) key() [2]string { return [2]string{r.Kind, r.ID} }

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
			return nil, after, fmt.Errorf("%w: the position %q", ErrInvalidRequest, after)
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
