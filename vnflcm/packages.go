package vnflcm

import (
	"context"

	"github.com/vnfkit/vnfkit/tosca"
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
