package csar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"

	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// Options configure the opening of a package. The zero value is usable.
type Options struct {
	// Limits limit the content of the package.
	Limits Limits
	// Integrity sets the policy for digests and signatures.
	Integrity Integrity
	// Strict also warns of a package without manifest and change log, which SOL004 requires. Most packages for OpenStack Tacker have
	// neither, and are plain TOSCA packages.
	Strict bool
}

// Open opens the package at name, a CSAR (.csar or .zip) or a directory with the same layout. If name is a zip that contains a CSAR with
// its signature and certificate (SOL004 5.1, option 2), the Archive has the files of the CSAR. If the package has faults, the error is a
// problem.List with all of them. The caller closes the archive.
func Open(ctx context.Context, name string, o Options) (*Archive, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("csar: %w", err)
	}
	switch {
	case info.IsDir():
		return open(ctx, o, func(p *opening) (*source, error) { return p.directory(ctx, name) })
	case !info.Mode().IsRegular(): // opening a pipe would block until another process writes to it
		return open(ctx, o, func(p *opening) (*source, error) {
			p.report.Errorf(problem.Position{}, problem.NotPackage, "neither a file nor a directory (%s)", info.Mode())
			return nil, p.report.Err()
		})
	}
	f, err := os.Open(name) //nolint:gosec // the caller names the file
	if err != nil {
		return nil, fmt.Errorf("csar: %w", err)
	}
	if info, err = f.Stat(); err != nil { // name may refer to another file meanwhile
		return nil, errors.Join(fmt.Errorf("csar: %w", err), f.Close())
	}
	return open(ctx, o, func(p *opening) (*source, error) {
		return p.zip(ctx, f, info.Size(), f.Close)
	})
}

// OpenReader opens a CSAR of size bytes from r, as Open does. The caller closes the archive, and must not close r before.
func OpenReader(ctx context.Context, r io.ReaderAt, size int64, o Options) (*Archive, error) {
	return open(ctx, o, func(p *opening) (*source, error) { return p.zip(ctx, r, size, nothing) })
}

// OpenFS opens a package from a file system, for example an embed.FS, a fstest.MapFS or an *archive/zip.Reader, as Open does. The caller
// closes the archive; fsys must be usable until then. Symbolic links in fsys are refused.
func OpenFS(ctx context.Context, fsys fs.FS, o Options) (*Archive, error) {
	return open(ctx, o, func(p *opening) (*source, error) { return p.fileSystem(ctx, fsys) })
}

// opening is a package being opened.
type opening struct {
	limits Limits
	report *report.Report
	packed int64 // size of the archive in bytes; math.MaxInt64 for a directory
}

// nothing is the close function of a source that the caller owns.
func nothing() error { return nil }

// open lists the members of a source and reads TOSCA.meta and the manifest. If this fails, it closes the source.
func open(ctx context.Context, o Options, from func(*opening) (*source, error)) (*Archive, error) {
	integrity, err := o.Integrity.withDefaults()
	if err != nil {
		return nil, err
	}
	r := &report.Report{}
	p := &opening{limits: o.Limits.withDefaults(), report: r, packed: math.MaxInt64}
	s, err := from(p)
	if s == nil {
		return nil, err
	}
	a := newArchive(s, p.limits, integrity)
	a.strict = o.Strict
	a.listing = r.Warnings()
	if err == nil {
		err = r.Err() // read nothing from a package with faulty members
	}
	if err == nil {
		err = a.load(ctx, r)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	a.warnings = r.Warnings()
	s.opened()
	return a, nil
}

// load reads the files that describe the package. With the policy Require it also verifies the whole package, so that the caller cannot
// read an unverified package.
func (a *Archive) load(ctx context.Context, r *report.Report) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := a.readMeta(r); err != nil {
		return err
	}
	j := judge{integrity: a.integrity, report: r}
	if err := a.readManifest(j); err != nil {
		return err
	}
	if err := a.checkUnnamed(j); err != nil {
		return err
	}
	a.checkSigned(j)
	if err := r.Err(); err != nil || a.integrity.Policy != Require {
		return err
	}
	return a.Verify(ctx)
}

// unreadable returns the problem for a member that cannot be read.
func unreadable(name string, err error) error {
	return problem.Problem{
		Position: problem.Position{File: name}, Severity: problem.Error,
		Code: problem.Unreadable, Message: err.Error(),
	}
}
