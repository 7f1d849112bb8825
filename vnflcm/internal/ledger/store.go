package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/vnfkit/vnfkit/vnflcm/internal/code"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// Store is the store of a Ledger. Its methods return the errors that package store defines, store.ErrInvalid for a batch with a text that
// databases refuse, and every other failure as ErrStore. Every batch depends on the format of the store: once a newer version of vnfkit
// has migrated the store, all methods return store.ErrShutdown.
type Store struct {
	store store.Store
	fence fence
}

// Get returns a record.
func (s *Store) Get(ctx context.Context, kind, id string) (store.Record, error) {
	if Storable("id", id) != nil {
		return store.Record{}, store.ErrNotFound
	}
	if err := s.fence.closed(); err != nil {
		return store.Record{}, err
	}
	r, err := s.store.Get(ctx, kind, id)
	return r, s.failure(ctx, err)
}

// List returns the records that q selects.
func (s *Store) List(ctx context.Context, q store.Query) ([]store.Record, error) {
	for _, text := range append(slices.Concat(q.States, q.Operations), q.Prefix, q.Instance, q.VNFD, q.AfterID) {
		if Storable("", text) != nil {
			return nil, nil // no record has it
		}
	}
	if err := s.fence.closed(); err != nil {
		return nil, err
	}
	list, err := s.store.List(ctx, q)
	return list, s.failure(ctx, err)
}

// Apply writes a batch.
func (s *Store) Apply(ctx context.Context, b store.Batch) error {
	var faults []error
	for _, r := range slices.Concat(b.Put, b.Append) {
		faults = append(faults, Storable("id", r.ID), Storable("state", r.Index.State), Storable("instance", r.Index.Instance), Storable("VNFD", r.Index.VNFD))
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	for {
		if err := s.fence.closed(); err != nil {
			return err
		}
		fenced, version := s.fence.around(b)
		err := s.failure(ctx, s.store.Apply(ctx, fenced))
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		// The batch need not be built again for a format that this version knows: the version writes the same records in both formats.
		if now, errFence := s.fence.refresh(ctx, s.store); errFence != nil || now == version {
			return s.failure(ctx, cmp.Or(errFence, err))
		}
	}
}

// longestIndexed is the longest text in bytes that databases index: PostgreSQL takes up to 2.7 KB for all columns of an index.
const longestIndexed = 2000

// Storable returns nil, or a store.ErrInvalid that says why databases refuse a text in a column: a NUL, invalid UTF-8, or more than 2000 bytes.
func Storable(column, text string) error {
	switch {
	case strings.ContainsRune(text, 0), !utf8.ValidString(text):
		return fmt.Errorf("%w: the %s %.64q of a record is not storable text", store.ErrInvalid, column, text)
	case len(text) > longestIndexed:
		return fmt.Errorf("%w: the %s %.64q… of a record has %d bytes, at most %d can be stored", store.ErrInvalid, column, text, len(text), longestIndexed)
	}
	return nil
}

// Feed returns appended records.
func (s *Store) Feed(ctx context.Context, after string, limit int) ([]store.Record, string, error) {
	if err := s.fence.closed(); err != nil {
		return nil, after, err
	}
	list, next, err := s.store.Feed(ctx, after, limit)
	return list, next, s.failure(ctx, err)
}

// failure returns errors that have a code unchanged, and all other errors as ErrStore.
func (s *Store) failure(ctx context.Context, err error) error {
	if _, isCode := errors.AsType[code.Code](err); err == nil || isCode || ctx.Err() != nil {
		return err
	}
	return &storeFailure{of: s, err: err}
}

// Failed reports whether err is a failure of the store of this ledger. An ErrStore may also come from another one, such as that of a Manager
// that a driver owns.
func (l *Ledger) Failed(err error) bool {
	failure, ok := errors.AsType[*storeFailure](err)
	return ok && failure.of == l.Store
}

type storeFailure struct {
	of  *Store
	err error
}

func (e *storeFailure) Error() string   { return ErrStore.Error() + ": " + e.err.Error() }
func (e *storeFailure) Unwrap() []error { return []error{ErrStore, e.err} }
