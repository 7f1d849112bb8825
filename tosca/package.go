package tosca

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

// Package is an opened VNF package. It is an fs.FS confined to the package: it
// reads members as streams and never unpacks anything to disk. It is safe for
// concurrent use until closed.
type Package struct {
	source   *source
	limits   Limits
	meta     Meta
	vnfd     *VNFD
	warnings Problems

	mu     sync.Mutex // guards digest
	digest string
}

var _ fs.FS = (*Package)(nil)

// Open opens the package at name, a CSAR (.csar or .zip) or a directory with the
// same layout, and parses its VNFD. When the package or the VNFD is faulty the
// error is a Problems with all faults found; faults that do not stop the VNFD
// from being used are in Package.Warnings instead. Close the package when done.
func Open(ctx context.Context, name string, opts ...Option) (*Package, error) {
	l, r := limitsFrom(opts), &report{}
	s, err := openSource(ctx, name, l, r)
	return load(ctx, s, err, l, r)
}

// OpenFS opens a package from a file system: an embed.FS, a fstest.MapFS, an
// *archive/zip.Reader. It owes the same as Open; fsys stays the caller's and
// must live as long as the package. Symbolic links in fsys are refused.
func OpenFS(ctx context.Context, fsys fs.FS, opts ...Option) (*Package, error) {
	l, r := limitsFrom(opts), &report{}
	s, err := sourceFS(ctx, fsys, l, r)
	return load(ctx, s, err, l, r)
}

// load parses what lies in a source, and closes the source when it fails.
func load(ctx context.Context, s *source, err error, l Limits, r *report) (*Package, error) {
	if s == nil {
		return nil, err
	}
	p := &Package{source: s, limits: l}
	if err == nil {
		err = r.err() // hostile members: nothing is parsed
	}
	if err == nil {
		err = p.parse(ctx, r)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	p.warnings = r.warnings.sorted()
	return p, nil
}

// parse reads TOSCA.meta and the VNFD.
func (p *Package) parse(ctx context.Context, r *report) error {
	if err := p.readMeta(r); err != nil {
		return err
	}
	if err := r.err(); err != nil {
		return err
	}
	documents, err := loadDocuments(ctx, p, p.meta.EntryDefinitions, r)
	if err != nil {
		return err
	}
	p.vnfd = buildVNFD(documents, p, r)
	return r.err()
}

// Open opens a file of the package by its path (fs.ValidPath), for instance
// "BaseHOT/simple/simple_hot_top.yaml".
func (p *Package) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	f, err := p.source.fsys.Open(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return f, nil
}

// Meta returns what TOSCA.meta says.
func (p *Package) Meta() Meta { return p.meta }

// VNFD returns the parsed descriptor. It is shared: do not change it.
func (p *Package) VNFD() *VNFD { return p.vnfd }

// Warnings returns the faults that did not stop the package from being opened,
// sorted by position.
func (p *Package) Warnings() Problems { return slices.Clone(p.warnings) }

// Close releases the package; files opened from it must not be used any more.
func (p *Package) Close() error { return p.source.close() }

// Artifact resolves the file of an artifact as a VNFD writes it to a path for
// Package.Open. Packages write such paths relative to the folder of the entry
// definitions ("../Scripts/install.sh"), as SOL001 demands, or relative to the
// root ("Scripts/install.sh"); both are tried, in this order. A path that leads
// out of the package gives a Problem with CodeOutsidePackage, one that names no
// file an error that wraps fs.ErrNotExist.
func (p *Package) Artifact(file string) (string, error) {
	inside := false
	for _, from := range []string{path.Dir(p.meta.EntryDefinitions), "."} {
		name, ok := resolve(from, file)
		if !ok {
			continue
		}
		inside = true
		if p.hasFile(name) {
			return name, nil
		}
	}
	if !inside {
		return "", Problem{
			Position: Position{File: p.meta.EntryDefinitions},
			Code:     CodeOutsidePackage,
			Message:  fmt.Sprintf("the artifact %q leads out of the package", file),
		}
	}
	return "", &fs.PathError{Op: "open", Path: file, Err: fs.ErrNotExist}
}

// hasFile reports whether the package has a file of that name.
func (p *Package) hasFile(name string) bool {
	_, ok := p.source.listed.files[name]
	return ok
}

// resolve joins a path written in a file of folder dir to the root of the
// package; false when it leads out of it.
func resolve(dir, file string) (string, bool) {
	if file == "" || strings.ContainsAny(file, "\\\x00") || path.IsAbs(file) || (len(file) >= 2 && file[1] == ':') {
		return "", false
	}
	name := path.Join(dir, file)
	return name, fs.ValidPath(name)
}

// readDocument reads a whole file, if it is small enough for a document.
func (p *Package) readDocument(name string, r *report) ([]byte, error) {
	f, err := p.Open(name)
	if err != nil {
		return nil, fmt.Errorf("tosca: %w", err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, p.limits.DocumentSize+1))
	if err != nil {
		r.errorf(Position{File: name}, CodeUnreadable, "%v", err)
		return nil, nil
	}
	if int64(len(content)) > p.limits.DocumentSize {
		r.errorf(Position{File: name}, CodeTooLarge, "larger than %d bytes", p.limits.DocumentSize)
		return nil, nil
	}
	return content, nil
}
