package snapshots_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/snapshots"
)

var place = vnflcm.SnapshotPlace{Tenant: "north", Instance: "c1", ID: "s1"}

func newArchives(t *testing.T, folder string, recovery ...string) *snapshots.Archives {
	t.Helper()
	a, err := snapshots.New(snapshots.Directory(folder), recovery...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// write writes an archive and returns its data key.
func write(t *testing.T, a *snapshots.Archives, at vnflcm.SnapshotPlace, content []byte) vnflcm.Secret {
	t.Helper()
	w, err := a.Create(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if _, err := io.Copy(w, bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	return w.Key()
}

func read(t *testing.T, a *snapshots.Archives, at vnflcm.SnapshotPlace, key vnflcm.Secret) ([]byte, error) {
	t.Helper()
	r, err := a.Open(t.Context(), at, key)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

func filesOf(t *testing.T, folder string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(folder, path)
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestKeys opens an archive by its data key and by the recovery key, of both kinds, and by no other key.
func TestKeys(t *testing.T) {
	t.Parallel()
	old, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	secret, public, err := snapshots.NewRecoveryKey()
	if err != nil {
		t.Fatal(err)
	}
	content := bytes.Repeat([]byte("contents "), 30_000)
	for name, c := range map[string]struct{ secret, public string }{"hybrid": {secret.Reveal(), public}, "x25519": {old.String(), old.Recipient().String()}} {
		folder := t.TempDir()
		a := newArchives(t, folder, c.public)
		key := write(t, a, place, content)
		if got, err := read(t, a, place, key); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: by its data key: %d bytes, %v", name, len(got), err)
		}
		other := write(t, a, vnflcm.SnapshotPlace{ID: "s2"}, content)
		if _, err := read(t, a, place, other); !errors.Is(err, vnflcm.ErrUnreadable) {
			t.Errorf("%s: by the data key of another archive: %v", name, err)
		}
		stored, err := os.ReadFile(filepath.Join(folder, "tenant-north", "instance-c1", "s1.tar.age"))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(stored, []byte("contents")) {
			t.Errorf("%s: the archive is stored in clear", name)
		}
		clear, err := snapshots.Decrypt(bytes.NewReader(stored), strings.NewReader("# a comment\n"+c.secret+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(clear); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: by the recovery key: %d bytes, %v", name, len(got), err)
		}
	}
	if _, err := snapshots.New(snapshots.Directory(t.TempDir()), public, old.Recipient().String()); err == nil {
		t.Error("recovery keys of two kinds are accepted")
	}
	if _, err := snapshots.New(snapshots.Directory(t.TempDir()), secret.Reveal()); err == nil || strings.Contains(err.Error(), secret.Reveal()) {
		t.Errorf("the secret part of a recovery key: %v", err)
	}
}

// TestDamage changes each part of an archive: reading fails before changed data are returned.
func TestDamage(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	a := newArchives(t, folder)
	content := bytes.Repeat([]byte("contents "), 30_000) // several chunks
	key := write(t, a, place, content)
	name := filepath.Join(folder, "tenant-north", "instance-c1", "s1.tar.age")
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for what, damage := range map[string]func([]byte) []byte{
		"cut at a chunk":  func(b []byte) []byte { return b[:len(b)-len(content)%65536-16] },
		"cut by one byte": func(b []byte) []byte { return b[:len(b)-1] },
		"longer":          func(b []byte) []byte { return append(b, 0) },
		"empty":           func([]byte) []byte { return nil },
		"header":          func(b []byte) []byte { b[40]++; return b },
		"first chunk":     func(b []byte) []byte { b[len(b)-200_000]++; return b },
		"last chunk":      func(b []byte) []byte { b[len(b)-20]++; return b },
		"foreign":         func([]byte) []byte { return []byte("a text") },
	} {
		if err := os.WriteFile(name, damage(bytes.Clone(whole)), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := read(t, a, place, key)
		if err == nil || !bytes.HasPrefix(content, got) {
			t.Errorf("%s: %d bytes, %v", what, len(got), err)
		}
	}
}

// TestDirectory checks the files of a folder: names, modes, what is left after an abort, and after a process that was killed.
func TestDirectory(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "new")
	a := newArchives(t, folder)
	hostile := vnflcm.SnapshotPlace{Tenant: "../..", Instance: "a/b\n", ID: ".."}
	write(t, a, hostile, []byte("a"))
	write(t, a, place, []byte("b"))
	if diff := cmp.Diff([]string{"tenant-%2E%2E%2F%2E%2E/instance-a%2Fb%0A/%2E%2E.tar.age", "tenant-north/instance-c1/s1.tar.age"}, filesOf(t, folder)); diff != "" {
		t.Error(diff)
	}
	for _, at := range []string{"", "tenant-north", "tenant-north/instance-c1", "tenant-north/instance-c1/s1.tar.age"} {
		info, err := os.Stat(filepath.Join(folder, at))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%q has mode %v", at, info.Mode())
		}
	}
	for range 2 {
		if err := a.Remove(t.Context(), hostile); err != nil {
			t.Error(err)
		}
	}
	aborted, err := a.Create(t.Context(), vnflcm.SnapshotPlace{ID: "s2"})
	if err != nil {
		t.Fatal(err)
	}
	aborted.Abort()
	killed := vnflcm.SnapshotPlace{Tenant: "north", Instance: "c1", ID: "s3"}
	if _, err := a.Create(t.Context(), killed); err != nil {
		t.Fatal(err)
	}
	if n := len(filesOf(t, folder)); n != 2 {
		t.Errorf("%d files: %v", n, filesOf(t, folder))
	}
	if err := a.Remove(t.Context(), killed); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"tenant-north/instance-c1/s1.tar.age"}, filesOf(t, folder)); diff != "" {
		t.Error(diff)
	}
	if _, err := read(t, a, killed, write(t, a, place, nil)); !errors.Is(err, vnflcm.ErrNotFound) {
		t.Errorf("a missing archive: %v", err)
	}
}

// TestSum compares the checksum and the size with the file.
func TestSum(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	w, err := newArchives(t, folder).Create(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if _, err := fmt.Fprint(w, "contents"); err != nil {
		t.Fatal(err)
	}
	sum, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	stored, err := os.ReadFile(filepath.Join(folder, "tenant-north", "instance-c1", "s1.tar.age"))
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256(stored)
	if diff := cmp.Diff(vnflcm.SnapshotSum{SHA256: hex.EncodeToString(digest[:]), Size: int64(len(stored))}, sum); diff != "" {
		t.Error(diff)
	}
}
