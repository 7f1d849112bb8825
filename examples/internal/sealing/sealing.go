// Package sealing keeps the key that seals the state of an example in a file beside it. A real program takes
// it from where it keeps secrets.
package sealing

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Key reads the key in a file, or makes one. Of several processes that make it at once, one wins. ErrReadable: other users can read
// the file, which Key has made for its owner alone.
func Key(name string) ([]byte, error) {
	_, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = create(name)
	}
	if err := errors.Join(err, Check(name)); err != nil {
		return nil, err
	}
	return os.ReadFile(name) //nolint:gosec // in the user's own state directory
}

// ErrReadable is the error of a file that every user of the machine can read.
var ErrReadable = errors.New("every user of this machine can read it")

// Check returns ErrReadable, with a remedy, for a file with a secret that every user can read. A group may read it: Kubernetes
// mounts secrets so. On Windows modes do not tell who can read a file.
func Check(name string) error {
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm()&0o007 == 0 || runtime.GOOS == "windows" {
		return err
	}
	return fmt.Errorf("%s has the mode %#o: %w: chmod o-rwx %s; for a secret of Kubernetes set defaultMode to 0440 and fsGroup. Replace the secret if other users have been on the machine",
		name, info.Mode().Perm(), ErrReadable, name)
}

// create makes a key under another name first, so that no process reads half of it.
func create(name string) error {
	key := make([]byte, 32)
	_, _ = rand.Read(key)                                   // never fails
	own, err := os.CreateTemp(filepath.Dir(name), ".key-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(own.Name()) //nolint:errcheck // it has another name if it is needed
	_, err = own.Write(key)
	if err := errors.Join(err, own.Sync(), own.Close()); err != nil {
		return err
	}
	if err := os.Link(own.Name(), name); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
