package vnflcm

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
)

// view returns an instance as users see it, with the free-form attributes at the public paths shown.
func (rec *instanceRecord) view(public ...string) *VnfInstance {
	out := rec.Instance
	out.Tenant = rec.Tenant
	out.VimConnectionInfo = out.VimConnectionInfo.named()
	vnfcs := rec.vnfcInfo()
	if len(public) > 0 {
		known := rec.Initial.AdditionalParams.secrets(nil, nil)
		attributes := map[*Params]string{&out.Extensions: extensionsPath, &out.VnfConfigurableProperties: configurablePath}
		for i := range vnfcs {
			attributes[&vnfcs[i].VnfcConfigurableProperties] = vnfcPropertiesPath
		}
		out.VimConnectionInfo = disclose(newPathSet(public...), out.VimConnectionInfo, attributes, known...)
	}
	if out.InstantiationState != Instantiated {
		return &out
	}
	info := &InstantiatedVnfInfo{FlavourID: rec.Initial.FlavourID, VnfState: rec.state(), VnfcInfo: vnfcs,
		LocalizationLanguage: rec.Initial.LocalizationLanguage}
	for _, aspect := range sortedKeys(rec.Levels) {
		info.ScaleStatus = append(info.ScaleStatus, ScaleInfo{AspectID: aspect, ScaleLevel: rec.Levels[aspect]})
	}
	vim := rec.vimConnection()
	for _, link := range rec.Links {
		info.ExtVirtualLinkInfo = append(info.ExtVirtualLinkInfo, link.info(vim))
	}
	for _, link := range rec.ManagedLinks {
		info.ExtManagedVirtualLinkInfo = append(info.ExtManagedVirtualLinkInfo, link.info(vim))
	}
	configs := rec.cpConfigs()
	for _, cp := range rec.Resources.ConnectionPoints {
		info.ExtCpInfo = append(info.ExtCpInfo, VnfExtCpInfo{ID: cp.ResourceID, CpdID: cp.CPD, CpConfigID: configs.next(cp.CPD),
			CpProtocolInfo: cp.protocolInfo(), AssociatedVnfcCp: rec.Resources.firstCP()})
	}
	for _, v := range rec.Resources.VNFCs {
		shown := v.resourceInfo()
		shown.ComputeResource.VimConnectionID = vim
		shown.Metadata = merged(v.Metadata, rec.Published[v.ResourceID])
		for i, cp := range v.CPs {
			if rec.external(cp.CPD) {
				ext := VnfExtCpInfo{ID: "ext-" + cp.ResourceID, CpdID: cp.CPD, CpConfigID: configs.next(cp.CPD),
					CpProtocolInfo: cp.protocolInfo(), AssociatedVnfcCp: cp.ResourceID}
				info.ExtCpInfo = append(info.ExtCpInfo, ext)
				shown.VnfcCpInfo[i].VnfExtCpID = ext.ID
			}
		}
		info.VnfcResourceInfo = append(info.VnfcResourceInfo, shown)
	}
	for _, l := range rec.Resources.VirtualLinks {
		info.VirtualLinkResourceInfo = append(info.VirtualLinkResourceInfo, VirtualLinkResourceInfo{ID: l.ID,
			VnfVirtualLinkDescID: l.VLD, NetworkResource: ResourceHandle{VimConnectionID: vim, ResourceID: l.ResourceID}})
	}
	for _, s := range rec.Resources.Storages {
		info.VirtualStorageResourceInfo = append(info.VirtualStorageResourceInfo, VirtualStorageResourceInfo{ID: s.ID,
			VirtualStorageDescID: s.Descriptor, StorageResource: ResourceHandle{VimConnectionID: vim, ResourceID: s.ResourceID}})
	}
	info.Metadata = rec.Resources.Metadata
	out.InstantiatedVnfInfo = info
	return &out
}

// vnfcInfo returns the vnfcInfo of the VNFCs.
func (rec *instanceRecord) vnfcInfo() (out []VnfcInfo) {
	for _, v := range rec.Resources.VNFCs {
		out = append(out, VnfcInfo{ID: v.vnfcInfoID(), VduID: v.VDU, VnfcResourceInfoID: v.ID, VnfcState: rec.state(),
			VnfcConfigurableProperties: rec.VNFCProperties[v.ID]})
	}
	return out
}

// cpConfigs are the ids of the configurations of external connection points that are not in use yet, by descriptor.
type cpConfigs map[string][]string

