package tosca

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/internal/documents"
	"github.com/vnfkit/vnfkit/tosca/internal/grammar"
	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// builder builds the model from the documents.
type builder struct {
	docs   *documents.Set
	types  grammar.Types
	pkg    *csar.Archive
	report *report.Report
	quirks []Quirk // deviations that are warnings
	budget int     // remaining units for expressions
	entry  *topology
	all    []*topology // topologies of all documents, the entry file first
	df     []*topology // topologies of the flavours
}

// buildVNFD builds the model. It continues after a fault, to report all faults at once. The result is valid only if r has no
// errors.
func buildVNFD(docs *documents.Set, types grammar.Types, a *csar.Archive, quirks []Quirk, r *report.Report) *VNFD {
	b := builder{docs: docs, types: types, pkg: a, quirks: quirks, report: r, budget: maxEvaluations}
	b.entry = b.topology(docs.Entry())
	b.findFlavours()
	if !b.describesOneVNF() {
		return nil
	}
	v := b.descriptor()
	for _, t := range b.df {
		v.Flavours = append(v.Flavours, b.flavour(t))
	}
	for i, t := range b.df { // after all typed fields, which have the first claim on the budget
		v.Flavours[i].Topology = b.templates(t)
	}
	b.buildPackageChanges(v)
	v.Entry = b.templates(b.entry)
	b.checkPackageChanges(v)
	b.checkFiles(v)
	slices.SortStableFunc(v.Flavours, func(x, y Flavour) int { return cmp.Compare(x.ID, y.ID) })
	for i := 1; i < len(v.Flavours); i++ {
		if first, second := v.Flavours[i-1], v.Flavours[i]; first.ID == second.ID {
			r.Errorf(second.Pos, problem.FlavourID, "the flavour %q stands already at %s", second.ID, first.Pos)
		}
	}
	return v
}

// findFlavours finds the topologies that are deployment flavours. In the form that SOL001 recommends, the entry file has a VNF
// node whose flavour_id is an input, and imports one file per flavour with a topology that substitutes this node. A VNFD with
// one flavour may have everything in the entry file.
func (b *builder) findFlavours() {
	b.all = []*topology{b.entry}
	for _, d := range b.docs.All[1:] {
		t := b.topology(d)
		b.all = append(b.all, t)
		if t.vnfType() != "" {
			b.df = append(b.df, t)
		}
	}
	substitutes := b.entry.node.Path("substitution_mappings", "properties", "flavour_id") != nil
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
				b.report.Errorf(b.entry.pos(), problem.MissingProperty, "the VNF has no %s", name)
			}
			return ""
		}
		return valuesOf(topo).text(n)
	}
	texts := func(name string) []string {
		topo, n := b.vnfProperty(name)
		return valuesOf(topo).texts(n)
	}
	v := &VNFD{
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
		ExtInvariantID:         text("ext_invariant_id", false),
		Pos:                    b.entry.pos(),
	}
	b.buildAttributes(v)
	return v
}

// vnfProperty returns a property of the VNF and the topology that has it. It searches the entry file, then the flavours, then the
// types, and returns the first value that is not a function. If all values are functions, it returns the first one.
func (b *builder) vnfProperty(name string) (*topology, *yamltree.Node) {
	var unresolved *yamltree.Node
	places := append([]*topology{b.entry}, b.df...)
	for _, t := range places {
		n, _ := t.vnf()
		v := t.eval(n.node.Path("properties", name), n)
		if v != nil && !isFunction(v) {
			b.checkAllowed(t, name, v)
			return t, v
		}
		unresolved = cmp.Or(unresolved, v)
	}
	for _, t := range places {
		if v := grammar.Default(b.types.Property(grammar.NodeTypes, t.vnfType(), name)); v != nil {
			return t, v
		}
	}
	return b.entry, unresolved
}

// checkAllowed reports a property whose value is not among the valid_values of its definition.
func (b *builder) checkAllowed(t *topology, name string, v *yamltree.Node) {
	allowed := grammar.ValidValues(b.types.Property(grammar.NodeTypes, t.vnfType(), name))
	if len(allowed) == 0 || v.Kind != yamltree.Scalar {
		return
	}
	for _, a := range allowed {
		if a.Str() == v.Text {
			return
		}
	}
	p := problem.Problem{
		Position: v.Pos, Code: problem.Value,
		Message: fmt.Sprintf("%s is %q, but its type allows only %s", name, v.Text, (&yamltree.Node{Kind: yamltree.Sequence, Items: allowed}).Flow()),
	}
	if slices.Contains(grammar.Identifiers, name) {
		p.Quirk = problem.OtherIdentifiers
		if slices.Contains(b.quirks, p.Quirk) {
			p.Severity = problem.Warning
		}
	}
	b.report.Add(p)
}

// flavourID returns the flavour_id of a topology.
func (b *builder) flavourID(t *topology) string {
	n, _ := t.vnf()
	for _, v := range []*yamltree.Node{
		mappedValue(t, t.node.Path("substitution_mappings", "properties", "flavour_id")),
		n.node.Path("properties", "flavour_id"),
		grammar.Default(b.types.Property(grammar.NodeTypes, t.vnfType(), "flavour_id")),
	} {
		if v = t.eval(v, n); v != nil && !isFunction(v) {
			return valuesOf(t).text(v)
		}
	}
	return "default"
}

// mappedValue returns the value of a property in the substitution mappings: a literal value, or the value of the input to which
// the property is mapped, [input] (TOSCA 1.3 3.8.8).
func mappedValue(t *topology, n *yamltree.Node) *yamltree.Node {
	for _, long := range []string{"value", "mapping"} {
		if v := n.Get(long); v != nil {
			n = v
		}
	}
	if n.Is(yamltree.Sequence) && len(n.Items) == 1 {
		return t.node.Path("inputs", n.Items[0].Str(), "default")
	}
	return n
}

// flavourBuilder builds the model of one topology.
type flavourBuilder struct {
	values
	*Flavour
	builder *builder
	vnf     template
}

// at returns a builder that evaluates expressions with the node template n as SELF.
func (b *flavourBuilder) at(n template) *flavourBuilder {
	c := *b
	c.self = n
	return &c
}

func (b *builder) flavour(t *topology) Flavour {
	f := flavourBuilder{
		values:  valuesOf(t),
		builder: b,
		Flavour: &Flavour{ID: b.flavourID(t), Pos: t.pos()},
	}
	f.vnf, _ = t.vnf()
	f.Description = f.text(t.property(f.vnf, "flavour_description"))
	f.buildVDUs()
	f.buildContainers()
	f.buildMCIOPs()
	f.buildStorages()
	f.buildVirtualLinks()
	f.buildCPs()
	f.buildNodeFilters()
	f.buildOperations()
	f.buildHooks()
	f.buildPolicies()
	return *f.Flavour
}
