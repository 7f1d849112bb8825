package csar_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// liar is a hostile fs.FS: from a certain opening of a file on, it returns other content of the same size.
type liar struct {
	fstest.MapFS
	mu     sync.Mutex
	name   string
	after  int
	opened map[string]int
}

func (l *liar) Open(name string) (fs.File, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened == nil {
		l.opened = map[string]int{}
	}
	l.opened[name]++
	if name == l.name && l.opened[name] > l.after {
		other := []byte(string(l.MapFS[name].Data))
		other[len(other)-1] ^= 1
		return fstest.MapFS{name: {Data: other}}.Open(name)
	}
	return l.MapFS.Open(name)
}

// listed returns the files of a package with its manifest.
func listed() map[string]string {
	files := contents()
	files["vnf.mf"] = manifestOf(files)
	return files
}

func wantChanged(t *testing.T, err error, file string) {
	t.Helper()
	var p problem.Problem
	if !errors.As(err, &p) || p.Code != problem.Changed || p.File != file {
		t.Errorf("error %v, want %s of %s", err, problem.Changed, file)
	}
}

// TestReadsMatchDigest changes a package on disk after its digest was computed.
func TestReadsMatchDigest(t *testing.T) {
	const image = "Files/image.img"
	good := contents()[image]
	bad := good[:len(good)-1] + "!"
	reads := map[string]func(fs.File) error{
		"all":          func(f fs.File) error { _, err := io.ReadAll(f); return err },
		"exactly":      func(f fs.File) error { _, err := io.ReadFull(f, make([]byte, len(good))); return err },
		"from a place": func(f fs.File) error { return fromPlace(f, int64(len(good))-10) },
		"again": func(f fs.File) error {
			_, _ = io.ReadFull(f, make([]byte, 100))
			return fromPlace(f, 0)
		},
	}
	for name, content := range map[string]string{"same size": bad, "longer": bad + "more", "shorter": good[:100]} {
		for how, read := range reads {
			t.Run(name+" "+how, func(t *testing.T) {
				dir := t.TempDir()
				if err := os.CopyFS(dir, mapFS(listed())); err != nil {
					t.Fatal(err)
				}
				a := open(t, dir)
				for _, changed := range []bool{false, true} {
					if changed {
						if err := os.WriteFile(filepath.Join(dir, image), []byte(content), 0o600); err != nil {
							t.Fatal(err)
						}
					} else if _, err := a.Digest(t.Context()); err != nil {
						t.Fatal(err)
					}
					f, err := a.Open(image)
					if err != nil {
						t.Fatal(err)
					}
					defer f.Close()
					err = read(f)
					if !changed && err != nil {
						t.Errorf("unchanged: %v", err)
					}
					if changed {
						wantChanged(t, err, image)
					}
				}
			})
		}
	}
	t.Run("added", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.CopyFS(dir, mapFS(listed())); err != nil {
			t.Fatal(err)
		}
		a := open(t, dir)
		if err := os.WriteFile(filepath.Join(dir, "added.sh"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Open("added.sh"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error %v, want fs.ErrNotExist", err)
		}
	})
}

func fromPlace(f fs.File, offset int64) error {
	if _, err := f.(io.Seeker).Seek(offset, io.SeekStart); err != nil {
		return err
	}
	_, err := io.ReadAll(f)
	return err
}

// TestSeekableFileIsAFileSystem runs the test of testing/fstest after the digest is known, when the content of reads is compared.
func TestSeekableFileIsAFileSystem(t *testing.T) {
	a := open(t, sample)
	if _, err := a.Digest(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(a, "BaseHOT/simple/simple_hot_top.yaml", "TOSCA-Metadata/TOSCA.meta"); err != nil {
		t.Error(err)
	}
}

// TestHostileFS uses a file system that returns one content of a file first and another content later.
func TestHostileFS(t *testing.T) {
	for _, name := range []string{"TOSCA-Metadata/TOSCA.meta", "vnf.mf"} {
		hostile := &liar{MapFS: mapFS(listed()), name: name, after: 1}
		a, err := csar.OpenFS(t.Context(), hostile, csar.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = a.Digest(t.Context())
		wantChanged(t, err, name)
	}
	hostile := &liar{MapFS: mapFS(listed()), name: "vnfd.yaml", after: 1}
	a, err := csar.OpenFS(t.Context(), hostile, csar.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Digest(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = a.Document("vnfd.yaml")
	wantChanged(t, err, "vnfd.yaml")
}
