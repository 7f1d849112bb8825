package tosca

import (
	"github.com/vnfkit/vnfkit/tosca/internal/grammar"
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
)

// buildAttributes reads configurable_properties and modifiable_attributes of the VNF. A descriptor declares additional attributes
// in data types derived from those of SOL001. The VNF node may set their values.
func (b *builder) buildAttributes(v *VNFD) {
	read, given, kind := b.structured("configurable_properties")
	v.Configurable = ConfigurableProperties{
		AutoscaleEnabled: read.choice(given.Get("is_autoscale_enabled")),
		AutohealEnabled:  read.choice(given.Get("is_autoheal_enabled")),
		Additional:       b.declared(read, kind, given, "additional_configurable_properties"),
	}
	read, given, kind = b.structured("modifiable_attributes")
	v.Modifiable = ModifiableAttributes{
		Extensions: b.declared(read, kind, given, "extensions"),
		Metadata:   b.declared(read, kind, given, "metadata"),
	}
}

// structured returns a property of the VNF, its data type, and the values that evaluate its expressions.
func (b *builder) structured(name string) (values, *yamltree.Node, string) {
	t, n := b.vnfProperty(name)
	for _, place := range append([]*topology{b.entry}, b.df...) {
		if kind := b.types.Property(grammar.NodeTypes, place.vnfType(), name).Get("type").Str(); kind != "" {
			return valuesOf(t), n, kind
		}
	}
	return valuesOf(t), n, ""
}

// declared returns the attributes that the type of a field has in addition to those of SOL001, with their values.
func (b *builder) declared(v values, kind string, given *yamltree.Node, field string) []Attribute {
	assigned := v.path(given, field)
	added := b.members(b.members(kind)[field].Value.Get("type").Str())
	list := b.attributes(v, added, maxTypeDepth)
	for i, a := range list {
		if value := v.value(assigned.Get(a.Name)); value != nil {
			list[i].Default = value
		}
	}
	return list
}

// maxTypeDepth limits how deep the types of attributes are read, because a type can have attributes of the same type.
const maxTypeDepth = 5

// attributes returns the attributes with these definitions, sorted by name.
func (b *builder) attributes(v values, definitions map[string]yamltree.Field, depth int) []Attribute {
	var list []Attribute
	for _, name := range sortedKeys(definitions) {
		list = append(list, b.attribute(v, definitions[name], depth))
	}
	return list
}

func (b *builder) attribute(v values, f yamltree.Field, depth int) Attribute {
	kind, entry := f.Value.Get("type"), f.Value.Get("entry_schema")
	a := Attribute{
		Name:        f.Key,
		Type:        v.text(kind),
		Base:        b.types.Primitive(kind.Str()),
		Description: v.text(f.Value.Get("description")),
		Required:    v.required(f.Value),
		Default:     v.value(grammar.Default(f.Value)),
		Pos:         f.Pos,
	}
	if depth == 0 || !v.topo.spend(f.Value, 20) {
		return a
	}
	for d := b.types.Lookup(grammar.DataTypes, kind.Str()); d != nil && entry == nil; d = d.Parent {
		entry = d.Node.Get("entry_schema")
	}
	if entry.Is(yamltree.Scalar) { // short notation
		entry = &yamltree.Node{Pos: entry.Pos, Kind: yamltree.Mapping, Fields: []yamltree.Field{{Key: "type", Pos: entry.Pos, Value: entry}}}
	}
	if entry != nil {
		of := b.attribute(v, yamltree.Field{Pos: entry.Pos, Value: entry}, depth-1)
		a.Entry = &of
	}
	a.Attributes = b.attributes(v, b.members(kind.Str()), depth-1)
	return a
}

// required returns the keyname "required" of a property definition. Its default is true.
func (v values) required(definition *yamltree.Node) bool {
	chosen := v.choice(definition.Get("required"))
	return chosen == nil || *chosen
}

// ofSOL001 are the data types of SOL001 to which a descriptor can add attributes.
var ofSOL001 = map[string]bool{
	"tosca.datatypes.nfv.VnfConfigurableProperties":             true,
	"tosca.datatypes.nfv.VnfAdditionalConfigurableProperties":   true,
	"tosca.datatypes.nfv.VnfInfoModifiableAttributes":           true,
	"tosca.datatypes.nfv.VnfInfoModifiableAttributesExtensions": true,
	"tosca.datatypes.nfv.VnfInfoModifiableAttributesMetadata":   true,
}

// members returns the properties of a data type and of its ancestors, without those that SOL001 defines.
func (b *builder) members(kind string) map[string]yamltree.Field {
	found := map[string]yamltree.Field{}
	for d := b.types.Lookup(grammar.DataTypes, kind); d != nil && !ofSOL001[d.Name]; d = d.Parent {
		for _, f := range d.Node.Get("properties").Map() {
			if _, known := found[f.Key]; !known {
				found[f.Key] = f
			}
		}
	}
	return found
}
