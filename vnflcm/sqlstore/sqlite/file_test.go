package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sqlstore/sqlite"
)

func put(id string) vnflcm.Batch {
	return vnflcm.Batch{Put: []vnflcm.Record{{Kind: "k", ID: id, Body: []byte(strings.Repeat("x", 1000))}}}
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

func TestRemovedWhileOpen(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(path string) error{
		"removed":  os.Remove,
		"replaced": func(path string) error { return os.Rename(path+".new", path) },
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
		if err := s.Apply(t.Context(), put("b")); err == nil || !strings.Contains(err.Error(), "removed or replaced") {
			t.Errorf("%s: Apply returns %v", name, err)
		}
	}
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
	if list, err := s.List(t.Context(), vnflcm.Query{Kind: "k"}); err != nil || len(list) < 50 {
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
	list, err := s.List(t.Context(), vnflcm.Query{Kind: "k"})
	if err != nil || acknowledged == 0 || len(list) < acknowledged {
		t.Errorf("%d records are there (%v), %d were acknowledged\n%s", len(list), err, acknowledged, out)
	}
	if err := s.Apply(t.Context(), put("afterwards")); err != nil {
		t.Error(err)
	}
}
