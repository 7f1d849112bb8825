package tosca

import (
	"cmp"
	"slices"
)

// topology is the topology_template of one document.
type topology struct {
	doc       document
	node      *node
	types     typeTable
	templates []template // sorted by id
	byID      map[string]template
}

// template is a node template.
type template struct {
	id   string
	pos  Position
	kind string // its type
	node *node
}

// requirement is one assignment in the requirements of a template.
type requirement struct {
	name   string
	target string
	pos    Position
}

func newTopology(d document, types typeTable) *topology {
	t := &topology{doc: d, node: d.root.get("topology_template"), types: types, byID: map[string]template{}}
	for _, f := range t.node.get("node_templates").mapping() {
		n := template{id: f.key, pos: f.pos, kind: f.value.get("type").scalar(), node: f.value}
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
		if t.types.is(nodeTypes, n.kind, base) {
			found = append(found, n)
		}
	}
	return found
}

// vnf returns the VNF node, false when there is none.
func (t *topology) vnf() (template, bool) {
	for _, f := range t.node.get("node_templates").mapping() {
		if n := t.byID[f.key]; t.types.is(nodeTypes, n.kind, typeVNF) {
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
	kind := t.node.path("substitution_mappings", "node_type").scalar()
	if t.types.is(nodeTypes, kind, typeVNF) {
		return kind
	}
	return ""
}

// pos is where the VNF of this topology stands.
func (t *topology) pos() Position {
	if n, ok := t.vnf(); ok {
		return n.pos
	}
	return t.node.at(t.doc.root)
}

// eval replaces a get_input by the default of the input, when there is one.
// Other functions, and inputs only a request can give, stay as they are.
func (t *topology) eval(n *node) *node {
	n = n.present()
	if f := n.mapping(); len(f) == 1 && f[0].key == "get_input" {
		if d := t.node.path("inputs", f[0].value.scalar(), "default"); d != nil {
			return d
		}
	}
	return n
}

// isFunction reports whether n is a TOSCA function that only a running system
// can resolve.
func isFunction(n *node) bool {
	f := n.mapping()
	if len(f) != 1 {
		return false
	}
	switch f[0].key {
	case "get_input", "get_property", "get_attribute", "get_artifact", "get_operation_output", "get_nodes_of_type", "concat", "token":
		return true
	}
	return false
}

// property returns a property of a template or the default its type gives.
func (t *topology) property(n template, name string) *node {
	if v := t.eval(n.node.path("properties", name)); v != nil {
		return v
	}
	return defaultOf(t.types.property(nodeTypes, n.kind, name))
}

// requirements lists the requirements of a template that name a target, in
// either notation.
func (t *topology) requirements(n template) []requirement {
	var list []requirement
	for _, f := range n.node.get("requirements").named() {
		target := f.value
		if long := target.get("node"); long != nil {
			target = long
		}
		if name := target.scalar(); name != "" && target.kind == scalarNode {
			list = append(list, requirement{name: f.key, target: name, pos: target.pos})
		}
	}
	return list
}
