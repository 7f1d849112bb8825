package tosca_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// sample is the package the examples use.
const sample = "../examples/packages/k8s-cluster"

func open(t *testing.T, name string, opts ...tosca.Option) *tosca.Package {
	t.Helper()
	p, err := tosca.Open(context.Background(), name, opts...)
	if err != nil {
		t.Fatalf("Open(%s): %v", name, err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
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

// codes lists the codes of the problems an error holds.
func codes(t *testing.T, err error) []problem.Code {
	t.Helper()
	var problems problem.List
	if err != nil && !errors.As(err, &problems) {
		t.Fatalf("the error holds no problems: %v", err)
	}
	var list []problem.Code
	for _, p := range problems {
		list = append(list, p.Code)
	}
	return list
}

func TestDigestIsThatOfTheContent(t *testing.T) {
	ctx := context.Background()
	csar := filepath.Join(t.TempDir(), "x.csar")
	if err := os.WriteFile(csar, zipOf(t, sample), 0o600); err != nil {
		t.Fatal(err)
	}
	fromFS, err := tosca.OpenFS(ctx, os.DirFS(sample))
	if err != nil {
		t.Fatal(err)
	}
	var digests []string
	for _, p := range []*tosca.Package{open(t, sample), open(t, csar), fromFS} {
		first, err := p.Digest(ctx)
		if err != nil {
			t.Fatal(err)
		}
		again, err := p.Digest(ctx)
		if err != nil || again != first {
			t.Errorf("second Digest = %q, %v, want %q", again, err, first)
		}
		digests = append(digests, first)
		if diff := cmp.Diff(open(t, sample).VNFD(), p.VNFD()); diff != "" {
			t.Errorf("the model depends on the form of the package:\n%s", diff)
		}
	}
	if digests[0] != digests[1] || digests[0] != digests[2] || len(digests[0]) != len("sha256:")+64 {
		t.Errorf("digests of directory, CSAR and file system: %q", digests)
	}
}

func TestDigestSeesNamesAndContents(t *testing.T) {
	base := fstest.MapFS{"vnfd.yaml": file(minimal), "a": file("1"), "b": file("2")}
	renamed := fstest.MapFS{"vnfd.yaml": file(minimal), "a": file("1"), "c": file("2")}
	swapped := fstest.MapFS{"vnfd.yaml": file(minimal), "a": file("2"), "b": file("1")}
	seen := map[string]bool{}
	for _, fsys := range []fstest.MapFS{base, renamed, swapped} {
		p, err := tosca.OpenFS(context.Background(), fsys)
		if err != nil {
			t.Fatal(err)
		}
		d, err := p.Digest(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		seen[d] = true
	}
	if len(seen) != 3 {
		t.Errorf("three different packages have %d digests", len(seen))
	}
}

func TestPackageIsAFileSystem(t *testing.T) {
	csar := filepath.Join(t.TempDir(), "x.csar")
	if err := os.WriteFile(csar, zipOf(t, sample), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{sample, csar} {
		p := open(t, name)
		if err := fstest.TestFS(p, "BaseHOT/simple/simple_hot_top.yaml", "TOSCA-Metadata/TOSCA.meta"); err != nil {
			t.Error(err)
		}
		for _, bad := range []string{"../tosca.go", "/etc/passwd", `..\x`, "Scripts/../../x"} {
			if _, err := p.Open(bad); err == nil {
				t.Errorf("Open(%q) works", bad)
			}
		}
	}
}

func TestArtifact(t *testing.T) {
	p := open(t, "testdata/everything")
	for _, tt := range []struct{ file, want string }{
		{"../Scripts/hook.sh", "Scripts/hook.sh"},
		{"Scripts/hook.sh", "Scripts/hook.sh"},
		{"./Scripts/../Scripts/hook.sh", "Scripts/hook.sh"},
		{"top.yaml", "Definitions/top.yaml"},
	} {
		got, err := p.Artifact(tt.file)
		if err != nil || got != tt.want {
			t.Errorf("Artifact(%q) = %q, %v, want %q", tt.file, got, err, tt.want)
		}
	}
	for _, bad := range []string{"../../Scripts/hook.sh", "/Scripts/hook.sh", `..\Scripts\hook.sh`, "C:/x", ""} {
		if _, err := p.Artifact(bad); !errors.Is(err, problem.Problem{Code: problem.OutsidePackage}) {
			t.Errorf("Artifact(%q): %v, want %s", bad, err, problem.OutsidePackage)
		}
	}
	for _, missing := range []string{"../Scripts", "Scripts/other.sh", "https://example.org/x.sh"} {
		if _, err := p.Artifact(missing); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Artifact(%q): %v, want fs.ErrNotExist", missing, err)
		}
	}
}

// TestImagesAreStreamed: memory does not depend on the size of what a package
// carries, whether it is read whole or only opened.
func TestImagesAreStreamed(t *testing.T) {
	const size = 32 << 20
	name := filepath.Join(t.TempDir(), "x.csar")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(f)
	for member, content := range map[string][]byte{"vnfd.yaml": []byte(minimal), "Files/images/disk.img": make([]byte, size)} {
		m, err := w.CreateHeader(&zip.FileHeader{Name: member, Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := open(t, name).Digest(context.Background()); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > size/8 {
		t.Errorf("reading a package of %d bytes allocated %d", size, used)
	}
}

func TestVerify(t *testing.T) {
	const meta = `TOSCA-Meta-File-Version: 1.0
CSAR-Version: 1.1
Created-By: me
Entry-Definitions: vnfd.yaml

Name: good
Algorithm: sha256
Hash: 2CF24DBA5FB0A30E26E83B2AC5B9E29E1B161E5C1FA7425E73043362938B9824

Name: long
Algorithm: SHA-512
Hash: 9b71d224bd62f3785d96d46ad3ea3d73319bfbc2890caadae2dff72519673ca72323c3d99ba5c11d7c7acc6e14b8c5da0c4663475c2e5c3adef46f73bcdec043

Name: changed
Algorithm: SHA-256
Hash: 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824

Name: absent
Algorithm: SHA-256
Hash: 00

Name: odd
Algorithm: MD5
Hash: 00

Name: unhashed

Name: https://example.org/elsewhere
Algorithm: SHA-256
Hash: 00
`
	p, err := tosca.OpenFS(context.Background(), fstest.MapFS{
		"TOSCA-Metadata/TOSCA.meta": file(meta), "vnfd.yaml": file(minimal),
		"good": file("hello"), "long": file("hello"), "changed": file("hallo"), "odd": file(""),
	})
	if err != nil {
		t.Fatal(err)
	}
	err = p.Verify(context.Background())
	want := []problem.Code{problem.HashMismatch, problem.MissingFile, problem.HashAlgorithm}
	if diff := cmp.Diff(want, codes(t, err)); diff != "" {
		t.Errorf("codes (-want +got):\n%s\n%v", diff, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.Verify(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Verify with an ended context: %v", err)
	}
	if _, err := p.Digest(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Digest with an ended context: %v", err)
	}
	if err := open(t, "testdata/everything").Verify(context.Background()); err != nil {
		t.Errorf("an intact package: %v", err)
	}
}
