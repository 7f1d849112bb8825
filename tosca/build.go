package tosca

import (
	"cmp"
	"slices"
)

// builder makes the model from the documents.
type builder struct {
	docs   *documents
	pkg    *Package
	report *report
	entry  *topology
	df     []*topology // those of the flavours
}

// buildVNFD makes the model. It goes on after faults, to find all of them; the
// result is only of use when there were none.
func buildVNFD(docs *documents, p *Package, r *report) *VNFD {
	b := builder{docs: docs, pkg: p, report: r, entry: newTopology(docs.entry(), docs.types)}
	b.findFlavours()
	if len(b.df) == 0 {
		r.errorf(Position{File: docs.entry().file}, CodeNotVNFD, "no node template has a type derived from %s", typeVNF)
		return nil
	}
	v := b.descriptor()
	for _, t := range b.df {
		v.Flavours = append(v.Flavours, b.flavour(t))
	}
	slices.SortStableFunc(v.Flavours, func(x, y Flavour) int { return cmp.Compare(x.ID, y.ID) })
	for i := 1; i < len(v.Flavours); i++ {
		if first, second := v.Flavours[i-1], v.Flavours[i]; first.ID == second.ID {
			r.errorf(second.Pos, CodeFlavourID, "the flavour %q stands already at %s", second.ID, first.Pos)
		}
	}
	return v
}

// findFlavours picks the topologies that are deployment flavours. In the form
// SOL001 recommends, the entry file has a VNF node whose flavour_id
// is an input, and imports one file for each flavour, which substitutes it. A
// VNFD of one flavour may have everything in the entry file.
func (b *builder) findFlavours() {
	for _, d := range b.docs.all[1:] {
		if t := newTopology(d, b.docs.types); t.vnfType() != "" {
			b.df = append(b.df, t)
		}
	}
	substitutes := b.entry.node.path("substitution_mappings", "properties", "flavour_id") != nil
	if b.entry.vnfType() != "" && (substitutes || len(b.df) == 0) {
		b.df = append(b.df, b.entry)
	}
}

// descriptor reads the properties of the VNF that are the same for all flavours.
func (b *builder) descriptor() *VNFD {
	text := func(name string, required bool) string {
		topo, n := b.vnfProperty(name)
		if n == nil {
			if required {
				b.report.errorf(b.entry.pos(), CodeMissingProperty, "the VNF has no %s", name)
			}
			return ""
		}
		return values{topo, b.report}.text(n)
	}
	texts := func(name string) []string {
		topo, n := b.vnfProperty(name)
		return values{topo, b.report}.texts(n)
	}
	return &VNFD{
		ID:                     text("descriptor_id", true),
		Provider:               text("provider", true),
		ProductName:            text("product_name", true),
		SoftwareVersion:        text("software_version", true),
		Version:                text("descriptor_version", true),
		ProductInfoName:        text("product_info_name", false),
		ProductInfoDescription: text("product_info_description", false),
		VNFMInfo:               texts("vnfm_info"),
		Languages:              texts("localization_languages"),
		DefaultLanguage:        text("default_localization_language", false),
		Pos:                    b.entry.pos(),
	}
}

// vnfProperty looks a property of the VNF up in the entry file, then in the
// flavours, then in the types, and takes the first value that is no function; if
// all are, the first function.
func (b *builder) vnfProperty(name string) (*topology, *node) {
	var unresolved *node
	places := append([]*topology{b.entry}, b.df...)
	for _, t := range places {
		n, _ := t.vnf()
		v := t.eval(n.node.path("properties", name))
		if v != nil && !isFunction(v) {
			b.checkAllowed(t, name, v)
			return t, v
		}
		unresolved = cmp.Or(unresolved, v)
	}
	for _, t := range places {
		if v := defaultOf(b.docs.types.property(nodeTypes, t.vnfType(), name)); v != nil {
			return t, v
		}
	}
	return b.entry, unresolved
}

// checkAllowed holds a property against the valid_values of its definition.
func (b *builder) checkAllowed(t *topology, name string, v *node) {
	allowed := validValues(b.docs.types.property(nodeTypes, t.vnfType(), name))
	if len(allowed) == 0 || v.kind != scalarNode {
		return
	}
	for _, a := range allowed {
		if a.scalar() == v.text {
			return
		}
	}
	b.report.errorf(v.pos, CodeValue, "%s is %q, but its type allows only %s", name, v.text,
		(&node{kind: sequenceNode, items: allowed}).flow())
}

// flavourID finds the flavour_id of a topology.
func (b *builder) flavourID(t *topology) string {
	n, _ := t.vnf()
	for _, v := range []*node{
		t.node.path("substitution_mappings", "properties", "flavour_id"),
		n.node.path("properties", "flavour_id"),
		defaultOf(b.docs.types.property(nodeTypes, t.vnfType(), "flavour_id")),
	} {
		if v = t.eval(v); v != nil && !isFunction(v) {
			return values{t, b.report}.text(v)
		}
	}
	return "default"
}

// flavourBuilder makes the model of one topology.
type flavourBuilder struct {
	values
	*Flavour
	builder *builder
	vnf     template
}

func (b *builder) flavour(t *topology) Flavour {
	f := flavourBuilder{
		values:  values{t, b.report},
		builder: b,
		Flavour: &Flavour{ID: b.flavourID(t), Pos: t.pos()},
	}
	f.vnf, _ = t.vnf()
	f.Description = f.text(t.property(f.vnf, "flavour_description"))
	f.buildVDUs()
	f.buildStorages()
	f.buildNetwork()
	f.buildHooks()
	f.buildPolicies()
	return *f.Flavour
}
