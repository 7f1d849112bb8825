package main

import (
	"archive/tar"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestOpenSnapshot opens an archive with the recovery key alone. Names that lead out of the folder, another key and a cut archive are errors.
func TestOpenSnapshot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keyFile, other := filepath.Join(dir, "recovery.key"), filepath.Join(dir, "other.key")
	var public, ignored strings.Builder
	for name, out := range map[string]*strings.Builder{keyFile: &public, other: &ignored} {
		if err := newRecoveryKey(name, out); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(keyFile); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	if err := newRecoveryKey(keyFile, io.Discard); err == nil {
		t.Error("a key is overwritten")
	}
	archives, err := options{state: dir, recovery: strings.TrimSpace(public.String())}.archives()
	if err != nil {
		t.Fatal(err)
	}
	write := func(id string, names ...string) string {
		to, err := archives.Create(t.Context(), vnflcm.SnapshotPlace{Instance: "c", ID: id})
		if err != nil {
			t.Fatal(err)
		}
		defer to.Abort()
		files := tar.NewWriter(to)
		for _, name := range names {
			if err := files.WriteHeader(&tar.Header{Name: name, Size: 4}); err != nil {
				t.Fatal(err)
			}
			if _, err := files.Write([]byte("data")); err != nil {
				t.Fatal(err)
			}
		}
		if err := files.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := to.Commit(); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, "snapshots", "tenant-", "instance-c", id+".tar.age")
	}
	good := write("good", "snapshot.json", "files/etc/kubernetes/pki/ca.key", "etcd/snapshot.db")
	out := filepath.Join(dir, "out")
	if err := openSnapshot(good, keyFile, out); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(out, "files", "etc", "kubernetes", "pki", "ca.key")
	info, errStat := os.Stat(name)
	text, err := os.ReadFile(name)
	if errStat != nil || err != nil || string(text) != "data" || info.Mode().Perm() != 0o600 {
		t.Errorf("%q, %v, %v, %v", text, info, err, errStat)
	}
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(dir, "cut.age")
	if err := os.WriteFile(cut, whole[:len(whole)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string][3]string{
		"a folder that exists": {good, keyFile, out}, "another key": {good, other, filepath.Join(dir, "a")}, "a cut archive": {cut, keyFile, filepath.Join(dir, "b")},
		"a name outside": {write("evil", "../evil"), keyFile, filepath.Join(dir, "c")}, "no archive": {keyFile, keyFile, filepath.Join(dir, "d")},
	} {
		if err := openSnapshot(c[0], c[1], c[2]); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "evil")); err == nil {
		t.Error("a file was written outside of the folder")
	}
}
