package tosca

import (
	"cmp"
	"slices"

	"github.com/vnfkit/vnfkit/tosca/internal/documents"
	"github.com/vnfkit/vnfkit/tosca/internal/grammar"
	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// topology is the topology_template of one document.
type topology struct {
	doc       documents.Document
	node      *yamltree.Node
	types     grammar.Types
	report    *report.Report
	budget    *int       // remaining units for the expressions of all topologies
	templates []template // sorted by id
	byID      map[string]template
	asWritten *Topology // nil until builder.templates has read it
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
	target string         // "" if the descriptor does not name the target
	filter *yamltree.Node // node_filter, may be nil
	pos    problem.Position
}

func (b *builder) topology(d documents.Document) *topology {
	t := &topology{doc: d, node: d.Root.Get("topology_template"), types: b.types,
		report: b.report, budget: &b.budget, byID: map[string]template{}}
	for _, f := range t.node.Get("node_templates").Map() {
		n := template{id: f.Key, pos: f.Pos, kind: f.Value.Get("type").Str(), node: f.Value}
		t.templates = append(t.templates, n)
		t.byID[n.id] = n
	}
	slices.SortFunc(t.templates, func(a, b template) int { return cmp.Compare(a.id, b.id) })
	return t
}

// of returns the templates whose type is base or is derived from base.
func (t *topology) of(base string) []template {
	var found []template
	for _, n := range t.templates {
		if t.types.Is(grammar.NodeTypes, n.kind, base) {
			found = append(found, n)
		}
	}
	return found
}

// vnf returns the VNF node, false if the topology does not have one.
func (t *topology) vnf() (template, bool) {
	for _, f := range t.node.Get("node_templates").Map() {
		if n := t.byID[f.Key]; t.types.Is(grammar.NodeTypes, n.kind, typeVNF) {
			return n, true
		}
	}
	return template{}, false
}

// vnfType returns the type of the VNF: the type of its node, or the type that the topology substitutes. It returns "" if the
// topology does not describe a VNF.
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

// pos returns the position of the VNF in this topology.
func (t *topology) pos() problem.Position {
	if n, ok := t.vnf(); ok {
		return n.pos
	}
	return t.node.At(t.doc.Root)
}

// property returns the value of a template's property or, if it is not set, the default in the type.
func (t *topology) property(n template, name string) *yamltree.Node {
	return t.eval(t.assigned(n, name), n)
}

// assigned is property without evaluation of functions.
func (t *topology) assigned(n template, name string) *yamltree.Node {
	if v := n.node.Path("properties", name); v != nil {
		return v
	}
	return grammar.Default(t.types.Property(grammar.NodeTypes, n.kind, name))
}

// requirements returns the requirements of a template, in either notation, that have a target or a node filter. A node type is not
// a target.
func (t *topology) requirements(n template) []requirement {
	var list []requirement
	for _, f := range n.node.Get("requirements").Named() {
		target, filter := f.Value, f.Value.Get("node_filter")
		if long := target.Get("node"); long != nil {
			target = long
		}
		r := requirement{name: f.Key, filter: filter, pos: f.Pos}
		if target.Str() != "" && !t.chosenLater(target.Str(), filter) {
			r.target, r.pos = target.Str(), target.Pos
		}
		if r.target != "" || filter != nil {
			list = append(list, r)
		}
	}
	return list
}

// chosenLater reports whether the name in a requirement is a node type, so that the target is chosen at deployment.
func (t *topology) chosenLater(name string, filter *yamltree.Node) bool {
	if _, exists := t.byID[name]; exists {
		return false
	}
	return filter != nil || t.types.Lookup(grammar.NodeTypes, name) != nil
}
