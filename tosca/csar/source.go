package csar

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"

	"github.com/vnfkit/vnfkit/tosca/problem"
)

// source provides the files of a package.
type source struct {
	fsys   fs.FS
	close  func() error
	listed *members
	// wrapping is the zip of option 2 around the CSAR, nil for other packages.
	wrapping *wrapping
}

// directory opens a directory.
func (p *opening) directory(ctx context.Context, name string) (*source, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("csar: %w", err)
	}
	m, err := p.listFS(ctx, root.FS(), true)
	s := &source{fsys: root.FS(), close: root.Close, listed: m}
	if err != nil {
		return s, err
	}
	return p.unwrap(ctx, s)
}

// zip opens an archive. If the file is not an archive, zip closes it.
func (p *opening) zip(ctx context.Context, r io.ReaderAt, size int64, closer func() error) (*source, error) {
	z, err := newZip(r, size)
	if errors.Is(err, zip.ErrFormat) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		p.report.Errorf(problem.Position{}, problem.NotPackage, "%s", otherFormat(r))
		return nil, errors.Join(p.report.Err(), closer())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("csar: read archive: %w", err), closer())
	}
	p.packed = size
	p.checkExtent(z, r, size)
	return p.unwrap(ctx, &source{fsys: z, close: closer, listed: p.listZip(z, size)})
}

// newZip reads the directory of an archive.
func newZip(r io.ReaderAt, size int64) (*zip.Reader, error) {
	z, err := zip.NewReader(r, size)
	// With GODEBUG=zipinsecurepath=0, zip.NewReader returns this error together with a usable reader. checkNames reports the
	// members with these names.
	if errors.Is(err, zip.ErrInsecurePath) {
		err = nil
	}
	return z, err
}

// fileSystem lists the members of a file system that the caller has opened.
func (p *opening) fileSystem(ctx context.Context, fsys fs.FS) (*source, error) {
	s := &source{fsys: fsys, close: nothing}
	var err error
	switch z := fsys.(type) {
	case *zip.Reader:
		p.packed = compressed(z)
		s.listed = p.listZip(z, math.MaxInt64)
	case *zip.ReadCloser:
		p.packed = compressed(&z.Reader)
		s.fsys, s.listed = &z.Reader, p.listZip(&z.Reader, math.MaxInt64)
	default:
		s.listed, err = p.listFS(ctx, fsys, false)
	}
	if err != nil {
		return s, err
	}
	return p.unwrap(ctx, s)
}

// compressed returns the total compressed size of the members. It is used if the size of the archive file is unknown.
func compressed(z *zip.Reader) int64 {
	var sum uint64
	for _, f := range z.File {
		sum = min(sum+min(f.CompressedSize64, math.MaxUint32<<16), math.MaxInt64)
	}
	return int64(sum)
}

// listZip lists the members of an archive of archiveSize bytes. It uses the list of members instead of the fs.FS of zip.Reader, which
// hides invalid and duplicate names.
func (p *opening) listZip(z *zip.Reader, archiveSize int64) *members {
	m := newMembers(p.limits, p.limits.total(p.packed), p.report)
	var packed uint64
	for _, f := range z.File {
		if !m.more() {
			break
		}
		m.add(f.Name, f.Mode(), int64(min(f.UncompressedSize64, math.MaxInt64)))
		packed += min(f.CompressedSize64, math.MaxUint32<<16)
		p.checkPacking(f)
		if packed > uint64(archiveSize) { //nolint:gosec // a size is not negative
			p.report.Errorf(problem.Position{File: printable(f.Name)}, problem.TooLarge, "overlaps other members: the archive is smaller than all up to here")
			break
		}
	}
	m.checkNames()
	return m
}

// checkPacking refuses members that cannot be decompressed, or that become much larger by decompression.
func (p *opening) checkPacking(f *zip.File) {
	const encrypted, small = 0x1, 1 << 20
	pos := problem.Position{File: printable(f.Name)}
	switch {
	case f.Flags&encrypted != 0:
		p.report.Errorf(pos, problem.Unreadable, "the member is encrypted")
	case f.Method != zip.Store && f.Method != zip.Deflate:
		p.report.Errorf(pos, problem.Unreadable, "compressed with method %d; only stored and deflated members can be read", f.Method)
	case f.Method == zip.Store && f.UncompressedSize64 != f.CompressedSize64:
		p.report.Errorf(pos, problem.Unreadable, "stored with %d bytes, stated are %d", f.CompressedSize64, f.UncompressedSize64)
	case f.UncompressedSize64 > small && f.UncompressedSize64/uint64(max(p.limits.Ratio, 1)) > f.CompressedSize64:
		p.report.Errorf(pos, problem.TooLarge, "becomes more than %d times larger when decompressed", p.limits.Ratio)
	}
}

// listFS lists the members of a file system. If links is set, links to files are allowed, because the file system does not follow links
// out of the package (os.Root).
func (p *opening) listFS(ctx context.Context, fsys fs.FS, links bool) (*members, error) {
	m := newMembers(p.limits, p.limits.total(p.packed), p.report)
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case name == ".":
			return nil
		case !m.more():
			return fs.SkipAll
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode, size := info.Mode(), info.Size()
		if links && mode&fs.ModeSymlink != 0 {
			if target, err := fs.Stat(fsys, name); err == nil && target.Mode().IsRegular() {
				mode, size = target.Mode(), target.Size()
			}
		}
		m.add(name, mode, size)
		return nil
	})
	if err != nil {
		return m, fmt.Errorf("csar: list package: %w", err)
	}
	m.checkNames()
	return m, nil
}
