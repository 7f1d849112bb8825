// Package sealing keeps the key that seals the state of an example in a file beside it. A real program takes
// it from where it keeps secrets.
package sealing

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Key reads the key in a file, or makes one. Of several processes that make it at once, one wins.
func Key(name string) ([]byte, error) {
	key, err := os.ReadFile(name) //nolint:gosec // in the user's own state directory
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	key = make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	own, err := os.CreateTemp(filepath.Dir(name), ".key-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(own.Name()) //nolint:errcheck // it has another name if it is needed
	_, err = own.Write(key)
	if err := errors.Join(err, own.Sync(), own.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(own.Name(), name); !errors.Is(err, fs.ErrExist) {
		return key, err
	}
	return os.ReadFile(name) //nolint:gosec // as above
}
