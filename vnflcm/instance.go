package vnflcm

import (
	"errors"

	"github.com/vnfkit/vnfkit/tosca"
)

// InstantiationState of a VNF instance.
type InstantiationState string

// The states of a VNF instance (SOL003 v2.6.1 5.5.2.2).
const (
	NotInstantiated InstantiationState = "NOT_INSTANTIATED"
	Instantiated    InstantiationState = "INSTANTIATED"
)

// VnfInstance (SOL003 v2.6.1 5.5.2.2).
type VnfInstance struct {
	ID                     string               `json:"id"`
	VnfInstanceName        string               `json:"vnfInstanceName,omitempty"`
	VnfInstanceDescription string               `json:"vnfInstanceDescription,omitempty"`
	VnfdID                 string               `json:"vnfdId"`
	VnfPkgID               string               `json:"vnfPkgId,omitempty"` // SOL003 v2.5.1 5.5.2.2; only of onboarded packages
	VnfProvider            string               `json:"vnfProvider"`
	VnfProductName         string               `json:"vnfProductName"`
	VnfSoftwareVersion     string               `json:"vnfSoftwareVersion"`
	VnfdVersion            string               `json:"vnfdVersion"`
	VimConnectionInfo      VimConnections       `json:"vimConnectionInfo,omitempty"`
	InstantiationState     InstantiationState   `json:"instantiationState"`
	InstantiatedVnfInfo    *InstantiatedVnfInfo `json:"instantiatedVnfInfo,omitempty"`
	Metadata               KeyValuePairs        `json:"metadata,omitempty"`
	Extensions             Params               `json:"extensions,omitzero"`
	// VnfConfigurableProperties are set by Modify.
	VnfConfigurableProperties Params `json:"vnfConfigurableProperties,omitzero"`
	Tenant                    string `json:"-"` // of the CreateVnfRequest
	// Version changes with every change of the instance: the ETag of an HTTP API.
	Version string `json:"-"`
}

// KeyValuePairs are attributes that are shown in clear (SOL003 v2.6.1 4.4.1.7). The values are those of package
// encoding/json: texts, booleans, lists and objects, with numbers as json.Number.
type KeyValuePairs map[string]any

// UnmarshalJSON implements json.Unmarshaler. It takes an object, or null for none.
func (p *KeyValuePairs) UnmarshalJSON(data []byte) error {
	var pairs map[string]any
	if err := decodeUseNumber(data, &pairs); err != nil {
		return errors.New("must be an object of attributes")
	}
	*p = pairs
	return nil
}

// InstantiatedVnfInfo (SOL003 v2.6.1 5.5.2.2).
type InstantiatedVnfInfo struct {
	FlavourID                  string                       `json:"flavourId"`
	VnfState                   VnfState                     `json:"vnfState"`
	ScaleStatus                []ScaleInfo                  `json:"scaleStatus,omitempty"`
	ExtCpInfo                  []VnfExtCpInfo               `json:"extCpInfo,omitempty"`
	ExtVirtualLinkInfo         []ExtVirtualLinkInfo         `json:"extVirtualLinkInfo,omitempty"`
	LocalizationLanguage       string                       `json:"localizationLanguage,omitempty"`
	VnfcResourceInfo           []VnfcResourceInfo           `json:"vnfcResourceInfo,omitempty"`
	VirtualLinkResourceInfo    []VirtualLinkResourceInfo    `json:"virtualLinkResourceInfo,omitempty"`
	VirtualStorageResourceInfo []VirtualStorageResourceInfo `json:"virtualStorageResourceInfo,omitempty"`
	VnfcInfo                   []VnfcInfo                   `json:"vnfcInfo,omitempty"` // SOL002 v2.6.1 5.5.2.2
	ExtManagedVirtualLinkInfo  []ExtManagedVirtualLinkInfo  `json:"extManagedVirtualLinkInfo,omitempty"`
	// Metadata belongs to the driver, for example the id of a stack (SOL003 v3.3.1 5.5.2.2).
	Metadata map[string]string `json:"metadata,omitempty"`
}

// ScaleInfo is the level of one scaling aspect (SOL003 v2.6.1 5.5.3.4).
type ScaleInfo = tosca.ScaleInfo

// VnfcResourceInfo says which resources a VNFC uses (SOL003 v2.6.1 5.5.3.5).
type VnfcResourceInfo struct {
	ID                 string            `json:"id"`
	VduID              string            `json:"vduId"`
	ComputeResource    ResourceHandle    `json:"computeResource"`
	ZoneID             string            `json:"zoneId,omitempty"`
	StorageResourceIDs []string          `json:"storageResourceIds,omitempty"`
	VnfcCpInfo         []VnfcCpInfo      `json:"vnfcCpInfo,omitempty"`
	Metadata           map[string]string `json:"metadata,omitempty"`
	// VnfdID is the VNFD by which the VNFC runs, if it is not that of the instance (SOL003 v3.3.1 5.5.3.5).
	VnfdID string `json:"vnfdId,omitempty"`
	// Name is the name of the VNFC, and Host the compute host where the VIM shows it. SOL003 has neither attribute.
	Name string `json:"-"`
	Host string `json:"-"`
}

