package onboarding_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/onboarding"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/storetest"
)

// crashed is a process that ends at a write.
type crashed struct {
	*onboarding.Repository
	store *storetest.Fence
	ctx   context.Context //nolint:containedctx // of the process

	at      int  // number of the write at which it ends, 0 for none
	applied bool // it ends after the write instead of before
}

// start starts the process, which runs until its end.
func (c *crashed) start(t *testing.T, s site) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c.store.Store = s.store
	c.store.CutAt(c.at, c.applied, cancel)
	c.ctx = ctx
	t.Cleanup(cancel)
	r, err := onboarding.New(s.dir, onboarding.Options{MinFree: 1})
	must(t, err)
	m, err := vnflcm.New(ctx, vnflcm.Config{Store: c.store, Key: testKey, Packages: r, LeaseTTL: time.Second})
	if err == nil { // even if a write of its first work was cut
		t.Cleanup(func() {
			cancel()
			_ = m.Close(context.Background())
		})
	}
	if c.store.IsCut() {
		return
	}
	must(t, err)
	c.Repository = r
	go func() { _ = r.Run(ctx) }()
}

// live uploads, disables and deletes a package, until the process ends.
func (c *crashed) live(content []byte) error {
	if c.Repository == nil {
		return storetest.ErrCut
	}
	info, err := c.Create(c.ctx, "north", nil)
	if err != nil {
		return err
	}
	if err := c.Upload(c.ctx, "north", info.ID, bytes.NewReader(content), -1); err != nil {
		return err
	}
	for info.OnboardingState != onboarding.Onboarded {
		select {
		case <-c.ctx.Done():
			return context.Cause(c.ctx)
		case <-time.After(time.Millisecond):
		}
		if info, err = c.Get(c.ctx, "north", info.ID); err != nil {
			return err
		}
	}
	if _, err := c.Update(c.ctx, "north", info.ID, onboarding.Modification{OperationalState: onboarding.Disabled}); err != nil {
		return err
	}
	return c.Delete(c.ctx, "north", info.ID)
}

// TestCrash ends a process before and after each of its writes. The next process must bring every package to a state in which it can be
// uploaded or used, and remove files without a package.
func TestCrash(t *testing.T) {
	t.Parallel()
	content := csar(t, "crash", nil)
	total := 0
	synctest.Test(t, func(t *testing.T) {
		c := &crashed{store: &storetest.Fence{}}
		c.start(t, site{dir: t.TempDir(), store: store.NewMemory()})
		must(t, c.live(content))
		total = c.store.Writes()
	})
	if total < 10 {
		t.Fatalf("the life of a package has only %d writes", total)
	}
	for at := 1; at <= total; at++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("write %d, applied %v", at, after), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { crash(t, content, at, after) })
			})
		}
	}
}

func crash(t *testing.T, content []byte, at int, applied bool) {
	t.Helper()
	s := site{dir: t.TempDir(), store: store.NewMemory(), ttl: time.Second}
	first := &crashed{store: &storetest.Fence{}, at: at, applied: applied}
	first.start(t, s)
	if err := first.live(content); err == nil && !first.store.IsCut() {
		t.Fatal("the process did not end")
	}
	next := s.start(t, nil)
	page, err := next.List(t.Context(), "", "", 0)
	must(t, err)
	for _, info := range page.Items {
		info := next.awaitEnd(t, info.ID)
		if info.OnboardingState != onboarding.Onboarded {
			must(t, next.Upload(t.Context(), "north", info.ID, bytes.NewReader(content), int64(len(content))))
			info = next.await(t, info.ID, onboarding.Onboarded)
		}
		if info.OperationalState == onboarding.Enabled {
			_, err := next.Update(t.Context(), "north", info.ID, onboarding.Modification{OperationalState: onboarding.Disabled})
			must(t, err)
		}
		must(t, next.Delete(t.Context(), "north", info.ID))
	}
	next.onboard(t, "north", content) // another package can have the VNFD again
	next.stop()
	s.start(t, nil)
	awaitFiles(t, s.dir, 1)
	synctest.Wait()
}

// awaitEnd waits until no process has to work on a package, and returns the package.
func (p *process) awaitEnd(t *testing.T, id string) *onboarding.VnfPkgInfo {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		info, err := p.Get(t.Context(), "", id)
		must(t, err)
		switch {
		case info.OnboardingState != onboarding.Uploading && info.OnboardingState != onboarding.Processing:
			return info
		case time.Now().After(deadline):
			t.Fatalf("package %s remains %s", id, info.OnboardingState)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// failingStore fails to read contents while fails is positive.
type failingStore struct {
	store.Store
	fails atomic.Int32
}

func (s *failingStore) Get(ctx context.Context, kind, id string) (store.Record, error) {
	if strings.Contains(id, "vnf-package-content/") && s.fails.Add(-1) >= 0 {
		return store.Record{}, errors.New("the store does not answer")
	}
	return s.Store.Get(ctx, kind, id)
}

// TestStoreFails lets the Store fail more often than a check may begin. The package must be checked once the Store answers.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	content := csar(t, "fails", nil)
	synctest.Test(t, func(t *testing.T) {
		failing := &failingStore{Store: store.NewMemory()}
		s := site{dir: t.TempDir(), store: failing, ttl: time.Second}
		p := s.idle(t, nil)
		id := p.create(t, "north")
		must(t, p.Upload(t.Context(), "north", id, bytes.NewReader(content), -1))
		failing.fails.Store(10)
		if info := s.start(t, nil).awaitEnd(t, id); info.OnboardingState != onboarding.Onboarded {
			t.Errorf("%s %+v", info.OnboardingState, info.OnboardingFailureDetails)
		}
	})
}

// awaitFiles waits until the folder has want files of uploads and contents.
func awaitFiles(t *testing.T, dir string, want int) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		list := files(t, dir)
		if len(list) == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the folder has the files %q, want %d", list, want)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// files returns the files of uploads and contents.
func files(t *testing.T, dir string) (list []string) {
	t.Helper()
	for _, folder := range []string{"uploads", "sha256"} {
		err := fs.WalkDir(os.DirFS(dir), folder, func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				list = append(list, name)
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		})
		must(t, err)
	}
	return list
}
