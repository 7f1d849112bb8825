package csar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// Archive is an opened VNF package. It is an fs.FS confined to the package: it
// reads members as streams and never unpacks anything to disk. It is safe for
// concurrent use until closed.
type Archive struct {
	source *source
	limits Limits
	meta   Meta

	mu     sync.Mutex // guards digest
	digest string
}

var _ fs.FS = (*Archive)(nil)

// Options change how a package is opened. The zero value is what most callers want.
type Options struct {
	// Limits bound what the package may hold.
	Limits Limits
}

// Open opens the package at name, a CSAR (.csar or .zip) or a directory with the
// same layout. When the package is faulty the error is a problem.List with all
// faults found. Close the archive when done.
func Open(ctx context.Context, name string, o Options) (*Archive, error) {
	l, r := o.Limits.withDefaults(), &report.Report{}
	s, err := openSource(ctx, name, l, r)
	return load(s, err, l, r)
}

// OpenFS opens a package from a file system: an embed.FS, a fstest.MapFS, an
// *archive/zip.Reader. It owes the same as Open; fsys stays the caller's and
// must live as long as the package. Symbolic links in fsys are refused.
func OpenFS(ctx context.Context, fsys fs.FS, o Options) (*Archive, error) {
	l, r := o.Limits.withDefaults(), &report.Report{}
	s, err := sourceFS(ctx, fsys, l, r)
	return load(s, err, l, r)
}

// load reads TOSCA.meta of a source, and closes the source when it fails.
func load(s *source, err error, l Limits, r *report.Report) (*Archive, error) {
	if s == nil {
		return nil, err
	}
	a := &Archive{source: s, limits: l}
	if err == nil {
		err = r.Err() // hostile members: nothing is read
	}
	if err == nil {
		err = a.readMeta(r)
	}
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return a, nil
}

// Open opens a file of the package by its path (fs.ValidPath), for instance
// "BaseHOT/simple/simple_hot_top.yaml".
func (a *Archive) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	f, err := a.source.fsys.Open(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return f, nil
}

// Meta returns what TOSCA.meta says.
func (a *Archive) Meta() Meta { return a.meta }

// Has reports whether the package has a file of that name.
func (a *Archive) Has(name string) bool {
	_, ok := a.source.listed.files[name]
	return ok
}

// Close releases the package; files opened from it must not be used any more.
func (a *Archive) Close() error { return a.source.close() }

// Artifact resolves the file of an artifact as a VNFD writes it to a path for
// Archive.Open. Packages write such paths relative to the folder of the entry
// definitions ("../Scripts/install.sh"), as SOL001 demands, or relative to the
// root ("Scripts/install.sh"); both are tried, in this order. A path that leads
// out of the package gives a problem.Problem with problem.OutsidePackage, one that
// names no file an error that wraps fs.ErrNotExist.
func (a *Archive) Artifact(file string) (string, error) {
	name, inside := a.Locate(path.Dir(a.meta.EntryDefinitions), file)
	switch {
	case !inside:
		return "", problem.Problem{
			Position: problem.Position{File: a.meta.EntryDefinitions},
			Severity: problem.Error,
			Code:     problem.OutsidePackage,
			Message:  fmt.Sprintf("the artifact %q leads out of the package", file),
		}
	case name == "":
		return "", &fs.PathError{Op: "open", Path: file, Err: fs.ErrNotExist}
	}
	return name, nil
}

// Locate finds the file that a path written in a file of folder dir names:
// relative to that folder or, as some packages write it, to the root of the
// package. It returns "" when there is no such file, and inside tells whether the
// path stays in the package.
func (a *Archive) Locate(dir, file string) (name string, inside bool) {
	for _, from := range []string{dir, "."} {
		candidate, ok := resolve(from, file)
		inside = inside || ok
		if ok && a.Has(candidate) {
			return candidate, true
		}
	}
	return "", inside
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

// Document reads a whole file. One that cannot be read, or is larger than
// Limits.DocumentSize, gives a problem.Problem.
func (a *Archive) Document(name string) ([]byte, error) {
	fault := func(code problem.Code, format string, args ...any) error {
		return problem.Problem{
			Position: problem.Position{File: name}, Severity: problem.Error,
			Code: code, Message: fmt.Sprintf(format, args...),
		}
	}
	f, err := a.Open(name)
	if err != nil {
		return nil, fmt.Errorf("csar: %w", err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, a.limits.DocumentSize+1))
	if err != nil {
		return nil, fault(problem.Unreadable, "%v", err)
	}
	if int64(len(content)) > a.limits.DocumentSize {
		return nil, fault(problem.TooLarge, "larger than %d bytes", a.limits.DocumentSize)
	}
	return content, nil
}
