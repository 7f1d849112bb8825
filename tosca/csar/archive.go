package csar

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/vnfkit/vnfkit/internal/bounded"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// Archive is an open VNF package. It is an fs.FS of the files in the package, which are read as streams and never unpacked to disk. It is
// safe for concurrent use until it is closed.
type Archive struct {
	source    *source
	limits    Limits
	integrity Integrity
	strict    bool
	meta      Meta
	metaName  string // name of TOSCA.meta, "" for a package without it
	// entryLines are the positions of the keys in TOSCA.meta, by key in lower case.
	entryLines map[string]problem.Position
	manifest   *Manifest

	signers  []Signer     // signers of the manifest
	warnings problem.List // warnings of opening
	listing  problem.List // warnings about the list of members

	passing chan struct{} // contains a value while a goroutine reads the whole package
	// mu guards the following fields and also signers and warnings, which Judge replaces.
	mu      sync.Mutex
	checked *findings // results of reading the whole package, nil before
	// sums are the SHA-256 digests of all files, nil before the first pass over the package; early are the digests of
	// files that were read before that pass.
	sums, early map[string]string
}

// newArchive returns an Archive that has not read any file.
func newArchive(s *source, limits Limits, integrity Integrity) *Archive {
	return &Archive{source: s, limits: limits, integrity: integrity, passing: make(chan struct{}, 1), early: map[string]string{}}
}

var _ fs.FS = (*Archive)(nil)

// Open opens a file of the package by its path (fs.ValidPath), for example "BaseHOT/simple/simple_hot_top.yaml". If the content differs
// from the content that was read before, for example by Digest, the Read that reaches the end of the file fails with problem.Changed. So
// callers get only content that the digest covers, even if other programs can write to the package.
func (a *Archive) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if name != "." && !a.Has(name) && !a.hasFolder(name) { // the file was added to the directory later
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	f, err := a.source.fsys.Open(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return a.check(name, f), nil
}

// Meta returns the content of TOSCA.meta.
func (a *Archive) Meta() Meta { return a.meta }

// Manifest returns the parsed manifest, nil for a package without a manifest. Do not change it, because other callers share it.
func (a *Archive) Manifest() *Manifest { return a.manifest }

// Warnings returns the faults that did not refuse the package, sorted by position: the faults of opening the package and, after Verify or
// Digest, their faults.
func (a *Archive) Warnings() problem.List {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := slices.Clone(a.warnings)
	if a.checked != nil {
		all = append(all, a.checked.warnings...)
	}
	return all.Sorted()
}

// hasFolder reports whether the package has a folder of this name. The folder may be empty.
func (a *Archive) hasFolder(name string) bool { return a.source.listed.folders[name] }

// Has reports whether the package has a file of this name.
func (a *Archive) Has(name string) bool {
	_, ok := a.source.listed.files[name]
	return ok
}

// Close releases the package. The caller must not use files opened from the package any more.
func (a *Archive) Close() error { return a.source.close() }

// Artifact resolves the file of an artifact, as written in a VNFD, to a path for Archive.Open. The path may be relative to the folder of
// the entry definitions ("../Scripts/install.sh"), as SOL001 requires, or to the root ("Scripts/install.sh"); Artifact tries both in this
// order. The error is a problem.Problem with problem.OutsidePackage if the path leads out of the package, and wraps fs.ErrNotExist if the
// file does not exist.
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

// Locate resolves a path that is written in a file in the folder dir. The path is relative to dir or, in some packages, to the root of the
// package. Locate returns "" if the file does not exist. inside reports whether the path stays in the package.
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

// resolve returns a path, written in a file in the folder dir, relative to the root of the package. It returns false if the path leads out
// of the package.
func resolve(dir, file string) (string, bool) {
	if file == "" || strings.ContainsAny(file, "\\\x00") || path.IsAbs(file) || (len(file) >= 2 && file[1] == ':') {
		return "", false
	}
	name := path.Join(dir, file)
	return name, fs.ValidPath(name)
}

// Document returns the content of a file. The error is a problem.Problem if the file cannot be read, or is larger than
// Limits.DocumentSize.
func (a *Archive) Document(name string) ([]byte, error) {
	return readDocument(a, name, a.limits.DocumentSize)
}

func readDocument(fsys fs.FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("csar: %w", err)
	}
	defer f.Close()
	content, err := bounded.Read(f, limit)
	switch {
	case errors.Is(err, problem.Problem{Code: problem.Changed}):
		return nil, err
	case errors.Is(err, bounded.ErrTooLarge):
		return nil, problem.Problem{
			Position: problem.Position{File: name}, Severity: problem.Error,
			Code: problem.TooLarge, Message: fmt.Sprintf("larger than %d bytes", limit),
		}
	case err != nil:
		return nil, unreadable(name, err)
	}
	return content, nil
}
