package nfvo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/internal/packagefolder"
)

// PackageOptions configure a PackageCache.
type PackageOptions struct {
	// Check says which packages are accepted, above all tosca.WithIntegrity, as for vnflcm.DirPackages.
	Check []tosca.Option
	// MaxSize is the size in bytes of the largest package. Default 64 GiB.
	MaxSize int64
	// MaxUnused is how many bytes the packages without VNF instances may have together. Packages with instances are not counted.
	// Default 20 GiB.
	MaxUnused int64
	// MinFree is how many bytes of the disk a download leaves free. Default 1 GiB. Only Linux reports free bytes.
	MinFree int64
	// Wait is how long a method waits for a download, which then continues without it. Default 1 min.
	Wait time.Duration
	// DownloadTimeout bounds a download. Default 6 h. StallTimeout ends a connection on which no byte arrives for that time. Default 1 min.
	DownloadTimeout, StallTimeout time.Duration
	// Callback is the URI of the PackageCache's handler as the NFVO reaches it. Default: Run makes no subscription.
	Callback string
	// Further has packages that come before those of the NFVO, such as a folder (vnflcm.DirPackages). Instances that were created from
	// them stay with them.
	Further vnflcm.Packages
	// Logger receives what Run cannot do, and which packages leave the cache. It never gets a URI with a query, or a secret.
	Logger *slog.Logger
}

// Errors of this package. All other errors are codes of package vnflcm.
var (
	// ErrTooLarge: the content is larger than PackageOptions.MaxSize. It comes with vnflcm.ErrInvalidRequest.
	ErrTooLarge = packagefolder.ErrTooLarge
	// ErrNoSpace: the disk has no room for the content.
	ErrNoSpace = packagefolder.ErrNoSpace
	// ErrChecksum: the content is not the one whose checksum the NFVO announces.
	ErrChecksum = errors.New("the content has another checksum than the NFVO announces")
)

// PackageCache has the packages of an NFVO. It is the Packages of one Manager, whose Store has its records: its methods work once vnflcm.New has
// returned. It is safe for concurrent use.
type PackageCache struct {
	PackageOptions
	client  *Client
	folder  packagefolder.Folder
	opened  *tosca.Cache
	manager atomic.Pointer[vnflcm.Manager] // nil before Attach

	pause time.Duration // before the second attempt of a download

	mu      sync.Mutex
	fetches map[string]*fetch // that run in this process, by package
}

var _ vnflcm.RecordedPackages = (*PackageCache)(nil)

// Folders below that of the PackageCache.
const (
	downloadsFolder = "downloads" // files that are being received
	contentFolder   = "sha256"    // ab/abcdef…-ATTEMPT
)

// openPackages is how many packages stay open, besides those in use.
const openPackages = 32

// NewPackageCache returns a PackageCache with its files in dir, which is made if it is missing. Give it to vnflcm.New, and call Run. Processes
// on the same Store share the folder.
func NewPackageCache(client *Client, dir string, o PackageOptions) (*PackageCache, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.MaxSize, o.MaxUnused, o.MinFree = cmp.Or(max(o.MaxSize, 0), 64<<30), cmp.Or(max(o.MaxUnused, 0), 20<<30), cmp.Or(max(o.MinFree, 0), 1<<30)
	o.Wait, o.StallTimeout = cmp.Or(max(o.Wait, 0), time.Minute), cmp.Or(max(o.StallTimeout, 0), time.Minute)
	o.DownloadTimeout = cmp.Or(max(o.DownloadTimeout, 0), 6*time.Hour)
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	for _, folder := range []string{downloadsFolder, contentFolder} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			return nil, fmt.Errorf("nfvo: %w", err)
		}
	}
	return &PackageCache{PackageOptions: o, client: client, folder: packagefolder.Folder{Dir: dir, MaxSize: o.MaxSize, MinFree: o.MinFree},
		opened: tosca.NewCache(openPackages, o.Check...), pause: firstPause, fetches: map[string]*fetch{}}, nil
}

// Attach implements vnflcm.RecordedPackages. A folder belongs to one Store: Attach refuses the folder of another one.
func (c *PackageCache) Attach(ctx context.Context, m *vnflcm.Manager) error {
	if err := c.folder.Claim(ctx, m.Documents(foldersIn), contentFolder); err != nil {
		return fmt.Errorf("nfvo: %w", err)
	}
	c.manager.Store(m)
	if further, is := c.Further.(vnflcm.RecordedPackages); is {
		return further.Attach(ctx, m)
	}
	return nil
}

var errNotAttached = errors.New("nfvo: the PackageCache is not the Packages of a Manager")

func (c *PackageCache) attached() (*vnflcm.Manager, error) {
	if m := c.manager.Load(); m != nil {
		return m, nil
	}
	return nil, errNotAttached
}

// Current implements vnflcm.RecordedPackages: it asks the NFVO. ErrNotFound: the NFVO has no ONBOARDED and ENABLED package with the VNFD.
// ErrNoNFVO: the NFVO does not answer.
func (c *PackageCache) Current(ctx context.Context, tenant, vnfdID string) (id string, document vnflcm.Document, err error) {
	if c.Further != nil {
		id, document, err = furtherCurrent(ctx, c.Further, tenant, vnfdID)
		if !errors.Is(err, vnflcm.ErrNotFound) {
			return id, document, err
		}
	}
	found, err := c.find(ctx, vnfdID)
	if err == nil {
		err = found.usable()
	}
	if err != nil {
		return "", vnflcm.Document{}, err
	}
	p, err := c.change(ctx, found.ID, func(p *entry) error { return p.refresh(found) })
	if err != nil {
		return "", vnflcm.Document{}, err
	}
	return p.id, p.document, nil
}

