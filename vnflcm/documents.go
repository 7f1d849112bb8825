package vnflcm

import (
	"context"
	"fmt"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// Documents is a collection of documents that a part of the program keeps in the Store of a Manager, such as the
// subscriptions of an API. The Manager seals them as it seals its own records.
type Documents struct {
	records    *records
	collection string
}

// Documents returns the collection of this name, which has no "/". Names of other parts of the program must differ.
func (m *Manager) Documents(collection string) *Documents { return &Documents{m.records, collection} }

// Document is a value that was stored under an id.
type Document struct {
	ID      string
	Version int64 // 1 after the first Put
	records *records
	stored  store.Record
}

// Decode reads the JSON of the value into a pointer. ErrUnreadable: the document is damaged, or sealed under another key.
func (d Document) Decode(into any) error { return d.records.Open(d.stored, into) }

func (d *Documents) document(stored store.Record) Document {
	return Document{ID: stored.ID[len(d.collection)+1:], Version: stored.Version, records: d.records, stored: stored}
}

func (d *Documents) id(id string) string { return d.collection + "/" + id }

// Get returns a document, or an error that is ErrNotFound.
func (d *Documents) Get(ctx context.Context, id string) (Document, error) {
	stored, err := d.records.Store.Get(ctx, kindDocument, d.id(id))
	if err != nil {
		return Document{}, fmt.Errorf("%s %s: %w", d.collection, id, err)
	}
	return d.document(stored), nil
}

// List returns at most limit of the documents after an id, in the order of their ids; 0: all. "" is before the first. With a limit
// it waits for other lists, as Instances does (ErrBusy).
func (d *Documents) List(ctx context.Context, after string, limit int) ([]Document, error) {
	q := store.Query{Kind: kindDocument, Prefix: d.id(""), Limit: limit, Background: limit > 0}
	if limit > 0 {
		end, err := d.records.turns.take(ctx)
		if err != nil {
			return nil, err
		}
		defer end(false)
	}
	if after != "" {
		q.AfterID = d.id(after)
	}
	list, err := d.records.Store.List(ctx, q)
	out := make([]Document, len(list))
	for i, stored := range list {
		out[i] = d.document(stored)
	}
	return out, err
}

// Put stores the JSON of a value in place of the given version of a document; 0: there must be no document. ErrConflict: the
// document has another version.
func (d *Documents) Put(ctx context.Context, id string, version int64, value any) error {
	record, err := d.records.Seal(kindDocument, d.id(id), version, value)
	if err != nil {
		return err
	}
	return d.records.Store.Apply(ctx, store.Batch{Put: []store.Record{record}})
}

// Delete removes the given version of a document. ErrConflict: the document has another version, or does not exist.
func (d *Documents) Delete(ctx context.Context, id string, version int64) error {
	return d.records.Store.Apply(ctx, store.Batch{Delete: []store.Record{{Kind: kindDocument, ID: d.id(id), Version: version}}})
}

// DocumentWrite is one write of Manager.WriteDocuments: Value replaces the given Version of a document, 0: there must be none. Without a
// Value the document is removed.
type DocumentWrite struct {
	Collection, ID string
	Version        int64
	Value          any
}

// WriteDocuments writes all these documents, or none. A change of a package is added to the feed in the same batch, if it is not nil.
// ErrConflict: one of the documents has another version.
func (m *Manager) WriteDocuments(ctx context.Context, change *PackageChange, writes ...DocumentWrite) error {
	var b store.Batch
	if change != nil {
		entry := changeRecord{Time: time.Now().Round(0), Kind: change.Kind, VNF: change.VNF, Package: &change.Package}
		if err := m.records.appendRecord(&b, entry); err != nil {
			return err
		}
	}
	for _, w := range writes {
		id := m.Documents(w.Collection).id(w.ID)
		if w.Value == nil {
			b.Delete = append(b.Delete, store.Record{Kind: kindDocument, ID: id, Version: w.Version})
			continue
		}
		record, err := m.records.Seal(kindDocument, id, w.Version, w.Value)
		if err != nil {
			return err
		}
		b.Put = append(b.Put, record)
	}
	return m.cfg.Store.Apply(ctx, b)
}
