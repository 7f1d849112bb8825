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

// Options change how a package is opened. The zero value is what most callers want.
type Options struct {
	// Limits bound the content of the package.
	Limits Limits
	// Integrity says what digests and signatures decide.
	Integrity Integrity
}

// Open opens the package at name, a CSAR (.csar or .zip) or a directory with the same layout. If name is a zip that
// holds a CSAR with its signature and certificate (SOL004 5.1, option 2), the files are those of the CSAR. If the
// package is faulty, the error is a problem.List with all faults found. The caller closes the archive.
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
	if info, err = f.Stat(); err != nil { // name may be another file by now
		return nil, errors.Join(fmt.Errorf("csar: %w", err), f.Close())
	}
	return open(ctx, o, func(p *opening) (*source, error) {
		return p.zip(ctx, f, info.Size(), f.Close)
	})
}

// OpenReader opens a CSAR of size bytes from r. As after Open, the caller closes the archive. r stays the caller's and
// must live as long as the archive.
func OpenReader(ctx context.Context, r io.ReaderAt, size int64, o Options) (*Archive, error) {
	return open(ctx, o, func(p *opening) (*source, error) { return p.zip(ctx, r, size, nothing) })
}

// OpenFS opens a package from a file system: an embed.FS, a fstest.MapFS, an *archive/zip.Reader. As after Open, the
// caller closes the archive. fsys stays the caller's and must live as long as the archive. Symbolic links in fsys are
// refused.
func OpenFS(ctx context.Context, fsys fs.FS, o Options) (*Archive, error) {
	return open(ctx, o, func(p *opening) (*source, error) { return p.fileSystem(ctx, fsys) })
}

// opening is a package being opened.
type opening struct {
	limits Limits
	report *report.Report
	packed int64 // bytes of the archive that is opened; math.MaxInt64 for a directory
}

// nothing is the close function of a source that the caller owns.
func nothing() error { return nil }

// open lists the members of a source and reads TOSCA.meta and the manifest. The
// source is closed when that fails.
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
	a.listing = r.Warnings()
	if err == nil {
		err = r.Err() // hostile members: read nothing
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

// load reads the files that describe the package. Under Require it also verifies the whole package, so that the caller
// cannot read an unverified one.
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

// unreadable is a fault of a member that cannot be read.
func unreadable(name string, err error) error {
	return problem.Problem{
		Position: problem.Position{File: name}, Severity: problem.Error,
		Code: problem.Unreadable, Message: err.Error(),
	}
}
