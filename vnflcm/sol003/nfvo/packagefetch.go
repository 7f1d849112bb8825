package nfvo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/internal/packagefolder"
)

// fetch is a download that runs in this process. It continues when the callers that wait for it have ended.
type fetch struct {
	done      chan struct{}
	err       error // of the fetch, once done is closed
	at, total atomic.Int64
}

func (f *fetch) report(at, total int64) { f.at.Store(at); f.total.Store(total) }

// progress describes the download for people.
func (f *fetch) progress() string {
	if total := f.total.Load(); total > 0 {
		return fmt.Sprintf("%d of %d bytes have arrived", f.at.Load(), total)
	}
	return fmt.Sprintf("%d bytes have arrived", f.at.Load())
}

// ensure returns the content that the NFVO has now. It waits for a download up to PackageOptions.Wait.
func (c *PackageCache) ensure(ctx context.Context, now packageInfo) (content, error) {
	if have, is, err := c.have(ctx, now); is || err != nil {
		return have, err
	}
	f := c.begin(ctx, now)
	patience := time.NewTimer(c.Wait)
	defer patience.Stop()
	select {
	case <-f.done:
	case <-ctx.Done():
		return content{}, context.Cause(ctx)
	case <-patience.C:
		return content{}, fmt.Errorf("%w: package %s is being downloaded from the NFVO, %s: repeat the request later", vnflcm.ErrBusy, now.ID, f.progress())
	}
	if f.err != nil {
		return content{}, fmt.Errorf("downloading package %s: %w", now.ID, f.err)
	}
	p, err := c.read(ctx, now.ID)
	if errors.Is(err, vnflcm.ErrNotFound) {
		p, err = &entry{id: now.ID}, nil
	}
	if err != nil {
		return content{}, err
	}
	have, is := p.current()
	if !is {
		return have, fmt.Errorf("package %s: %w", now.ID, errLeft)
	}
	return have, nil
}

// errLeft: the content can be downloaded again.
var errLeft = fmt.Errorf("%w: the content has left the cache since its download", vnflcm.ErrBusy)

// have returns the content that the NFVO has now, and whether the cache is known to have it.
func (c *PackageCache) have(ctx context.Context, now packageInfo) (content, bool, error) {
	p, err := c.read(ctx, now.ID)
	if errors.Is(err, vnflcm.ErrNotFound) {
		return content{}, false, nil
	}
	if err != nil {
		return content{}, false, err
	}
	have, is := p.current()
	return have, is && c.fits(have, now), nil
}

// fits reports whether content is the one that the NFVO announces. Without a checksum only the entity tag can show another content, and
// content without both does not change: SOL003 has no request that replaces the content of an onboarded package.
func (c *PackageCache) fits(have content, now packageInfo) bool {
	if !c.isPresent(have) {
		return false
	}
	if now.Checksum.isSet() {
		return have.Checksum.name() == now.Checksum.name()
	}
	return have.ETag == ""
}

// isPresent reports whether the file of content exists with its size. Opening the package compares its digest.
func (c *PackageCache) isPresent(have content) bool {
	file, err := os.Stat(c.folder.Path(have.File))
	return err == nil && file.Mode().IsRegular() && file.Size() == have.Size
}

// begin begins to fetch a package, or joins the fetch that runs.
func (c *PackageCache) begin(ctx context.Context, now packageInfo) *fetch {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.fetches[now.ID]; f != nil {
		return f
	}
	f := &fetch{done: make(chan struct{})}
	c.fetches[now.ID] = f
	ctx = context.WithoutCancel(ctx)
	go func() {
		defer close(f.done)
		f.err = c.fetch(ctx, now, f)
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.fetches, now.ID)
	}()
	return f
}

// fetch obtains the content of a package in one of all processes. Packages with the same checksum are obtained one after the other, so that
// their content is downloaded once. Closing the Manager ends it.
func (c *PackageCache) fetch(ctx context.Context, now packageInfo, f *fetch) error {
	m, err := c.attached()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.DownloadTimeout, fmt.Errorf("the content has not arrived within %v", c.DownloadTimeout))
	defer cancel()
	name := sha256.Sum256([]byte(now.ID))
	if now.Checksum.isSet() {
		name = sha256.Sum256([]byte(now.Checksum.name()))
	}
	err = m.Exclusively(ctx, "nfvo-package/"+hex.EncodeToString(name[:]), func(ctx context.Context) error { return c.obtain(ctx, now, f) })
	if err == nil {
		c.reportTrim(ctx, c.trim(ctx, now.ID))
	}
	return err
}

