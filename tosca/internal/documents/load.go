// Package documents reads the service templates of a descriptor: the entry file
// and, inside the package, everything it imports.
package documents

import (
	"context"
	"path"
	"regexp"
	"strings"

	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// maxDocuments is how many files a VNFD may be made of.
const maxDocuments = 500

// etsiTypes matches the names under which packages import the type definitions
// of SOL001, with or without a version: etsi_nfv_sol001_vnfd_types.yaml,
// etsi_nfv_sol001_vnfd_2_5_1_types.yaml.
var etsiTypes = regexp.MustCompile(`^etsi_nfv_sol001_(vnfd|common|nsd|pnfd)_[0-9a-z_.]*types[0-9a-z_.]*\.ya?ml$`)

// toscaVersions are the values of tosca_definitions_version this parser reads.
var toscaVersions = map[string]bool{
	"tosca_simple_yaml_1_0":   true,
	"tosca_simple_yaml_1_0_0": true,
	"tosca_simple_yaml_1_1":   true,
	"tosca_simple_yaml_1_2":   true,
	"tosca_simple_yaml_1_3":   true,
}

// Document is a service template file.
type Document struct {
	File string
	Root *yamltree.Node
}

// Set holds the entry file and, in the order in which they are found, everything it imports.
type Set struct {
	All []Document
}

// Entry is the file that the package names as its entry definitions.
func (s *Set) Entry() Document { return s.All[0] }

// Source is where the files come from: a csar.Archive.
type Source interface {
	// Locate finds the file that a path in a file of folder dir names, "" when there is none.
	Locate(dir, file string) (name string, inside bool)
	// Document reads a file whole.
	Document(name string) ([]byte, error)
}

// loader follows imports. Each file is read once, so that import cycles, which
// TOSCA allows, end.
type loader struct {
	source Source
	report *report.Report
	parser *yamltree.Parser
	seen   map[string]bool
	result Set
}

// Load reads the entry file and its imports. Nothing is ever fetched: imports of
// the ETSI type files are satisfied by what this module knows of SOL001, any
// other URL is a problem. The result is nil when not even the entry can be read.
func Load(ctx context.Context, source Source, entry string, r *report.Report) (*Set, error) {
	l := loader{source: source, report: r, parser: yamltree.NewParser(r), seen: map[string]bool{entry: true}}
	queue := []string{entry}
	for len(queue) > 0 {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		imports, err := l.read(queue[0])
		if err != nil {
			return nil, err
		}
		queue = append(queue[1:], imports...)
		if len(l.seen) > maxDocuments {
			r.Errorf(problem.Position{File: entry}, problem.TooLarge, "the VNFD imports more than %d files", maxDocuments)
			break
		}
	}
	if len(l.result.All) == 0 {
		return nil, r.Err()
	}
	return &l.result, nil
}

// read parses a file and returns the files it imports that were not seen yet.
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
	}
	l.checkVersion(file, root)
	l.result.All = append(l.result.All, Document{file, root})
	var found []string
	for _, i := range importsOf(root.Get("imports")) {
		if name, ok := l.locate(file, i); ok && !l.seen[name] {
			l.seen[name] = true
			found = append(found, name)
		}
	}
	return found, nil
}

func (l *loader) checkVersion(file string, root *yamltree.Node) {
	version := root.Get("tosca_definitions_version")
	switch text := version.Str(); {
	case version == nil && len(l.result.All) == 0:
		l.report.Errorf(problem.Position{File: file}, problem.Version, "there is no tosca_definitions_version")
	case version == nil:
		l.report.Warnf(problem.Position{File: file}, problem.Version, "there is no tosca_definitions_version")
	case !toscaVersions[text]:
		l.report.Errorf(version.Pos, problem.Version,
			"TOSCA version %q is not supported; SOL001 v2.6.1 is written in tosca_simple_yaml_1_0 to tosca_simple_yaml_1_3", text)
	}
}

// importsOf lists the files named in an imports section in any of its notations:
// "- file", "- file: file", "- name: file", "- name: {file: file}".
func importsOf(section *yamltree.Node) []*yamltree.Node {
	var files []*yamltree.Node
	add := func(n *yamltree.Node) {
		if n = n.Present(); n != nil {
			files = append(files, n)
		}
	}
	entry := func(f yamltree.Field) {
		if nested := f.Value.Get("file"); nested != nil {
			add(nested)
			return
		}
		add(f.Value)
	}
	for _, item := range section.List() {
		switch {
		case item.Kind != yamltree.Mapping:
			add(item)
		case item.Has("file"):
			add(item.Get("file"))
		default:
			for _, f := range item.Map() {
				entry(f)
			}
		}
	}
	for _, f := range section.Map() {
		entry(f)
	}
	return files
}

// locate finds the file an import names: relative to the importing file or, as
// some packages write it, to the root of the package. It is false when there is
// nothing to read.
func (l *loader) locate(from string, n *yamltree.Node) (string, bool) {
	target := n.Str()
	known := etsiTypes.MatchString(strings.ToLower(path.Base(target)))
	if strings.Contains(target, "://") {
		if !known {
			l.report.Errorf(n.Pos, problem.ImportRemote, "%q would have to be fetched from the network; put the file into the package", target)
		}
		return "", false
	}
	name, inside := l.source.Locate(path.Dir(from), target)
	if name != "" {
		return name, true
	}
	switch {
	case n.Kind != yamltree.Scalar:
		l.report.Errorf(n.Pos, problem.Type, "an import must be the name of a file")
	case !inside:
		l.report.Errorf(n.Pos, problem.ImportOutside, "the import %q leads out of the package", target)
	case !known:
		l.report.Errorf(n.Pos, problem.ImportMissing, "the imported file %q is not in the package", target)
	}
	return "", false
}
