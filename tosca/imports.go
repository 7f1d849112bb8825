package tosca

import (
	"context"
	"path"
	"regexp"
	"strings"
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

// document is a service template file of the VNFD.
type document struct {
	file string
	root *node
}

// documents are the entry file and, in order, everything it imports.
type documents struct {
	all   []document
	types typeTable
}

func (d *documents) entry() document { return d.all[0] }

// loader follows imports. Each file is read once, so that import cycles, which
// TOSCA allows, end.
type loader struct {
	pkg    *Package
	report *report
	budget int
	seen   map[string]bool
	result documents
}

// loadDocuments reads the entry file and its imports. Nothing is ever fetched:
// imports of the ETSI type files are satisfied by what this package knows of
// SOL001, any other URL is a problem.
func loadDocuments(ctx context.Context, p *Package, entry string, r *report) (*documents, error) {
	l := loader{pkg: p, report: r, budget: maxNodes, seen: map[string]bool{entry: true}}
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
			r.errorf(Position{File: entry}, CodeTooLarge, "the VNFD imports more than %d files", maxDocuments)
			break
		}
	}
	if len(l.result.all) == 0 {
		return nil, r.err()
	}
	l.result.types = newTypeTable(l.result.all, r)
	return &l.result, nil
}

// read parses a file and returns the files it imports that were not seen yet.
func (l *loader) read(file string) ([]string, error) {
	content, err := l.pkg.readDocument(file, l.report)
	if err != nil || content == nil {
		return nil, err
	}
	faults := len(l.report.errors)
	root := parseYAML(file, content, &l.budget, l.report)
	switch {
	case root == nil && len(l.report.errors) == faults:
		l.report.errorf(Position{File: file}, CodeYAML, "the file is empty")
		return nil, nil
	case root == nil:
		return nil, nil
	case root.kind != mappingNode:
		l.report.errorf(root.pos, CodeYAML, "a service template must be a mapping")
		return nil, nil
	}
	l.checkVersion(file, root)
	l.result.all = append(l.result.all, document{file, root})
	var found []string
	for _, i := range importsOf(root.get("imports")) {
		if name, ok := l.locate(file, i); ok && !l.seen[name] {
			l.seen[name] = true
			found = append(found, name)
		}
	}
	return found, nil
}

func (l *loader) checkVersion(file string, root *node) {
	version := root.get("tosca_definitions_version")
	switch text := version.scalar(); {
	case version == nil && len(l.result.all) == 0:
		l.report.errorf(Position{File: file}, CodeVersion, "there is no tosca_definitions_version")
	case version == nil:
		l.report.warnf(Position{File: file}, CodeVersion, "there is no tosca_definitions_version")
	case !toscaVersions[text]:
		l.report.errorf(version.pos, CodeVersion,
			"TOSCA version %q is not supported; SOL001 v2.6.1 is written in tosca_simple_yaml_1_0 to tosca_simple_yaml_1_3", text)
	}
}

// importsOf lists the files named in an imports section in any of its notations:
// "- file", "- file: file", "- name: file", "- name: {file: file}".
func importsOf(section *node) []*node {
	var files []*node
	add := func(n *node) {
		if n = n.present(); n != nil {
			files = append(files, n)
		}
	}
	entry := func(f field) {
		if nested := f.value.get("file"); nested != nil {
			add(nested)
			return
		}
		add(f.value)
	}
	for _, item := range section.sequence() {
		switch {
		case item.kind != mappingNode:
			add(item)
		case item.has("file"):
			add(item.get("file"))
		default:
			for _, f := range item.mapping() {
				entry(f)
			}
		}
	}
	for _, f := range section.mapping() {
		entry(f)
	}
	return files
}

// locate finds the file an import names: relative to the importing file or, as
// some packages write it, to the root of the package. It is false when there is
// nothing to read.
func (l *loader) locate(from string, n *node) (string, bool) {
	target := n.scalar()
	known := etsiTypes.MatchString(strings.ToLower(path.Base(target)))
	if strings.Contains(target, "://") {
		if !known {
			l.report.errorf(n.pos, CodeImportRemote, "%q would have to be fetched from the network; put the file into the package", target)
		}
		return "", false
	}
	inside := false
	for _, dir := range []string{path.Dir(from), "."} {
		name, ok := resolve(dir, target)
		inside = inside || ok
		if ok && l.pkg.hasFile(name) {
			return name, true
		}
	}
	switch {
	case n.kind != scalarNode:
		l.report.errorf(n.pos, CodeType, "an import must be the name of a file")
	case !inside:
		l.report.errorf(n.pos, CodeImportOutside, "the import %q leads out of the package", target)
	case !known:
		l.report.errorf(n.pos, CodeImportMissing, "the imported file %q is not in the package", target)
	}
	return "", false
}
