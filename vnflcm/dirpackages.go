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
	"slices"
	"strings"
	"sync"

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
// The options judge a package that is used for the first time, above all tosca.WithIntegrity.
func DirPackages(dir string, opts ...tosca.Option) Packages {
	return &dirPackages{dir: dir, cache: tosca.NewCache(maxOpenPackages, opts...), scanning: make(chan struct{}, 1)}
}

type dirPackages struct {
	dir      string
	cache    *tosca.Cache
	scanning chan struct{} // holds a value while the folder is read

	mu    sync.Mutex
	found map[string]dirPackage // by path
}

// dirPackage is a file or folder, with its VNFD id or the error of reading it.
type dirPackage struct {
	vnfdID   string
	fault    string // "" if the VNFD id was read
	revision string // "" if it must be read again
}

func (p *dirPackages) Open(ctx context.Context, vnfdID, digest string) (*tosca.Package, error) {
	if digest != "" { // usually nothing has changed
		paths, _ := p.paths(vnfdID)
		if pkg, err := p.openPinned(ctx, paths, digest); pkg != nil || ctx.Err() != nil {
			return pkg, err
		}
	}
	if err := p.scan(ctx); err != nil {
		return nil, err
	}
	paths, unreadable := p.paths(vnfdID)
	switch {
	case len(paths) == 0:
		return nil, fmt.Errorf("%w in the folder of packages%s", ErrNotFound, unreadable)
	case digest != "":
		return p.openPinned(ctx, paths, digest)
	case len(paths) > 1:
		return nil, fmt.Errorf("several packages have this VNFD: %q", names(paths))
	}
	return p.cache.Open(ctx, tosca.File(paths[0]))
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

// paths returns where the packages of a VNFD are, and a text about files that cannot be read.
func (p *dirPackages) paths(vnfdID string) (paths []string, unreadable string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	faults := 0
	for _, path := range slices.Sorted(maps.Keys(p.found)) {
		switch known := p.found[path]; {
		case known.vnfdID == vnfdID && known.fault == "":
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
func (p *dirPackages) scan(ctx context.Context) error {
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
	for path, entry := range found {
		if entry.fault != "" {
			continue
		}
		entry.revision, err = csar.Revision(ctx, path, csar.Limits{})
		known := p.found[path] // only scan changes p.found
		switch {
		case err == nil && known.revision == entry.revision:
			found[path] = known
			continue
		case err == nil:
			entry.vnfdID, err = p.cache.VNFDID(ctx, tosca.File(path))
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			entry.fault, _, _ = strings.Cut(err.Error(), "\n")
			entry.fault = strings.ReplaceAll(entry.fault, path, filepath.Base(path)) // clients see it
			if _, isFaulty := errors.AsType[problem.List](err); !isFaulty {
				entry.revision = "" // another attempt may succeed
			}
		}
		found[path] = entry
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.found = found
	return nil
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
func (p *dirPackages) list() (map[string]dirPackage, error) {
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
		case target != "" && !strings.HasPrefix(target, dir+string(filepath.Separator)):
			found[path] = dirPackage{fault: "a symbolic link out of the folder"}
		default:
			found[cmp.Or(target, path)] = dirPackage{}
		}
	}
	return found, err
}
