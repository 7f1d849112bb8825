package vnflcm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/vnfkit/vnfkit/internal/fanout"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// DirPackages returns the packages in a folder: CSARs (.csar, .zip) and folders with the layout of one. Names that
// begin with a dot are ignored, and so are symbolic links that lead out of the folder. The folder is read again
// when an instance uses a package for the first time: packages can be added, replaced and removed at any time,
// preferably by renaming. Two packages with the same VNFD are an error when one of them is needed, unless an
// instance was made from one of them. dir can also be a single package.
//
// The folder tenants/NAME in dir has packages that only the tenant NAME uses, which come before those of dir with the same VNFD. Other
// packages are for every tenant. The name of the folder must equal the tenant in every byte; a tenant whose name cannot be the name of a
// folder, or begins with a dot, has no folder. Symbolic links to such a folder, or into one from dir, are ignored.
//
// The options judge a package that is used for the first time, above all tosca.WithIntegrity.
func DirPackages(dir string, opts ...tosca.Option) Packages {
	p := &dirPackages{cache: tosca.NewCache(maxOpenPackages, opts...), tenants: map[string]*packageFolder{}}
	p.shared = p.folder(dir)
	p.shared.hasTenants = true
	return p
}

// tenantsFolder is the name of the folder that has a folder for each tenant.
const tenantsFolder = "tenants"

type dirPackages struct {
	cache  *tosca.Cache
	shared *packageFolder

	mu      sync.Mutex
	tenants map[string]*packageFolder // those that were found
}

// packageFolder is a folder of packages.
type packageFolder struct {
	dir        string
	hasTenants bool // a folder tenantsFolder is no package
	cache      *tosca.Cache
	scanning   chan struct{} // holds a value while the folder is read

	mu    sync.Mutex
	found map[string]dirPackage // by path
}

// dirPackage is a file or folder, with its VNFD id, the error of reading it, or both.
type dirPackage struct {
	vnfdID   string
	fault    string // "" for a package for new instances
	faults   string // the whole text of the error
	revision string // "" if it must be read again
}

func (p *dirPackages) folder(dir string) *packageFolder {
	return &packageFolder{dir: dir, cache: p.cache, scanning: make(chan struct{}, 1)}
}

func (p *dirPackages) Open(ctx context.Context, tenant, vnfdID, digest string) (*tosca.Package, error) {
	if digest != "" { // usually nothing has changed
		var paths []string
		for _, f := range p.known(tenant) {
			found, _ := f.paths(vnfdID, digest)
			paths = append(paths, found...)
		}
		if pkg, err := p.openPinned(ctx, paths, digest); pkg != nil || ctx.Err() != nil {
			return pkg, err
		}
	}
	if err := p.findTenant(tenant); err != nil {
		return nil, err
	}
	var all []string
	unreadable := ""
	for _, f := range p.known(tenant) {
		if err := f.scan(ctx); err != nil {
			return nil, err
		}
		paths, faults := f.paths(vnfdID, digest)
		switch {
		case digest == "" && len(paths) > 1:
			return nil, fmt.Errorf("%w: several packages have this VNFD: %q", ErrState, names(paths))
		case digest == "" && len(paths) == 1:
			return p.cache.Open(ctx, tosca.File(paths[0]))
		}
		all, unreadable = append(all, paths...), unreadable+faults
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w in the folder of packages%s", ErrNotFound, unreadable)
	}
	return p.openPinned(ctx, all, digest)
}

// known returns the folders that a tenant uses, the preferred one first.
func (p *dirPackages) known(tenant string) []*packageFolder {
	p.mu.Lock()
	defer p.mu.Unlock()
	if own := p.tenants[tenant]; own != nil {
		return []*packageFolder{own, p.shared}
	}
	return []*packageFolder{p.shared}
}

// findTenant looks for the folder of a tenant. It compares the names of the folders that exist: a path made from the name of a tenant could
// lead elsewhere, and the file system may take other letters for the same.
func (p *dirPackages) findTenant(tenant string) error {
	if tenant == "" {
		return nil
	}
	dir, tenants, err := p.tenantFolders()
	if err != nil {
		return err
	}
	exists := slices.Contains(tenants, tenant)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !exists:
		delete(p.tenants, tenant)
	case p.tenants[tenant] == nil:
		p.tenants[tenant] = p.folder(filepath.Join(dir, tenant))
	}
	return nil
}

// names returns the names of files without their folder.
func names(paths []string) (out []string) {
	for _, path := range paths {
		out = append(out, filepath.Base(path))
	}
	return out
}

// openPinned returns the first of the packages that has the digest.
func (p *dirPackages) openPinned(ctx context.Context, paths []string, digest string) (*tosca.Package, error) {
	var errs []error
	for _, path := range paths {
		pkg, err := p.cache.OpenPinned(ctx, tosca.File(path), digest)
		if err == nil {
			return pkg, nil
		}
		errs = append(errs, fmt.Errorf("%q: %w", filepath.Base(path), err))
	}
	return nil, errors.Join(errs...)
}

