package documents

import (
	"strings"

	"github.com/vnfkit/vnfkit/tosca/internal/etsi"
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// imported is one import definition (TOSCA Simple Profile 1.3, 3.6.8).
type imported struct {
	file       *yamltree.Node
	prefix     string // namespace_prefix
	repository bool
}

// importsOf returns the imports in any notation: "- file", "- file: file", "- name: file", "- name: {file: file}", and a mapping
// instead of a list for the last two.
func importsOf(section *yamltree.Node) []imported {
	var found []imported
	add := func(n *yamltree.Node) {
		i := imported{file: n.Present()}
		if n.Has("file") {
			i = imported{n.Get("file"), n.Get("namespace_prefix").Str(), n.Has("repository")}
		}
		if i.file != nil {
			found = append(found, i)
		}
	}
	items := []*yamltree.Node{section}
	if section.Is(yamltree.Sequence) {
		items = section.Items
	}
	for _, item := range items {
		if item.Has("file") || item != section && !item.Is(yamltree.Mapping) {
			add(item)
			continue
		}
		for _, f := range item.Map() {
			add(f.Value)
		}
	}
	return found
}

func isURL(target string) bool { return strings.Contains(target, "://") }

// missing reports an import that cannot be resolved, with the reason.
func (l *loader) missing(i imported, inside bool) {
	target, pos := i.file.Str(), i.file.Pos
	switch {
	case i.file.Kind != yamltree.Scalar:
		l.report.Errorf(pos, problem.Type, "an import must be the name of a file")
	case etsi.IsTypeFile(target):
		l.report.Add(problem.Problem{
			Position: pos, Code: problem.ImportMissing,
			Message:  "the type definitions " + target + " are neither in the package nor bundled",
			Expected: "a release of SOL001 among " + strings.Join(etsi.Versions(), ", "),
		})
	case ofCatalog.MatchString(target):
		l.report.Errorf(pos, problem.ImportMissing, "%q names an archive in the catalog of Alien4Cloud; put its file into the package, and import the file by its path", target)
	case isURL(target), i.repository:
		l.report.Errorf(pos, problem.ImportRemote, "%q would have to be fetched from the network; put the file into the package", target)
	case !inside:
		l.report.Errorf(pos, problem.ImportOutside, "the import %q leads out of the package", target)
	default:
		l.report.Errorf(pos, problem.ImportMissing, "the imported file %q is not in the package", target)
	}
}
