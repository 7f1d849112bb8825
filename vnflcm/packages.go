package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// Packages opens VNF packages by the id of their VNFD. DirPackages and PackagesFunc return one that parses each
// package once; Managers of one process can share it.
type Packages interface {
	// Open returns the package that a tenant's instances with this VNFD are made from, or ErrNotFound. One VNFD id may be another package
	// for another tenant; "" stands for instances without tenant. The Manager closes the package.
	//
	// The digest is "" when an instance uses the package for the first time, in Create and Instantiate: Open then
	// decides whether the package can be trusted. In later operations of the instance the digest names the
	// package that the instance was made from: Open returns the package without judging it again, so that an instance
	// stays manageable after its signer's certificate has expired. The Manager compares the digest.
	Open(ctx context.Context, tenant, vnfdID, digest string) (*tosca.Package, error)
}

// RecordedPackages are Packages with a document of each package in the Store of the Manager, such as the Repository of package onboarding.
// An instance belongs to the package that it was created from, by its id, until the instance is deleted.
type RecordedPackages interface {
	Packages
	// Attach is called by New before every other method of the Manager's packages. New returns its error.
	Attach(ctx context.Context, m *Manager) error
	// Current returns the document of the package that an instance of a tenant with this VNFD would be created from now, and the id of
	// the package. ErrNotFound: no package has the VNFD, or the package takes no new instances. The Manager creates the instance only if the
	// document has the same version then: a package that is disabled or deleted at the same time gets no instance. A package without id
	// has no document, and Open opens it.
	Current(ctx context.Context, tenant, vnfdID string) (id string, document Document, err error)
	// OpenID opens the package of an instance as Open does.
	OpenID(ctx context.Context, id, digest string) (*tosca.Package, error)
}

// PackageIdentity identifies a package with a document. Tenant is "" for a package that all tenants may use, Digest is the
// result of csar.Archive.Digest.
type PackageIdentity struct{ ID, Tenant, VnfdID, Digest string }

// PackageInUse reports whether a VNF instance belongs to a package with a document, or needs it: an instance without a package id (from a
// folder, or of an earlier version) needs the package with its digest; before it is instantiated, one with its VNFD. An instance whose
// record cannot be read counts if it has the VNFD. So does an instance whose package is changed to this one, or of which a part runs by it.
func (m *Manager) PackageInUse(ctx context.Context, p PackageIdentity) (bool, error) {
	used := false
	search := func(list []store.Record) error {
		used = slices.ContainsFunc(list, func(stored store.Record) bool {
			var inst instanceRecord
			return m.records.Open(stored, &inst) != nil || inst.needs(p)
		})
		if used {
			return errFound
		}
		return nil
	}
	for _, kind := range []string{kindInstance, kindPackageUse} {
		err := m.records.EachPage(ctx, store.Query{Kind: kind, VNFD: p.VnfdID}, search)
		if err != nil {
			return used, ignoreFound(err)
		}
	}
	return false, nil
}

// errFound ends a list early.
var errFound = errors.New("found")

func ignoreFound(err error) error {
	if errors.Is(err, errFound) {
		return nil
	}
	return err
}

// needs reports whether an instance with the VNFD of a package needs that package.
func (rec *instanceRecord) needs(p PackageIdentity) bool {
	if rec.Instance.VnfPkgID != "" {
		return rec.Instance.VnfPkgID == p.ID
	}
	return (p.Tenant == "" || p.Tenant == rec.Tenant) && (rec.PackageDigest == "" || rec.PackageDigest == p.Digest)
}

// assignPackage sets the package that a new instance belongs to.
func (m *Manager) assignPackage(ctx context.Context, rec *instanceRecord) error {
	recorded, is := m.cfg.Packages.(RecordedPackages)
	if !is {
		return nil
	}
	var err error
	if rec.Instance.VnfPkgID, _, err = recorded.Current(ctx, rec.Tenant, rec.Instance.VnfdID); err != nil {
		return packageError(rec.Instance.VnfdID, err)
	}
	return nil
}

// dependOnPackage adds to b that new instances can be created from the package of a new instance. ErrConflict: another package is in its
// place.
func (m *Manager) dependOnPackage(ctx context.Context, b *store.Batch, rec *instanceRecord) error {
	recorded, is := m.cfg.Packages.(RecordedPackages)
	if !is || rec.Instance.VnfPkgID == "" {
		return nil
	}
	id, document, err := recorded.Current(ctx, rec.Tenant, rec.Instance.VnfdID)
	switch {
	case err != nil:
		return packageError(rec.Instance.VnfdID, err)
	case id != rec.Instance.VnfPkgID:
		return fmt.Errorf("%w: VNFD %s has another package now", ErrConflict, rec.Instance.VnfdID)
	}
	b.Assert = append(b.Assert, document.stored)
	return nil
}

// packageOf opens the package of an instance.
func (m *Manager) packageOf(ctx context.Context, inst *instanceRecord) (*tosca.Package, error) {
	if recorded, is := m.cfg.Packages.(RecordedPackages); is && inst.Instance.VnfPkgID != "" {
		return recorded.OpenID(ctx, inst.Instance.VnfPkgID, inst.PackageDigest)
	}
	return m.cfg.Packages.Open(ctx, inst.Tenant, inst.Instance.VnfdID, inst.PackageDigest)
}

// maxOpenPackages is how many packages DirPackages and PackagesFunc each keep open, besides those in use.
const maxOpenPackages = 32

// PackagesFunc returns Packages that lie where find says; find returns ErrNotFound when there is no package. The
// options judge a package that is used for the first time, above all tosca.WithIntegrity.
func PackagesFunc(find func(ctx context.Context, tenant, vnfdID string) (tosca.Source, error), opts ...tosca.Option) Packages {
	return &foundPackages{find: find, cache: tosca.NewCache(maxOpenPackages, opts...)}
}

type foundPackages struct {
	find  func(ctx context.Context, tenant, vnfdID string) (tosca.Source, error)
	cache *tosca.Cache
}

func (p *foundPackages) Open(ctx context.Context, tenant, vnfdID, digest string) (*tosca.Package, error) {
	source, err := p.find(ctx, tenant, vnfdID)
	if err != nil {
		return nil, err
	}
	if digest != "" {
		return p.cache.OpenPinned(ctx, source, digest)
	}
	return p.cache.Open(ctx, source)
}
