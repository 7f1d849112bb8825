package tosca

import (
	"github.com/vnfkit/vnfkit/tosca/internal/grammar"
	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
)

// templateReader reads the templates of a topology. It shares the lineages and defaults of types between templates.
type templateReader struct {
	values
	lineages map[*grammar.Type][]string
	defaults map[*yamltree.Node]any // of defaults without expressions
}

// templates reads the topology t, once.
func (b *builder) templates(t *topology) Topology {
	if t.asWritten != nil {
		return *t.asWritten
	}
	r := templateReader{values: valuesOf(t), lineages: map[*grammar.Type][]string{}, defaults: map[*yamltree.Node]any{}}
	r.report = &report.Report{} // the readers of the typed fields report the same faults
	found := Topology{Nodes: make([]NodeTemplate, len(t.templates)), Sections: r.sections()}
	for i, n := range t.templates {
		found.Nodes[i] = r.nodeTemplate(n)
	}
	for _, p := range t.allPolicies() {
		found.Policies = append(found.Policies, r.policy(p))
	}
	for _, f := range t.node.Get("groups").Map() {
		found.Groups = append(found.Groups, r.group(f))
	}
	sortByID(found.Policies, func(p Policy) string { return p.ID })
	sortByID(found.Groups, func(g Group) string { return g.ID })
	t.asWritten = &found
	return found
}

func (r templateReader) policy(p policy) Policy {
	return Policy{
		Template: r.template(grammar.PolicyTypes, yamltree.Field{Key: p.id, Pos: p.pos, Value: p.node}),
		Targets:  textsOf(p.targets),
		Triggers: r.triggers(p),
	}
}

func (r templateReader) group(f yamltree.Field) Group {
	return Group{
		Template:   r.template(grammar.GroupTypes, f),
		Members:    textsOf(f.Value.Get("members").List()),
		Interfaces: r.mapping(f.Value.Get("interfaces")),
	}
}

// sections reads the sections of the topology that are not lists of templates.
func (r templateReader) sections() map[string]any {
	found := map[string]any{}
	for _, f := range r.topo.node.Map() {
		switch f.Key {
		case "description", "node_templates", "policies", "groups":
		default:
			found[f.Key] = r.value(f.Value)
		}
	}
	return found
}

// textsOf returns the texts of scalars.
func textsOf(list []*yamltree.Node) []string {
	var texts []string
	for _, n := range list {
		texts = append(texts, n.Str())
	}
	return texts
}

// template reads the fields that all kinds of templates have.
func (r templateReader) template(kind grammar.Kind, f yamltree.Field) Template {
	d := r.topo.types.Lookup(kind, f.Value.Get("type").Str())
	t := Template{
		ID:          f.Key,
		Type:        f.Value.Get("type").Str(),
		Lineage:     r.lineage(d),
		Description: f.Value.Get("description").Str(),
		Metadata:    r.mapping(f.Value.Get("metadata")),
		Properties:  r.properties(f.Value.Get("properties"), definitions(d, "properties")),
		Pos:         f.Pos,
	}
	if d != nil {
		t.Type = d.Name
	}
	return t
}

// lineage returns the names of a type and its ancestors.
func (r templateReader) lineage(d *grammar.Type) []string {
	if known, ok := r.lineages[d]; ok || d == nil {
		return known
	}
	var lineage []string
	for a := d; a != nil; a = a.Parent {
		lineage = append(lineage, a.Name)
		if a.Parent == nil && a.Base != "" {
			lineage = append(lineage, a.Base)
		}
	}
	r.lineages[d] = lineage
	return lineage
}

// definitions returns the sections at a path in a type and in its ancestors, the nearest type first.
func definitions(d *grammar.Type, path ...string) []*yamltree.Node {
	var sections []*yamltree.Node
	for ; d != nil; d = d.Parent {
		if n := d.Node.Path(path...); n != nil {
			sections = append(sections, n)
		}
	}
	return sections
}

// properties reads the values that a template gives, and defaults. Of several definitions of a property, the first one counts.
func (r templateReader) properties(given *yamltree.Node, sections []*yamltree.Node) map[string]any {
	found := r.mapping(given)
	seen := map[string]bool{}
	for _, section := range sections {
		if !r.topo.spend(section, 1+2*len(section.Fields)) {
			break
		}
		for _, f := range section.Map() {
			if _, isSet := found[f.Key]; isSet || seen[f.Key] {
				continue
			}
			seen[f.Key] = true
			if v := r.defaultOf(grammar.Default(f.Value)); v != nil {
				if found == nil {
					found = map[string]any{}
				}
				found[f.Key] = v
			}
		}
	}
	return found
}

// defaultOf is value for a default of a type.
func (r templateReader) defaultOf(n *yamltree.Node) any {
	if n == nil {
		return nil
	}
	if known, ok := r.defaults[n]; ok {
		return known
	}
	v := r.value(n)
	if !containsFunction(n) {
		r.defaults[n] = v
	}
	return v
}

func containsFunction(n *yamltree.Node) bool {
	if isFunction(n) {
		return true
	}
	if n == nil {
		return false
	}
	for _, f := range n.Fields {
		if containsFunction(f.Value) {
			return true
		}
	}
	for _, item := range n.Items {
		if containsFunction(item) {
			return true
		}
	}
	return false
}

func (r templateReader) nodeTemplate(n template) NodeTemplate {
	r.self = n
	t := NodeTemplate{
		Template:     r.template(grammar.NodeTypes, yamltree.Field{Key: n.id, Pos: n.pos, Value: n.node}),
		Attributes:   r.mapping(n.node.Get("attributes")),
		Capabilities: r.capabilities(n),
		Interfaces:   r.mapping(n.node.Get("interfaces")),
		Artifacts:    r.artifacts(n),
	}
	for _, f := range n.node.Get("requirements").Named() {
		t.Requirements = append(t.Requirements, r.requirement(f))
	}
	return t
}

// capabilities reads the properties of the capabilities of a template. Some packages have the properties directly in the capability.
func (r templateReader) capabilities(n template) map[string]map[string]any {
	node := r.topo.types.Lookup(grammar.NodeTypes, n.kind)
	var found map[string]map[string]any
	for _, f := range r.topo.inherited(n, "capabilities") {
		assigned := n.node.Path("capabilities", f.Key)
		if properties := assigned.Get("properties"); properties != nil {
			assigned = properties
		}
		if !r.topo.spend(n.node, len(r.lineage(node))) {
			break
		}
		sections := definitions(node, "capabilities", f.Key, "properties")
		for _, kind := range definitions(node, "capabilities", f.Key, "type") {
			sections = append(sections, definitions(r.topo.types.Lookup(grammar.CapabilityTypes, kind.Str()), "properties")...)
		}
		if properties := r.properties(assigned, sections); properties != nil {
			if found == nil {
				found = map[string]map[string]any{}
			}
			found[f.Key] = properties
		}
	}
	return found
}

// requirement reads an assignment in the short notation, the name of a node, or in the long notation.
func (r templateReader) requirement(f yamltree.Field) Requirement {
	found := Requirement{Name: f.Key, Pos: f.Pos}
	if f.Value.Is(yamltree.Scalar) {
		found.Node = f.Value.Text
		return found
	}
	relationship := f.Value.Get("relationship")
	found.Properties = r.mapping(relationship.Get("properties"))
	if long := relationship.Get("type"); long != nil {
		relationship = long
	}
	found.Relationship = relationship.Str()
	found.Node, found.Capability = f.Value.Get("node").Str(), f.Value.Get("capability").Str()
	found.Filter = r.value(f.Value.Get("node_filter"))
	return found
}
