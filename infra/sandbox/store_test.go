package sandbox_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/vnfkit/vnfkit/infra/sandbox"
)

// TestStateFile: the file of the world, in which keys and passwords are, has mode 0600 and is replaced as a whole.
func TestStateFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "world.json")
	s := open(t, sandbox.Config{Dir: dir})
	s.instance(1)
	file, err := os.Open(name) //nolint:gosec // of this test. While it is open, no other file gets its inode
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	first, err := file.Stat()
	if err != nil || first.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", first.Mode(), err)
	}
	s.instance(1)
	second, err := os.Stat(name)
	if err != nil || second.Mode().Perm() != 0o600 || os.SameFile(first, second) {
		t.Errorf("%v, %v; written in place: %t", second.Mode(), err, os.SameFile(first, second))
	}
	if _, err := os.Stat(name + ".new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the temporary file is left: %v", err)
	}
}
