package ledger

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/vnflcm/internal/keyring"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// Kinds of the records that this package defines. Package vnflcm defines all other kinds.
const (
	KindMeta    = "meta"    // the Format of the store
	KindProcess = "process" // the LeaseRecord of a process that works
	KindLease   = "lease"   // the LeaseRecord of work that only one process may do
	KindClaim   = "claim"   // a ClaimRecord
)

// Ledger seals values into the records of a store, and reads them. It is safe for concurrent use.
type Ledger struct {
	Store   *Store // for reads and writes of records as they are stored
	marshal func(any) ([]byte, error)
	keys    keyring.Ring
	zeros   bool // the first key
}

// New returns the ledger in a store. It seals under the first key, and opens records that are sealed under any of the keys, each of at least
// 16 bytes. marshal returns the JSON of a value with its secrets in clear. newest is the number of the newest format that this version
// writes; this version also knows the format before. Call Check before anything else.
func New(s store.Store, newest int, marshal func(any) ([]byte, error), keys ...[]byte) (*Ledger, error) {
	ring, err := keyring.New(keys...)
	if err != nil {
		return nil, fmt.Errorf("vnflcm: %w", err)
	}
	zeros := !slices.ContainsFunc(keys[0], func(b byte) bool { return b != 0 })
	return &Ledger{Store: &Store{store: s, fence: fence{newest: newest}}, marshal: marshal, keys: ring, zeros: zeros}, nil
}

// Indexed is a value whose record has an index, by which Store.List selects records. The index is stored in clear.
type Indexed interface{ Index() store.Index }

// Seal returns a record with the content v. Put it into a batch to replace the given version of the record, 0 for a new one.
func (l *Ledger) Seal(kind, id string, version int64, v any) (store.Record, error) {
	clear, err := l.marshal(v)
	if err != nil {
		return store.Record{}, err
	}
	record := store.Record{Kind: kind, ID: id, Version: version}
	if v, ok := v.(Indexed); ok {
		record.Index = v.Index()
	}
	return l.resealed(record, clear)
}

// resealed returns a record that replaces the version of the given one, with another body.
func (l *Ledger) resealed(record store.Record, clear []byte) (store.Record, error) {
	next := record
	next.Version++
	var err error
	record.Body, err = l.keys.Seal(clear, identity(next))
	return record, err
}

// identity returns what a body is bound to: a body is refused in another record, under another version and beside another index.
func identity(r store.Record) []byte {
	var out []byte
	for _, n := range []int64{r.Version, r.Index.Start} {
		out = binary.BigEndian.AppendUint64(out, uint64(n)) //nolint:gosec // every value has its own bytes
	}
	for _, text := range []string{r.Kind, r.ID, r.Index.State, r.Index.Operation, r.Index.Instance, r.Index.VNFD} {
		out = append(binary.BigEndian.AppendUint64(out, uint64(len(text))), text...)
	}
	return out
}

// unsealed returns the content of a record. ErrUnreadable names the record.
func (l *Ledger) unsealed(r store.Record) ([]byte, error) {
	clear, err := l.keys.Open(r.Body, identity(r))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.Kind, r.ID, ErrUnreadable)
	}
	return clear, nil
}

// Open reads the content of a record into a pointer. ErrUnreadable names the record.
func (l *Ledger) Open(r store.Record, into any) error {
	clear, err := l.unsealed(r)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(clear, into); err != nil {
		return fmt.Errorf("%s %s: %w: %w", r.Kind, r.ID, ErrUnreadable, err)
	}
	return nil
}

// Reseal returns a record that replaces r, with the same content under the first key. ErrUnreadable names the record.
func (l *Ledger) Reseal(r store.Record) (store.Record, error) {
	clear, err := l.unsealed(r)
	if err != nil {
		return store.Record{}, err
	}
	return l.resealed(r, clear)
}

// HasKey reports whether the ledger has the key that a record is sealed under.
func (l *Ledger) HasKey(r store.Record) bool { return l.keys.Has(r.Body) }

// IsNewest reports whether a record is sealed under the first key.
func (l *Ledger) IsNewest(r store.Record) bool { return l.keys.IsNewest(r.Body) }

// Get reads the content of a record into the pointer v, and returns the version of the record.
func (l *Ledger) Get(ctx context.Context, kind, id string, v any) (int64, error) {
	rec, err := l.Store.Get(ctx, kind, id)
	if err != nil {
		return 0, err
	}
	return rec.Version, l.Open(rec, v)
}

