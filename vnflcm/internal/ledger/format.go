package ledger

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

// keyCheck is the record by which processes know the format and the keys of a store. Its Index.State is the number of the format, in
// clear: processes that lack the key see a migration too. The format 1 has no number.
var keyCheck = store.Record{Kind: KindMeta, ID: "key"}

// formatName is the content of keyCheck in format 1. Versions that know only format 1 refuse any other content.
const formatName = "vnfkit"

// Format is the form of all records in a store. Each process stores which formats it knows (LeaseRecord.Format).
type Format struct {
	Number int `json:"format"`
	// Migrating says that records may still have the format before.
	Migrating bool `json:"migrating,omitempty"`
}

// content is what keyCheck has in that format.
func (f Format) content() any {
	if f.Number <= 1 {
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

// ReadFormat returns the format of the store, and the version of the record that has it, for PutFormat. ErrUnreadable: the keys do not open
// that record, or this version does not know the format; the Number is set then too.
func (l *Ledger) ReadFormat(ctx context.Context) (f Format, version int64, err error) {
	stored, err := l.Store.Get(ctx, keyCheck.Kind, keyCheck.ID)
	if err != nil {
		return f, 0, err
	}
	f, err = l.openFormat(stored)
	return f, stored.Version, errors.Join(err, l.Store.fence.check(f.Number))
}

// openFormat reads keyCheck. ErrUnreadable: the keys do not open it.
func (l *Ledger) openFormat(stored store.Record) (Format, error) {
	out := Format{Number: numberOf(stored)}
	var content json.RawMessage
	if err := l.Open(stored, &content); err != nil {
		return out, err
	}
	var name string
	switch {
	case out.Number == 1 && (json.Unmarshal(content, &name) != nil || name != formatName), out.Number > 1 && json.Unmarshal(content, &out) != nil:
		out.Number = unknownFormat
	}
	return out, nil
}

// Check returns ErrUnreadable, before anything is written, if this version does not know the format of the store or the keys do not open its
// records. Into an empty store it writes the newest format, unless the first key is zeros: a program that has made a key and not filled it.
// It writes the record with the format again if only that record is damaged, and logs that. It logs a key of zeros of a store in use. A
// store in use has records of at least one of the kinds.
func (l *Ledger) Check(ctx context.Context, log *slog.Logger, kinds ...string) error {
	err := l.Update(ctx, func(ctx context.Context, b *store.Batch) error {
		stored, err := l.Store.Get(ctx, keyCheck.Kind, keyCheck.ID)
		if errors.Is(err, store.ErrNotFound) {
			return l.beginStore(ctx, b, kinds)
		}
		if err != nil {
			return err
		}
		found, errOpen := l.openFormat(stored)
		if err := l.Store.fence.check(found.Number); err != nil {
			return err
		}
		if found.Migrating && found.Number < l.Store.fence.newest {
			return fmt.Errorf("%w: the migration of the store to format %d has not ended: end it with the version of vnfkit that began it", ErrUnreadable, found.Number)
		}
		if errOpen == nil {
			return nil
		}
		if !l.opensSome(ctx, kinds) {
			return fmt.Errorf("%w: the store is sealed under another key, or damaged", ErrUnreadable)
		}
		log.ErrorContext(ctx, "the record that shows the format and the key of the store is damaged, it is written again")
		return l.PutFormat(b, stored.Version, Format{Number: found.Number, Migrating: found.Number > 1}) // a repeated migration does no harm
	})
	if err != nil {
		return err
	}
	if l.zeros {
		log.WarnContext(ctx, "the key of the store is zeros, and seals nothing: make a random one, name the zeros in OldKeys, and call Reseal")
	}
	_, err = l.Store.fence.refresh(ctx, l.Store.store)
	return l.Store.failure(ctx, err)
}

// beginStore adds to b that an empty store has the newest format.
func (l *Ledger) beginStore(ctx context.Context, b *store.Batch, kinds []string) error {
	for _, kind := range kinds {
		list, err := l.Store.List(ctx, store.Query{Kind: kind, Limit: 1})
		if err != nil {
			return err
		}
		if len(list) > 0 {
			return fmt.Errorf("%w: the store has an earlier format, without key ids, that this version cannot convert: begin with a new one", ErrUnreadable)
		}
	}
	if l.zeros {
		return errZeros
	}
	return l.PutFormat(b, 0, Format{Number: l.Store.fence.newest})
}

var errZeros = errors.New("vnflcm: the key is zeros, and would not seal a new store: take 32 random bytes, such as those of openssl rand 32, and keep them")

// PutFormat adds to b that the store has another format. ReadFormat returns the version of the record with the format.
func (l *Ledger) PutFormat(b *store.Batch, version int64, f Format) error {
	record := store.Record{Kind: keyCheck.Kind, ID: keyCheck.ID, Version: version}
	if f.Number > 1 {
		record.Index.State = strconv.Itoa(f.Number)
	}
	clear, err := json.Marshal(f.content())
	if err == nil {
		record, err = l.resealed(record, clear)
	}
	b.Put, b.Wake = append(b.Put, record), true
	return err
}

// opensSome reports whether the keys open the first record of some kind: then the store is sealed under them. It returns false if
// the store fails.
func (l *Ledger) opensSome(ctx context.Context, kinds []string) bool {
	for _, kind := range kinds {
		list, err := l.Store.List(ctx, store.Query{Kind: kind, Limit: 1})
		if err != nil || len(list) == 0 {
			continue
		}
		if _, err := l.unsealed(list[0]); err == nil {
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

// refresh reads the version of keyCheck and returns it. The error is store.ErrShutdown if the format is newer: this process does not know what
// the records mean now.
func (f *fence) refresh(ctx context.Context, from store.Store) (version int64, err error) {
	stored, err := from.Get(ctx, keyCheck.Kind, keyCheck.ID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return 0, err
	}
	first, err := f.see(stored)
	if first && f.report != nil {
		f.report(err)
	}
	return stored.Version, err
}

// see remembers the version of keyCheck. The error is store.ErrShutdown if the format is newer. first: it was not known before.
func (f *fence) see(stored store.Record) (first bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version = stored.Version
	if fault := f.check(numberOf(stored)); fault != nil && f.newer == nil {
		f.newer, first = fmt.Errorf("%w: %v", store.ErrShutdown, fault), true //nolint:errorlint // it is not one record that cannot be read
	}
	return first, f.newer
}

// Newest returns the number of the newest format that this version writes.
func (l *Ledger) Newest() int { return l.Store.fence.newest }

// Closed returns nil, or store.ErrShutdown once this process has seen that the store has a newer format than this version knows. This process
// can do nothing more then.
func (l *Ledger) Closed() error { return l.Store.fence.closed() }

// OnNewer sets a function that is called once, when Closed begins to return an error. Call OnNewer before the ledger is used.
func (l *Ledger) OnNewer(report func(error)) { l.Store.fence.report = report }