// VnfcCpInfo is a connection point of a VNFC (SOL003 v2.6.1 5.5.3.5).
type VnfcCpInfo struct {
	ID             string           `json:"id"`
	CpdID          string           `json:"cpdId"`
	VnfExtCpID     string           `json:"vnfExtCpId,omitempty"`
	CpProtocolInfo []CpProtocolInfo `json:"cpProtocolInfo,omitempty"`
}

// CpProtocolInfo (SOL003 v2.6.1 5.5.3.9b).
type CpProtocolInfo struct {
	LayerProtocol  string                     `json:"layerProtocol"`
	IPOverEthernet *IPOverEthernetAddressInfo `json:"ipOverEthernet,omitempty"`
}

// IPOverEthernetAddressInfo (SOL003 v2.6.1 5.5.3.10).
type IPOverEthernetAddressInfo struct {
	MacAddress  string          `json:"macAddress,omitempty"`
	IPAddresses []IPAddressInfo `json:"ipAddresses,omitempty"`
}

// IPAddressInfo lists addresses of one type.
type IPAddressInfo struct {
	Type      string   `json:"type"` // IPV4 or IPV6
	Addresses []string `json:"addresses,omitempty"`
}

// VnfcInfo is a VNFC as SOL002 shows it (SOL002 v2.6.1 5.5.3.23).
type VnfcInfo struct {
	ID                 string   `json:"id"`
	VduID              string   `json:"vduId"`
	VnfcResourceInfoID string   `json:"vnfcResourceInfoId,omitempty"`
	VnfcState          VnfState `json:"vnfcState"`
	// VnfcConfigurableProperties are set by Modify.
	VnfcConfigurableProperties Params `json:"vnfcConfigurableProperties,omitzero"`
}

// VnfExtCpInfo is an external connection point (SOL003 v2.6.1 5.5.3.9).
type VnfExtCpInfo struct {
	ID    string `json:"id"`
	CpdID string `json:"cpdId"`
	// CpConfigID is the CpInstanceID of the configuration in CurrentVnfExtCpData (SOL003 v3.3.1 5.5.3.9).
	CpConfigID     string           `json:"cpConfigId,omitempty"`
	CpProtocolInfo []CpProtocolInfo `json:"cpProtocolInfo,omitempty"`
	// AssociatedVnfcCp is the connection point of a VNFC that this one exposes. A virtual address of the VNF as a whole
	// names the first connection point of the VNF, as SOL003 wants one.
	AssociatedVnfcCp string `json:"associatedVnfcCpId,omitempty"`
}

// ExtVirtualLinkInfo (SOL003 v2.6.1 5.5.3.2).
type ExtVirtualLinkInfo struct {
	ID             string            `json:"id"`
	ResourceHandle ResourceHandle    `json:"resourceHandle"`
	ExtLinkPorts   []ExtLinkPortInfo `json:"extLinkPorts,omitempty"`
	// CurrentVnfExtCpData are the connection points on the link as requests have configured them (SOL003 v3.3.1 5.5.3.2).
	// Every configuration has a CpInstanceID.
	CurrentVnfExtCpData []VnfExtCpData `json:"currentVnfExtCpData,omitempty"`
}

// ExtLinkPortInfo is a port of the VIM that an external connection point uses (SOL003 v2.6.1 5.5.3.9a).
type ExtLinkPortInfo struct {
	ID             string         `json:"id"`
	ResourceHandle ResourceHandle `json:"resourceHandle"`
}

// ExtManagedVirtualLinkInfo is a network from outside that stands for an internal virtual link (SOL003 v2.6.1
// 5.5.3.3).
type ExtManagedVirtualLinkInfo struct {
	ID                   string         `json:"id"`
	VnfVirtualLinkDescID string         `json:"vnfVirtualLinkDescId"`
	NetworkResource      ResourceHandle `json:"networkResource"`
}

// VirtualLinkResourceInfo is an internal network of the VNF (SOL003 v2.6.1 5.5.3.6).
type VirtualLinkResourceInfo struct {
	ID                   string         `json:"id"`
	VnfVirtualLinkDescID string         `json:"vnfVirtualLinkDescId"`
	NetworkResource      ResourceHandle `json:"networkResource"`
}

// VirtualStorageResourceInfo is a volume of the VNF (SOL003 v2.6.1 5.5.3.7).
type VirtualStorageResourceInfo struct {
	ID                   string         `json:"id"`
	VirtualStorageDescID string         `json:"virtualStorageDescId"`
	StorageResource      ResourceHandle `json:"storageResource"`
}
