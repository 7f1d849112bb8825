package grammar

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// requirements checks requirement assignments (TOSCA Simple Profile 1.3, 3.8.2). A requirement without an assignment is
// valid: the orchestrator finds the target at deployment.
func (v *validator) requirements(s *scope, section *yamltree.Node, d *Type) {
	if section == nil {
		return
	}
	if section.Kind == yamltree.Mapping {
		v.deviation(problem.MappedRequirements, problem.Problem{
			Position: section.Pos, Code: problem.Type,
			Message: "requirements must be a list", Expected: "one list item for each requirement",
		})
	} else if section.Kind != yamltree.Sequence {
		v.errorf(section.Pos, problem.Type, "requirements must be a list")
	}
	used := map[string]int{}
	for _, f := range section.Named() {
		if !v.spend(1) {
			return
		}
		used[f.Key]++
		v.requirement(s, f, d, used[f.Key])
	}
}

func (v *validator) requirement(s *scope, f yamltree.Field, d *Type, ordinal int) {
	def, known := d.member("requirements", f.Key)
	if !known && d != nil {
		v.unknown(f.Pos, problem.UnknownRequirement, d.Name+" has no requirement", f.Key, v.namesIn(d, "requirements"))
	}
	if most := mostOccurrences(def.Value); known && ordinal == most+1 {
		v.errorf(f.Pos, problem.Occurrences, "the requirement %s may be assigned %d times only", f.Key, most)
	}
	switch n := f.Value.Present(); {
	case n == nil:
		v.deviation(problem.EmptyRequirement, problem.Problem{
			Position: f.Pos, Code: problem.Type,
			Message: "the requirement " + f.Key + " has no value", Expected: "the name of a node template, or nothing at all",
		})
	case n.Kind == yamltree.Scalar:
		v.target(s, n, def.Value, nil)
	case v.keys(n, requirementAssignment):
		if target := n.Get("node"); target != nil {
			v.target(s, target, def.Value, n.Get("capability"))
		}
		v.nodeFilter(n.Get("node_filter"))
		v.relationship(s, n.Get("relationship"))
	}
}

// mostOccurrences returns how often a requirement may be assigned: once, unless its definition has occurrences.
func mostOccurrences(def *yamltree.Node) int {
	if o := def.Get("occurrences"); o != nil {
		if _, upper, ok := bounds(o); ok {
			return min(upper, math.MaxInt-1)
		}
		return math.MaxInt - 1
	}
	return 1
}

// target checks that a requirement names a node template, or a node type of a template, that offers the required
// capability.
func (v *validator) target(s *scope, n, def, capability *yamltree.Node) {
	if n.Kind != yamltree.Scalar {
		v.errorf(n.Pos, problem.Type, "this must be the name of a node template")
		return
	}
	kind := n.Text
	f, isTemplate := s.templates.Field(n.Text)
	if isTemplate {
		kind = f.Value.Get("type").Str()
	}
	d := v.types.Lookup(NodeTypes, kind)
	if d == nil && !isTemplate {
		v.unknown(n.Pos, problem.UnknownNode, "there is no node template", n.Text, keysOf(s.templates))
		return
	}
	if d == nil {
		return // the unknown type is reported at the template
	}
	qualified := []*Type{d}
	if !isTemplate {
		qualified = v.subtypes(d)
	}
	if want := def.Get("node").Str(); want != "" && v.types.Lookup(NodeTypes, want) != nil {
		qualified = slices.DeleteFunc(qualified, func(d *Type) bool { return !v.types.Is(NodeTypes, d.Name, want) })
		if len(qualified) == 0 {
			v.wrongTarget(n, d, "a node of type "+want)
			return
		}
	}
	want := cmp.Or(def.Get("capability").Str(), def.Str()) // long or short notation
	if v.types.Lookup(CapabilityTypes, want) != nil && !slices.ContainsFunc(qualified, func(d *Type) bool { return v.offers(d, want) }) {
		v.wrongTarget(n, d, "a node with a capability of type "+want)
	}
	if name := capability.Str(); name != "" && v.types.Lookup(CapabilityTypes, name) == nil {
		if _, ok := d.member("capabilities", name); !ok {
			v.unknown(capability.Pos, problem.UnknownCapability, d.Name+" has no capability", name, v.namesIn(d, "capabilities"))
		}
	}
}

// subtypes returns a node type and the types derived from it, any of which may be the type of a target that is chosen at deployment.
func (v *validator) subtypes(base *Type) []*Type {
	v.types.addImplicit()
	var found []*Type
	for _, d := range v.types.byName[NodeTypes] {
		if v.spend(1) && d.is(base.Name) {
			found = append(found, d)
		}
	}
	return found
}

func (v *validator) wrongTarget(n *yamltree.Node, d *Type, expected string) {
	v.add(problem.Problem{
		Position: n.Pos, Code: problem.WrongTarget,
		Message:  fmt.Sprintf("%s, of type %s, cannot be the target", n.Text, d.Name),
		Expected: expected,
	})
}

// offers reports whether a node type has a capability of a type.
func (v *validator) offers(d *Type, want string) bool {
	for ; d != nil; d = d.Parent {
		for _, f := range d.Node.Get("capabilities").Named() {
			if !v.spend(1) || v.types.Is(CapabilityTypes, capabilityType(f.Value), want) {
				return true
			}
		}
	}
	return false
}

// relationship checks the relationship of a requirement: the name of a relationship template or type, or a mapping with type,
// properties and interfaces.
func (v *validator) relationship(s *scope, n *yamltree.Node) {
	if n.Is(yamltree.Scalar) && !s.relationships.Has(n.Text) && v.types.Lookup(RelationshipTypes, n.Text) == nil {
		v.unknown(n.Pos, problem.UnknownRelationship, "there is no relationship template or type", n.Text, keysOf(s.relationships))
	}
	if n == nil || n.Kind == yamltree.Scalar {
		return
	}
	if !v.keys(n, entity("a relationship", "type properties interfaces attributes")) {
		return
	}
	d := v.typeNamed(RelationshipTypes, n.Get("type"))
	v.properties(s, n.Get("properties"), d, "properties", nil)
	v.interfaces(s, n.Get("interfaces"), d)
}
