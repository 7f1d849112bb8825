package csar_test

import (
	"archive/zip"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/tosca/csar"
)

// counting counts the bytes that are read from an archive.
type counting struct {
	io.ReaderAt
	read int64
}

func (c *counting) ReadAt(b []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(b, off)
	c.read += int64(n)
	return n, err
}

// imageSize returns the size of the image, which is larger than any of the limits on memory.
func imageSize() int64 {
	if !fulltest.Enabled() {
		return 16 << 20
	}
	return 64 << 20
}

// imagePackage writes a CSAR with a large incompressible image that TOSCA.meta lists, and returns its path.
func imagePackage(t *testing.T, method uint16) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "p.csar")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(f)
	image, err := w.CreateHeader(&zip.FileHeader{Name: "Files/disk.img", Method: method})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(sum, image), rand.NewChaCha8([32]byte{1}), imageSize()); err != nil {
		t.Fatal(err)
	}
	meta := fmt.Sprintf("Entry-Definitions: vnfd.yaml\n\nName: Files/disk.img\nAlgorithm: SHA-256\nHash: %x\n", sum.Sum(nil))
	for name, content := range map[string]string{"vnfd.yaml": "x", "TOSCA-Metadata/TOSCA.meta": meta} {
		m, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(m, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestStreaming checks that opening, verifying and digesting a package reads a large image once, needs memory that does not depend on its
// size, and leaves no file.
func TestStreaming(t *testing.T) {
	root := certify(t, "root", nil, time.Now().Add(time.Hour))
	vendor := certify(t, "vendor", root, time.Now().Add(time.Hour))
	for _, tt := range []struct {
		name    string
		wrapped bool
		method  uint16
		// passes limits the number of times that the archive is read, memory the used memory in MiB. A compressed CSAR is
		// decompressed to its end once more for its directory, and is partly cached.
		passes, memory int64
	}{
		{"CSAR", false, zip.Store, 1, 1},
		{"CSAR stored in a zip", true, zip.Store, 1, 2},
		{"CSAR deflated in a zip", true, zip.Deflate, 2, 12},
	} {
		t.Run(tt.name, func(t *testing.T) {
			temp := t.TempDir()
			t.Setenv("TMPDIR", temp)
			name := imagePackage(t, zip.Store)
			if tt.wrapped {
				name = wrap(t, name, tt.method, vendor)
			}
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			info, err := f.Stat()
			if err != nil {
				t.Fatal(err)
			}
			r := &counting{ReaderAt: f}
			used := allocated(func() {
				a, err := csar.OpenReader(t.Context(), r, info.Size(), csar.Options{Integrity: csar.Integrity{Policy: csar.Verify, Roots: root.pool()}})
				if err != nil {
					t.Fatal(err)
				}
				if err := a.Verify(t.Context()); err != nil {
					t.Error(err)
				}
				if _, err := a.Digest(t.Context()); err != nil {
					t.Error(err)
				}
			})
			if most := tt.passes*info.Size() + 1<<20; r.read > most {
				t.Errorf("%d bytes read of an archive of %d, want at most %d", r.read, info.Size(), most)
			}
			if used > tt.memory<<20 {
				t.Errorf("%d bytes allocated, want at most %d MiB", used, tt.memory)
			}
			if left, err := os.ReadDir(os.TempDir()); err != nil || os.TempDir() != temp {
				t.Errorf("temporary folder %s: %v", os.TempDir(), err)
			} else if len(left) > 0 {
				t.Errorf("left in the temporary folder: %v", left)
			}
		})
	}
}

// wrap creates a zip of option 2.
func wrap(t *testing.T, name string, method uint16, by *holder) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, "p.zip", zipWith(t, method, map[string][]byte{"p.csar": content, "p.cms": []byte(by.sign(t, content, true))}))
}

// allocated returns the total number of bytes that are allocated while f runs.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc) //nolint:gosec // far less than 2^63
}
