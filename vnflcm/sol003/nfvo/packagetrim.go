package nfvo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// trim removes packages that no VNF instance has: those that the NFVO has deleted, those whose download was interrupted long ago, and as many
// of the longest unused ones that the rest has at most PackageOptions.MaxUnused bytes. It does not remove keep.
func (c *PackageCache) trim(ctx context.Context, keep string) error {
	list, err := c.all(ctx)
	if err != nil {
		return err
	}
	var unused []*entry
	var bytes int64
	for _, p := range list {
		used, err := c.isUsed(ctx, p)
		if err != nil {
			return err
		}
		if !used && p.id != keep && !c.isFetched(p.id) && c.mayLeave(p) {
			unused, bytes = append(unused, p), bytes+p.size()
		}
	}
	slices.SortFunc(unused, func(a, b *entry) int { return c.usedAt(a).Compare(c.usedAt(b)) })
	var errs []error
	for _, p := range unused {
		if p.mustLeave() || p.Download != nil || bytes > c.MaxUnused {
			bytes -= p.size()
			errs = append(errs, c.evict(ctx, p.id))
		}
	}
	return errors.Join(errs...)
}

// mustLeave reports whether a package leaves the cache even if there is room for it.
func (p *entry) mustLeave() bool { return p.State == Deleted }

// mayLeave reports whether no download needs a package that no VNF instance has.
func (c *PackageCache) mayLeave(p *entry) bool {
	return p.mustLeave() || p.Download == nil || c.isStale(p.Download)
}

// staleAfter is how long an interrupted download can be continued.
const staleAfter = 24 * time.Hour

// isStale reports whether a download was interrupted long ago. A download of another process writes its file often.
func (c *PackageCache) isStale(d *download) bool {
	file, err := os.Stat(c.folder.Path(d.path()))
	return err == nil && time.Since(file.ModTime()) > staleAfter
}

// isUsed reports whether a VNF instance belongs to a package.
func (c *PackageCache) isUsed(ctx context.Context, p *entry) (bool, error) {
	m, err := c.attached()
	if err != nil {
		return false, err
	}
	return m.PackageInUse(ctx, vnflcm.PackageIdentity{ID: p.id, VnfdID: p.VnfdID})
}

// isFetched reports whether this process fetches a package.
func (c *PackageCache) isFetched(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fetches[id] != nil
}

// usedAt returns when a new instance has used a package, or its download ended. Only the order in which packages leave the cache depends on it.
func (c *PackageCache) usedAt(p *entry) (latest time.Time) {
	for _, have := range p.Contents {
		if file, err := os.Stat(c.folder.Path(have.File)); err == nil && file.ModTime().After(latest) {
			latest = file.ModTime()
		}
	}
	return latest
}

// evict removes a package that no VNF instance has. It announces the removal in the record: a new instance asserts the version of the record,
// so that an instance that is created at the same time makes either the removal or its own creation a conflict.
func (c *PackageCache) evict(ctx context.Context, id string) error {
	m, err := c.attached()
	if err != nil {
		return err
	}
	p, err := c.changeKnown(ctx, id, func(p *entry) error {
		p.Leaving = c.mayLeave(p) // a download may have begun since the caller looked
		return nil
	})
	if err != nil || !p.Leaving {
		return err
	}
	if used, err := c.isUsed(ctx, p); used || err != nil {
		_, stay := c.changeKnown(ctx, id, func(p *entry) error { p.Leaving = false; return nil })
		return errors.Join(err, stay)
	}
	switch err := m.Documents(packagesIn).Delete(ctx, id, p.document.Version); {
	case errors.Is(err, vnflcm.ErrConflict): // it is used again
		return nil
	case err != nil:
		return err
	}
	c.Logger.InfoContext(ctx, "a VNF package without instances has left the cache", "package", id, "vnfd", p.VnfdID, "bytes", p.size())
	for _, name := range p.files() {
		c.remove(ctx, name)
	}
	return nil
}

// remove removes a file that no package has.
func (c *PackageCache) remove(ctx context.Context, name string) {
	if err := os.Remove(c.folder.Path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.Logger.WarnContext(ctx, "a file that no VNF package has cannot be removed now", "error", err)
	}
}

// reportTrim logs why packages cannot leave the cache.
func (c *PackageCache) reportTrim(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, vnflcm.ErrShutdown) {
		c.Logger.WarnContext(ctx, "VNF packages cannot leave the cache now", "error", err)
	}
}

// sweep removes files that no package has: of processes that have ended. The order matters: an attempt is in its record before its file
// exists.
func (c *PackageCache) sweep(ctx context.Context) error {
	files, err := c.folder.List(downloadsFolder, contentFolder)
	if err != nil {
		return err
	}
	list, err := c.all(ctx)
	if err != nil {
		return err
	}
	needed := map[string]bool{}
	for _, p := range list {
		for _, name := range p.files() {
			needed[attemptOf(name)] = true
		}
	}
	for _, name := range files {
		if attempt := attemptOf(name); attempt != "" && !needed[attempt] {
			c.remove(ctx, name)
		}
	}
	return nil
}

// attemptOf returns the attempt that has made a file; "" for a foreign file.
func attemptOf(name string) string {
	name = filepath.Base(name)
	if at := strings.IndexByte(name, '-'); at == 64 { // behind a SHA-256
		name = name[at+1:]
	}
	if uuid.Validate(name) != nil {
		return ""
	}
	return name
}

// CachedPackage is a package of the NFVO in the cache.
type CachedPackage struct {
	ID     string // that the NFVO gives the package
	VnfdID string
	State  State
	Size   int64 // of the content in bytes, 0 before it was downloaded
	InUse  bool  // by VNF instances, until they are deleted
}

// List returns the packages in the cache, in the order of their ids.
func (c *PackageCache) List(ctx context.Context) (out []CachedPackage, err error) {
	list, err := c.all(ctx)
	for _, p := range list {
		used, fault := c.isUsed(ctx, p)
		out, err = append(out, CachedPackage{ID: p.id, VnfdID: p.VnfdID, State: p.State, Size: p.size(), InUse: used}), errors.Join(err, fault)
	}
	return out, err
}
