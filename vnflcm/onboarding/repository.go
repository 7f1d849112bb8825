package onboarding

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/internal/packagefolder"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

// Options configure a Repository.
type Options struct {
	// Check says which packages are accepted, above all tosca.WithIntegrity, as for vnflcm.DirPackages.
	Check []tosca.Option
	// MaxSize is the size in bytes up to which content is accepted. Default 64 GiB.
	MaxSize int64
	// MinFree is how many bytes of the disk an upload leaves free. Default 1 GiB. Only Linux reports free bytes.
	MinFree int64
	// MaxPackages is how many packages a tenant can have, in any state, and how many there can be without tenant. Default 1000.
	MaxPackages int
	// Parallel is how many packages Run checks at once, and how many it fetches at once for a tenant. Default 4.
	Parallel int
	// Allow judges the addresses that content is fetched from, redirects too. Default: outbound.RefuseLocal.
	Allow outbound.Policy
	// AllowHTTP allows URIs with http: the content can then be changed on its way.
	AllowHTTP bool
	// TLS configures connections to URIs with https, for example with additional authorities.
	TLS *tls.Config
	// FetchTimeout bounds a fetch. Default 6 h. StallTimeout ends a fetch in which no byte arrives for that time. Default 1 min.
	FetchTimeout, StallTimeout time.Duration
	// Further has packages that are looked for when the Repository has none with the VNFD, such as a folder (vnflcm.DirPackages).
	Further vnflcm.Packages
	// Logger receives what Run cannot do, and why content cannot be read. It never gets a URI.
	Logger *slog.Logger
}

// Errors of this package. All other errors are codes of package vnflcm.
var (
	// ErrShared: a tenant may use a shared package and not change it.
	ErrShared = errors.New("the package is shared: only requests without a tenant change it")
	// ErrTooLarge: the content is larger than Options.MaxSize. It comes with vnflcm.ErrInvalidRequest.
	ErrTooLarge = packagefolder.ErrTooLarge
	// ErrNoSpace: the disk has no room for the content. A later upload may succeed.
	ErrNoSpace = packagefolder.ErrNoSpace
)

// Repository keeps onboarded packages. It is the Packages of one Manager, whose Store has its records: its methods work once vnflcm.New has
// returned. It is safe for concurrent use.
type Repository struct {
	Options
	folder  packagefolder.Folder
	cache   *tosca.Cache
	manager atomic.Pointer[vnflcm.Manager] // nil before Attach

	mu      sync.Mutex
	due     map[string]bool // packages that Run is to work on
	working map[string]bool // packages that Run works on
	changed chan struct{}   // has an item when due has
}

var _ vnflcm.RecordedPackages = (*Repository)(nil)

// openPackages is how many packages stay open, besides those in use.
const openPackages = 32

// New returns a Repository with its files in dir, which is made if it is missing. Give it to vnflcm.New, and call Run.
func New(dir string, o Options) (*Repository, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.MaxSize, o.MinFree, o.Parallel = cmp.Or(max(o.MaxSize, 0), 64<<30), cmp.Or(max(o.MinFree, 0), 1<<30), cmp.Or(max(o.Parallel, 0), 4)
	o.MaxPackages = cmp.Or(max(o.MaxPackages, 0), 1000)
	o.FetchTimeout, o.StallTimeout = cmp.Or(max(o.FetchTimeout, 0), 6*time.Hour), cmp.Or(max(o.StallTimeout, 0), time.Minute)
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	for _, folder := range []string{uploadsFolder, contentFolder} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			return nil, fmt.Errorf("onboarding: %w", err)
		}
	}
	return &Repository{Options: o, folder: packagefolder.Folder{Dir: dir, MaxSize: o.MaxSize, MinFree: o.MinFree}, cache: tosca.NewCache(openPackages, o.Check...), due: map[string]bool{}, working: map[string]bool{},
		changed: make(chan struct{}, 1)}, nil
}

// Attach implements vnflcm.RecordedPackages. A folder belongs to one Store: Attach refuses the folder of another one, and one without the
// mark of this Store, which may be a mount point without its file system.
func (r *Repository) Attach(ctx context.Context, m *vnflcm.Manager) error {
	if err := r.folder.Claim(ctx, m.Documents(foldersIn), contentFolder); err != nil {
		return fmt.Errorf("onboarding: %w", err)
	}
	r.manager.Store(m)
	return nil
}

var errNotAttached = errors.New("onboarding: the Repository is not the Packages of a Manager")

func (r *Repository) attached() (*vnflcm.Manager, error) {
	if m := r.manager.Load(); m != nil {
		return m, nil
	}
	return nil, errNotAttached
}

// Create makes a package without content: CREATED, DISABLED and NOT_IN_USE. A package without tenant is shared. data are stored as they
// are. ErrState: the tenant has Options.MaxPackages packages.
func (r *Repository) Create(ctx context.Context, tenant string, data vnflcm.KeyValuePairs) (*VnfPkgInfo, error) {
	if err := checkData(data); err != nil {
		return nil, err
	}
	p := &entry{id: uuid.NewString(), packageRecord: packageRecord{Tenant: tenant, Info: VnfPkgInfo{OnboardingState: Created,
		OperationalState: Disabled, UserDefinedData: data}}}
	for tries := 0; ; tries++ {
		counted, err := r.count(ctx, p)
		if err == nil {
			err = r.write(ctx, p, counted)
		}
		if err == nil {
			return p.show(NotInUse), nil
		}
		if !errors.Is(err, vnflcm.ErrConflict) || tries == maxConflicts { // another package of the tenant was counted meanwhile
			return nil, err
		}
	}
}