func (rec *instanceRecord) cpConfigs() cpConfigs {
	out := cpConfigs{}
	for _, link := range rec.Links {
		for _, cp := range link.ExtCps {
			for _, config := range cp.configured() {
				out[cp.CpdID] = append(out[cp.CpdID], config.CpInstanceID)
			}
		}
	}
	return out
}

// next returns the configuration of the next connection point of a descriptor. The last configuration applies to all
// remaining ones. A connection point without a link has a separate configuration.
func (c cpConfigs) next(cpd string) string {
	ids := c[cpd]
	if len(ids) == 0 {
		return cpd
	}
	if len(ids) > 1 {
		c[cpd] = ids[1:]
	}
	return ids[0]
}

// firstCP is the id of the first connection point of the first VNFC that has one.
func (r Resources) firstCP() string {
	for _, v := range r.VNFCs {
		for _, cp := range v.CPs {
			return cp.ResourceID
		}
	}
	return ""
}

// merged is a and b together; where both have a key, b's value counts.
func merged(a, b map[string]string) map[string]string {
	if len(b) == 0 {
		return a
	}
	out := make(map[string]string, len(a)+len(b))
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}

// named returns the list with a unique id for every connection: version 2 of the API has them as keys.
func (c VimConnections) named() VimConnections {
	out := slices.Clone(c)
	taken := map[string]bool{}
	for i, v := range out {
		id := v.connection()
		for n := 2; taken[id] && v.ID == ""; n++ {
			id = fmt.Sprintf("%s-%d", v.connection(), n)
		}
		taken[id], out[i].ID = true, id
	}
	return out
}

// connection is the id that resources refer to the VIM by; SOL003 wants one, requests often give only a vimId.
func (v VimConnectionInfo) connection() string { return cmp.Or(v.ID, v.VimID, "vim") }

// vimConnection returns the id of the VIM that has the resources.
func (rec *instanceRecord) vimConnection() string {
	if list := rec.Instance.VimConnectionInfo; len(list) > 0 {
		return list[0].connection()
	}
	return ""
}

// external reports whether a connection point of VNFCs is on an external link.
func (rec *instanceRecord) external(cpd string) bool {
	for _, l := range rec.Links {
		for _, cp := range l.ExtCps {
			if cp.CpdID == cpd {
				return true
			}
		}
	}
	return false
}

// vnfcInfoID is the id of the vnfcInfo of a VNFC, in the form that Tacker's version 2 API has.
func (v VNFC) vnfcInfoID() string { return v.VDU + "-" + v.ID }

func (v VNFC) resourceInfo() VnfcResourceInfo {
	info := VnfcResourceInfo{ID: v.ID, VduID: v.VDU, ZoneID: v.Zone, StorageResourceIDs: v.StorageIDs,
		ComputeResource: ResourceHandle{ResourceID: v.ResourceID}, Metadata: v.Metadata, VnfdID: v.VnfdID, Name: v.Name, Host: v.Host}
	for _, cp := range v.CPs {
		info.VnfcCpInfo = append(info.VnfcCpInfo, VnfcCpInfo{ID: cp.ResourceID, CpdID: cp.CPD, CpProtocolInfo: cp.protocolInfo()})
	}
	return info
}

// ipOverEthernet is the layer protocol of all connection points (SOL003 v2.6.1 5.5.3.9b).
const ipOverEthernet = "IP_OVER_ETHERNET"

func (c ConnectionPoint) protocolInfo() []CpProtocolInfo {
	eth := &IPOverEthernetAddressInfo{MacAddress: c.MAC}
	for _, family := range []struct {
		name string
		is   func(netip.Addr) bool
	}{{"IPV4", netip.Addr.Is4}, {"IPV6", netip.Addr.Is6}} {
		info := IPAddressInfo{Type: family.name}
		for _, addr := range append([]netip.Addr{c.Floating}, c.Fixed...) {
			if family.is(addr) {
				info.Addresses = append(info.Addresses, addr.String())
			}
		}
		if len(info.Addresses) > 0 {
			eth.IPAddresses = append(eth.IPAddresses, info)
		}
	}
	if eth.MacAddress == "" && len(eth.IPAddresses) == 0 {
		eth = nil // one of them is required
	}
	return []CpProtocolInfo{{LayerProtocol: ipOverEthernet, IPOverEthernet: eth}}
}
