package openstack

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// connection is the part of a request about one external connection point: its link and its configuration.
type connection struct {
	path   string
	link   vnflcm.ExtVirtualLinkData
	config []vnflcm.VnfExtCpConfig
}

// connection finds a connection point in the external links that the operation uses, or returns nil.
func (f *filler) connection(cpd string) *connection {
	for i, link := range f.op.Connectivity {
		for j, cp := range link.ExtCps {
			if cp.CpdID == cpd {
				return &connection{fmt.Sprintf("extVirtualLinks[%d].extCps[%d]", i, j), link, cp.CpConfig}
			}
		}
	}
	return nil
}

// cpValue returns the value of a leaf below nfv.CP.
func (f *filler) cpValue(path []string) (any, bool) {
	name, index := f.baseName(path[2])
	c := f.connection(name)
	if c == nil {
		return nil, false
	}
	config := c.config
	if index >= 0 && len(config) > 1 {
		config = config[min(index, len(config)-1):][:1]
	}
	addresses := fixedIPs(config, max(index, 0))
	switch leaf := path[3]; {
	case (leaf == "network" || leaf == "network_id") && len(path) == 4:
		return c.link.ResourceID, true
	case leaf == "fixed_ips" && len(path) == 6:
		return addresses.leaf(path[4], path[5])
	case leaf == "fixed_ips" && len(path) == 4:
		return addresses.list(), true
	case leaf == "subnets" && len(path) == 7 && path[5] == "fixed_ip_addresses":
		return addresses.leaf(path[4], "ip_address")
	case leaf == "subnets" && len(path) == 6 && path[5] == "subnet_id":
		return addresses.leaf(path[4], "subnet")
	case (leaf == "mac" || leaf == "mac_address") && len(path) == 4:
		return macOf(config)
	case leaf == "port" && len(path) == 4:
		return portOf(c.link, config)
	}
	return nil, false
}

// address is an entry of a port's fixed_ips.
type address struct{ ip, subnet string }

type addresses []address

// fixedIPs lists the fixed addresses and subnets of a connection point. If one entry has several addresses, one for each
// VNFC, fixedIPs takes the address at the index place.
func fixedIPs(config []vnflcm.VnfExtCpConfig, place int) addresses {
	var out addresses
	for _, c := range config {
		for _, p := range c.CpProtocolData {
			if p.IPOverEthernet == nil {
				continue
			}
			for _, ip := range p.IPOverEthernet.IPAddresses {
				a := address{subnet: ip.SubnetID}
				if n := len(ip.FixedAddresses); n > 0 {
					a.ip = ip.FixedAddresses[min(place, n-1)]
				}
				if a != (address{}) {
					out = append(out, a)
				}
			}
		}
	}
	return out
}

// leaf returns one value of one entry. For a value that the request does not give it returns false instead of null: Heat
// converts null to an empty string, which is neither an address nor a subnet.
func (a addresses) leaf(place, of string) (any, bool) {
	i, err := strconv.Atoi(place)
	if err != nil {
		return nil, false
	}
	if i < 0 || i >= len(a) {
		return nil, false
	}
	text := map[string]string{"ip_address": a[i].ip, "subnet": a[i].subnet}[of]
	return text, text != ""
}

func (a addresses) list() []any {
	out := make([]any, 0, len(a))
	for _, entry := range a {
		m := map[string]any{}
		if entry.ip != "" {
			m["ip_address"] = entry.ip
		}
		if entry.subnet != "" {
			m["subnet"] = entry.subnet
		}
		out = append(out, m)
	}
	return out
}

func macOf(config []vnflcm.VnfExtCpConfig) (any, bool) {
	for _, c := range config {
		for _, p := range c.CpProtocolData {
			if p.IPOverEthernet != nil && p.IPOverEthernet.MacAddress != "" {
				return p.IPOverEthernet.MacAddress, true
			}
		}
	}
	return nil, false
}

// portOf returns the existing port (extLinkPorts) that the connection point uses.
func portOf(link vnflcm.ExtVirtualLinkData, config []vnflcm.VnfExtCpConfig) (any, bool) {
	for _, c := range config {
		for _, p := range link.ExtLinkPorts {
			if c.LinkPortID != "" && p.ID == c.LinkPortID {
				return p.ResourceHandle.ResourceID, true
			}
		}
	}
	return nil, false
}

