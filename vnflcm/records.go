package vnflcm

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/vnfkit/vnfkit/vnflcm/internal/keyring"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// Kinds of records.
const (
	kindInstance    = "instance"
	kindAbandoned   = "abandoned"
	kindAdoption    = "adoption"
	kindOperation   = "operation"
	kindHook        = "hook"
	kindHookInitial = "hook-initial"
	kindProcess     = "process"
	kindClaim       = "claim"
	kindSuspect     = "suspect"
	kindCancel      = "cancel"
	kindStep        = "step"
	kindHistory     = "history"
	kindChange      = "change"
	kindState       = "state"
	kindDocument    = "document"
	kindLease       = "lease"
	kindVIM         = "vim"
	kindVIMDefault  = "vim-default"
	kindRenewal     = "renewal"
	kindRemovedVIM  = "vim-removed"
	kindExpiry      = "certificates"
	kindAutomatic   = "automatic"
)

// contentOf returns a value that the content of records of a kind is read into.
func contentOf(kind string) any {
	switch kind {
	case kindInstance, kindHook:
		return new(instanceRecord)
	case kindAbandoned:
		return new(AbandonedInstance)
	case kindOperation:
		return new(operationRecord)
	case kindHookInitial:
		return new(InstantiateVnfRequest)
	case kindProcess, kindLease:
		return new(processRecord)
	case kindClaim:
		return new(claimRecord)
	case kindSuspect:
		return new(suspectRecord)
	case kindCancel:
		return new(cancelRequest)
	case kindStep:
		return new(journalEntry)
	case kindHistory:
		return new(historyRecord)
	case kindChange:
		return new(changeRecord)
	case kindVIM:
		return new(vimRecord)
	case kindVIMDefault, kindAdoption:
		return new(string)
	case kindRemovedVIM:
		return new(removedVIM)
	case kindRenewal:
		return new(renewal)
	case kindExpiry:
		return new(expiryRecord)
	case kindAutomatic:
		return new(automaticRecord)
	}
	return new(any)
}

// records seals values into a Store and opens them again. A body is the JSON of the value with its secrets.
type records struct {
	store *accountable
	keys  keyring.Ring
	turns turns
}

func newRecords(store *accountable, keys ...[]byte) (*records, error) {
	ring, err := keyring.New(keys...)
	if err != nil {
		return nil, fmt.Errorf("vnflcm: %w", err)
	}
	return &records{store: store, keys: ring, turns: newTurns()}, nil
}

// indexed is a value that is stored with an index.
type indexed interface{ index() store.Index }

// sealed returns the record of v that replaces the given version.
func (r *records) sealed(kind, id string, version int64, v any) (store.Record, error) {
	clear, err := RevealJSON(v)
	if err != nil {
		return store.Record{}, err
	}
	record := store.Record{Kind: kind, ID: id, Version: version}
	if v, ok := v.(indexed); ok {
		record.Index = v.index()
	}
	return r.resealed(record, clear)
}

