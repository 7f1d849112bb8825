package tosca

import (
	"cmp"
	"slices"

	"github.com/vnfkit/vnfkit/tosca/internal/documents"
	"github.com/vnfkit/vnfkit/tosca/internal/grammar"
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// topology is the topology_template of one document.
type topology struct {
	doc       documents.Document
	node      *yamltree.Node
	types     grammar.Types
	templates []template // sorted by id
	byID      map[string]template
}

// template is a node template.
type template struct {
	id   string
	pos  problem.Position
	kind string // its type
	node *yamltree.Node
}

// requirement is one assignment in the requirements of a template.
type requirement struct {
	name   string
	target string
	pos    problem.Position
}

func newTopology(d documents.Document, types grammar.Types) *topology {
	t := &topology{doc: d, node: d.Root.Get("topology_template"), types: types, byID: map[string]template{}}
	for _, f := range t.node.Get("node_templates").Map() {
		n := template{id: f.Key, pos: f.Pos, kind: f.Value.Get("type").Str(), node: f.Value}
		t.templates = append(t.templates, n)
		t.byID[n.id] = n
	}
	slices.SortFunc(t.templates, func(a, b template) int { return cmp.Compare(a.id, b.id) })
	return t
}

// of lists the templates whose type is base or derived from it.
func (t *topology) of(base string) []template {
	var found []template
	for _, n := range t.templates {
		if t.types.Is(grammar.NodeTypes, n.kind, base) {
			found = append(found, n)
		}
	}
	return found
}

// vnf returns the VNF node, false when there is none.
func (t *topology) vnf() (template, bool) {
	for _, f := range t.node.Get("node_templates").Map() {
		if n := t.byID[f.Key]; t.types.Is(grammar.NodeTypes, n.kind, typeVNF) {
			return n, true
		}
	}
	return template{}, false
}

// vnfType is the type of the VNF: that of its node or the one the whole topology
// stands for; "" when the topology is none of a VNF.
func (t *topology) vnfType() string {
	if n, ok := t.vnf(); ok {
		return n.kind
	}
	kind := t.node.Path("substitution_mappings", "node_type").Str()
	if t.types.Is(grammar.NodeTypes, kind, typeVNF) {
		return kind
	}
	return ""
}

// pos is where the VNF of this topology stands.
func (t *topology) pos() problem.Position {
	if n, ok := t.vnf(); ok {
		return n.pos
	}
	return t.node.At(t.doc.Root)
}

// eval replaces a get_input by the default of the input, when there is one.
// Other functions, and inputs only a request can give, stay as they are.
func (t *topology) eval(n *yamltree.Node) *yamltree.Node {
	n = n.Present()
	if f := n.Map(); len(f) == 1 && f[0].Key == "get_input" {
		if d := t.node.Path("inputs", f[0].Value.Str(), "default"); d != nil {
			return d
		}
	}
	return n
}

// isFunction reports whether n is a TOSCA function that only a running system
// can resolve.
func isFunction(n *yamltree.Node) bool {
	f := n.Map()
	if len(f) != 1 {
		return false
	}
	switch f[0].Key {
	case "get_input", "get_property", "get_attribute", "get_artifact", "get_operation_output", "get_nodes_of_type", "concat", "token":
		return true
	}
	return false
}

// property returns a property of a template or the default its type gives.
func (t *topology) property(n template, name string) *yamltree.Node {
	if v := t.eval(n.node.Path("properties", name)); v != nil {
		return v
	}
	return grammar.Default(t.types.Property(grammar.NodeTypes, n.kind, name))
}

// requirements lists the requirements of a template that name a target, in
// either notation.
func (t *topology) requirements(n template) []requirement {
	var list []requirement
	for _, f := range n.node.Get("requirements").Named() {
		target := f.Value
		if long := target.Get("node"); long != nil {
			target = long
		}
		if name := target.Str(); name != "" && target.Kind == yamltree.Scalar {
			list = append(list, requirement{name: f.Key, target: name, pos: target.Pos})
		}
	}
	return list
}
