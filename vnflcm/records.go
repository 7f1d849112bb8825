package vnflcm

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

// ledger is the sealed records in a store. Each record is the JSON of a value with its secrets.
type ledger struct {
	store   *accountable // the store; use it for what needs no content, such as lists
	marshal func(any) ([]byte, error)
	keys    keyring.Ring
}

// newLedger returns the ledger in a store. It seals under the first key and opens what is sealed under any of them. marshal returns
// the JSON of a value with its secrets. newest is the newest format of a store that this version can write: it reads that format and the
// one before. Call check before anything else.
func newLedger(s store.Store, newest int, marshal func(any) ([]byte, error), keys ...[]byte) (*ledger, error) {
	ring, err := keyring.New(keys...)
	if err != nil {
		return nil, fmt.Errorf("vnflcm: %w", err)
	}
	return &ledger{store: &accountable{store: s, fence: fence{newest: newest}}, marshal: marshal, keys: ring}, nil
}

// indexed is a value that is stored with an index.
type indexed interface{ index() store.Index }

// sealed returns the record of v that replaces the given version.
func (l *ledger) sealed(kind, id string, version int64, v any) (store.Record, error) {
	clear, err := l.marshal(v)
	if err != nil {
		return store.Record{}, err
	}
	record := store.Record{Kind: kind, ID: id, Version: version}
	if v, ok := v.(indexed); ok {
		record.Index = v.index()
	}
	return l.resealed(record, clear)
}

// resealed returns a record that replaces the version of the given one, with another body.
func (l *ledger) resealed(record store.Record, clear []byte) (store.Record, error) {
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
func (l *ledger) unsealed(r store.Record) ([]byte, error) {
	clear, err := l.keys.Open(r.Body, identity(r))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.Kind, r.ID, ErrUnreadable)
	}
	return clear, nil
}

// open reads the content of a record. ErrUnreadable names the record.
func (l *ledger) open(r store.Record, into any) error {
	clear, err := l.unsealed(r)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(clear, into); err != nil {
		return fmt.Errorf("%s %s: %w: %w", r.Kind, r.ID, ErrUnreadable, err)
	}
	return nil
}

// reseal returns the record that replaces r, with the same content under the first key. ErrUnreadable names the record.
func (l *ledger) reseal(r store.Record) (store.Record, error) {
	clear, err := l.unsealed(r)
	if err != nil {
		return store.Record{}, err
	}
	return l.resealed(r, clear)
}

// hasKey reports whether the ledger has the key that a record is sealed under.
func (l *ledger) hasKey(r store.Record) bool { return l.keys.Has(r.Body) }

// isNewest reports whether a record is sealed under the first key.
func (l *ledger) isNewest(r store.Record) bool { return l.keys.IsNewest(r.Body) }

// get reads a record into v and returns its version.
func (l *ledger) get(ctx context.Context, kind, id string, v any) (int64, error) {
	rec, err := l.store.Get(ctx, kind, id)
	if err != nil {
		return 0, err
	}
	return rec.Version, l.open(rec, v)
}

// update applies the batch that build returns, again from the start if another writer was faster.
func (l *ledger) update(ctx context.Context, build func(context.Context, *store.Batch) error) error {
	for tries := 0; ; tries++ {
		var b store.Batch
		if err := build(ctx, &b); err != nil || len(b.Put)+len(b.Delete) == 0 {
			return err
		}
		if err := l.store.Apply(ctx, b); !errors.Is(err, ErrConflict) || tries == maxConflicts {
			return err
		}
	}
}

// put adds to b that v replaces the record, whatever its content.
func (l *ledger) put(ctx context.Context, b *store.Batch, kind, id string, v any) error {
	stored, err := l.store.Get(ctx, kind, id)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	record, err := l.sealed(kind, id, stored.Version, v)
	b.Put = append(b.Put, record)
	return err
}

// slot is a record whose version is known from the last read or write, so that it need not be read before each write.
type slot struct {
	kind, id string
	version  int64
	unknown  bool // the last write may or may not have succeeded
	shared   bool // another process may have written the record
}

// fill adds to b that v replaces the record. Call written when b has been applied.
func (l *ledger) fill(ctx context.Context, b *store.Batch, s *slot, v any) error {
	if s.unknown {
		s.shared = true
		stored, err := l.store.Get(ctx, s.kind, s.id)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		s.version = stored.Version
	}
	s.unknown = true
	record, err := l.sealed(s.kind, s.id, s.version, v)
	b.Put = append(b.Put, record)
	return err
}

func (s *slot) written() { s.version, s.unknown = s.version+1, false }

// drop adds to b that the record is removed, or stays missing.
func (l *ledger) drop(ctx context.Context, b *store.Batch, kind, id string) error {
	stored, err := l.store.Get(ctx, kind, id)
	switch {
	case storable("id", id) != nil: // it stays missing
		return nil
	case errors.Is(err, ErrNotFound):
		b.Assert = append(b.Assert, store.Record{Kind: kind, ID: id})
	case err != nil:
		return err
	default:
		b.Delete = append(b.Delete, stored)
	}
	return nil
}

// dropAll adds to b that the records of a kind whose id begins with prefix are removed.
func (l *ledger) dropAll(ctx context.Context, b *store.Batch, kind, prefix string) error {
	list, err := l.store.List(ctx, store.Query{Kind: kind, Prefix: prefix})
	b.Delete = append(b.Delete, list...)
	return err
}

// allOf reads every record of a query in pages of q.Limit, default 500, for work that must not hold them all in memory.
func (l *ledger) allOf(ctx context.Context, q store.Query, each func([]store.Record) error) error {
	for q.Limit = cmp.Or(q.Limit, allAtOnce); ; {
		list, err := l.store.List(ctx, q)
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

// allAtOnce is how many records allOf reads at once.
const allAtOnce = 500

// position returns where a list with this query stands, as continueAfter reads it. The position is sealed, because it names the last record
// that was looked at, which a page may omit: a record of another tenant.
func (l *ledger) position(q store.Query) (string, error) {
	sealed, err := l.keys.Seal([]byte(strconv.FormatInt(q.AfterStart, 10)+"."+q.AfterID), pageOf(q))
	return base64.RawURLEncoding.EncodeToString(sealed), err
}

// pageOf is the identity that a position is sealed with: it continues lists of the same kind only.
func pageOf(q store.Query) []byte { return []byte("page of " + q.Kind) }

// continueAfter lets a query continue at a position; "" is the beginning.
func (l *ledger) continueAfter(q *store.Query, position string) (err error) {
	if position == "" {
		return nil
	}
	sealed, errText := base64.RawURLEncoding.DecodeString(position)
	clear, errSeal := l.keys.Open(sealed, pageOf(*q))
	start, id, found := strings.Cut(string(clear), ".")
	q.AfterStart, err = strconv.ParseInt(start, 10, 64)
	if q.AfterID = id; errors.Join(errText, errSeal, err) != nil || !found {
		return fmt.Errorf("%w: the position %q is not of a list of this kind", ErrInvalidRequest, position)
	}
	return nil
}
