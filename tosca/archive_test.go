package tosca_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

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
func zipOf(t testing.TB, dir string) []byte {
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

// TestForms: the model and the digest do not depend on the form of the package.
func TestForms(t *testing.T) {
	ctx := context.Background()
	csar := filepath.Join(t.TempDir(), "x.csar")
	if err := os.WriteFile(csar, zipOf(t, sample), 0o600); err != nil {
		t.Fatal(err)
	}
	fromFS, err := tosca.OpenFS(ctx, os.DirFS(sample))
	if err != nil {
		t.Fatal(err)
	}
	data := zipOf(t, sample)
	fromReader, err := tosca.OpenReader(ctx, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var digests []string
	for _, p := range []*tosca.Package{open(t, sample), open(t, csar), fromFS, fromReader} {
		digest, err := p.Digest(ctx)
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, digest)
		if diff := cmp.Diff(open(t, sample).VNFD(), p.VNFD()); diff != "" {
			t.Errorf("the model depends on the form of the package:\n%s", diff)
		}
	}
	if slices.Sort(digests); digests[0] != digests[3] {
		t.Errorf("digests of directory, CSAR, file system and reader: %q", digests)
	}
}
