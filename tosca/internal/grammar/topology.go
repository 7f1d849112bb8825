package grammar

import (
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// topology checks a topology_template (TOSCA Simple Profile 1.3, 3.9), and misplaced sections at the top level of the document.
func (v *validator) topology(t, root *yamltree.Node) {
	if !v.keys(t, topologyTemplate) {
		return
	}
	s := &scope{inputs: t.Get("inputs"), templates: t.Get("node_templates"), groups: t.Get("groups"),
		relationships: t.Get("relationship_templates"), workflows: t.Get("workflows"), filled: v.filledBeside(t)}
	v.propertyDefinitions(s.inputs, parameterDefinition)
	for _, section := range []string{"node_templates", "relationship_templates", "groups", "outputs"} {
		v.mapping(t.Get(section), section)
	}
	for _, f := range s.templates.Map() {
		v.nodeTemplate(s, f)
	}
	for _, f := range t.Get("relationship_templates").Map() {
		v.relationshipTemplate(s, f)
	}
	if s.groups == nil {
		s.groups = root.Get("groups")
	}
	for _, f := range s.groups.Map() {
		v.group(s, f)
	}
	for _, f := range append(t.Get("policies").Named(), root.Get("policies").Named()...) {
		v.policy(s, f)
	}
	for _, f := range t.Get("outputs").Map() {
		if v.keys(f.Value, outputDefinition) {
			v.value(s, f.Value.Get("value"), nil)
		}
	}
	v.workflows(s)
	v.substitution(s, t.Get("substitution_mappings"))
}

func (v *validator) nodeTemplate(s *scope, f yamltree.Field) {
	if !v.spend(1) || !v.keys(f.Value, nodeTemplate) {
		return
	}
	d := v.typeOf(NodeTypes, f, nodeTemplate)
	s = s.within(d)
	v.imageElsewhere = !v.hasImage(f.Value, d)
	v.properties(s, f.Value.Get("properties"), d, "properties", nil)
	v.imageElsewhere = false
	v.required(f.Value, d, nil, f.Pos, f.Key)
	v.properties(s, f.Value.Get("attributes"), d, "attributes", nil)
	v.capabilities(s, f.Value.Get("capabilities"), d)
	v.requirements(s, f.Value.Get("requirements"), d)
	v.unfilled(s, f, d)
	v.interfaces(s, f.Value.Get("interfaces"), d)
	v.artifacts(s, f.Value.Get("artifacts"))
	v.nodeFilter(f.Value.Get("node_filter"))
}

// capabilities checks capability assignments (3.8.1).
func (v *validator) capabilities(s *scope, section *yamltree.Node, d *Type) {
	if !v.mapping(section, "capabilities") {
		return
	}
	for _, f := range section.Map() {
		if !v.spend(1) || !v.keys(f.Value, capabilityAssignment) || d == nil {
			continue
		}
		def, known := d.member("capabilities", f.Key)
		if !known {
			v.unknown(f.Pos, problem.UnknownCapability, d.Name+" has no capability", f.Key, v.namesIn(d, "capabilities"))
			continue
		}
		c := v.types.Lookup(CapabilityTypes, capabilityType(def.Value))
		v.properties(s, f.Value.Get("properties"), c, "properties", def.Value.Get("properties"))
		v.required(f.Value, c, def.Value.Get("properties"), f.Pos, "the capability "+f.Key)
	}
}

// capabilityType returns the type in a capability definition in the short or long notation.
func capabilityType(def *yamltree.Node) string {
	if name := def.Str(); name != "" {
		return name
	}
	return def.Get("type").Str()
}

func (v *validator) relationshipTemplate(s *scope, f yamltree.Field) {
	if !v.spend(1) || !v.keys(f.Value, relationshipTemplate) {
		return
	}
	d := v.typeOf(RelationshipTypes, f, relationshipTemplate)
	s = s.within(d)
	v.properties(s, f.Value.Get("properties"), d, "properties", nil)
	v.required(f.Value, d, nil, f.Pos, f.Key)
	v.interfaces(s, f.Value.Get("interfaces"), d)
}

// nodeFilter checks the keynames and constraints of a node filter (3.6.5). It does not evaluate the filter.
func (v *validator) nodeFilter(n *yamltree.Node) {
	if n == nil || !v.keys(n, nodeFilter) {
		return
	}
	v.propertyFilters(n.Get("properties"))
	for _, f := range n.Get("capabilities").Named() {
		if v.spend(1) && v.keys(f.Value, entity("a capability filter", "properties")) {
			v.propertyFilters(f.Value.Get("properties"))
		}
	}
}

// propertyFilters checks filters in the notations "property: constraint" and "property: [constraints]".
func (v *validator) propertyFilters(section *yamltree.Node) {
	for _, f := range section.Named() {
		v.spend(1)
		if !f.Value.Is(yamltree.Scalar) { // a value that the property must equal
			v.constraintClauses(f.Value)
		}
	}
}
