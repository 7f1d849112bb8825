package packages_test

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/examples/packages"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestSamples checks that the program contains each package with its files and requests.
func TestSamples(t *testing.T) {
	t.Parallel()
	for _, s := range samples {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			source, err := s.Find(t.Context(), "", s.VNFDID)
			if err != nil {
				t.Fatal(err)
			}
			pkg, err := source.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer pkg.Close()
			if id := pkg.VNFD().ID; id != s.VNFDID {
				t.Errorf("the VNFD has the id %s, not %s", id, s.VNFDID)
			}
			if _, err := s.Find(t.Context(), "", "another"); !errors.Is(err, vnflcm.ErrNotFound) {
				t.Errorf("another package: %v", err)
			}
			sameFiles(t, s)
			requests, err := os.ReadDir(path.Join(s.Name, "requests"))
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range requests {
				if _, err := s.Request(r.Name()); strings.HasPrefix(r.Name(), "instantiate") && err != nil {
					t.Error(err)
				}
			}
			if _, err := s.Request("none.json"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("no such request: %v", err)
			}
		})
	}
}

// sameFiles checks that the program has every file of the folder.
func sameFiles(t *testing.T, s packages.Sample) {
	t.Helper()
	embedded, err := s.FS()
	if err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(os.DirFS(s.Name), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			_, err = fs.Stat(embedded, name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
