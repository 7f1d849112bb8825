package tosca

import (
	"slices"

	"github.com/vnfkit/vnfkit/tosca/internal/grammar"
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
)

// inherited returns the entries in a section of a template, such as artifacts, followed by the entries that only its type or an
// ancestor of its type has. For properties, use property.
func (t *topology) inherited(n template, section string) []yamltree.Field {
	fields := slices.Clone(n.node.Get(section).Named())
	known := map[string]bool{}
	for _, f := range fields {
		known[f.Key] = true
	}
	for d := t.types.Lookup(grammar.NodeTypes, n.kind); d != nil; d = d.Parent {
		defined := d.Node.Get(section).Named()
		if !t.spend(n.node, 1+len(defined)) {
			break
		}
		for _, f := range defined {
			if !known[f.Key] {
				known[f.Key] = true
				fields = append(fields, f)
			}
		}
	}
	return fields
}

// capability returns a property of a capability: the value below "properties" or, in older packages, directly in the capability,
// else the default of the node type.
func (t *topology) capability(n template, name, property string) *yamltree.Node {
	assigned := n.node.Path("capabilities", name)
	if properties := assigned.Get("properties"); properties != nil {
		assigned = properties
	}
	if v := assigned.Get(property); v != nil {
		return v
	}
	for d := t.types.Lookup(grammar.NodeTypes, n.kind); d != nil; d = d.Parent {
		if v := d.Node.Path("capabilities", name, "properties", property, "default"); v != nil {
			return v
		}
	}
	return nil
}
