package documents

import (
	"strings"

	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// versions are the supported values of tosca_definitions_version, oldest first.
var versions = []string{
	"tosca_simple_yaml_1_0",
	"tosca_simple_yaml_1_0_0",
	"tosca_simple_yaml_1_1",
	"tosca_simple_yaml_1_2",
	"tosca_simple_yaml_1_3",
}

// version returns the tosca_definitions_version of a file. If the version is missing or not supported, it reports a problem and
// returns "".
func (l *loader) version(file string, root *yamltree.Node) string {
	n := root.Get("tosca_definitions_version")
	for _, v := range versions {
		if n.Str() == v {
			return v
		}
	}
	p := problem.Problem{
		Position: n.At(&yamltree.Node{Pos: problem.Position{File: file}}),
		Code:     problem.Version,
		Expected: versions[0] + " to " + versions[len(versions)-1],
	}
	switch {
	case n == nil:
		p.Message = "there is no tosca_definitions_version"
		if len(l.result.All) > 0 {
			p.Severity = problem.Warning
		}
	case strings.HasPrefix(n.Str(), "tosca_2"):
		p.Message = "TOSCA 2.0 is not supported: SOL001 is written in the TOSCA Simple Profile"
	default:
		p.Message = "TOSCA version \"" + n.Str() + "\" is not supported"
	}
	l.report.Add(p)
	return ""
}

// newest returns the newest version of the documents. Its profile also contains the types of older versions, under the names that
// SOL001 uses.
func newest(documents []Document) string {
	for i := len(versions) - 1; i >= 0; i-- {
		for _, d := range documents {
			if d.Version == versions[i] {
				return d.Version
			}
		}
	}
	return versions[len(versions)-1]
}