// obtain adds the content of a package to the cache, unless another process has done so.
func (c *PackageCache) obtain(ctx context.Context, now packageInfo, f *fetch) error {
	if _, has, err := c.have(ctx, now); has || err != nil {
		return err
	}
	attempt := uuid.NewString()
	var interrupted *download
	var known content
	_, err := c.change(ctx, now.ID, func(p *entry) error {
		interrupted, known = p.Download, content{}
		if have, is := p.current(); is && !now.Checksum.isSet() && c.isPresent(have) {
			known = have
		}
		p.Download = &download{File: attempt, Checksum: now.Checksum}
		return p.refresh(now)
	})
	if err != nil {
		return err
	}
	if linked, err := c.link(ctx, now, attempt); linked || err != nil {
		return err
	}
	err = c.download(ctx, now, f, attempt, interrupted, known)
	if errors.Is(err, errSuperseded) {
		if _, has, unread := c.have(ctx, now); has || unread != nil {
			return unread
		}
	}
	return err
}

// link gives a package the content of another package with the same checksum, and reports whether there is one.
func (c *PackageCache) link(ctx context.Context, now packageInfo, attempt string) (bool, error) {
	if !now.Checksum.isSet() {
		return false, nil
	}
	list, err := c.all(ctx)
	if err != nil {
		return false, err
	}
	for _, p := range list {
		for _, have := range p.Contents {
			if have.Checksum.name() != now.Checksum.name() || !c.isPresent(have) {
				continue
			}
			linked := have
			linked.File, linked.ETag = contentName(have.SHA256, attempt), ""
			if os.MkdirAll(filepath.Dir(c.folder.Path(linked.File)), 0o700) != nil || os.Link(c.folder.Path(have.File), c.folder.Path(linked.File)) != nil {
				continue // the download needs no link
			}
			return true, c.record(ctx, now, attempt, linked)
		}
	}
	return false, nil
}

// record makes content in a file the current content of a package. It removes the file if another process has taken this attempt for
// interrupted.
func (c *PackageCache) record(ctx context.Context, now packageInfo, attempt string, new content) error {
	_, err := c.change(ctx, now.ID, func(p *entry) error {
		if !p.isDownloadedBy(attempt) {
			return errSuperseded
		}
		p.add(new)
		return p.refresh(now)
	})
	if errors.Is(err, errSuperseded) {
		c.remove(ctx, new.File)
	}
	return err
}

// contentName returns where the content of an attempt is below the folder.
func contentName(sum, attempt string) string {
	return filepath.Join(contentFolder, sum[:2], sum+"-"+attempt)
}

// path returns where the file is below the folder.
func (d *download) path() string { return filepath.Join(downloadsFolder, d.File) }

// download receives the content of a package. known is a content that the NFVO may still have.
func (c *PackageCache) download(ctx context.Context, now packageInfo, f *fetch, attempt string, interrupted *download, known content) error {
	t := &transfer{PackageCache: c, source: c.resource(nil, "vnf_packages", now.ID, "package_content"), want: now.Checksum, known: known.ETag, report: f.report}
	t.started = func(ctx context.Context, etag string) error { return c.mark(ctx, now.ID, attempt, etag) }
	own := download{File: attempt}
	if err := t.create(c.folder.Path(own.path())); err != nil {
		return errors.Join(err, c.forget(ctx, now.ID, attempt))
	}
	defer func() { _ = t.file.Close() }() // the content was written and closed before it is placed
	if err := c.continueFrom(ctx, t, interrupted, now, attempt); err != nil {
		return err
	}
	switch err := t.run(ctx); {
	case errors.Is(err, errNotModified):
		return c.forget(ctx, now.ID, attempt)
	case err != nil && t.etag != "" && (ctx.Err() != nil || errors.Is(err, vnflcm.ErrNoNFVO)): // a later fetch continues it
		return err
	case err != nil:
		return errors.Join(err, c.forget(ctx, now.ID, attempt))
	}
	sum := hex.EncodeToString(t.sum.Sum(nil))
	new := content{File: contentName(sum, attempt), SHA256: sum, Size: t.at, Checksum: now.Checksum, ETag: t.etag}
	if err := errors.Join(t.file.Sync(), t.file.Close()); err != nil {
		return packagefolder.NoSpace(err)
	}
	if err := c.folder.Place(own.path(), new.File); err != nil {
		return err
	}
	return c.record(ctx, now, attempt, new)
}

