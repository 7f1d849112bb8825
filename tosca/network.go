package tosca

import "github.com/vnfkit/vnfkit/tosca/problem"

// ConnectionPoint is a VduCp: the network interface of a VDU.
type ConnectionPoint struct {
	// ID is the name of the node template: what SOL003 calls cpdId.
	ID, Description string
	// VDU is the ID of the VDU it belongs to (virtual_binding).
	VDU string
	// VirtualLink is the ID of the internal virtual link it is on, "" when the
	// VNFD leaves that to an external virtual link.
	VirtualLink string
	// Order is the place of the interface on its VDU, -1 when not given.
	Order int
	// LayerProtocols are for instance ["ipv4"].
	LayerProtocols []string
	// Role is "root" or "leaf" in a tree, "" when not given.
	Role string
	// Trunk is the ID of the connection point that a VduSubCp is a sub-port of. SegmentationType and SegmentationID
	// identify the traffic of the sub-port there.
	Trunk, SegmentationType string
	SegmentationID          int
	// TrunkMode is set when the connection point can have sub-ports.
	TrunkMode bool
	// VNICType is "normal", "direct-physical" and the like, "" when not given.
	VNICType string
	// NICRequirements are the virtual_network_interface_requirements as found.
	NICRequirements []NICRequirement
	// Pos is the position of the node template.
	Pos problem.Position
}

// NICRequirement is one entry of virtual_network_interface_requirements.
type NICRequirement struct {
	Name, Description string
	// Mandatory is support_mandatory.
	Mandatory bool
	// Requirements are the key-value pairs of network_interface_requirements.
	Requirements map[string]string
}

// ExternalCP is a connection point of the VNF as a whole: a VnfExtCp node, or a VduCp whose virtual_link the
// substitution mappings expose.
type ExternalCP struct {
	// ID is the name of the node template.
	ID string
	// Requirement is the name under which the substitution mappings show it,
	// "" when they do not.
	Requirement string
	// CP is the ID of the VduCp behind it, "" when there is none.
	CP string
	// VirtualLink is the ID of the internal virtual link that a VnfExtCp is connected to, "" for a VduCp.
	VirtualLink string
	// LayerProtocols are for instance ["ipv4"].
	LayerProtocols []string
	// Pos is the position of the node template.
	Pos problem.Position
}

// VirtualLink is a VnfVirtualLink: a network inside the VNF.
type VirtualLink struct {
	// ID is the name of the node template: what SOL003 calls vnfVirtualLinkDescId.
	ID, Description string
	// LayerProtocols and FlowPattern come from the connectivity type.
	LayerProtocols []string
	FlowPattern    string
	// MaxBitrate and MinBitrate are the requirements of vl_profile at the root, in
	// bits per second; 0 when not given.
	MaxBitrate, MinBitrate int64
	// Protocols are the virtual_link_protocol_data of vl_profile.
	Protocols []LinkProtocol
	// ExternallyManaged is "allowed" or "required", "" when not given.
	ExternallyManaged string
	// Pos is the position of the node template.
	Pos problem.Position
}

// LinkProtocol describes a protocol of a virtual link (VirtualLinkProtocolData).
type LinkProtocol struct {
	// LayerProtocol is associated_layer_protocol, for instance "ipv4".
	LayerProtocol string
	// L2 and L3 are nil when not given.
	L2 *L2Protocol
	L3 *L3Protocol
}

// L2Protocol is L2ProtocolData.
type L2Protocol struct {
	Name string
	// NetworkType is "flat", "vlan", "vxlan" or "gre".
	NetworkType     string
	VLANTransparent bool
	// MTU is 0 when not given.
	MTU            int
	SegmentationID string
}

// L3Protocol is L3ProtocolData.
type L3Protocol struct {
	Name string
	// IPVersion is "ipv4" or "ipv6", CIDR the range of the subnet, Gateway the
	// address of its gateway.
	IPVersion, CIDR, Gateway string
	// Pools are the ranges from which addresses are given.
	Pools []AddressPool
	// DHCP is dhcp_enabled, nil when not given.
	DHCP *bool
	// IPv6Mode is ipv6_address_mode, such as "slaac".
	IPv6Mode string
}

// AddressPool is a range of addresses, both ends within it.
type AddressPool struct{ Start, End string }

// VirtualCP is a VirtualCp: one address for all VNFCs of container VDUs, for example a Service of Kubernetes (SOL001
// v4.2.1).
type VirtualCP struct {
	// ID is the name of the node template.
	ID, Description string
	// VDUs are the IDs of the VDUs behind it (target).
	VDUs []string
	// VirtualLink is the ID of the internal virtual link of the connection point, "" if it has none.
	VirtualLink string
	// LayerProtocols are for instance ["ipv4"].
	LayerProtocols []string
	// Services are the additionalServiceData.
	Services []Service
	// PoolNameConfigurable is address_pool_name_configurable (SOL001 v4.4.1).
	PoolNameConfigurable bool
	// Pos is the position of the node template.
	Pos problem.Position
}

// Service is AdditionalServiceData of a VirtualCP.
type Service struct {
	Ports []ServicePort
	// Host and Paths come from serviceData (SOL001 v4.4.1).
	Host  string
	Paths []string
}

// ServicePort is ServicePortData.
type ServicePort struct {
	Name, Protocol string
	Port           int
	// Configurable is portConfigurable.
	Configurable bool
}

// VIP is a VipCp: an address that several connection points share (SOL001
// v2.7.1).
type VIP struct {
	// ID is the name of the node template.
	ID, Description string
	// CPs are the IDs of the connection points that share it (target).
	CPs []string
	// VirtualLink is the ID of the internal virtual link it is on.
	VirtualLink string
	// LayerProtocols are for instance ["ipv4"].
	LayerProtocols []string
	// Function is vip_function: "high_availability" or "load_balance".
	Function string
	// SharedAddress is set when the address may be that of a connection point
	// behind it too (dedicated_ip_address: false).
	SharedAddress bool
	// Pos is the position of the node template.
	Pos problem.Position
}