// Update applies the batch that build makes, unless the batch changes nothing. It calls build again if another writer has changed one of the
// records meanwhile.
func (l *Ledger) Update(ctx context.Context, build func(context.Context, *store.Batch) error) error {
	for tries := 0; ; tries++ {
		var b store.Batch
		if err := build(ctx, &b); err != nil || len(b.Put)+len(b.Delete) == 0 {
			return err
		}
		if err := l.Store.Apply(ctx, b); !errors.Is(err, store.ErrConflict) || tries == maxConflicts {
			return err
		}
	}
}

// Put adds to b that v becomes the content of a record, whatever the record has now.
func (l *Ledger) Put(ctx context.Context, b *store.Batch, kind, id string, v any) error {
	stored, err := l.Store.Get(ctx, kind, id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	record, err := l.Seal(kind, id, stored.Version, v)
	b.Put = append(b.Put, record)
	return err
}

// Slot is a record whose version is known from the last read or write, so that it need not be read before each write.
type Slot struct {
	Kind, ID string
	Version  int64 // 0 if the record does not exist
	Unknown  bool  // the last write may or may not have succeeded: Fill reads the version
	Shared   bool  // another process may have written the record
}

// Fill adds to b that v becomes the content of the record of s. Call s.Written when b has been applied.
func (l *Ledger) Fill(ctx context.Context, b *store.Batch, s *Slot, v any) error {
	if s.Unknown {
		s.Shared = true
		stored, err := l.Store.Get(ctx, s.Kind, s.ID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		s.Version = stored.Version
	}
	s.Unknown = true
	record, err := l.Seal(s.Kind, s.ID, s.Version, v)
	b.Put = append(b.Put, record)
	return err
}

// Written notes that the batch of the last Fill has been applied.
func (s *Slot) Written() { s.Version, s.Unknown = s.Version+1, false }

// Drop adds to b that a record is removed, or stays missing.
func (l *Ledger) Drop(ctx context.Context, b *store.Batch, kind, id string) error {
	stored, err := l.Store.Get(ctx, kind, id)
	switch {
	case Storable("id", id) != nil: // it stays missing
		return nil
	case errors.Is(err, store.ErrNotFound):
		b.Assert = append(b.Assert, store.Record{Kind: kind, ID: id})
	case err != nil:
		return err
	default:
		b.Delete = append(b.Delete, stored)
	}
	return nil
}

// DropAll adds to b that all records of a kind whose id begins with prefix are removed.
func (l *Ledger) DropAll(ctx context.Context, b *store.Batch, kind, prefix string) error {
	list, err := l.Store.List(ctx, store.Query{Kind: kind, Prefix: prefix})
	b.Delete = append(b.Delete, list...)
	return err
}

// EachPage calls each with all records that q selects, at most q.Limit (default 500) at a time, for work that must not hold all of them in
// memory.
func (l *Ledger) EachPage(ctx context.Context, q store.Query, each func([]store.Record) error) error {
	for q.Limit = cmp.Or(q.Limit, 500); ; {
		list, err := l.Store.List(ctx, q)
		if err != nil || len(list) == 0 {
			return err
		}
		last := list[len(list)-1]
		q.AfterStart, q.AfterID = last.Index.Start, last.ID
		if err := each(slices.Clip(list)); err != nil || len(list) < q.Limit {
			return err
		}
	}
}

// Position returns the position of a query in its list, as a text for ContinueAfter. The text is sealed, because it names the last record
// that was read: a page may omit that record, for example because it belongs to another tenant.
func (l *Ledger) Position(q store.Query) (string, error) {
	sealed, err := l.keys.Seal([]byte(strconv.FormatInt(q.AfterStart, 10)+"."+q.AfterID), pageOf(q))
	return base64.RawURLEncoding.EncodeToString(sealed), err
}

// pageOf is the identity that a position is sealed with: it continues lists of the same kind only.
func pageOf(q store.Query) []byte { return []byte("page of " + q.Kind) }

// ContinueAfter lets a query continue at a position, "" for the beginning of the list. It returns store.ErrInvalid if the position does not
// come from Position, or is of a list of another kind.
func (l *Ledger) ContinueAfter(q *store.Query, position string) (err error) {
	if position == "" {
		return nil
	}
	sealed, errText := base64.RawURLEncoding.DecodeString(position)
	clear, errSeal := l.keys.Open(sealed, pageOf(*q))
	start, id, found := strings.Cut(string(clear), ".")
	q.AfterStart, err = strconv.ParseInt(start, 10, 64)
	if q.AfterID = id; errors.Join(errText, errSeal, err) != nil || !found {
		return fmt.Errorf("%w: the position %q is not of a list of this kind", store.ErrInvalid, position)
	}
	return nil
}