// create creates the file that a transfer writes.
func (t *transfer) create(path string) (err error) {
	if t.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil { //nolint:gosec // a file of the PackageCache
		return packagefolder.NoSpace(err)
	}
	if err := t.reset(); err != nil {
		return errors.Join(err, t.file.Close())
	}
	return nil
}

// continueFrom copies what an interrupted download has received, if the NFVO can continue it, and removes its file.
func (c *PackageCache) continueFrom(ctx context.Context, t *transfer, interrupted *download, now packageInfo, attempt string) error {
	if interrupted == nil {
		return nil
	}
	path := c.folder.Path(interrupted.path())
	defer func() { _ = os.Remove(path) }() // sweep removes a file that stays
	received, err := os.Open(path)         //nolint:gosec // a file of the PackageCache
	if err != nil || interrupted.ETag == "" || interrupted.Checksum.name() != now.Checksum.name() {
		return nil //nolint:nilerr // the download begins at the beginning
	}
	defer received.Close()
	if err := t.resume(ctx, received, interrupted.ETag); err != nil {
		return err
	}
	return c.mark(ctx, now.ID, attempt, interrupted.ETag)
}

// errSuperseded: another process has taken the download for interrupted.
var errSuperseded = fmt.Errorf("%w: another process downloads the package", vnflcm.ErrLeased)

// isDownloadedBy reports whether an attempt is the one that downloads the package.
func (p *entry) isDownloadedBy(attempt string) bool {
	return p.Download != nil && p.Download.File == attempt
}

// mark records the entity tag by which a later fetch can continue a download.
func (c *PackageCache) mark(ctx context.Context, id, attempt, etag string) error {
	_, err := c.change(ctx, id, func(p *entry) error {
		if !p.isDownloadedBy(attempt) {
			return errSuperseded
		}
		p.Download.ETag = etag
		return nil
	})
	return err
}

// forget removes a download that no later fetch can continue.
func (c *PackageCache) forget(ctx context.Context, id, attempt string) error {
	_ = os.Remove(c.folder.Path((&download{File: attempt}).path())) // sweep removes a file that stays
	_, err := c.changeKnown(ctx, id, func(p *entry) error {
		if p.isDownloadedBy(attempt) {
			p.Download = nil
		}
		return nil
	})
	return err
}

// forgetUnverified removes content that cannot be opened, if the NFVO has announced no checksum: it may be the page of a proxy, and the NFVO
// is asked for the content again.
func (c *PackageCache) forgetUnverified(ctx context.Context, id string, of content) error {
	if of.Checksum.isSet() || of.Digest != "" || ctx.Err() != nil {
		return nil
	}
	_, err := c.changeKnown(ctx, id, func(p *entry) error {
		p.Contents = slices.DeleteFunc(p.Contents, func(have content) bool { return have.File == of.File })
		return nil
	})
	if err == nil {
		c.remove(ctx, of.File)
	}
	return err
}

// Artifact downloads a file of a package, compares its checksum with the one that the NFVO announces for a software image or an additional
// artifact with this path, and returns the file. The package need not be in the cache, and the file does not stay there: the caller closes
// it. ErrNotFound: the NFVO announces no such file.
func (c *PackageCache) Artifact(ctx context.Context, id, path string) (*os.File, error) {
	now, err := c.info(ctx, id)
	if err != nil {
		return nil, err
	}
	want, err := now.artifact(path)
	if err != nil {
		return nil, err
	}
	t := &transfer{PackageCache: c, source: c.resource(nil, append([]string{"vnf_packages", id, "artifacts"}, strings.Split(path, "/")...)...), want: want, report: func(int64, int64) {},
		started: func(context.Context, string) error { return nil }}
	name := c.folder.Path(filepath.Join(downloadsFolder, uuid.NewString()))
	err = t.create(name)
	_ = os.Remove(name) // the open file stays readable; sweep removes it if the system cannot do that
	if err != nil {
		return nil, err
	}
	if err = t.run(ctx); err == nil {
		_, err = t.file.Seek(0, 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("artifact %q of package %s: %w", path, id, err), t.file.Close())
	}
	return t.file, nil
}

// artifact returns the checksum of a file of the package.
func (i packageInfo) artifact(path string) (checksum, error) {
	for _, a := range i.AdditionalArtifacts {
		if a.ArtifactPath == path && a.Checksum.isSet() {
			return a.Checksum, nil
		}
	}
	for _, image := range i.SoftwareImages {
		if image.ImagePath == path && image.Checksum.isSet() {
			return image.Checksum, nil
		}
	}
	return checksum{}, fmt.Errorf("%w: the NFVO announces no artifact %q with a checksum", vnflcm.ErrNotFound, path)
}
