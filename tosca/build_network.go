package tosca

import (
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
)

func (b *flavourBuilder) buildVirtualLinks() {
	for _, n := range b.topo.of(typeVirtualLink) {
		b := b.at(n)
		connectivity, profile := b.topo.property(n, "connectivity_type"), b.topo.property(n, "vl_profile")
		b.VirtualLinks = append(b.VirtualLinks, VirtualLink{
			ID:                n.id,
			Description:       b.text(b.topo.property(n, "description")),
			LayerProtocols:    b.texts(connectivity.Get("layer_protocols")),
			FlowPattern:       b.text(connectivity.Get("flow_pattern")),
			MaxBitrate:        b.bitrate(b.path(profile, "max_bitrate_requirements", "root")),
			MinBitrate:        b.bitrate(b.path(profile, "min_bitrate_requirements", "root")),
			Protocols:         b.linkProtocols(profile.Get("virtual_link_protocol_data")),
			ExternallyManaged: b.text(b.topo.property(n, "externally_managed")),
			Pos:               n.pos,
		})
	}
}

func (b *flavourBuilder) linkProtocols(n *yamltree.Node) []LinkProtocol {
	var list []LinkProtocol
	for _, item := range b.items(n) {
		item = b.eval(item)
		list = append(list, LinkProtocol{
			LayerProtocol: b.text(item.Get("associated_layer_protocol")),
			L2:            b.l2Protocol(b.eval(item.Get("l2_protocol_data"))),
			L3:            b.l3Protocol(b.eval(item.Get("l3_protocol_data"))),
		})
	}
	return list
}

func (b *flavourBuilder) l2Protocol(n *yamltree.Node) *L2Protocol {
	if n == nil || isFunction(n) {
		return nil
	}
	return &L2Protocol{
		Name:            b.text(n.Get("name")),
		NetworkType:     b.text(n.Get("network_type")),
		VLANTransparent: b.boolean(n.Get("vlan_transparent")),
		MTU:             b.count(n.Get("mtu"), 0),
		SegmentationID:  b.text(n.Get("segmentation_id")),
	}
}

func (b *flavourBuilder) l3Protocol(n *yamltree.Node) *L3Protocol {
	if n == nil || isFunction(n) {
		return nil
	}
	p := &L3Protocol{
		Name:      b.text(n.Get("name")),
		IPVersion: b.text(n.Get("ip_version")),
		CIDR:      b.text(n.Get("cidr")),
		Gateway:   b.text(n.Get("gateway_ip")),
		DHCP:      b.choice(n.Get("dhcp_enabled")),
		IPv6Mode:  b.text(n.Get("ipv6_address_mode")),
	}
	for _, pool := range b.items(n.Get("ip_allocation_pools")) {
		p.Pools = append(p.Pools, AddressPool{b.text(b.path(pool, "start_ip_address")), b.text(b.path(pool, "end_ip_address"))})
	}
	return p
}
