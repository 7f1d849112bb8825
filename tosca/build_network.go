package tosca

import (
	"cmp"
	"slices"

	"github.com/vnfkit/vnfkit/tosca/internal/grammar"
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

func sortByID[T any](list []T, id func(T) string) {
	slices.SortStableFunc(list, func(x, y T) int { return cmp.Compare(id(x), id(y)) })
}

func (b *flavourBuilder) buildNetwork() {
	for _, n := range b.topo.of(typeVirtualLink) {
		b.VirtualLinks = append(b.VirtualLinks, VirtualLink{
			ID:             n.id,
			Description:    b.text(b.topo.property(n, "description")),
			LayerProtocols: b.texts(b.topo.eval(b.topo.property(n, "connectivity_type")).Get("layer_protocols")),
			Pos:            n.pos,
		})
	}
	for _, n := range b.topo.of(typeVduCp) {
		b.CPs = append(b.CPs, b.connectionPoint(n))
	}
	b.buildExternalCPs()
}

func (b *flavourBuilder) connectionPoint(n template) ConnectionPoint {
	cp := ConnectionPoint{
		ID:             n.id,
		Description:    b.text(b.topo.property(n, "description")),
		Order:          b.count(b.topo.property(n, "order"), -1),
		LayerProtocols: b.texts(b.topo.property(n, "layer_protocols")),
		VNICType:       b.text(b.topo.property(n, "vnic_type")),
		Pos:            n.pos,
	}
	for _, r := range b.topo.requirements(n) {
		switch {
		case r.name == "virtual_binding" && b.exists(r.target, r.pos):
			cp.VDU = r.target
		case r.name == "virtual_link" && b.exists(r.target, r.pos):
			cp.VirtualLink = r.target
		}
	}
	for _, r := range b.topo.property(n, "virtual_network_interface_requirements").List() {
		nic := NICRequirement{
			Name:        b.text(r.Get("name")),
			Description: b.text(r.Get("description")),
			Mandatory:   b.boolean(r.Get("support_mandatory")),
		}
		for _, f := range r.Get("network_interface_requirements").Map() {
			if nic.Requirements == nil {
				nic.Requirements = map[string]string{}
			}
			nic.Requirements[f.Key] = b.text(f.Value)
		}
		cp.NICRequirements = append(cp.NICRequirements, nic)
	}
	return cp
}

// buildExternalCPs lists the VnfExtCp nodes and the connection points of VDUs
// whose requirement the substitution mappings hand to the outside.
func (b *flavourBuilder) buildExternalCPs() {
	byID := map[string]ExternalCP{}
	for _, n := range b.topo.of(typeExtCp) {
		cp := ExternalCP{ID: n.id, LayerProtocols: b.texts(b.topo.property(n, "layer_protocols")), Pos: n.pos}
		for _, r := range b.topo.requirements(n) {
			if r.name == "internal_virtual_link" && b.exists(r.target, r.pos) {
				cp.VirtualLink = r.target
			}
		}
		byID[cp.ID] = cp
	}
	for _, f := range b.topo.node.Path("substitution_mappings", "requirements").Named() {
		for _, target := range mappedNodes(f.Value) {
			n, exists := b.topo.byID[target.Str()]
			if !exists { // common in the field, and of no consequence inside the VNF
				b.report.Warnf(target.Pos, problem.UnknownNode, "%s is mapped to the node template %q, which does not exist", f.Key, target.Str())
				continue
			}
			cp, known := byID[n.id]
			if !known {
				cp = ExternalCP{ID: n.id, LayerProtocols: b.texts(b.topo.property(n, "layer_protocols")), Pos: n.pos}
			}
			cp.Requirement = f.Key
			byID[n.id] = cp
		}
	}
	for _, cp := range byID {
		if b.topo.types.Is(grammar.NodeTypes, b.topo.byID[cp.ID].kind, typeVduCp) {
			cp.CP = cp.ID
		}
		b.ExternalCPs = append(b.ExternalCPs, cp)
	}
	sortByID(b.ExternalCPs, func(cp ExternalCP) string { return cp.ID })
}

// mappedNodes lists the nodes of a requirement mapping, which is a pair
// [node, requirement] or a list of such pairs. An empty list maps nothing.
func mappedNodes(mapping *yamltree.Node) []*yamltree.Node {
	items := mapping.List()
	if len(items) == 0 {
		return nil
	}
	if items[0].Kind == yamltree.Scalar {
		return items[:1]
	}
	var nodes []*yamltree.Node
	for _, pair := range items {
		nodes = append(nodes, mappedNodes(pair)...)
	}
	return nodes
}
