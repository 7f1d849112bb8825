package tosca_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// packed writes a CSAR with a VNFD with this id and an image, and returns its path.
func packed(t *testing.T, name, id, image string) string {
	t.Helper()
	dir := t.TempDir()
	files := fstest.MapFS{"vnfd.yaml": file(strings.Replace(minimal, "descriptor_id: i", "descriptor_id: "+id, 1)), "Files/image": file(image)}
	if err := os.CopyFS(dir, files); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	rewrite(t, path, zipOf(t, dir))
	return path
}

func rewrite(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// opener is Cache.Open, or Cache.OpenPinned for a digest.
type opener func(context.Context, tosca.Source) (*tosca.Package, error)

// pinned returns the opener for the current digest of the package.
func pinned(t *testing.T, c *tosca.Cache, s tosca.Source) opener {
	t.Helper()
	p, err := s.Open(t.Context(), tosca.WithIntegrity(csar.Integrity{Policy: csar.Off}))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	want := digest(t, p)
	return func(ctx context.Context, s tosca.Source) (*tosca.Package, error) { return c.OpenPinned(ctx, s, want) }
}

func lent(t *testing.T, open opener, s tosca.Source) *tosca.Package {
	t.Helper()
	p, err := open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func digest(t *testing.T, p *tosca.Package) string {
	t.Helper()
	d, err := p.Digest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// openFiles returns the number of open files of this process below a path.
func openFiles(t *testing.T, path string) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("open files are counted in /proc")
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(target, path) {
			n++
		}
	}
	return n
}

// TestCacheOpensOnce opens a CSAR, a directory and an FS concurrently by many users.
func TestCacheOpensOnce(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]tosca.Source{
		"CSAR": tosca.File(packed(t, "a.csar", "a", "x")), "directory": tosca.File(sample), "FS": tosca.FS(os.DirFS(sample)),
	} {
		t.Run(name, func(t *testing.T) {
			c := tosca.NewCache(4)
			openPinned := pinned(t, c, s)
			var mu sync.Mutex
			archives, models := map[*csar.Archive]bool{}, map[*tosca.VNFD]bool{}
			var users sync.WaitGroup
			for i := range 20 {
				users.Go(func() {
					open := c.Open
					if i%2 == 0 {
						open = openPinned
					}
					p, err := open(t.Context(), s)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					archives[p.Archive], models[p.VNFD()] = true, true
					mu.Unlock()
					if err := p.Close(); err != nil {
						t.Error(err)
					}
				})
			}
			users.Wait()
			if len(models) != 1 {
				t.Errorf("parsed %d times", len(models))
			}
			if name != "FS" && len(archives) != 1 {
				t.Errorf("opened %d times", len(archives))
			}
		})
	}
}

// TestCacheIsBounded opens more packages than the size of the Cache, while one package is in use.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := tosca.NewCache(2)
	paths := []string{packed(t, "a.csar", "a", "x"), packed(t, "b.csar", "b", "x"), packed(t, "c.csar", "c", "x"), packed(t, "d.csar", "d", "x")}
	count := func() (open []int) {
		for _, path := range paths {
			open = append(open, openFiles(t, path))
		}
		return open
	}
	want := func(when string, want ...int) {
		t.Helper()
		for i, n := range count() {
			if n != want[i] {
				t.Errorf("%s: packages are opened %v times, want %v", when, count(), want)
				return
			}
		}
	}
	a := lent(t, c.Open, tosca.File(paths[0]))
	for _, path := range paths[1:] {
		if err := lent(t, c.Open, tosca.File(path)).Close(); err != nil {
			t.Fatal(err)
		}
	}
	want("one in use", 1, 0, 0, 1)
	b, d := lent(t, c.Open, tosca.File(paths[1])), lent(t, c.Open, tosca.File(paths[3]))
	want("three in use", 1, 1, 0, 1)
	if _, err := fs.ReadFile(a, "Files/image"); err != nil {
		t.Errorf("a package in use that the Cache has dropped: %v", err)
	}
	for range 2 { // a second Close does nothing
		if err := errors.Join(a.Close(), b.Close(), d.Close()); err != nil {
			t.Fatal(err)
		}
	}
	want("none in use", 0, 1, 0, 1)
}

