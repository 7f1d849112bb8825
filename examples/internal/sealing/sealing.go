// Package sealing keeps the key that seals the state of an example in a file beside it. A real program takes
// it from where it keeps secrets.
package sealing

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
)

// Key reads the key in a file, or makes one.
func Key(name string) ([]byte, error) {
	key, err := os.ReadFile(name) //nolint:gosec // in the user's own state directory
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	key = make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return key, os.WriteFile(name, key, 0o600)
}
