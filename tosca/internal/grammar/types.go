// Package grammar checks service templates against the TOSCA Simple Profile in YAML, versions 1.0 to 1.3, and against
// the types they use.
package grammar

import (
	"strings"

	"github.com/vnfkit/vnfkit/tosca/internal/documents"
	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// Kind is a section of a service template that defines types.
type Kind string

// The kinds of types.
const (
	ArtifactTypes     Kind = "artifact_types"
	DataTypes         Kind = "data_types"
	CapabilityTypes   Kind = "capability_types"
	InterfaceTypes    Kind = "interface_types"
	RelationshipTypes Kind = "relationship_types"
	NodeTypes         Kind = "node_types"
	GroupTypes        Kind = "group_types"
	PolicyTypes       Kind = "policy_types"
)

var kinds = []Kind{
	ArtifactTypes, DataTypes, CapabilityTypes, InterfaceTypes,
	RelationshipTypes, NodeTypes, GroupTypes, PolicyTypes,
}

// maxLineage limits the ancestors of a type, and so every search along a lineage. SOL001 needs 3.
const maxLineage = 50

// Type is a type definition.
type Type struct {
	Name string
	Kind Kind
	Pos  problem.Position
	Node *yamltree.Node
	// Implicit types are types of SOL001 that the descriptor does not import.
	Implicit bool
	// Base is the type that derived_from names, "" without derived_from. Parent is the definition of Base, nil if Base is ""
	// or undefined, or if the derivation is circular.
	Base   string
	Parent *Type
}

// Types holds the type definitions of all documents.
type Types struct {
	byName   map[Kind]map[string]*Type
	prefixes map[string]bool
	short    map[Kind]map[string]*Type // filled by shorthand
	// addImplicit adds the types that the descriptor does not import, once.
	addImplicit func()
}

// NewTypes collects the types of a descriptor and reports types that are derived from themselves. If two documents
// define the same type, the first definition is used: definitions of the package precede bundled ones.
func NewTypes(set *documents.Set, r *report.Report) Types {
	t := Types{byName: map[Kind]map[string]*Type{}, prefixes: set.Prefixes, short: map[Kind]map[string]*Type{}}
	for _, kind := range kinds {
		t.byName[kind] = map[string]*Type{}
	}
	isAdded := false
	t.addImplicit = func() {
		if isAdded {
			return
		}
		isAdded = true
		t.link(t.define(set.Implicit(), true), r)
	}
	t.link(t.define(set.All, false), r)
	return t
}

// define adds the types of documents that are not defined yet, and returns them.
func (t Types) define(documents []documents.Document, implicit bool) (added []*Type) {
	for _, d := range documents {
		for _, section := range kinds {
			for _, f := range d.Root.Get(string(section)).Map() {
				kind := kindOf(section, f.Key)
				if t.byName[kind][f.Key] != nil {
					continue
				}
				defined := &Type{
					Name: f.Key, Kind: kind, Pos: f.Pos, Node: f.Value, Implicit: implicit,
					Base: f.Value.Get("derived_from").Str(),
				}
				t.byName[kind][f.Key] = defined
				added = append(added, defined)
			}
		}
	}
	return added
}

// link finds the parents of added types, and reports circular derivations.
func (t Types) link(added []*Type, r *report.Report) {
	for _, d := range added {
		if d.Kind != DataTypes || !isPrimitive(d.Base) {
			d.Parent = t.Lookup(d.Kind, d.Base)
		}
	}
	for _, kind := range kinds {
		t.cutCycles(kind, r)
	}
}

// kindNames maps the second part of the names of OASIS's and ETSI's types, as in tosca.datatypes.nfv.VduProfile, to kinds.
var kindNames = map[string]Kind{
	"artifacts": ArtifactTypes, "datatypes": DataTypes, "capabilities": CapabilityTypes,
	"interfaces": InterfaceTypes, "relationships": RelationshipTypes, "nodes": NodeTypes,
	"groups": GroupTypes, "policies": PolicyTypes,
}

// kindOf returns the kind of a type that is defined in a section. For types of OASIS and ETSI the name decides, not the
// section: some packages have copies of all these types in node_types (the quirk MisfiledTypes).
func kindOf(section Kind, name string) Kind {
	if rest, ok := strings.CutPrefix(name, "tosca."); ok {
		kind, _, _ := strings.Cut(rest, ".")
		if named, known := kindNames[kind]; known {
			return named
		}
	}
	return section
}

// cutCycles reports circular and too long lineages and cuts them, so that every lineage ends within maxLineage types.
func (t Types) cutCycles(kind Kind, r *report.Report) {
	var endless []*Type
	for _, d := range t.byName[kind] {
		length := 0
		for a := d.Parent; a != nil; a = a.Parent {
			length++
			switch {
			case a == d:
				r.Errorf(d.Pos, problem.TypeCycle, "the type %s is derived from itself", d.Name)
			case length > maxLineage:
				r.Errorf(d.Pos, problem.TypeCycle, "the lineage of the type %s does not end within %d ancestors", d.Name, maxLineage)
			default:
				continue
			}
			endless = append(endless, d)
			break
		}
	}
	for _, d := range endless {
		d.Parent = nil
	}
}

// Lookup returns the definition of a type, nil if the type is not defined. The name may begin with the namespace_prefix of an
// import, and it may be the short or qualified name of a normative type. An unknown name adds the types that the descriptor does not
// import.
func (t Types) Lookup(kind Kind, name string) *Type {
	if d := t.byName[kind][name]; d != nil || name == "" {
		return d
	}
	t.addImplicit()
	if d := t.byName[kind][name]; d != nil {
		return d
	}
	if prefix, rest, found := strings.Cut(name, ":"); found && t.prefixes[prefix] {
		return t.byName[kind][rest]
	}
	return t.shorthand(kind, name)
}

// Is reports whether a type is base or derived from it.
func (t Types) Is(kind Kind, name, base string) bool {
	if name == "" {
		return false
	}
	if !strings.HasPrefix(base, "tosca.") { // the name may have another form
		if b := t.Lookup(kind, base); b != nil {
			base = b.Name
		}
	}
	return name == base || t.Lookup(kind, name).is(base)
}

func (d *Type) is(base string) bool {
	for ; d != nil; d = d.Parent {
		if d.Name == base || d.Base == base {
			return true
		}
	}
	return false
}

// Primitive returns the primitive type that values of a data type have, for example "list" or "scalar-unit.size". It returns "" for a
// type with properties and for an unknown type.
func (t Types) Primitive(name string) string {
	if isPrimitive(name) {
		return primitiveName(name)
	}
	return t.Lookup(DataTypes, name).primitive()
}

// Property returns the definition of a property in the type or its nearest ancestor that defines it.
func (t Types) Property(kind Kind, name, property string) *yamltree.Node {
	f, _ := t.Lookup(kind, name).member("properties", property)
	return f.Value.Present()
}

// member returns the definition that a type, or its nearest ancestor, has for a name in one of its sections, for
// example properties or requirements.
func (d *Type) member(section, name string) (yamltree.Field, bool) {
	for ; d != nil; d = d.Parent {
		if f, ok := named(d.Node.Get(section), name); ok {
			return f, true
		}
	}
	return yamltree.Field{}, false
}

// named returns a field of a mapping, or of a list of mappings with one key each.
func named(section *yamltree.Node, name string) (yamltree.Field, bool) {
	if f, ok := section.Field(name); ok {
		return f, true
	}
	if !section.Is(yamltree.Sequence) {
		return yamltree.Field{}, false
	}
	for _, item := range section.Items {
		if f, ok := item.Field(name); ok {
			return f, true
		}
	}
	return yamltree.Field{}, false
}

// ValidValues returns the valid_values constraint of a property definition.
func ValidValues(definition *yamltree.Node) []*yamltree.Node {
	for _, c := range definition.Get("constraints").Named() {
		if c.Key == "valid_values" {
			return c.Value.List()
		}
	}
	return nil
}

// Default returns the value of a property that a template does not set: its default or, since descriptors often rely on
// it, the only valid value.
func Default(definition *yamltree.Node) *yamltree.Node {
	if d := definition.Get("default"); d != nil {
		return d
	}
	if values := ValidValues(definition); len(values) == 1 {
		return values[0].Present()
	}
	return nil
}