// TestCacheSeesChanges replaces packages on disk, by renaming and in place.
func TestCacheSeesChanges(t *testing.T) {
	t.Parallel()
	path, next := packed(t, "a.csar", "a", "first"), packed(t, "b.csar", "a", "other")
	c := tosca.NewCache(4)
	old := lent(t, c.Open, tosca.File(path))
	if err := os.Rename(next, path); err != nil {
		t.Fatal(err)
	}
	var other *tosca.DigestError
	if _, err := c.OpenPinned(t.Context(), tosca.File(path), digest(t, old)); !errors.As(err, &other) || other.Want != digest(t, old) {
		t.Errorf("error %v, want a DigestError", err)
	}
	now := lent(t, c.Open, tosca.File(path))
	if digest(t, old) == digest(t, now) {
		t.Error("a replaced file has the digest of the earlier file")
	}
	for p, want := range map[*tosca.Package]string{old: "first", now: "other"} {
		if got, err := fs.ReadFile(p, "Files/image"); string(got) != want || err != nil {
			t.Errorf("image %q, %v; want %q", got, err, want)
		}
	}
	if err := errors.Join(old.Close(), now.Close()); err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(sample)); err != nil {
		t.Fatal(err)
	}
	const script = "Scripts/install_k8s_cluster.sh"
	p := lent(t, c.Open, tosca.File(dir))
	defer p.Close()
	rewrite(t, filepath.Join(dir, script), []byte("rm -rf /\n"))
	if _, err := fs.ReadFile(p, script); !errors.Is(err, problem.Problem{Code: problem.Changed}) {
		t.Errorf("error %v, want %s", err, problem.Changed)
	}
	changed := lent(t, pinned(t, c, tosca.File(dir)), tosca.File(dir))
	defer changed.Close()
	if digest(t, p) == digest(t, changed) {
		t.Error("a changed directory has the digest of its earlier content")
	}
	if changed.VNFD().ID != p.VNFD().ID {
		t.Error("another VNFD")
	}
}

// TestCacheJudges opens packages that only the policy of the Cache, or Strict, refuses.
func TestCacheJudges(t *testing.T) {
	t.Parallel()
	source := tosca.File(packed(t, "a.csar", "a", "x"))
	for name, c := range map[string]*tosca.Cache{
		"policy": tosca.NewCache(4, tosca.WithIntegrity(csar.Integrity{Policy: csar.Require})),
		"strict": tosca.NewCache(4, tosca.Strict()),
	} {
		for range 2 {
			if p, err := c.Open(t.Context(), source); err == nil {
				t.Errorf("%s: not refused", name)
				_ = p.Close()
			}
			p := lent(t, pinned(t, c, source), source)
			if id, err := c.VNFDID(t.Context(), source); id != "a" || err != nil {
				t.Errorf("%s: VNFD %q, %v", name, id, err)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	good := tosca.NewCache(4, tosca.Strict(), tosca.Allow(problem.Quirks...))
	lenient := lent(t, pinned(t, good, source), source)
	strict := lent(t, good.Open, source)
	if lenient.Archive != strict.Archive {
		t.Error("the package was opened twice")
	}
	if err := errors.Join(lenient.Close(), strict.Close()); err != nil {
		t.Error(err)
	}
}

// TestCacheFailures checks that the Cache does not store failures: neither an unreadable package nor a cancelled call.
func TestCacheFailures(t *testing.T) {
	t.Parallel()
	path := packed(t, "a.csar", "a", "x")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := tosca.NewCache(1)
	for _, content := range []string{"", "no zip", string(good[:len(good)/2])} {
		rewrite(t, path, []byte(content))
		for _, open := range []opener{c.Open, func(ctx context.Context, s tosca.Source) (*tosca.Package, error) {
			return c.OpenPinned(ctx, s, "sha256:")
		}} {
			if _, err := open(t.Context(), tosca.File(path)); err == nil {
				t.Errorf("%d bytes are a package", len(content))
			}
		}
	}
	rewrite(t, path, good)
	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrClosedPipe)
	if _, err := c.Open(cancelled, tosca.File(path)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error %v, want the cause of the context", err)
	}
	if err := lent(t, c.Open, tosca.File(path)).Close(); err != nil {
		t.Error(err)
	}
	for _, s := range []tosca.Source{{}, tosca.File(path + "x")} {
		if _, err := c.Open(t.Context(), s); err == nil {
			t.Errorf("%+v is a package", s)
		}
	}
	if _, err := c.Open(t.Context(), tosca.File(path+"x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want fs.ErrNotExist", err)
	}
}
