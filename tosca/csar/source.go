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

	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// source is where the files of a package come from.
type source struct {
	fsys   fs.FS
	close  func() error
	listed *members
}

// openSource opens a CSAR or a directory and lists its members.
func openSource(ctx context.Context, name string, l Limits, r *report.Report) (*source, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("csar: %w", err)
	}
	if info.IsDir() {
		root, err := os.OpenRoot(name)
		if err != nil {
			return nil, fmt.Errorf("csar: %w", err)
		}
		m, err := listFS(ctx, root.FS(), true, l, r)
		return &source{fsys: root.FS(), close: root.Close, listed: m}, err
	}
	z, err := zip.OpenReader(name)
	if errors.Is(err, zip.ErrFormat) || errors.Is(err, io.ErrUnexpectedEOF) {
		r.Errorf(problem.Position{}, problem.NotPackage, "%s is no zip archive", info.Name())
		return nil, r.Err()
	}
	// Whoever runs with GODEBUG=zipinsecurepath=0 gets this error together with
	// a usable reader; our own list names the members it is about.
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, fmt.Errorf("csar: open %s: %w", name, err)
	}
	return &source{fsys: &z.Reader, close: z.Close, listed: listZip(&z.Reader, info.Size(), l, r)}, nil
}

// sourceFS lists the members of a file system the caller has opened.
func sourceFS(ctx context.Context, fsys fs.FS, l Limits, r *report.Report) (*source, error) {
	none := func() error { return nil }
	switch z := fsys.(type) {
	case *zip.Reader:
		return &source{fsys: z, close: none, listed: listZip(z, math.MaxInt64, l, r)}, nil
	case *zip.ReadCloser:
		return &source{fsys: z, close: none, listed: listZip(&z.Reader, math.MaxInt64, l, r)}, nil
	}
	m, err := listFS(ctx, fsys, false, l, r)
	return &source{fsys: fsys, close: none, listed: m}, err
}

// listZip lists the members of an archive of that many bytes. It works on the
// list of members and not on the fs.FS of zip.Reader, which hides names it does
// not like and names that stand twice.
func listZip(z *zip.Reader, archiveSize int64, l Limits, r *report.Report) *members {
	m := newMembers(l, r)
	var packed uint64
	for _, f := range z.File {
		if !m.more() {
			break
		}
		m.add(f.Name, f.Mode(), int64(min(f.UncompressedSize64, math.MaxInt64)))
		packed += min(f.CompressedSize64, math.MaxUint32<<16)
		checkPacking(f, l, r)
	}
	if packed > uint64(archiveSize) { //nolint:gosec // a size is not negative
		r.Errorf(problem.Position{}, problem.TooLarge, "the members of the archive overlap")
	}
	m.checkFolders()
	return m
}

// checkPacking refuses members that cannot be unpacked or that become much
// larger when they are.
func checkPacking(f *zip.File, l Limits, r *report.Report) {
	const encrypted, small = 0x1, 1 << 20
	pos := problem.Position{File: printable(f.Name)}
	switch {
	case f.Flags&encrypted != 0:
		r.Errorf(pos, problem.Unreadable, "the member is encrypted")
	case f.Method != zip.Store && f.Method != zip.Deflate:
		r.Errorf(pos, problem.Unreadable, "compressed with method %d; only stored and deflated members can be read", f.Method)
	case f.UncompressedSize64 > small && f.UncompressedSize64/uint64(max(l.Ratio, 1)) > f.CompressedSize64:
		r.Errorf(pos, problem.TooLarge, "becomes more than %d times larger when decompressed", l.Ratio)
	}
}

// listFS lists the members of a file system. Links to files are allowed where
// following them cannot leave the package (os.Root).
func listFS(ctx context.Context, fsys fs.FS, links bool, l Limits, r *report.Report) (*members, error) {
	m := newMembers(l, r)
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
	return m, nil
}
