package nfvo_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/internal/fleettest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/nfvo"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/storetest"
)

// crashTTL is short, because each case waits for the leases of a process that has ended.
const crashTTL = 500 * time.Millisecond

// TestCrash ends a process before and after each write to the Store while it creates an instance with a package of the NFVO. The next process
// creates the instance, and the cache has one file then.
func TestCrash(t *testing.T) {
	t.Parallel()
	for at := 1; at <= 10; at++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprint(at, after), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.put(t, "p", "vnfd")
				whole := w.store
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				dying := &storetest.Fence{Store: whole}
				w.store = dying
				m := w.start(t, func(s *settings) { s.ttl = crashTTL })
				dying.CutAt(at, after, cancel)
				_, err := m.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: "vnfd"})
				t.Logf("the first process: %v", err)

				w.store = whole
				m = w.start(t, func(s *settings) { s.ttl = crashTTL })
				m.create(t, "vnfd")
				w.sweep(t, m)
				w.wantFiles(t, 1, 0)
			})
		}
	}
}

// sweep waits until Run has removed the files that no package has.
func (w *world) sweep(t *testing.T, m *vnfm) {
	t.Helper()
	left := filepath.Join(w.dir, "packages", "downloads", uuid.NewString())
	must(t, os.WriteFile(left, nil, 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = m.packages.Run(ctx) })
	await(t, "a file that no package has was not removed", func() bool {
		_, err := os.Stat(left)
		return errors.Is(err, os.ErrNotExist)
	})
	cancel()
	running.Wait()
}

// TestSweep removes files that no package has, and no foreign file.
func TestSweep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(t, "p", "vnfd")
	m := w.start(t, nil)
	m.create(t, "vnfd")
	foreign := filepath.Join(w.dir, "packages", "sha256", "README")
	must(t, os.WriteFile(foreign, nil, 0o600))
	must(t, os.WriteFile(filepath.Join(w.dir, "packages", "sha256", fmt.Sprintf("%064d-%s", 0, uuid.NewString())), nil, 0o600))
	w.sweep(t, m)
	w.wantFiles(t, 2, 0)
	if _, err := os.Stat(foreign); err != nil {
		t.Error(err)
	}
}

// TestFolderOfAnotherStore: a folder belongs to one Store.
func TestFolderOfAnotherStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(t, "p", "vnfd")
	w.start(t, nil).create(t, "vnfd")
	packages, err := nfvo.NewPackageCache(client(t, w.NFVO, nil), filepath.Join(w.dir, "packages"), nfvo.PackageOptions{})
	must(t, err)
	cfg := fleettest.Config(w.dir, store.NewMemory(), "second")
	cfg.Packages = packages
	if _, err := vnflcm.New(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "another Store") {
		t.Errorf("another Store uses the folder: %v", err)
	}
}
