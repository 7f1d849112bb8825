package tosca

import "github.com/vnfkit/vnfkit/tosca/internal/yamltree"

// protocols reads the property protocol of a connection point.
func (b *flavourBuilder) protocols(n template) []CPProtocol {
	var list []CPProtocol
	for _, item := range b.items(b.topo.property(n, "protocol")) {
		item = b.eval(item)
		p := CPProtocol{LayerProtocol: b.text(item.Get("associated_layer_protocol"))}
		for _, address := range b.items(item.Get("address_data")) {
			address = b.eval(address)
			p.Addresses = append(p.Addresses, CPAddress{
				MAC: b.macAddress(b.eval(address.Get("l2_address_data"))),
				IP:  b.ipAddress(b.eval(address.Get("l3_address_data"))),
			})
		}
		list = append(list, p)
	}
	return list
}

func (b *flavourBuilder) macAddress(n *yamltree.Node) *MACAddress {
	if n == nil || isFunction(n) {
		return nil
	}
	return &MACAddress{Assigned: b.boolean(n.Get("mac_address_assignment"))}
}

func (b *flavourBuilder) ipAddress(n *yamltree.Node) *IPAddress {
	if n == nil || isFunction(n) {
		return nil
	}
	return &IPAddress{
		Assigned: b.boolean(n.Get("ip_address_assignment")),
		Method:   b.text(n.Get("ip_address_assignment_subtype")),
		Floating: b.boolean(n.Get("floating_ip_activated")),
		Version:  b.text(n.Get("ip_address_type")),
		Number:   b.count(n.Get("number_of_ip_address"), 0),
		Fixed:    b.texts(n.Get("fixed_ip_address")),
	}
}
