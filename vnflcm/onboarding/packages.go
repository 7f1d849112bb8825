package onboarding

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/internal/packagefolder"
)

// Package opens an ONBOARDED package that the tenant may use, for its VNFD, manifest and files. The caller closes it. ErrState: the package
// is in another state.
func (r *Repository) Package(ctx context.Context, tenant, id string) (*tosca.Package, error) {
	p, err := r.onboarded(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	return r.open(ctx, p, p.Digest)
}

// open opens a package. It judges the package if digest is "".
func (r *Repository) open(ctx context.Context, p *entry, digest string) (*tosca.Package, error) {
	path, err := r.contentPath(ctx, p)
	if err != nil {
		return nil, err
	}
	var pkg *tosca.Package
	if digest == "" {
		pkg, err = r.cache.Open(ctx, tosca.File(path))
	} else {
		pkg, err = r.cache.OpenPinned(ctx, tosca.File(path), digest)
	}
	if _, isFile := errors.AsType[*fs.PathError](err); isFile {
		if _, gone := r.read(ctx, p.id); errors.Is(gone, vnflcm.ErrNotFound) { // it was deleted meanwhile
			return nil, gone
		}
		r.Logger.WarnContext(ctx, "the content of a VNF package cannot be read", "package", p.id, "error", err)
		err = packagefolder.HidePath(err)
	}
	return pkg, err
}

// current returns the ONBOARDED package of a tenant with a VNFD: its own, else the shared one. ErrNotFound: the tenant has no ONBOARDED package with the VNFD.
func (r *Repository) current(ctx context.Context, tenant, vnfdID string) (*entry, error) {
	for _, owner := range slices.Compact([]string{tenant, ""}) {
		p, err := r.owned(ctx, owner, vnfdID)
		if err == nil || !errors.Is(err, vnflcm.ErrNotFound) {
			return p, err
		}
	}
	return nil, fmt.Errorf("%w among the onboarded packages", vnflcm.ErrNotFound)
}

// owned returns the ONBOARDED package of an owner with a VNFD.
func (r *Repository) owned(ctx context.Context, owner, vnfdID string) (*entry, error) {
	var found vnfdRecord
	d, err := r.document(ctx, vnfdsIn, vnfdKey(owner, vnfdID), &found)
	if err != nil {
		return nil, err
	}
	if d.Version == 0 {
		return nil, vnflcm.ErrNotFound
	}
	return r.read(ctx, found.Package)
}

// Current implements vnflcm.RecordedPackages.
func (r *Repository) Current(ctx context.Context, tenant, vnfdID string) (id string, document vnflcm.Document, err error) {
	p, err := r.current(ctx, tenant, vnfdID)
	switch {
	case errors.Is(err, vnflcm.ErrNotFound) && r.Further != nil:
		return "", vnflcm.Document{}, nil
	case err != nil:
		return "", vnflcm.Document{}, err
	case p.Info.OperationalState != Enabled:
		return "", vnflcm.Document{}, fmt.Errorf("%w: package %s is DISABLED", vnflcm.ErrNotFound, p.id)
	}
	return p.id, p.document, nil
}

// OpenID implements vnflcm.RecordedPackages. The state of the package does not matter: an instance keeps its package.
func (r *Repository) OpenID(ctx context.Context, id, digest string) (*tosca.Package, error) {
	p, err := r.read(ctx, id)
	if err != nil {
		return nil, err
	}
	return r.open(ctx, p, digest)
}

// Open implements vnflcm.Packages, for instances without the id of a package: those from Options.Further, and of the time before there was
// a Repository.
func (r *Repository) Open(ctx context.Context, tenant, vnfdID, digest string) (*tosca.Package, error) {
	for _, owner := range slices.Compact([]string{tenant, ""}) {
		p, err := r.owned(ctx, owner, vnfdID)
		switch {
		case errors.Is(err, vnflcm.ErrNotFound):
		case err != nil:
			return nil, err
		case digest == "" || digest == p.Digest:
			return r.open(ctx, p, digest)
		}
	}
	if r.Further != nil {
		return r.Further.Open(ctx, tenant, vnfdID, digest)
	}
	return nil, fmt.Errorf("%w among the onboarded packages", vnflcm.ErrNotFound)
}

// Onboarded returns the ONBOARDED package with a VNFD that instances of the tenant are created from: its own one, else the shared one. It
// may be DISABLED. ErrNotFound: the tenant has no ONBOARDED package with the VNFD.
func (r *Repository) Onboarded(ctx context.Context, tenant, vnfdID string) (*VnfPkgInfo, error) {
	p, err := r.current(ctx, tenant, vnfdID)
	if err != nil {
		return nil, err
	}
	return r.info(ctx, p)
}
