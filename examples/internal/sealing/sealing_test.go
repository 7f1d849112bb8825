package sealing_test

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/vnfkit/vnfkit/examples/internal/sealing"
)

// TestKey: of several processes that make the key at once all get the same one, which only its owner may read, and no
// unfinished file is left.
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
