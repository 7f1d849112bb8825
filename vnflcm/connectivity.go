package vnflcm

// ExtVirtualLinkData names a network of the VIM that the VNF is connected to (SOL003 v2.6.1 4.4.1.11).
type ExtVirtualLinkData struct {
	ID                 string            `json:"id,omitempty"`
	VimConnectionID    string            `json:"vimConnectionId,omitempty"`
	ResourceProviderID string            `json:"resourceProviderId,omitempty"`
	ResourceID         string            `json:"resourceId"`
	ExtCps             []VnfExtCpData    `json:"extCps,omitempty"`
	ExtLinkPorts       []ExtLinkPortData `json:"extLinkPorts,omitempty"`
}

// VnfExtCpData configures the external connection points made from one descriptor (SOL003 v2.6.1 4.4.1.10).
type VnfExtCpData struct {
	CpdID    string       `json:"cpdId"`
	CpConfig ExtCpConfigs `json:"cpConfig,omitempty"`
}

// ExtCpConfigs is a list; the map of SOL003 v3.3.1 is read too.
type ExtCpConfigs []VnfExtCpConfig

// UnmarshalJSON implements json.Unmarshaler.
func (c *ExtCpConfigs) UnmarshalJSON(data []byte) error {
	return unmarshalList(data, (*[]VnfExtCpConfig)(c), c.asList)
}

func (*ExtCpConfigs) asList(tree any) any { return idKeyed(tree, "cpInstanceId") }

// VnfExtCpConfig (SOL003 v2.6.1 4.4.1.10a).
type VnfExtCpConfig struct {
	CpInstanceID   string           `json:"cpInstanceId,omitempty"`
	LinkPortID     string           `json:"linkPortId,omitempty"`
	CpProtocolData []CpProtocolData `json:"cpProtocolData,omitempty"`
}

// CpProtocolData (SOL003 v2.6.1 4.4.1.10b). The layer protocol is IP_OVER_ETHERNET.
type CpProtocolData struct {
	LayerProtocol  string                     `json:"layerProtocol"`
	IPOverEthernet *IPOverEthernetAddressData `json:"ipOverEthernet,omitempty"`
}

// IPOverEthernetAddressData (SOL003 v2.6.1 4.4.1.10c).
type IPOverEthernetAddressData struct {
	MacAddress  string          `json:"macAddress,omitempty"`
	IPAddresses []IPAddressData `json:"ipAddresses,omitempty"`
}

// IPAddressData asks for fixed addresses, for a number of dynamic ones, or for one of a range.
type IPAddressData struct {
	Type                string        `json:"type"` // IPV4 or IPV6
	FixedAddresses      []string      `json:"fixedAddresses,omitempty"`
	NumDynamicAddresses int           `json:"numDynamicAddresses,omitempty"`
	AddressRange        *AddressRange `json:"addressRange,omitempty"`
	SubnetID            string        `json:"subnetId,omitempty"`
}

// AddressRange is inclusive.
type AddressRange struct {
	MinAddress string `json:"minAddress"`
	MaxAddress string `json:"maxAddress"`
}

// ExtLinkPortData names a port of the VIM to be used (SOL003 v2.6.1 4.4.1.11a).
type ExtLinkPortData struct {
	ID             string         `json:"id"`
	ResourceHandle ResourceHandle `json:"resourceHandle"`
}

// ResourceHandle identifies a resource of a VIM (SOL003 v2.6.1 4.4.1.7).
type ResourceHandle struct {
	VimConnectionID      string `json:"vimConnectionId,omitempty"`
	ResourceProviderID   string `json:"resourceProviderId,omitempty"`
	ResourceID           string `json:"resourceId"`
	VimLevelResourceType string `json:"vimLevelResourceType,omitempty"`
}

// ExtManagedVirtualLinkData names a network that the VNF uses as one of its internal virtual links
// (SOL003 v2.6.1 4.4.1.12). Older documents call the descriptor virtualLinkDescId.
type ExtManagedVirtualLinkData struct {
	ID                   string `json:"id,omitempty"`
	VnfVirtualLinkDescID string `json:"vnfVirtualLinkDescId,omitempty"`
	VirtualLinkDescID    string `json:"virtualLinkDescId,omitempty"`
	VimConnectionID      string `json:"vimConnectionId,omitempty"`
	ResourceProviderID   string `json:"resourceProviderId,omitempty"`
	ResourceID           string `json:"resourceId"`
}