// checkConnections reports faults of the external links in requests.
func (f *filler) checkConnections() {
	for i, link := range f.op.Connectivity {
		path := fmt.Sprintf("extVirtualLinks[%d]", i)
		if link.ResourceID == "" {
			f.fault(path+".resourceId", "", "is required: the network of the VIM")
		}
		for j, cp := range link.ExtCps {
			f.checkCP(fmt.Sprintf("%s.extCps[%d]", path, j), link, cp)
		}
	}
}

func (f *filler) checkCP(path string, link vnflcm.ExtVirtualLinkData, cp vnflcm.VnfExtCpData) {
	vdu := f.vduOfCP(cp.CpdID)
	if vdu == "" && f.isRequested(cp.CpdID) && !slices.ContainsFunc(f.op.Flavour.ExternalCPs, func(e tosca.ExternalCP) bool { return e.ID == cp.CpdID }) &&
		f.template.Resource(cp.CpdID) == nil {
		f.fault(path+".cpdId", cp.CpdID, "the flavour has no such connection point")
	}
	fixed := false
	for k, c := range cp.CpConfig {
		at := fmt.Sprintf("%s.cpConfig[%d]", path, k)
		if c.LinkPortID != "" && !slices.ContainsFunc(link.ExtLinkPorts, func(p vnflcm.ExtLinkPortData) bool { return p.ID == c.LinkPortID }) {
			f.fault(at+".linkPortId", c.LinkPortID, "the link has no such port in extLinkPorts")
		}
		for l, p := range c.CpProtocolData {
			fixed = f.checkProtocol(fmt.Sprintf("%s.cpProtocolData[%d].ipOverEthernet", at, l), p.IPOverEthernet) || fixed
		}
	}
	if g := f.template.GroupOf(vdu); fixed && g != nil && f.capacity[vdu] > 1 {
		f.fault(path, cp.CpdID, "a fixed address is asked for, but the group %s has %d members, which share their parameters", g.Name, f.capacity[vdu])
	}
}

// isRequested reports whether the request connects a connection point. Links of earlier requests can have connection points that only a
// former package of the VNF has.
func (f *filler) isRequested(cpd string) bool {
	return f.op.Kind == vnflcm.OpInstantiate || slices.ContainsFunc(f.requestedLinks(), func(l vnflcm.ExtVirtualLinkData) bool {
		return slices.ContainsFunc(l.ExtCps, func(cp vnflcm.VnfExtCpData) bool { return cp.CpdID == cpd })
	})
}

// requestedLinks are the links that the request changes.
func (f *filler) requestedLinks() []vnflcm.ExtVirtualLinkData {
	switch {
	case f.op.ChangeExtConn != nil:
		return f.op.ChangeExtConn.ExtVirtualLinks
	case f.op.ChangeVnfPkg != nil:
		return f.op.ChangeVnfPkg.ExtVirtualLinks
	}
	return nil
}

func (f *filler) vduOfCP(cpd string) string {
	for _, cp := range f.op.Flavour.CPs {
		if cp.ID == cpd {
			return cp.VDU
		}
	}
	return ""
}

// checkProtocol checks the syntax of addresses. fixed says whether there is a fixed IP or MAC address.
func (f *filler) checkProtocol(path string, data *vnflcm.IPOverEthernetAddressData) (fixed bool) {
	if data == nil {
		return false
	}
	if data.MacAddress != "" {
		fixed = true
		if _, err := net.ParseMAC(data.MacAddress); err != nil {
			f.fault(path+".macAddress", data.MacAddress, "is no MAC address")
		}
	}
	for i, ip := range data.IPAddresses {
		for j, text := range ip.FixedAddresses {
			fixed = true
			at := fmt.Sprintf("%s.ipAddresses[%d].fixedAddresses[%d]", path, i, j)
			addr, err := netip.ParseAddr(text)
			switch {
			case err != nil:
				f.fault(at, text, "is no IP address")
			case ip.Type == "IPV4" && !addr.Is4(), ip.Type == "IPV6" && !addr.Is6():
				f.fault(at, text, "is not of type %s", ip.Type)
			}
		}
	}
	return fixed
}
