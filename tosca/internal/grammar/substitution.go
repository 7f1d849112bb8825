package grammar

import (
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// substitution checks substitution_mappings (TOSCA Simple Profile 1.3, 3.8.14), which let a topology stand for a node of a type.
func (v *validator) substitution(s *scope, n *yamltree.Node) {
	if n == nil || !v.keys(n, substitutionMapping) {
		return
	}
	if n.Get("node_type") == nil {
		v.errorf(n.Pos, problem.MissingKeyname, "substitution_mappings need a node_type")
	}
	d := v.typeNamed(NodeTypes, n.Get("node_type"))
	for _, f := range n.Get("properties").Named() {
		v.mappedProperty(s, f, d)
	}
	for _, section := range []string{"capabilities", "requirements"} {
		for _, f := range n.Get(section).Named() {
			if !v.spend(1) {
				return
			}
			v.mapped(s, f, section, d)
		}
	}
}

// mappedProperty checks "property: value", SOL001's notation for flavour_id, and "property: [input]".
func (v *validator) mappedProperty(s *scope, f yamltree.Field, d *Type) {
	if d == nil || !v.spend(1) {
		return
	}
	def, known := d.member("properties", f.Key)
	switch {
	case !known:
		v.unknownProperty(f, d, "properties")
	case f.Value.Present() != nil && f.Value.Kind == yamltree.Scalar:
		v.value(s, f.Value, def.Value)
	}
}

// mapped checks a mapped capability or requirement: [node, name] or, for several occurrences, a list of these pairs.
func (v *validator) mapped(s *scope, f yamltree.Field, section string, d *Type) {
	v.mappedName(d, section, f.Key, f.Pos)
	switch {
	case f.Value.Present() == nil, f.Value.Kind == yamltree.Sequence && len(f.Value.Items) == 0, f.Value.Kind == yamltree.Mapping:
		return // not a mapping, or the notation of TOSCA 1.3 with properties
	case f.Value.Kind == yamltree.Scalar:
		v.errorf(f.Value.Pos, problem.Type, "a mapping must be [node template, %s]", singular(section))
	case f.Value.Items[0].Kind == yamltree.Sequence:
		for _, pair := range f.Value.Items {
			v.pair(s, pair, section)
		}
	default:
		v.pair(s, f.Value, section)
	}
}

func (v *validator) pair(s *scope, pair *yamltree.Node, section string) {
	items := pair.List()
	if len(items) != 2 || !v.spend(1) {
		v.errorf(pair.Pos, problem.Type, "a mapping must be [node template, %s]", singular(section))
		return
	}
	f, known := s.templates.Field(items[0].Str())
	if !known {
		v.deviation(problem.LooseMappings, v.unknownName(items[0].Pos, problem.UnknownNode,
			"there is no node template", items[0].Str(), keysOf(s.templates)))
		return
	}
	d := v.types.Lookup(NodeTypes, f.Value.Get("type").Str())
	v.mappedName(d, section, items[1].Str(), items[1].Pos)
}

// mappedName checks that a node type has a requirement or capability.
func (v *validator) mappedName(d *Type, section, name string, pos problem.Position) {
	if _, known := d.member(section, name); known || d == nil {
		return
	}
	code := problem.UnknownRequirement
	if section == "capabilities" {
		code = problem.UnknownCapability
	}
	v.deviation(problem.LooseMappings, v.unknownName(pos, code, d.Name+" has no "+singular(section), name, v.namesIn(d, section)))
}
