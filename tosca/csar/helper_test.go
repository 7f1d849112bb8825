package csar_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// sample is the package the examples use.
const sample = "../../examples/packages/k8s-cluster"

func file(content string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(content), Mode: 0o644} }

func open(t *testing.T, name string) *csar.Archive {
	t.Helper()
	a, err := csar.Open(t.Context(), name, csar.Options{})
	if err != nil {
		t.Fatalf("Open(%s): %v", name, err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return a
}

func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(p, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// zipOf packs a directory.
func zipOf(t *testing.T, dir string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	if err := w.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// large reports whether compressing the files would take most of the time of a test. Large files get a deflate stream of stored blocks
// instead.
func large(files map[string][]byte) bool {
	n := 0
	for _, content := range files {
		n += len(content)
	}
	return n > 2<<20
}

// zipWith packs files with a compression method.
func zipWith(t testing.TB, method uint16, files map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(to io.Writer) (io.WriteCloser, error) {
		if large(files) {
			return flate.NewWriter(to, flate.NoCompression)
		}
		return flate.NewWriter(to, flate.DefaultCompression)
	})
	for _, name := range slices.Sorted(maps.Keys(files)) {
		m, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Write(files[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// problems returns the problems that an error consists of.
func problems(t *testing.T, err error) problem.List {
	t.Helper()
	var list problem.List
	if err != nil && !errors.As(err, &list) {
		t.Fatalf("the error holds no problems: %v", err)
	}
	return list
}

// codes returns the codes of the problems in an error.
func codes(t *testing.T, err error) []problem.Code {
	t.Helper()
	var list []problem.Code
	for _, p := range problems(t, err) {
		list = append(list, p.Code)
	}
	return list
}
