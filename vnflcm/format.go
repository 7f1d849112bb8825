package vnflcm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// newestFormat is the newest format of a store that this version can write. It reads that format and the one before. docs/store.md says
// what each format has. Until Migrate has raised the format of a store, processes of the version before can work on the store too, so
// this version writes only what both versions read.
const newestFormat = 2

// keyCheck is the record by which processes know the format and the keys of a store. Its Index.State is the number of the format, in
// clear: processes that lack the key see a migration too. The format 1 has no number.
var keyCheck = store.Record{Kind: "meta", ID: "key"}

// formatName is the content of keyCheck in format 1. Versions that know only format 1 refuse any other content.
const formatName = "vnfkit"

// storedFormat is the content of keyCheck from format 2 on.
type storedFormat struct {
	Format int `json:"format"`
	// Migrating: records may still have the format before.
	Migrating bool `json:"migrating,omitempty"`
}

func (f storedFormat) index() store.Index { return store.Index{State: strconv.Itoa(f.Format)} }

// content is what keyCheck has in that format.
func (f storedFormat) content() any {
	if f.Format <= 1 {
		return formatName
	}
	return f
}

// numberOf returns the number of the format that keyCheck has in clear.
func numberOf(stored store.Record) int {
	if stored.Index.State == "" {
		return 1
	}
	n, err := strconv.Atoi(stored.Index.State)
	if err != nil {
		return unknownFormat
	}
	return n
}

// unknownFormat is a newer format whose number this version cannot read.
const unknownFormat = math.MaxInt

// readFormat reads keyCheck. ErrUnreadable: the keys do not open it.
func (r *records) readFormat(stored store.Record) (storedFormat, error) {
	out := storedFormat{Format: numberOf(stored)}
	var content json.RawMessage
	if err := r.open(stored, &content); err != nil {
		return out, err
	}
	var name string
	switch {
	case out.Format == 1 && (json.Unmarshal(content, &name) != nil || name != formatName), out.Format > 1 && json.Unmarshal(content, &out) != nil:
		out.Format = unknownFormat
	}
	return out, nil
}

// checkKey checks, before anything is written, that this version knows the format of the store and that the keys can open its records.
// It writes a record to an empty store for the check by later processes, and one that is damaged again if the keys open other records.
func (r *records) checkKey(ctx context.Context, log *slog.Logger) error {
	err := r.update(ctx, func(ctx context.Context, b *store.Batch) error {
		stored, err := r.store.Get(ctx, keyCheck.Kind, keyCheck.ID)
		if errors.Is(err, ErrNotFound) {
			return r.beginStore(ctx, b)
		}
		if err != nil {
			return err
		}
		found, errOpen := r.readFormat(stored)
		if err := r.store.fence.check(found.Format); err != nil {
			return err
		}
		if found.Migrating && found.Format < r.store.fence.newest {
			return fmt.Errorf("%w: the migration of the store to format %d has not ended: end it with the version of vnfkit that began it", ErrUnreadable, found.Format)
		}
		if errOpen == nil {
			return nil
		}
		if !r.opensSome(ctx) {
			return fmt.Errorf("%w: the store is sealed under another key, or damaged", ErrUnreadable)
		}
		log.ErrorContext(ctx, "the record that shows the format and the key of the store is damaged, it is written again")
		return r.putFormat(b, stored.Version, storedFormat{Format: found.Format, Migrating: found.Format > 1}) // a repeated migration does no harm
	})
	if err != nil {
		return err
	}
	_, err = r.store.fence.refresh(ctx, r.store.store)
	return r.store.failure(ctx, err)
}

// beginStore adds to b that an empty store has the newest format.
func (r *records) beginStore(ctx context.Context, b *store.Batch) error {
	for _, kind := range []string{kindInstance, kindOperation, kindVIM} {
		list, err := r.store.List(ctx, store.Query{Kind: kind, Limit: 1})
		if err != nil {
			return err
		}
		if len(list) > 0 {
			return fmt.Errorf("%w: the store has an earlier format, without key ids, that this version cannot convert: begin with a new one", ErrUnreadable)
		}
	}
	return r.putFormat(b, 0, storedFormat{Format: r.store.fence.newest})
}

