package grammar

import (
	"fmt"
	"slices"

	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// typeDefinitions checks a section that defines types (TOSCA Simple Profile 1.3, 3.7).
func (v *validator) typeDefinitions(section Kind, n *yamltree.Node) {
	if !v.mapping(n, string(section)) {
		return
	}
	for _, f := range n.Map() {
		if !v.spend(1) {
			return
		}
		kind := kindOf(section, f.Key)
		if kind != section {
			v.deviation(problem.MisfiledTypes, problem.Problem{
				Position: f.Pos, Code: problem.Misplaced,
				Message: fmt.Sprintf("%s belongs into the %s", f.Key, kind),
			})
		}
		v.typeDefinition(kind, f.Value)
	}
}

func (v *validator) typeDefinition(kind Kind, def *yamltree.Node) {
	if kind == InterfaceTypes {
		v.interfaceType(def)
	} else if !v.keys(def, typeDefinition[kind]) {
		return
	}
	if base := def.Get("derived_from"); kind != DataTypes || !isPrimitive(base.Str()) {
		v.typeNamed(kind, base)
	}
	v.inVNFType = kind == NodeTypes && v.types.Is(kind, def.Get("derived_from").Str(), typeVNF)
	v.propertyDefinitions(def.Get("properties"), propertyDefinition)
	v.inVNFType = false
	v.propertyDefinitions(def.Get("attributes"), attributeDefinition)
	v.constraintClauses(def.Get("constraints"))
	v.capabilityDefinitions(def.Get("capabilities"))
	v.requirementDefinitions(def.Get("requirements"))
	v.interfaceDefinitions(def.Get("interfaces"))
	v.artifacts(nil, def.Get("artifacts"))
	v.typeList(CapabilityTypes, def.Get("valid_target_types"))
	v.typeList(NodeTypes, def.Get("valid_source_types"), def.Get("members"))
	for _, target := range def.Get("targets").List() {
		if name := target.Str(); v.types.byName[NodeTypes][name] != nil || v.types.Lookup(GroupTypes, name) == nil {
			v.typeNamed(NodeTypes, target)
		}
	}
}

func (v *validator) typeList(kind Kind, lists ...*yamltree.Node) {
	for _, list := range lists {
		for _, n := range list.List() {
			v.typeNamed(kind, n)
		}
	}
}

// propertyDefinitions checks definitions of properties, attributes or inputs.
func (v *validator) propertyDefinitions(section *yamltree.Node, of construct) {
	if !v.mapping(section, "a section of definitions") {
		return
	}
	for _, f := range section.Map() {
		if !v.spend(1) {
			return
		}
		if f.Value.Present() != nil && f.Value.Kind == yamltree.Scalar && of.name == parameterDefinition.name {
			continue // the definition of an operation's input may be a value
		}
		if !v.keys(f.Value, of) {
			continue
		}
		v.schema(f.Value)
		v.ofIdentifier = v.inVNFType && slices.Contains(Identifiers, f.Key)
		v.value(nil, f.Value.Get("default"), f.Value)
		v.ofIdentifier = false
	}
}

// schema checks the type and the constraints of a definition, and those of its entry_schema.
func (v *validator) schema(def *yamltree.Node) {
	for depth := 0; def.Present() != nil && depth < maxLineage; depth++ {
		name := def.Get("type")
		if def.Kind == yamltree.Scalar {
			name = def
		}
		if text := name.Str(); name != nil && !isPrimitive(text) {
			v.typeNamed(DataTypes, name)
		}
		v.constraintClauses(def.Get("constraints"))
		def = def.Get("entry_schema")
	}
}

func (v *validator) constraintClauses(clauses *yamltree.Node) {
	for _, c := range clauses.Named() {
		v.spend(1)
		if !slices.Contains(operators, c.Key) {
			v.unknown(c.Pos, problem.UnknownKeyname, "there is no constraint", c.Key, operators)
		}
	}
}

func (v *validator) capabilityDefinitions(section *yamltree.Node) {
	for _, f := range section.Named() {
		if !v.spend(1) {
			return
		}
		if f.Value.Present() != nil && f.Value.Kind == yamltree.Scalar { // short notation
			v.typeNamed(CapabilityTypes, f.Value)
			continue
		}
		if v.keys(f.Value, capabilityDefinition) {
			v.typeNamed(CapabilityTypes, f.Value.Get("type"))
			v.propertyDefinitions(f.Value.Get("properties"), propertyDefinition)
			v.propertyDefinitions(f.Value.Get("attributes"), attributeDefinition)
			v.typeList(NodeTypes, f.Value.Get("valid_source_types"))
			v.occurrences(f.Value.Get("occurrences"))
		}
	}
}

func (v *validator) requirementDefinitions(section *yamltree.Node) {
	for _, f := range section.Named() {
		if !v.spend(1) {
			return
		}
		if f.Value.Present() != nil && f.Value.Kind == yamltree.Scalar { // short notation
			v.typeNamed(CapabilityTypes, f.Value)
			continue
		}
		if !v.keys(f.Value, requirementDefinition) {
			continue
		}
		v.typeNamed(CapabilityTypes, f.Value.Get("capability"))
		v.typeNamed(NodeTypes, f.Value.Get("node"))
		relationship := f.Value.Get("relationship")
		if long := relationship.Get("type"); long != nil {
			relationship = long
		}
		if relationship.Str() != "" {
			v.typeNamed(RelationshipTypes, relationship)
		}
		v.occurrences(f.Value.Get("occurrences"))
	}
}

func (v *validator) occurrences(n *yamltree.Node) {
	if n == nil {
		return
	}
	if lower, upper, ok := bounds(n); !ok || lower < 0 || upper < lower {
		v.wrongType(n, "range")
	}
}
