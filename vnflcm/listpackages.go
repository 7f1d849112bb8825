package vnflcm

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/internal/bounded"
)

// PackageLister are Packages that list what they find, such as DirPackages.
type PackageLister interface {
	// ListPackages returns all packages, those for every tenant first, in the order of their names.
	ListPackages(ctx context.Context) ([]FoundPackage, error)
}

// FoundPackage is a package in a folder (DirPackages).
type FoundPackage struct {
	Name   string // of the file or folder
	Tenant string // "" if all tenants may use the package
	VnfdID string // "" if the VNFD cannot be read
	Fault  string // why the package is refused, one line per fault
}

// ListPackages implements PackageLister.
func (p *dirPackages) ListPackages(ctx context.Context) (out []FoundPackage, err error) {
	if out, err = p.shared.foundPackages(ctx, ""); err != nil {
		return nil, err
	}
	_, tenants, err := p.tenantFolders()
	if err != nil {
		return nil, err
	}
	for _, tenant := range tenants {
		if err := p.findTenant(tenant); err != nil {
			return nil, err
		}
		known := p.known(tenant)
		if len(known) < 2 { // removed since
			continue
		}
		own, err := known[0].foundPackages(ctx, tenant)
		if err != nil {
			return nil, err
		}
		out = append(out, own...)
	}
	return out, nil
}

// foundPackages reads the folder and returns its packages.
func (p *packageFolder) foundPackages(ctx context.Context, tenant string) (out []FoundPackage, err error) {
	if err := p.scan(ctx); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for path, known := range p.found {
		out = append(out, FoundPackage{Name: filepath.Base(path), Tenant: tenant, VnfdID: known.vnfdID, Fault: bounded.Text(cmp.Or(known.faults, known.fault), maxText)})
	}
	slices.SortFunc(out, func(a, b FoundPackage) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// tenantFolders returns the names of the folders of tenants, and the folder that has them.
func (p *dirPackages) tenantFolders() (dir string, tenants []string, err error) {
	dir, err = filepath.EvalSymlinks(p.shared.dir)
	if err != nil {
		return "", nil, err
	}
	dir = filepath.Join(dir, tenantsFolder)
	var entries []fs.DirEntry
	if info, err := os.Lstat(dir); err == nil && info.IsDir() && !isPackage(dir) {
		if entries, err = os.ReadDir(dir); err != nil {
			return "", nil, err
		}
	}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			tenants = append(tenants, e.Name())
		}
	}
	return dir, tenants, nil
}
