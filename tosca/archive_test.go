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
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/csar"
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

// TestForms checks that the model and the digest do not depend on the form of the package.
func TestForms(t *testing.T) {
	ctx := context.Background()
	data := zipOf(t, sample)
	name := filepath.Join(t.TempDir(), "x.csar")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	fromFS, err := tosca.OpenFS(ctx, os.DirFS(sample))
	if err != nil {
		t.Fatal(err)
	}
	fromReader, err := tosca.OpenReader(ctx, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var digests []string
	for _, p := range []*tosca.Package{open(t, sample), open(t, name), fromFS, fromReader} {
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

// TestIntegrity checks that Digest fails for a package that contradicts its digests or signatures, unless the policy makes the faults
// warnings.
func TestIntegrity(t *testing.T) {
	files := fstest.MapFS{"vnfd.yaml": file(minimal), "vnfd.mf": file("Source: vnfd.yaml\nAlgorithm: SHA-256\nHash: 00\n")}
	wrong := problem.Problem{Code: problem.HashMismatch}
	p, err := tosca.OpenFS(t.Context(), files)
	if err != nil {
		t.Fatal(err)
	}
	if digest, err := p.Digest(t.Context()); digest != "" || !errors.Is(err, wrong) {
		t.Errorf("Digest = %q, %v, want %v", digest, err, wrong.Code)
	}
	if p, err = tosca.OpenFS(t.Context(), files, tosca.WithIntegrity(csar.Integrity{Policy: csar.Warn})); err != nil {
		t.Fatal(err)
	}
	if digest, err := p.Digest(t.Context()); digest == "" || err != nil {
		t.Errorf("Digest where faults are warnings = %q, %v", digest, err)
	}
	if !errors.Is(p.Warnings(), wrong) {
		t.Errorf("warnings: %v", p.Warnings())
	}
	if _, err = tosca.OpenFS(t.Context(), files, tosca.WithIntegrity(csar.Integrity{Policy: csar.Require})); !errors.Is(err, problem.Problem{Code: problem.Unsigned}) {
		t.Errorf("unsigned where a signature is required: %v", err)
	}
}

// TestVNFDFiles lists the files that a descriptor consists of, without the bundled definitions that it imports.
func TestVNFDFiles(t *testing.T) {
	t.Parallel()
	want := []string{"Definitions/k8s_cluster_top.vnfd.yaml", "Definitions/k8s_cluster_types.yaml", "Definitions/k8s_cluster_df_simple.yaml",
		"Definitions/k8s_cluster_df_complex.yaml"}
	if diff := cmp.Diff(want, open(t, sample).VNFDFiles()); diff != "" {
		t.Error(diff)
	}
	cache := tosca.NewCache(1)
	for range 2 { // the second time the cache has parsed the package
		p, err := cache.Open(t.Context(), tosca.File(sample))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, p.VNFDFiles()); diff != "" {
			t.Errorf("from a cache:\n%s", diff)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
