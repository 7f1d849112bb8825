package tosca

import (
	"slices"

	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/internal/documents"
	"github.com/vnfkit/vnfkit/tosca/internal/grammar"
	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// describesOneVNF returns true if all topologies belong to one VNF. Otherwise it reports a problem that names the subject of the
// topologies.
func (b *builder) describesOneVNF() bool {
	for _, t := range b.all {
		if pos, found := t.describes(typeNS); found {
			b.report.Errorf(pos, problem.NotVNFD, "this is the descriptor of a network service")
			return false
		}
		if vnfs := t.of(typeVNF); len(vnfs) > 1 {
			b.report.Errorf(vnfs[1].pos, problem.NotVNFD, "the topology has several VNFs, %s and %s: a VNFD describes one", vnfs[0].id, vnfs[1].id)
			return false
		}
	}
	if len(b.df) == 0 {
		b.reportNoVNF()
		return false
	}
	for _, t := range b.df[1:] {
		if !b.sameVNF(b.df[0], t) {
			b.report.Errorf(t.pos(), problem.NotVNFD, "this is another VNF than the one at %s, and no flavour of it", b.df[0].pos())
			return false
		}
	}
	return true
}

// reportNoVNF reports topologies without a VNF, which may describe a PNF.
func (b *builder) reportNoVNF() {
	for _, t := range b.all {
		if pos, found := t.describes(typePNF); found {
			b.report.Errorf(pos, problem.NotVNFD, "this is the descriptor of a PNF")
			return
		}
	}
	b.report.Errorf(problem.Position{File: b.docs.Entry().File}, problem.NotVNFD, "no node template has a type derived from %s", typeVNF)
}

// describes returns the position of a node of a type, or of substitution mappings for this type.
func (t *topology) describes(base string) (problem.Position, bool) {
	if found := t.of(base); len(found) > 0 {
		return found[0].pos, true
	}
	kind := t.node.Path("substitution_mappings", "node_type")
	return kind.At(), t.types.Is(grammar.NodeTypes, kind.Str(), base)
}

// hasDescriptor reports whether one of the files has the descriptor d.
func hasDescriptor(d Descriptor, docs *documents.Set, types grammar.Types, a *csar.Archive) bool {
	b := builder{docs: docs, types: types, pkg: a, report: &report.Report{}, budget: maxEvaluations}
	return slices.ContainsFunc(docs.All, func(doc documents.Document) bool {
		_, found := b.topology(doc).describes(descriptorTypes[d])
		return found
	})
}

// wantDescriptor reports a problem unless one of the files has the descriptor d.
func wantDescriptor(d Descriptor, docs *documents.Set, types grammar.Types, a *csar.Archive, r *report.Report) {
	if hasDescriptor(d, docs, types, a) {
		return
	}
	r.Errorf(problem.Position{File: docs.Entry().File}, problem.OtherDescriptor, "no node template has a type derived from %s", descriptorTypes[d])
}

// sameVNF reports whether two topologies are flavours of one VNF: they have the same descriptor_id or, if one of them has no id,
// related types.
func (b *builder) sameVNF(x, y *topology) bool {
	if idX, idY := b.descriptorID(x), b.descriptorID(y); idX != "" && idY != "" {
		return idX == idY
	}
	return b.types.Is(grammar.NodeTypes, x.vnfType(), y.vnfType()) || b.types.Is(grammar.NodeTypes, y.vnfType(), x.vnfType())
}

// descriptorID returns the descriptor_id that a topology or the type of its VNF states. It returns "" if neither states an id, or
// if the id is a function that the descriptor cannot resolve.
func (b *builder) descriptorID(t *topology) string {
	n, _ := t.vnf()
	if v := t.eval(n.node.Path("properties", "descriptor_id"), n); v != nil && v.Kind == yamltree.Scalar {
		return v.Text
	}
	return grammar.Default(b.types.Property(grammar.NodeTypes, t.vnfType(), "descriptor_id")).Str()
}
