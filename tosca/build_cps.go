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

func (b *flavourBuilder) buildCPs() {
	for _, n := range b.topo.of(typeVduCp) {
		b.CPs = append(b.CPs, b.at(n).connectionPoint(n))
	}
	for _, n := range b.topo.of(typeVirtualCp) {
		b.VirtualCPs = append(b.VirtualCPs, b.at(n).virtualCP(n))
	}
	for _, n := range b.topo.of(typeVipCp) {
		b := b.at(n)
		dedicated := b.choice(b.topo.property(n, "dedicated_ip_address"))
		b.VIPs = append(b.VIPs, VIP{
			ID:             n.id,
			Description:    b.text(b.topo.property(n, "description")),
			CPs:            b.targets(n, "target"),
			VirtualLink:    b.target(n, "virtual_link"),
			LayerProtocols: b.texts(b.topo.property(n, "layer_protocols")),
			Protocols:      b.protocols(n),
			Function:       b.text(b.topo.property(n, "vip_function")),
			SharedAddress:  dedicated != nil && !*dedicated,
			Pos:            n.pos,
		})
	}
	b.buildExternalCPs()
}

func (b *flavourBuilder) connectionPoint(n template) ConnectionPoint {
	cp := ConnectionPoint{
		ID:               n.id,
		Description:      b.text(b.topo.property(n, "description")),
		VDU:              b.target(n, "virtual_binding"),
		VirtualLink:      b.target(n, "virtual_link"),
		Order:            b.count(b.topo.property(n, "order"), -1),
		LayerProtocols:   b.texts(b.topo.property(n, "layer_protocols")),
		Protocols:        b.protocols(n),
		Role:             b.text(b.topo.property(n, "role")),
		Trunk:            b.target(n, "trunk_binding"),
		SegmentationType: b.text(b.topo.property(n, "segmentation_type")),
		SegmentationID:   b.count(b.topo.property(n, "segmentation_id"), 0),
		TrunkMode:        b.boolean(b.topo.property(n, "trunk_mode")),
		VNICType:         b.text(b.topo.property(n, "vnic_type")),
		Pos:              n.pos,
	}
	for _, r := range b.items(b.topo.property(n, "virtual_network_interface_requirements")) {
		r = b.eval(r)
		cp.NICRequirements = append(cp.NICRequirements, NICRequirement{
			Name:         b.text(r.Get("name")),
			Description:  b.text(r.Get("description")),
			Mandatory:    b.boolean(r.Get("support_mandatory")),
			Requirements: b.textMap(r.Get("network_interface_requirements")),
		})
	}
	return cp
}

func (b *flavourBuilder) virtualCP(n template) VirtualCP {
	cp := VirtualCP{
		ID:                   n.id,
		Description:          b.text(b.topo.property(n, "description")),
		VDUs:                 b.targets(n, "target"),
		VirtualLink:          b.target(n, "virtual_link"),
		LayerProtocols:       b.texts(b.topo.property(n, "layer_protocols")),
		Protocols:            b.protocols(n),
		PoolNameConfigurable: b.boolean(b.topo.property(n, "address_pool_name_configurable")),
		Pos:                  n.pos,
	}
	for _, item := range b.items(b.topo.property(n, "additionalServiceData")) {
		item = b.eval(item)
		s := Service{
			Host:  b.text(b.path(item, "serviceData", "host")),
			Paths: b.texts(b.path(item, "serviceData", "path")),
		}
		for _, port := range b.items(item.Get("portData")) {
			port = b.eval(port)
			s.Ports = append(s.Ports, ServicePort{
				Name:         b.text(port.Get("name")),
				Protocol:     b.text(port.Get("protocol")),
				Port:         b.count(port.Get("port"), 0),
				Configurable: b.boolean(port.Get("portConfigurable")),
			})
		}
		cp.Services = append(cp.Services, s)
	}
	return cp
}

// buildExternalCPs reads the VnfExtCp nodes, and the connection points of VDUs that the substitution mappings expose.
func (b *flavourBuilder) buildExternalCPs() {
	byID := map[string]ExternalCP{}
	for _, n := range b.topo.of(typeExtCp) {
		cp := b.at(n).externalCP(n)
		cp.VirtualLink = b.target(n, "internal_virtual_link")
		byID[cp.ID] = cp
	}
	for _, f := range b.topo.node.Path("substitution_mappings", "requirements").Named() {
		for _, target := range mappedNodes(f.Value) {
			n, exists := b.topo.byID[target.Str()]
			if !exists { // common in real packages, and harmless inside the VNF
				b.report.Warnf(target.Pos, problem.UnknownNode, "%s is mapped to the node template %q, which does not exist", f.Key, target.Str())
				continue
			}
			cp, known := byID[n.id]
			if !known {
				cp = b.at(n).externalCP(n)
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

func (b *flavourBuilder) externalCP(n template) ExternalCP {
	return ExternalCP{ID: n.id, LayerProtocols: b.texts(b.topo.property(n, "layer_protocols")), Protocols: b.protocols(n), Pos: n.pos}
}

// mappedNodes returns the nodes of a requirement mapping (TOSCA 1.3 3.8.12): a pair [node, requirement] or a list of pairs. In the
// long notation the pairs are below the key "mapping". An empty list maps no node.
func mappedNodes(mapping *yamltree.Node) []*yamltree.Node {
	if long := mapping.Get("mapping"); long != nil {
		mapping = long
	}
	if !mapping.Is(yamltree.Sequence) || len(mapping.Items) == 0 {
		return nil
	}
	items := mapping.Items
	if items[0].Kind == yamltree.Scalar {
		return items[:1]
	}
	var nodes []*yamltree.Node
	for _, pair := range items {
		nodes = append(nodes, mappedNodes(pair)...)
	}
	return nodes
}