// furtherCurrent returns the package of PackageOptions.Further with a VNFD. A package without a document has no id: Open opens it.
func furtherCurrent(ctx context.Context, further vnflcm.Packages, tenant, vnfdID string) (string, vnflcm.Document, error) {
	if recorded, is := further.(vnflcm.RecordedPackages); is {
		if id, document, err := recorded.Current(ctx, tenant, vnfdID); err != nil || id != "" {
			return id, document, err
		}
	}
	pkg, err := further.Open(ctx, tenant, vnfdID, "")
	if err == nil {
		pkg.Close()
	}
	return "", vnflcm.Document{}, err
}

// Open implements vnflcm.Packages, for instances without the id of a package: those of PackageOptions.Further.
func (c *PackageCache) Open(ctx context.Context, tenant, vnfdID, digest string) (*tosca.Package, error) {
	if c.Further == nil {
		return nil, fmt.Errorf("%w among the packages of the NFVO", vnflcm.ErrNotFound)
	}
	return c.Further.Open(ctx, tenant, vnfdID, digest)
}

// OpenID implements vnflcm.RecordedPackages. Without a digest, which is for a new instance and for instantiating, it asks the NFVO: the
// package must be ONBOARDED and ENABLED, and is downloaded if the cache does not have its content. With a digest it opens the content of
// the cache, and asks the NFVO only if the file is lost. ErrBusy: the download takes longer than PackageOptions.Wait; the same call succeeds
// later.
func (c *PackageCache) OpenID(ctx context.Context, id, digest string) (*tosca.Package, error) {
	if further, is := c.Further.(vnflcm.RecordedPackages); is { // first, because the NFVO chooses the ids of its packages
		if pkg, err := further.OpenID(ctx, id, digest); !errors.Is(err, vnflcm.ErrNotFound) {
			return pkg, err
		}
	}
	p, err := c.read(ctx, id)
	switch {
	case err == nil && digest != "":
		return c.openPinned(ctx, p, digest)
	case err == nil || digest == "" && errors.Is(err, vnflcm.ErrNotFound): // it may have left the cache since Current
		return c.openCurrent(ctx, id)
	}
	return nil, err
}

// openCurrent opens the content that the NFVO has now.
func (c *PackageCache) openCurrent(ctx context.Context, id string) (*tosca.Package, error) {
	now, err := c.info(ctx, id)
	if err == nil {
		err = now.usable()
	}
	if err != nil {
		return nil, err
	}
	for tries := 0; ; tries++ {
		have, err := c.ensure(ctx, now)
		if errors.Is(err, errLeft) && tries < maxConflicts {
			continue
		}
		if err != nil {
			return nil, err
		}
		pkg, err := c.opened.Open(ctx, tosca.File(c.folder.Path(have.File)))
		if errors.Is(err, os.ErrNotExist) && tries < maxConflicts { // it has left the cache since
			continue
		}
		if err != nil {
			return nil, errors.Join(packagefolder.HidePath(err), c.forgetUnverified(ctx, id, have))
		}
		if err := c.recordDigest(ctx, id, have, pkg); err != nil {
			pkg.Close()
			return nil, err
		}
		return pkg, nil
	}
}

// recordDigest writes the digest of an accepted package, by which instances name their content.
func (c *PackageCache) recordDigest(ctx context.Context, id string, of content, pkg *tosca.Package) error {
	now := time.Now()
	_ = os.Chtimes(c.folder.Path(of.File), now, now) // the order in which packages leave the cache
	digest, err := pkg.Digest(ctx)
	if err != nil || of.Digest == digest {
		return err
	}
	_, err = c.changeKnown(ctx, id, func(p *entry) error {
		for i := range p.Contents {
			if p.Contents[i].File == of.File {
				p.Contents[i].Digest = digest
			}
		}
		return nil
	})
	return err
}

// openPinned opens the content that an instance was made from.
func (c *PackageCache) openPinned(ctx context.Context, p *entry, digest string) (*tosca.Package, error) {
	for _, have := range p.Contents {
		if have.Digest != digest {
			continue
		}
		pkg, err := c.opened.OpenPinned(ctx, tosca.File(c.folder.Path(have.File)), digest)
		if errors.Is(err, os.ErrNotExist) {
			return c.openRestored(ctx, p, have)
		}
		return pkg, packagefolder.HidePath(err)
	}
	return nil, fmt.Errorf("the content of package %s that the VNF instance was made from is not in the cache: %w", p.id, vnflcm.ErrNotFound)
}

// openRestored downloads content whose file is lost.
func (c *PackageCache) openRestored(ctx context.Context, p *entry, lost content) (*tosca.Package, error) {
	c.Logger.WarnContext(ctx, "the file of a VNF package is lost and is downloaded again", "package", p.id)
	now, err := c.info(ctx, p.id)
	if err == nil {
		_, err = c.ensure(ctx, now)
	}
	if err == nil {
		p, err = c.read(ctx, p.id)
	}
	if err != nil {
		return nil, fmt.Errorf("the file of package %s is lost: %w", p.id, err)
	}
	for _, have := range p.Contents {
		if have.SHA256 == lost.SHA256 {
			return c.opened.OpenPinned(ctx, tosca.File(c.folder.Path(have.File)), lost.Digest)
		}
	}
	return nil, fmt.Errorf("%w: the file of package %s is lost, and the NFVO has another content now", vnflcm.ErrPackageChanged, p.id)
}
