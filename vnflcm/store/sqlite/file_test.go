package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
)

func put(id string) store.Batch {
	return store.Batch{Put: []store.Record{{Kind: "k", ID: id, Body: []byte(strings.Repeat("x", 1000))}}}
}

func TestEmptyFileIsNoStore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(t.Context(), put("a")); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), path+" is empty") {
		t.Errorf("Open of an empty file: %v", err)
	}
}

// TestRemovedWhileOpen: no batch is acknowledged that is only in a file without a name, where it ends with the process.
func TestRemovedWhileOpen(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(path string) error{
		"removed":            os.Remove,
		"replaced":           func(path string) error { return os.Rename(path+".new", path) },
		"moved away":         func(path string) error { return os.Rename(path, path+".old") },
		"journal removed":    func(path string) error { return os.Remove(path + "-wal") },
		"journal replaced":   func(path string) error { return os.Rename(path+".new-wal", path+"-wal") },
		"shared map removed": func(path string) error { return os.Remove(path + "-shm") },
	} {
		path := filepath.Join(t.TempDir(), "state.db")
		open(t, path+".new")
		s := open(t, path)
		if err := s.Apply(t.Context(), put("a")); err != nil {
			t.Error(err)
		}
		if err := do(path); err != nil {
			t.Error(err)
		}
		if err := s.Apply(t.Context(), put("b")); err == nil || !strings.Contains(err.Error(), "removed or replaced while it was open") || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: Apply returns %v", name, err)
		}
		_, errGet := s.Get(t.Context(), "k", "a")
		_, errList := s.List(t.Context(), store.Query{Kind: "k"})
		_, _, errFeed := s.Feed(t.Context(), "", 1)
		if lost := !strings.Contains(name, "journal") && !strings.Contains(name, "map"); lost != (errGet != nil) || lost != (errList != nil) || lost != (errFeed != nil) {
			t.Errorf("%s: reading returns %v, %v, %v", name, errGet, errList, errFeed)
		}
		if name == "moved away" {
			if err := errors.Join(os.Rename(path+".old", path), s.Apply(t.Context(), put("b"))); err != nil {
				t.Errorf("after it was moved back: %v", err)
			}
		}
	}
}

// TestNotAStore opens files that are no store of this version. The error names the file and a remedy, and the file is unchanged.
func TestNotAStore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(path string) error // a closed store
		want  string
	}{
		"text": {func(path string) error {
			return os.WriteFile(path, []byte(strings.Repeat("no database\n", 100)), 0o600)
		}, "is no SQLite database: restore it from a backup"},
		"short text":    {func(path string) error { return os.WriteFile(path, []byte("x"), 0o600) }, "is no SQLite database: restore it from a backup"},
		"cut in half":   {func(path string) error { return os.Truncate(path, 40<<10) }, "is damaged: restore it from a backup"},
		"cut off":       {func(path string) error { return os.Truncate(path, 50) }, "is no SQLite database: restore it from a backup"},
		"newer":         {execute(`PRAGMA user_version = 3`), "was written by a newer version of vnfkit (format 3, this version knows 2): use that version"},
		"earlier":       {execute(`PRAGMA user_version = 1`), "has the format 1 of an earlier version of vnfkit"},
		"foreign":       {execute(`ALTER TABLE vnfkit_records RENAME TO records`), "is the database of another program: it has no table vnfkit_records"},
		"a folder":      {func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) }, "is a folder"},
		"vanished":      {func(path string) error { return os.Rename(path, path+"-wal") }, "is missing, but state.db-wal, with its latest changes, is there: restore it from a backup"},
		"never existed": {os.Remove, ""},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "state.db")
		s, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			err = errors.Join(err, s.Apply(t.Context(), put(fmt.Sprint(i))))
		}
		if err := errors.Join(err, s.Close(), c.spoil(path), os.Chmod(dir, 0o700)); err != nil { //nolint:gosec // a folder
			t.Fatal(name, err)
		}
		before := content(t, dir)
		s, err = sqlite.Open(t.Context(), path)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			_ = s.Close()
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: Open returns %v, want %q", name, err, c.want)
		}
		if diff := cmp.Diff(before, content(t, dir)); diff != "" {
			t.Errorf("%s: files have changed", name)
		}
	}
}

// execute returns a function that executes a statement in a file.
func execute(statement string) func(path string) error {
	return func(path string) error {
		db, err := sql.Open("sqlite", path)
		if err == nil {
			_, err = db.Exec(statement) //nolint:noctx // in a test
		}
		return errors.Join(err, db.Close())
	}
}

// content is the content of the files of a folder, with their modes.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range list {
		if f.IsDir() {
			continue
		}
		info, err1 := f.Info()
		text, err2 := os.ReadFile(filepath.Join(dir, f.Name())) //nolint:gosec // of the test
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		out[f.Name()] = info.Mode().String() + string(text)
	}
	return out
}

func TestRightsOfOthersAreTakenAway(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	open(t, path)
	if err := os.Chmod(path, 0o666); err != nil { //nolint:gosec // what the test is about
		t.Fatal(err)
	}
	if err := os.WriteFile(path+"-journal", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	if err := s.Apply(t.Context(), put("a")); err != nil {
		t.Error(err)
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// TestCancelledWriterLeavesTheQueue cancels writers that wait; those behind them write.
func TestCancelledWriterLeavesTheQueue(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "state.db"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			if i%2 == 0 {
				_ = s.Apply(ctx, put(fmt.Sprint(i)))
				cancel()
			} else if err := s.Apply(context.WithoutCancel(ctx), put(fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if list, err := s.List(t.Context(), store.Query{Kind: "k"}); err != nil || len(list) < 50 {
		t.Errorf("%d records (%v), want at least the 50 of the writers that were not cancelled", len(list), err)
	}
}

// TestFullDisk fills what a process may write, in a child process, and looks from outside: no acknowledged record is
// missing, and the store can be used again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestFillDisk$", "-test.v") //nolint:gosec // this test binary
	child.Env = append(os.Environ(), "VNFKIT_FILL="+path)
	out, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var acknowledged int
	for line := range strings.Lines(string(out)) {
		if _, err := fmt.Sscanf(line, "acknowledged %d", &acknowledged); err == nil {
			break
		}
	}
	s := open(t, path)
	list, err := s.List(t.Context(), store.Query{Kind: "k"})
	if err != nil || acknowledged == 0 || len(list) < acknowledged {
		t.Errorf("%d records are there (%v), %d were acknowledged\n%s", len(list), err, acknowledged, out)
	}
	if err := s.Apply(t.Context(), put("afterwards")); err != nil {
		t.Error(err)
	}
}
