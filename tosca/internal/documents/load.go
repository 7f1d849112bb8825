// Package documents reads the service templates of a descriptor: the entry file and all files that it imports, from the package
// or from the bundled type definitions.
package documents

import (
	"context"
	"path"
	"slices"

	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// maxDocuments limits the files of a VNFD.
const maxDocuments = 500

// Document is a service template file.
type Document struct {
	File string
	Root *yamltree.Node
	// Version is the tosca_definitions_version of the file, "" if the version is not supported.
	Version string
	// Bundled is set for the documents of ETSI and OASIS, whose faults are not faults of the package.
	Bundled bool
}

// Set holds the documents of a descriptor: the entry file, then imported files of the package in the order in which they were
// found, then imported bundled documents.
type Set struct {
	All []Document
	// Implicit returns the bundled documents that no document imports. They are parsed at the first call, because only few
	// descriptors use a type that they do not import.
	Implicit func() []Document
	// Prefixes are the values of namespace_prefix in imports. Names of types may begin with one of them.
	Prefixes map[string]bool
	// typeFiles are the large documents of the package that only define types, with their contents.
	typeFiles map[*yamltree.Node][]byte
	// Misfits has the nodes of the package's documents that were read as a mapping or a list and are of another kind.
	Misfits *report.Report
}

// Entry is the file that the package names as its entry definitions.
func (s *Set) Entry() Document { return s.All[0] }

// Files returns the paths of the documents that are in the package.
func (s *Set) Files() (names []string) {
	for _, d := range s.All {
		if !d.Bundled {
			names = append(names, d.File)
		}
	}
	return names
}

// Source provides the files of a package. csar.Archive implements it.
type Source interface {
	// Locate resolves a path in a file of folder dir, "" if the file does not exist.
	Locate(dir, file string) (name string, inside bool)
	// Document returns the content of a file.
	Document(name string) ([]byte, error)
}

// loader follows imports. Each file is read once, so that import cycles end.
type loader struct {
	source  Source
	report  *report.Report
	parser  *yamltree.Parser
	seen    map[string]bool
	edges   map[string][]edge
	result  Set
	bundled bundle
}

// edge is an import of one file of the package by another.
type edge struct {
	to  string
	pos problem.Position
}

// Load reads the entry file and its imports. It never accesses the network: it looks up imports that are not in the package in
// the bundled definitions of ETSI, and reports a problem if they are not bundled either. The result is nil if the entry file
// cannot be read. Documents in cache are not parsed again; cache may be nil.
func Load(ctx context.Context, source Source, entry string, cache *yamltree.Cache, r *report.Report) (*Set, error) {
	l := loader{
		source: source,
		report: r,
		parser: yamltree.NewParser(r),
		seen:   map[string]bool{entry: true},
		edges:  map[string][]edge{},
		result: Set{Prefixes: map[string]bool{}, Misfits: &report.Report{}, typeFiles: map[*yamltree.Node][]byte{}},
	}
	l.parser.Cache = cache
	l.parser.Misfits = l.result.Misfits
	for queue := []string{entry}; len(queue) > 0; {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		imports, err := l.read(queue[0])
		if err != nil {
			return nil, err
		}
		queue = append(queue[1:], imports...)
		if l.parser.Exhausted() {
			break
		}
		if len(l.seen) > maxDocuments {
			r.Errorf(problem.Position{File: entry}, problem.TooLarge, "the VNFD imports more than %d files", maxDocuments)
			break
		}
	}
	if len(l.result.All) == 0 {
		return nil, r.Err()
	}
	l.checkCycles(entry)
	l.bundled.addTo(&l.result)
	return &l.result, nil
}

// read parses a file and returns those of its imports that were not read yet.
func (l *loader) read(file string) ([]string, error) {
	content, err := l.source.Document(file)
	if err != nil {
		return nil, l.report.Take(err)
	}
	faults := l.report.Errors()
	root := l.parser.Parse(file, content)
	switch {
	case root == nil && l.report.Errors() == faults:
		l.report.Errorf(problem.Position{File: file}, problem.YAML, "the file is empty")
		return nil, nil
	case root == nil:
		return nil, nil
	case root.Kind != yamltree.Mapping:
		l.report.Errorf(root.Pos, problem.YAML, "a service template must be a mapping")
		return nil, nil
	case l.otherLanguage(file, root):
		return nil, nil
	}
	d := Document{File: file, Root: root, Version: l.version(file, root)}
	if len(l.result.All) > 0 && len(content) >= minTypeFile && !root.Has("topology_template") {
		l.result.typeFiles[root] = content
	}
	l.result.All = append(l.result.All, d)
	var found []string
	for _, i := range importsOf(root.Get("imports")) {
		name := l.follow(d, i)
		if name == "" {
			continue
		}
		l.edges[file] = append(l.edges[file], edge{name, i.file.Pos})
		if !l.seen[name] {
			l.seen[name] = true
			found = append(found, name)
		}
	}
	return found, nil
}

// follow resolves an import. It returns the name of a file of the package; it loads a bundled file and returns "".
func (l *loader) follow(d Document, i imported) string {
	target := i.file.Str()
	if i.prefix != "" {
		l.result.Prefixes[i.prefix] = true
	}
	var inside bool
	if i.file.Kind == yamltree.Scalar && !isURL(target) {
		var name string
		if name, inside = l.source.Locate(path.Dir(d.File), target); name != "" {
			return name
		}
	}
	if !l.bundled.load(d, target) {
		l.missing(i, inside)
	}
	return ""
}

// minTypeFile is the size in bytes from which on a type file is worth a place in a cache. ETSI's files have 8 to 90 KiB.
const minTypeFile = 4 << 10

// CacheTypes adds the large type files of the package to a cache, except those with problems in one of the reports. The set must not
// be used any more.
func (s *Set) CacheTypes(cache *yamltree.Cache, reports ...*report.Report) {
	for root, content := range s.typeFiles {
		if !slices.ContainsFunc(reports, func(r *report.Report) bool { return r.Full() || r.Mentions(root.Pos.File) }) {
			cache.Add(content, root)
		}
	}
}

// checkCycles warns about files that import each other. TOSCA does not forbid circular imports, and Load reads each file once,
// but some other parsers do not terminate.
func (l *loader) checkCycles(entry string) {
	const open, done = 1, 2
	state := map[string]int{}
	var visit func(string)
	visit = func(file string) { // at most maxDocuments deep
		state[file] = open
		for _, e := range l.edges[file] {
			switch state[e.to] {
			case 0:
				visit(e.to)
			case open:
				l.report.Warnf(e.pos, problem.ImportCycle, "the imports of %s lead back to %s", e.to, file)
			}
		}
		state[file] = done
	}
	visit(entry)
}
