package store

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/vnflcm/internal/code"
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

// Errors of a Store. They have the same values as those of package vnflcm.
const (
	ErrNotFound code.Code = "not-found"       // there is no such record
	ErrConflict code.Code = "conflict"        // a record has another version than the batch gives
	ErrInvalid  code.Code = "invalid-request" // the Store cannot keep or find what it was given, so trying again does not help
	ErrShutdown code.Code = "shutdown"        // the Store has ended with its process: a Manager does not take it for a failure
)

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

// Key identifies the record: its kind and id.
func (r Record) Key() [2]string { return [2]string{r.Kind, r.ID} }

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
	// Background says that the list is for a client or a metric: a Store with few connections reads it over separate ones, so that
	// many lists do not delay operations.
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
