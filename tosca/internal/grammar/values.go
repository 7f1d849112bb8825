package grammar

import (
	"slices"

	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// typeVNF is the type from which the types of VNFs are derived.
const typeVNF = ofSOL001 + "VNF"

// Identifiers are the properties that identify a VNF product, to which the quirk problem.OtherIdentifiers applies.
var Identifiers = []string{"descriptor_id", "descriptor_version", "provider", "product_name", "software_version", "vnfm_info"}

// properties checks the properties of a template against the definitions in a section of its type. refined are definitions
// that override those of the type: a node type may refine the properties of a capability.
func (v *validator) properties(s *scope, n *yamltree.Node, d *Type, section string, refined *yamltree.Node) {
	if d == nil || !v.mapping(n, section) {
		return
	}
	for _, f := range n.Map() {
		if !v.spend(1) {
			return
		}
		def, known := refined.Field(f.Key)
		if !known {
			def, known = d.member(section, f.Key)
		}
		if !known {
			v.unknownProperty(f, d, section)
			continue
		}
		v.ofIdentifier = section == "properties" && d.is(typeVNF) && slices.Contains(Identifiers, f.Key)
		value := f.Value
		if section == "attributes" && longAttribute(value) {
			value = value.Get("value")
		}
		v.value(s, value, def.Value)
		if inherited := d.typeOf(section, f.Key, def); inherited != nil {
			v.value(s, value, inherited)
		}
		v.ofIdentifier = false
	}
}

// longAttribute reports whether an attribute is assigned in the long notation, {description: text, value: value} (3.6.13).
func longAttribute(n *yamltree.Node) bool {
	return n.Has("value") && (len(n.Fields) == 1 || len(n.Fields) == 2 && n.Has("description"))
}

// typeOf returns the definition, in the nearest ancestor, that states the type of a property. It returns nil if the type's own
// definition states it. A type may refine only the default or the constraints of an inherited property.
func (d *Type) typeOf(section, name string, own yamltree.Field) *yamltree.Node {
	if own.Value.Get("type") != nil {
		return nil
	}
	for ; d != nil; d = d.Parent {
		if f, ok := d.Node.Get(section).Field(name); ok && f.Value.Get("type") != nil {
			return f.Value
		}
	}
	return nil
}

func (v *validator) unknownProperty(f yamltree.Field, d *Type, section string) {
	code := problem.UnknownProperty
	if section == "attributes" {
		code = problem.UnknownAttribute
	}
	v.unknown(f.Pos, code, d.Name+" has no "+singular(section), f.Key, v.namesIn(d, section))
}

// required reports the required properties of a type that a template does not set and that have no default.
func (v *validator) required(n *yamltree.Node, d *Type, refined *yamltree.Node, pos problem.Position, whose string) {
	given := n.Get("properties")
	if d != nil && d.Kind == DataTypes {
		given = n
	}
	for a := d; a != nil; a = a.Parent {
		for _, f := range a.Node.Get("properties").Map() {
			if !v.spend(1) {
				return
			}
			def, nearer := refined.Field(f.Key)
			if !nearer {
				def, _ = d.member("properties", f.Key)
			}
			if def.Pos != f.Pos && !nearer || !isRequired(def.Value) {
				continue // overridden, or not required
			}
			if v.imageElsewhere && f.Key == "checksum" && a.Name == typeImageData {
				continue
			}
			if !given.Has(f.Key) {
				v.deviation(problem.IncompleteProperties, problem.Problem{
					Position: pos, Code: problem.RequiredProperty,
					Message: whose + " needs the property \"" + f.Key + "\" of " + a.Name,
				})
			}
		}
	}
}

func isRequired(def *yamltree.Node) bool {
	return def.Get("required").Str() != "false" && !def.Has("default")
}

// value checks a value against its definition: a property definition, or the schema of the entries of a list or map.
func (v *validator) value(s *scope, n, def *yamltree.Node) {
	if n.Present() == nil || !v.spend(1) {
		return
	}
	if name, args := function(n); name != "" {
		v.function(s, n, name, args)
		return
	}
	kind := def.Get("type").Str()
	if def != nil && def.Kind == yamltree.Scalar { // entry_schema: string
		kind = def.Text
	}
	kind = primitiveName(kind)
	if kind != "" && !v.ofType(s, n, kind, def) {
		return
	}
	v.constraints(n, kind, def.Get("constraints"))
}

// ofType checks the type of a value. It returns false for a fault that makes further checks pointless.
func (v *validator) ofType(s *scope, n *yamltree.Node, kind string, def *yamltree.Node) bool {
	switch kind {
	case "list":
		return v.list(s, n, def)
	case "map":
		return v.entries(s, n, def)
	}
	if isScalarType(kind) {
		return v.scalar(n, kind)
	}
	d := v.types.Lookup(DataTypes, kind)
	if d == nil {
		return false // the unknown type is reported at the definition of the property
	}
	return v.dataType(s, n, d)
}

func (v *validator) list(s *scope, n, def *yamltree.Node) bool {
	if n.Kind != yamltree.Sequence {
		v.errorf(n.Pos, problem.Type, "this must be a list")
		return false
	}
	for _, item := range n.List() {
		v.value(s, item, def.Get("entry_schema"))
	}
	return true
}

func (v *validator) entries(s *scope, n, def *yamltree.Node) bool {
	if n.Kind != yamltree.Mapping {
		v.errorf(n.Pos, problem.Type, "this must be a map")
		return false
	}
	for _, f := range n.Map() {
		v.value(s, f.Value, def.Get("entry_schema"))
	}
	return true
}

// dataType checks a value of a type that the descriptor defines: either derived from a primitive type, with further
// constraints, or with properties.
func (v *validator) dataType(s *scope, n *yamltree.Node, d *Type) bool {
	if base := d.primitive(); base != "" {
		ok := v.ofType(s, n, base, d.Node)
		for a := d; ok && a != nil; a = a.Parent {
			v.constraints(n, base, a.Node.Get("constraints"))
		}
		return ok
	}
	if n.Kind != yamltree.Mapping {
		v.errorf(n.Pos, problem.Type, "this must be a mapping of the properties of %s", d.Name)
		return false
	}
	v.properties(s, n, d, "properties", nil)
	v.required(n, d, nil, n.Pos, "the value")
	return true
}

// primitive returns the primitive type from which a data type is derived, "" for a type with properties.
func (d *Type) primitive() string {
	for ; d != nil; d = d.Parent {
		if isPrimitive(d.Base) {
			return primitiveName(d.Base)
		}
	}
	return ""
}