// Get returns a package that the tenant may use; "" may use all. ErrNotFound: no package that the tenant may use has this id.
func (r *Repository) Get(ctx context.Context, tenant, id string) (*VnfPkgInfo, error) {
	p, err := r.visible(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	return r.info(ctx, p)
}

// info returns the description of a package with its usage.
func (r *Repository) info(ctx context.Context, p *entry) (*VnfPkgInfo, error) {
	used, err := r.used(ctx, p)
	if err != nil {
		return nil, err
	}
	if used {
		return p.show(InUse), nil
	}
	return p.show(NotInUse), nil
}

// used reports whether instances belong to a package.
func (r *Repository) used(ctx context.Context, p *entry) (bool, error) {
	m, err := r.attached()
	if err != nil || p.Info.OnboardingState != Onboarded {
		return false, err
	}
	return m.PackageInUse(ctx, vnflcm.PackageIdentity{ID: p.id, Tenant: p.Tenant, VnfdID: p.Info.VnfdID, Digest: p.Digest})
}

// List returns at most limit of the packages that the tenant may use, in the order of their ids, beginning after the id after; 0: all. Next
// of the page is the after of the next one. Of packages that cannot be read it returns the rest, and an ErrUnreadable.
func (r *Repository) List(ctx context.Context, tenant, after string, limit int) (vnflcm.Page[*VnfPkgInfo], error) {
	var page vnflcm.Page[*VnfPkgInfo]
	var faults []error
	err := r.eachVisible(ctx, tenant, after, func(p *entry, err error) error {
		switch {
		case err != nil:
			faults = append(faults, err)
		case limit > 0 && len(page.Items) == limit:
			page.Next = page.Items[limit-1].ID
			return errEnough
		default:
			info, err := r.info(ctx, p)
			if err != nil {
				return err
			}
			page.Items = append(page.Items, info)
		}
		return nil
	})
	return page, errors.Join(append(faults, err)...)
}

// Update changes the operational state or the data of a package and returns the package. ErrConflict: it has the operational state already.
// ErrState: it is not ONBOARDED, or is to be ENABLED and is not accepted now, for example because a certificate of a signer has expired.
func (r *Repository) Update(ctx context.Context, tenant, id string, change Modification) (*VnfPkgInfo, error) {
	if s := change.OperationalState; s != "" && s != Enabled && s != Disabled {
		return nil, &vnflcm.ParamError{Path: "operationalState", Value: string(s), Reason: "must be ENABLED or DISABLED"}
	}
	p, err := r.change(ctx, id, func(p *entry) ([]vnflcm.DocumentWrite, error) {
		if err := p.writableBy(tenant); err != nil {
			return nil, err
		}
		return nil, errors.Join(r.setState(ctx, p, change.OperationalState), p.merge(change.UserDefinedData))
	})
	if err != nil {
		return nil, err
	}
	return r.info(ctx, p)
}

// setState changes the operational state of a package; "" leaves it.
func (r *Repository) setState(ctx context.Context, p *entry, state OperationalState) error {
	switch {
	case state == "":
		return nil
	case p.Info.OnboardingState != Onboarded:
		return fmt.Errorf("%w: package %s is %s, only an ONBOARDED one has an operational state", vnflcm.ErrState, p.id, p.Info.OnboardingState)
	case p.Info.OperationalState == state:
		return fmt.Errorf("%w: package %s is %s", vnflcm.ErrConflict, p.id, state)
	case state == Enabled:
		pkg, err := r.open(ctx, p, "")
		if err != nil {
			return fmt.Errorf("%w: package %s is not accepted: %w", vnflcm.ErrState, p.id, err)
		}
		pkg.Close()
	}
	p.Info.OperationalState, p.change = state, vnflcm.PackageStateChanged
	return nil
}

// Delete removes a package. ErrState: it is ENABLED, or has instances. Content that no other package has is removed too; a client that
// reads it on this machine reads it to its end.
func (r *Repository) Delete(ctx context.Context, tenant, id string) error {
	var unused string
	_, err := r.change(ctx, id, func(p *entry) ([]vnflcm.DocumentWrite, error) {
		if err := p.writableBy(tenant); err != nil {
			return nil, err
		}
		if p.Info.OperationalState != Disabled {
			return nil, fmt.Errorf("%w: package %s is ENABLED, disable it first", vnflcm.ErrState, id)
		}
		// From here on instances cannot be created without another version of the record, which this deletion asserts.
		used, err := r.used(ctx, p)
		if err == nil && used {
			err = fmt.Errorf("%w: package %s has VNF instances", vnflcm.ErrState, id)
		}
		if err != nil {
			return nil, err
		}
		if p.removed = true; p.Info.OnboardingState == Onboarded {
			p.change = vnflcm.PackageDeleted
		}
		writes, err := r.forget(ctx, p, &unused)
		if err != nil {
			return nil, err
		}
		counted, err := r.uncounted(ctx, p)
		return append(writes, counted...), err
	})
	if err == nil {
		r.removeFile(ctx, unused)
	}
	return err
}
