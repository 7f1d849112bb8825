package sealing_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/vnfkit/vnfkit/examples/internal/sealing"
)

// TestKey checks that several processes that create the key at the same time get the same key, which only its owner may read, and leave no
// unfinished file.
func TestKey(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "key")
	keys := make([][]byte, 20)
	var making sync.WaitGroup
	for i := range keys {
		making.Go(func() {
			key, err := sealing.Key(name)
			if err != nil {
				t.Error(err)
			}
			keys[i] = key
		})
	}
	making.Wait()
	for _, key := range keys {
		if len(key) != 32 || !bytes.Equal(key, keys[0]) {
			t.Fatalf("keys of %d and %d bytes differ", len(keys[0]), len(key))
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	if info, err := files[0].Info(); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// TestReadable checks that a key that every user can read is refused, with the command that corrects its mode. A key that a group can read
// is valid. For a link, the mode of its file counts.
func TestReadable(t *testing.T) {
	dir := t.TempDir()
	name, link := filepath.Join(dir, "key"), filepath.Join(dir, "link")
	made, err := sealing.Key(name)
	if err := errors.Join(err, os.Symlink("key", link)); err != nil {
		t.Fatal(err)
	}
	for mode, refused := range map[os.FileMode]bool{0o600: false, 0o400: false, 0o440: false, 0o640: false, 0o644: true, 0o604: true, 0o602: true, 0o777: true} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{name, link} {
			key, err := sealing.Key(path)
			switch {
			case refused && (!errors.Is(err, sealing.ErrReadable) || !strings.Contains(err.Error(), "chmod o-rwx "+path) || key != nil):
				t.Errorf("%#o: %d bytes, %v", mode, len(key), err)
			case !refused && (err != nil || !bytes.Equal(key, made)):
				t.Errorf("%#o: %v", mode, err)
			}
		}
	}
}