// resealed returns a record that replaces the version of the given one, with another body.
func (r *records) resealed(record store.Record, clear []byte) (store.Record, error) {
	next := record
	next.Version++
	var err error
	record.Body, err = r.keys.Seal(clear, identity(next))
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

// unsealed returns the content of a record, or ErrUnreadable.
func (r *records) unsealed(rec store.Record) ([]byte, error) {
	clear, err := r.keys.Open(rec.Body, identity(rec))
	if err != nil {
		return nil, ErrUnreadable
	}
	return clear, nil
}

// open reads the content of a record. ErrUnreadable names the record.
func (r *records) open(rec store.Record, into any) error {
	clear, err := r.unsealed(rec)
	if err == nil {
		if fault := json.Unmarshal(clear, into); fault != nil {
			err = fmt.Errorf("%w: %w", ErrUnreadable, fault)
		}
	}
	if err != nil {
		return unreadableRecord(rec, err)
	}
	return nil
}

// get reads a record into v and returns its version.
func (r *records) get(ctx context.Context, kind, id string, v any) (int64, error) {
	rec, err := r.store.Get(ctx, kind, id)
	if err != nil {
		return 0, err
	}
	return rec.Version, r.open(rec, v)
}

// update applies the batch that build returns, again from the start if another writer was faster.
func (r *records) update(ctx context.Context, build func(context.Context, *store.Batch) error) error {
	for tries := 0; ; tries++ {
		var b store.Batch
		if err := build(ctx, &b); err != nil || len(b.Put)+len(b.Delete) == 0 {
			return err
		}
		if err := r.store.Apply(ctx, b); !errors.Is(err, ErrConflict) || tries == maxConflicts {
			return err
		}
	}
}

// put adds to b that v replaces the record, whatever its content.
func (r *records) put(ctx context.Context, b *store.Batch, kind, id string, v any) error {
	stored, err := r.store.Get(ctx, kind, id)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	record, err := r.sealed(kind, id, stored.Version, v)
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
func (r *records) fill(ctx context.Context, b *store.Batch, s *slot, v any) error {
	if s.unknown {
		s.shared = true
		stored, err := r.store.Get(ctx, s.kind, s.id)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		s.version = stored.Version
	}
	s.unknown = true
	record, err := r.sealed(s.kind, s.id, s.version, v)
	b.Put = append(b.Put, record)
	return err
}

func (s *slot) written() { s.version, s.unknown = s.version+1, false }

// drop adds to b that the record is removed, or stays missing.
func (r *records) drop(ctx context.Context, b *store.Batch, kind, id string) error {
	stored, err := r.store.Get(ctx, kind, id)
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
func (r *records) dropAll(ctx context.Context, b *store.Batch, kind, prefix string) error {
	list, err := r.store.List(ctx, store.Query{Kind: kind, Prefix: prefix})
	b.Delete = append(b.Delete, list...)
	return err
}

// accountable marks the failures of a Store as ErrStore, and has every batch depend on the format of the store.
type accountable struct {
	store store.Store
	fence fence
}

func (a *accountable) Get(ctx context.Context, kind, id string) (store.Record, error) {
	if storable("id", id) != nil {
		return store.Record{}, ErrNotFound
	}
	if err := a.fence.closed(); err != nil {
		return store.Record{}, err
	}
	r, err := a.store.Get(ctx, kind, id)
	return r, a.failure(ctx, err)
}

func (a *accountable) List(ctx context.Context, q store.Query) ([]store.Record, error) {
	for _, text := range append(slices.Concat(q.States, q.Operations), q.Prefix, q.Instance, q.VNFD, q.AfterID) {
		if storable("", text) != nil {
			return nil, nil // no record has it
		}
	}
	if err := a.fence.closed(); err != nil {
		return nil, err
	}
	list, err := a.store.List(ctx, q)
	return list, a.failure(ctx, err)
}

func (a *accountable) Apply(ctx context.Context, b store.Batch) error {
	var faults []error
	for _, r := range slices.Concat(b.Put, b.Append) {
		faults = append(faults, storable("id", r.ID), storable("state", r.Index.State), storable("instance", r.Index.Instance), storable("VNFD", r.Index.VNFD))
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	for {
		if err := a.fence.closed(); err != nil {
			return err
		}
		fenced, version := a.fence.around(b)
		err := a.failure(ctx, a.store.Apply(ctx, fenced))
		if !errors.Is(err, ErrConflict) {
			return err
		}
		// The batch need not be built again for a format that this version knows: the version writes the same records in both formats.
		if now, errFence := a.fence.refresh(ctx, a.store); errFence != nil || now == version {
			return a.failure(ctx, cmp.Or(errFence, err))
		}
	}
}

// longestIndexed is the longest text in bytes that databases index: PostgreSQL takes up to 2.7 KB for all columns of an index.
const longestIndexed = 2000

// storable returns why databases refuse a text in a column. Trying again does not help, unlike after a failure of the store.
func storable(column, text string) error {
	switch {
	case strings.ContainsRune(text, 0), !utf8.ValidString(text):
		return fmt.Errorf("%w: the %s %.64q of a record is not storable text", ErrInvalidRequest, column, text)
	case len(text) > longestIndexed:
		return fmt.Errorf("%w: the %s %.64q… of a record has %d bytes, at most %d can be stored", ErrInvalidRequest, column, text, len(text), longestIndexed)
	}
	return nil
}

func (a *accountable) Feed(ctx context.Context, after string, limit int) ([]store.Record, string, error) {
	if err := a.fence.closed(); err != nil {
		return nil, after, err
	}
	list, next, err := a.store.Feed(ctx, after, limit)
	return list, next, a.failure(ctx, err)
}

// failure returns errors that the Store defines unchanged, and all other errors as ErrStore.
func (a *accountable) failure(ctx context.Context, err error) error {
	if _, isCode := errors.AsType[Code](err); err == nil || isCode || ctx.Err() != nil {
		return err
	}
	return &storeFailure{of: a, err: err}
}

// failedWith reports whether this Store has failed. An ErrStore may also come from a Manager that a driver owns.
func (a *accountable) failedWith(err error) bool {
	failure, ok := errors.AsType[*storeFailure](err)
	return ok && failure.of == a
}

type storeFailure struct {
	of  *accountable
	err error
}

func (e *storeFailure) Error() string   { return ErrStore.Error() + ": " + e.err.Error() }
func (e *storeFailure) Unwrap() []error { return []error{ErrStore, e.err} }
