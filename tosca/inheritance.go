package tosca

import (
	"slices"

	"github.com/vnfkit/vnfkit/tosca/internal/documents"
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
)

// definitions are the node types and data types of a descriptor by name. Beyond
// the properties, which package grammar knows, a node type can give its templates
// capabilities, artifacts and the implementation of interfaces.
type definitions map[string]yamltree.Field

func newDefinitions(docs []documents.Document) definitions {
	d := definitions{}
	for _, doc := range docs {
		for _, section := range []string{"node_types", "data_types"} {
			for _, f := range doc.Root.Get(section).Map() {
				if _, known := d[f.Key]; !known {
					d[f.Key] = f
				}
			}
		}
	}
	return d
}

// ancestors lists a type and those it is derived from, nearest first. It ends
// where a cycle closes.
func (d definitions) ancestors(name string) []string {
	var line []string
	seen := map[string]bool{}
	for ; name != "" && !seen[name]; name = d[name].Value.Get("derived_from").Str() {
		seen[name] = true
		line = append(line, name)
	}
	return line
}

// lineage lists the definition of a type and those of its ancestors, as far as
// the package has them, nearest first.
func (d definitions) lineage(name string) []*yamltree.Node {
	var line []*yamltree.Node
	for _, ancestor := range d.ancestors(name) {
		if definition := d[ancestor].Value.Present(); definition != nil {
			line = append(line, definition)
		}
	}
	return line
}

// inherited lists what stands in a section of a template, such as artifacts, and
// after it what only its type and the ancestors of that have there.
func (t *topology) inherited(n template, section string) []yamltree.Field {
	fields := slices.Clone(n.node.Get(section).Named())
	known := map[string]bool{}
	for _, f := range fields {
		known[f.Key] = true
	}
	for _, definition := range t.defs.lineage(n.kind) {
		for _, f := range definition.Get(section).Named() {
			if !known[f.Key] {
				known[f.Key] = true
				fields = append(fields, f)
			}
		}
	}
	return fields
}

// capability returns a property of a capability. It stands under "properties" or,
// in older packages, directly in the capability; else it is the default that the
// node type gives.
func (t *topology) capability(n template, name, property string) *yamltree.Node {
	assigned := n.node.Path("capabilities", name)
	if properties := assigned.Get("properties"); properties != nil {
		assigned = properties
	}
	if v := assigned.Get(property); v != nil {
		return v
	}
	for _, definition := range t.defs.lineage(n.kind) {
		if v := definition.Path("capabilities", name, "properties", property, "default"); v != nil {
			return v
		}
	}
	return nil
}