// paths returns where the packages of a VNFD are, and a text about files that cannot be read. With a digest it includes packages with
// faults, because the package of an instance may have been accepted before these faults were looked for.
func (p *packageFolder) paths(vnfdID, digest string) (paths []string, unreadable string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	faults := 0
	for _, path := range slices.Sorted(maps.Keys(p.found)) {
		switch known := p.found[path]; {
		case known.vnfdID == vnfdID && (known.fault == "" || digest != ""):
			paths = append(paths, path)
		case known.fault != "" && faults < maxFaults:
			faults++
			unreadable += fmt.Sprintf("; %q is not a readable package: %s", filepath.Base(path), known.fault)
		}
	}
	return paths, unreadable
}

// maxFaults is how many unreadable files an error names.
const maxFaults = 5

// scan reads the VNFD ids of the packages that are new or have changed.
func (p *packageFolder) scan(ctx context.Context) error {
	select {
	case p.scanning <- struct{}{}:
		defer func() { <-p.scanning }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	found, err := p.list()
	if err != nil {
		return err
	}
	paths := slices.Collect(maps.Keys(found))
	read := make([]dirPackage, len(paths))
	err = fanout.Each(ctx, len(paths), runtime.GOMAXPROCS(0), func(i int) error {
		if read[i] = found[paths[i]]; read[i].fault == "" {
			read[i] = p.read(ctx, paths[i])
		}
		return context.Cause(ctx)
	})
	if err != nil {
		return context.Cause(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.found = map[string]dirPackage{}
	for i, path := range paths {
		p.found[path] = read[i]
	}
	return nil
}

// read reads the VNFD id of a package, unless the package has not changed.
func (p *packageFolder) read(ctx context.Context, path string) (entry dirPackage) {
	var err error
	entry.revision, err = csar.Revision(ctx, path, csar.Limits{})
	if known := p.found[path]; err == nil && known.revision == entry.revision { // only scan changes p.found
		return known
	}
	if err == nil {
		entry.vnfdID, err = p.cache.VNFDID(ctx, tosca.File(path))
	}
	if err == nil {
		return entry
	}
	entry.faults = strings.ReplaceAll(err.Error(), path, filepath.Base(path)) // clients see it
	entry.fault, _, _ = strings.Cut(entry.faults, "\n")
	if _, isFaulty := errors.AsType[problem.List](err); !isFaulty {
		entry.revision = "" // another attempt may succeed
	}
	return entry
}

// isPackage reports whether a folder is a package: it has TOSCA.meta, or a service template in the root (SOL004 4.1.2.3).
func isPackage(dir string) bool {
	entries, _ := os.ReadDir(dir) // the caller reads it again
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		ext := strings.ToLower(filepath.Ext(e.Name()))
		return e.Name() == "TOSCA-Metadata" || e.Type().IsRegular() && (ext == ".yaml" || ext == ".yml") && isTemplate(filepath.Join(dir, e.Name()))
	})
}

// isTemplate reports whether a file begins as a TOSCA service template, whose first key this is (TOSCA Simple Profile in YAML 1.3,
// 3.10.3.1).
func isTemplate(name string) bool {
	f, err := os.Open(name) //nolint:gosec // a file of the folder that the program has named
	if err != nil {
		return false
	}
	begin, err := io.ReadAll(io.LimitReader(f, 64<<10))
	return errors.Join(err, f.Close()) == nil && bytes.Contains(append([]byte("\n"), begin...), []byte("\ntosca_definitions_version:"))
}

// list returns the files and folders that can be packages.
func (p *packageFolder) list() (map[string]dirPackage, error) {
	dir, err := filepath.EvalSymlinks(p.dir)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	found := map[string]dirPackage{}
	if !info.IsDir() || isPackage(dir) {
		found[dir] = dirPackage{}
		return found, nil
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		ext := strings.ToLower(filepath.Ext(e.Name()))
		isArchive := ext == ".csar" || ext == ".zip"
		path, target := filepath.Join(dir, e.Name()), ""
		isDir := e.IsDir()
		if e.Type()&fs.ModeSymlink != 0 {
			target, _ = filepath.EvalSymlinks(path)
			info, err := os.Stat(target)
			isDir = err == nil && info.IsDir()
		}
		switch {
		case strings.HasPrefix(e.Name(), ".") || !isDir && !isArchive:
		case p.hasTenants && e.IsDir() && e.Name() == tenantsFolder && !isPackage(path):
		case target != "" && (!isBelow(target, dir) || p.hasTenants && isBelow(target, filepath.Join(dir, tenantsFolder))):
			found[path] = dirPackage{fault: "a symbolic link out of the folder"}
		default:
			found[cmp.Or(target, path)] = dirPackage{}
		}
	}
	return found, err
}

// isBelow reports whether a path leads into a folder.
func isBelow(path, dir string) bool { return strings.HasPrefix(path, dir+string(filepath.Separator)) }
