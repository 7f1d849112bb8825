package tosca_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/csar"
)

// countingFS counts how often each file is opened.
type countingFS struct {
	fstest.MapFS
	mu    sync.Mutex
	opens map[string]int
}

func (f *countingFS) Open(name string) (fs.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opens[name]++
	return f.MapFS.Open(name)
}

// TestWhatIsRead counts how often the functions of this package read an image whose digest the package states.
func TestWhatIsRead(t *testing.T) {
	const image = "the image"
	files := fstest.MapFS{
		"TOSCA-Metadata/TOSCA.meta": file(metaHead + fmt.Sprintf("Entry-Definitions: vnfd.yaml\n\nName: image\nContent-Type: text/plain\nAlgorithm: SHA-256\nHash: %x\n", sha256.Sum256([]byte(image)))),
		"vnfd.yaml":                 file(minimal), "image": file(image),
	}
	type use func(t *testing.T, s tosca.Source) (*tosca.Package, error)
	opened := func(t *testing.T, s tosca.Source) (*tosca.Package, error) { return s.Open(t.Context()) }
	for _, tt := range []struct {
		name string
		use  use
		want int
	}{
		{"Open", opened, 0},
		{"Open, Verify, Digest", func(t *testing.T, s tosca.Source) (*tosca.Package, error) {
			p, err := opened(t, s)
			if err == nil {
				err = p.Verify(t.Context())
			}
			if err == nil {
				_, err = p.Digest(t.Context())
			}
			return p, err
		}, 1},
		{"Cache.VNFDID", func(t *testing.T, s tosca.Source) (*tosca.Package, error) {
			_, err := tosca.NewCache(1).VNFDID(t.Context(), s)
			return nil, err
		}, 0},
		{"Cache.Open", func(t *testing.T, s tosca.Source) (*tosca.Package, error) {
			p, err := tosca.NewCache(1).Open(t.Context(), s)
			if err == nil {
				_, err = p.Digest(t.Context())
			}
			return p, err
		}, 1},
		{"Cache.Open, Warn", func(t *testing.T, s tosca.Source) (*tosca.Package, error) {
			return tosca.NewCache(1, tosca.WithIntegrity(csar.Integrity{Policy: csar.Warn})).Open(t.Context(), s)
		}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			counted := &countingFS{MapFS: files, opens: map[string]int{}}
			p, err := tt.use(t, tosca.FS(counted))
			if err != nil {
				t.Fatal(err)
			}
			if p != nil {
				defer p.Close()
			}
			if diff := cmp.Diff(tt.want, counted.opens["image"]); diff != "" {
				t.Errorf("reads of the image (-want +got):\n%s", diff)
			}
		})
	}
}