// putFormat adds to b that keyCheck has another content.
func (r *records) putFormat(b *store.Batch, version int64, f storedFormat) error {
	record := store.Record{Kind: keyCheck.Kind, ID: keyCheck.ID, Version: version}
	if f.Format > 1 {
		record.Index = f.index()
	}
	clear, err := json.Marshal(f.content())
	if err == nil {
		record, err = r.resealed(record, clear)
	}
	b.Put, b.Wake = append(b.Put, record), true
	return err
}

// opensSome reports whether the keys open the first record of some kind: then the store is sealed under them. It returns false if
// the store fails.
func (r *records) opensSome(ctx context.Context) bool {
	for _, kind := range []string{kindInstance, kindOperation, kindVIM} {
		list, err := r.store.List(ctx, store.Query{Kind: kind, Limit: 1})
		if err == nil && len(list) > 0 && r.open(list[0], contentOf(kind)) == nil {
			return true
		}
	}
	return false
}

// fence keeps a process from writing into a store whose format it does not know. Every batch asserts the version of keyCheck that the
// process has read, so the first write after a migration fails, and the process reads keyCheck again.
type fence struct {
	newest int         // format that this version can write
	report func(error) // is told once that the store has a newer format; may be nil

	mu      sync.Mutex
	version int64 // of keyCheck
	newer   error // the store has a newer format: this process may do nothing more
}

// check returns an error that is ErrUnreadable unless this version knows the format.
func (f *fence) check(format int) error {
	has := fmt.Sprintf("format %d", format)
	if format == unknownFormat {
		has = "an unknown format"
	}
	switch {
	case format > f.newest:
		return fmt.Errorf("%w: the store was written by a newer version of vnfkit: it has %s, and this version knows formats up to %d. End this process and use the newer version", ErrUnreadable, has, f.newest)
	case format < f.newest-1:
		return fmt.Errorf("%w: the store has %s, and this version knows the formats %d and %d: migrate it with the versions of vnfkit in between", ErrUnreadable, has, f.newest-1, f.newest)
	}
	return nil
}

// around adds the assertion to a batch, unless the batch itself writes keyCheck.
func (f *fence) around(b store.Batch) (fenced store.Batch, version int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.ContainsFunc(slices.Concat(b.Put, b.Delete), func(r store.Record) bool { return r.Kind == keyCheck.Kind }) {
		b.Assert = append(slices.Clip(b.Assert), store.Record{Kind: keyCheck.Kind, ID: keyCheck.ID, Version: f.version})
	}
	return b, f.version
}

// closed returns why this process may do nothing more, nil if it may.
func (f *fence) closed() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.newer
}

// refresh reads the version of keyCheck and returns it. The error is ErrShutdown if the format is newer: this process does not know what
// the records mean now.
func (f *fence) refresh(ctx context.Context, store store.Store) (version int64, err error) {
	stored, err := store.Get(ctx, keyCheck.Kind, keyCheck.ID)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return 0, err
	}
	first, err := f.see(stored)
	if first && f.report != nil {
		f.report(err)
	}
	return stored.Version, err
}

// see remembers the version of keyCheck. The error is ErrShutdown if the format is newer. first: it was not known before.
func (f *fence) see(stored store.Record) (first bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version = stored.Version
	if fault := f.check(numberOf(stored)); fault != nil && f.newer == nil {
		f.newer, first = fmt.Errorf("%w: %v", ErrShutdown, fault), true //nolint:errorlint // it is not one record that cannot be read
	}
	return first, f.newer
}

// reportNewer is called once when this process has found out that the store has a newer format.
func (m *Manager) reportNewer(err error) {
	m.cfg.Logger.Error("this process can do nothing more", "error", err)
	m.mu.Lock()
	m.stopLoops()
	m.mu.Unlock()
	m.changed.tell()
}
