package vnflcm

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
)

// Kinds of records.
const (
	kindInstance   = "instance"
	kindOperation  = "operation"
	kindLease      = "lease"
	kindCancel     = "cancel"
	kindStep       = "step"
	kindState      = "state"
	kindVIM        = "vim"
	kindVIMDefault = "vim-default"
)

// records seals values into a Store and opens them again. The body is AES-GCM over the JSON of the value
// with its secrets; kind and id are authenticated with it, so that a record cannot be passed off as another.
type records struct {
	store Store
	aead  cipher.AEAD
}

func newRecords(store Store, key []byte) (*records, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("vnflcm: the key seals what the store keeps and must have 16, 24 or 32 bytes: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return &records{store: store, aead: aead}, nil
}

func (r *records) seal(kind, id string, v any) ([]byte, error) {
	clear, err := RevealJSON(v)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, r.aead.NonceSize(), r.aead.NonceSize()+len(clear)+r.aead.Overhead())
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	return r.aead.Seal(nonce, nonce, clear, []byte(kind+"\x00"+id)), nil
}

func (r *records) open(rec Record, into any) error {
	n := r.aead.NonceSize()
	if len(rec.Body) < n {
		return ErrUnreadable
	}
	clear, err := r.aead.Open(nil, rec.Body[:n], rec.Body[n:], []byte(rec.Kind+"\x00"+rec.ID))
	if err != nil {
		return ErrUnreadable
	}
	if err := json.Unmarshal(clear, into); err != nil {
		return errors.Join(ErrUnreadable, err)
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

// put writes v over the given version and returns the new one.
func (r *records) put(ctx context.Context, kind, id string, version int64, v any) (int64, error) {
	body, err := r.seal(kind, id, v)
	if err != nil {
		return version, err
	}
	if err := r.store.Apply(ctx, Batch{Put: []Record{{Kind: kind, ID: id, Version: version, Body: body}}}); err != nil {
		return version, fmt.Errorf("store %s %s: %w", kind, id, err)
	}
	return version + 1, nil
}

// overwrite writes v whatever is there: the last writer wins.
func (r *records) overwrite(ctx context.Context, kind, id string, v any) error {
	for {
		rec, err := r.store.Get(ctx, kind, id)
		if errors.Is(err, ErrNotFound) {
			rec, err = Record{}, nil
		}
		if err == nil {
			_, err = r.put(ctx, kind, id, rec.Version, v)
		}
		if !errors.Is(err, ErrConflict) {
			return err
		}
	}
}

// remove deletes a record; that there is none is no error.
func (r *records) remove(ctx context.Context, kind, id string) error {
	for {
		rec, err := r.store.Get(ctx, kind, id)
		if err == nil {
			err = r.store.Apply(ctx, Batch{Delete: []Record{rec}})
		}
		switch {
		case errors.Is(err, ErrNotFound):
			return nil
		case !errors.Is(err, ErrConflict):
			return err
		}
	}
}

// removeAll deletes the records of a kind whose id begins with prefix.
func (r *records) removeAll(ctx context.Context, kind, prefix string) error {
	list, err := r.store.List(ctx, kind, prefix)
	if err != nil {
		return err
	}
	var errs []error
	for _, rec := range list {
		errs = append(errs, r.remove(ctx, rec.Kind, rec.ID))
	}
	return errors.Join(errs...)
}

// listRecords opens every record of a kind whose id begins with prefix.
func listRecords[T any](ctx context.Context, r *records, kind, prefix string) ([]T, error) {
	list, err := r.store.List(ctx, kind, prefix)
	if err != nil {
		return nil, err
	}
	out := make([]T, len(list))
	for i, rec := range list {
		if err := r.open(rec, &out[i]); err != nil {
			return nil, fmt.Errorf("%s %s: %w", kind, rec.ID, err)
		}
	}
	return out, nil
}
