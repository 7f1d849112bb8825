package csar_test

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"io/fs"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// TestStatements checks entries of a manifest about existing and missing files.
func TestStatements(t *testing.T) {
	entry := func(source, algorithm string, hash any) string {
		return fmt.Sprintf("Source: %s\nAlgorithm: %s\nHash: %x\n", source, algorithm, hash)
	}
	long, longer := sha512.Sum384([]byte("hello")), sha512.Sum512([]byte("hello"))
	tests := []struct {
		name, manifest string
		faults, warned []problem.Code
	}{
		{"SHA-384", entry("a/b", "SHA-384", long), nil, nil},
		{"SHA-512", entry("./a/b", "sha-512", longer), nil, nil},
		{"another spelling", entry("a/b", "sha512", longer), nil, only(problem.HashAlgorithm)},
		{"another digest", entry("a/b", "SHA-512", long), only(problem.HashMismatch), nil},
		{"MD5", entry("a/b", "MD5", "x"), only(problem.HashAlgorithm), nil},
		{"in a set", "non_mano_artifact_sets:\n x:\n  " + entry("a/b", "SHA-384", longer), only(problem.HashMismatch), nil},
		{"missing with digest", entry("a/c", "SHA-384", long), only(problem.MissingFile), nil},
		{"missing without digest", "Source: a/c\n", nil, []problem.Code{problem.NotInManifest, problem.MissingFile}},
		{"a folder", "Source: a/\n", nil, only(problem.NotInManifest)},
		{"digest of a folder", entry("a/", "SHA-384", long), only(problem.MissingFile), nil},
		{"outside", "Source: ../x\n", only(problem.OutsidePackage), nil},
		{"absolute", "Source: /etc/passwd\n", only(problem.OutsidePackage), nil},
		{"a URL", entry("https://example.org/x", "SHA-384", long), nil, only(problem.NotInManifest)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, err := csar.OpenFS(t.Context(), fstest.MapFS{
				"v.yaml": file("x"), "a/b": file("hello"), "ChangeLog.txt": file("x"),
				"v.mf": file(manifestHead + digestsOf("v.yaml", "ChangeLog.txt") + tt.manifest),
			}, csar.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.faults, codes(t, a.Verify(t.Context()))); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.warned, codes(t, a.Warnings())); diff != "" && tt.faults == nil {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// digestsOf returns manifest entries for files with the content "x".
func digestsOf(names ...string) (entries string) {
	for _, name := range names {
		entries += fmt.Sprintf("Source: %s\nAlgorithm: SHA-256\nHash: %x\n", name, sha256.Sum256([]byte("x")))
	}
	return entries
}

// TestManySignatures checks that the number of files with separate signatures is limited.
func TestManySignatures(t *testing.T) {
	vendor := certify(t, "vendor", nil, time.Now().Add(time.Hour))
	fsys := fstest.MapFS{"v.yaml": file("x"), "s": file(vendor.sign(t, []byte("x"), true))}
	var manifest bytes.Buffer
	for range 1001 {
		manifest.WriteString("Source: v.yaml\nSignature: s\n")
	}
	fsys["v.mf"] = file(manifest.String())
	if diff := cmp.Diff(only(problem.TooLarge), outcome(t, fsys, csar.Integrity{})); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
}

// TestMisspelledMetadata checks that misspelt keys of real packages are accepted with a warning.
func TestMisspelledMetadata(t *testing.T) {
	a, err := csar.OpenFS(t.Context(), fstest.MapFS{"v.yaml": file("x"), "ChangeLog.txt": file("x"), "v.mf": file(
		"metadata:\nvnf_product_name: p\nvnf_provider_id: me\nvnf_package_version: 1\nvnf_release_data_time: 2026-11-30T10:00:00Z\nvnfd_id:\n")}, csar.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := a.Manifest().Metadata.ReleaseDateTime; got != "2026-11-30T10:00:00Z" {
		t.Errorf("release date %q", got)
	}
	want := problem.List{
		{Position: problem.Position{File: "v.mf", Line: 5, Column: 1}, Severity: problem.Warning, Code: problem.ManifestMetadata,
			Message: `SOL004 does not know the key "vnf_release_data_time"`, Nearest: "vnf_release_date_time"},
		{Position: problem.Position{File: "v.mf", Line: 6, Column: 1}, Severity: problem.Warning, Code: problem.ManifestMetadata,
			Message: `"vnfd_id" has no value`},
	}
	if diff := cmp.Diff(want, a.Warnings()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// TestConcurrentUse reads and verifies an archive concurrently.
func TestConcurrentUse(t *testing.T) {
	root := certify(t, "root", nil, time.Now().Add(time.Hour))
	inner := zipWith(t, 8, map[string][]byte{"v.yaml": []byte("x"), "a/b": bytes.Repeat([]byte("hello"), 1<<16)})
	data := zipWith(t, 8, map[string][]byte{"p.csar": inner, "p.cms": []byte(root.sign(t, inner, true))})
	a := open(t, write(t, "p.zip", data))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := a.Verify(t.Context()); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			if _, err := a.Digest(t.Context()); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			if b, err := fs.ReadFile(a, "a/b"); err != nil || len(b) != 5<<16 {
				t.Errorf("%d bytes, %v", len(b), err)
			}
			_, _ = a.Warnings(), a.Signers()
		})
	}
	all.Wait()
	if n := len(a.Signers()); n != 1 {
		t.Errorf("%d signers", n)
	}
}
