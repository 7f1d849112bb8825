package vnflcm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

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

// failed reports whether err is a failure of this store. An ErrStore may also come from a Manager that a driver owns.
func (l *ledger) failed(err error) bool {
	failure, ok := errors.AsType[*storeFailure](err)
	return ok && failure.of == l.store
}

type storeFailure struct {
	of  *accountable
	err error
}

func (e *storeFailure) Error() string   { return ErrStore.Error() + ": " + e.err.Error() }
func (e *storeFailure) Unwrap() []error { return []error{ErrStore, e.err} }
