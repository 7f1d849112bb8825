package csar_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

func TestDigestIsThatOfTheContent(t *testing.T) {
	data := zipOf(t, sample)
	fromFS, err := csar.OpenFS(t.Context(), os.DirFS(sample), csar.Options{})
	if err != nil {
		t.Fatal(err)
	}
	fromReader, err := csar.OpenReader(t.Context(), bytes.NewReader(data), int64(len(data)), csar.Options{})
	if err != nil {
		t.Fatal(err)
	}
	wrapped := open(t, write(t, "x.zip", zipWith(t, zip.Deflate, map[string][]byte{"x.csar": data})))
	var digests []string
	for _, a := range []*csar.Archive{open(t, sample), open(t, write(t, "x.csar", data)), fromFS, fromReader, wrapped} {
		first, err := a.Digest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		again, err := a.Digest(t.Context())
		if err != nil || again != first {
			t.Errorf("second Digest = %q, %v, want %q", again, err, first)
		}
		digests = append(digests, first)
	}
	if slices.Sort(digests); digests[0] != digests[len(digests)-1] || len(digests[0]) != len("sha256:")+64 {
		t.Errorf("digests of directory, CSAR, file system, reader and zip: %q", digests)
	}
}

func TestDigestSeesNamesAndContents(t *testing.T) {
	base := fstest.MapFS{"vnfd.yaml": file(""), "a": file("1"), "b": file("2")}
	renamed := fstest.MapFS{"vnfd.yaml": file(""), "a": file("1"), "c": file("2")}
	swapped := fstest.MapFS{"vnfd.yaml": file(""), "a": file("2"), "b": file("1")}
	seen := map[string]bool{}
	for _, fsys := range []fstest.MapFS{base, renamed, swapped} {
		p, err := csar.OpenFS(t.Context(), fsys, csar.Options{})
		if err != nil {
			t.Fatal(err)
		}
		d, err := p.Digest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		seen[d] = true
	}
	if len(seen) != 3 {
		t.Errorf("three different packages have %d digests", len(seen))
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
	p, err := csar.OpenFS(t.Context(), fstest.MapFS{
		"TOSCA-Metadata/TOSCA.meta": file(meta), "vnfd.yaml": file(""),
		"good": file("hello"), "long": file("hello"), "changed": file("hallo"), "odd": file(""),
	}, csar.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = p.Verify(t.Context())
	want := []problem.Code{problem.HashMismatch, problem.MissingFile, problem.HashAlgorithm}
	if diff := cmp.Diff(want, codes(t, err)); diff != "" {
		t.Errorf("codes (-want +got):\n%s\n%v", diff, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Verify(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Verify with an ended context: %v", err)
	}
	if _, err := p.Digest(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Digest with an ended context: %v", err)
	}
	if err := open(t, "../testdata/everything").Verify(t.Context()); err != nil {
		t.Errorf("an intact package: %v", err)
	}
}
