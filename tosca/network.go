package tosca

import "github.com/vnfkit/vnfkit/tosca/problem"

// ConnectionPoint is a VduCp: the network interface of a VDU.
type ConnectionPoint struct {
	// ID is the name of the node template: what SOL003 calls cpdId.
	ID, Description string
	// VDU is the ID of the VDU that has the connection point (virtual_binding).
	VDU string
	// VirtualLink is the ID of the internal virtual link of the connection point, "" if the connection point is for an external
	// virtual link.
	VirtualLink string
	// Order is the number of the interface on its VDU, -1 if the VNFD does not state it.
	Order int
	// LayerProtocols are for instance ["ipv4"].
	LayerProtocols []string
	// Protocols are the addresses that the connection point needs (protocol).
	Protocols []CPProtocol
	// Role is the role in a tree, "root" or "leaf". It is "" if the VNFD does not state it.
	Role string
	// Trunk is the ID of the connection point that a VduSubCp is a sub-port of. SegmentationType and SegmentationID
	// identify the traffic of the sub-port there.
	Trunk, SegmentationType string
	SegmentationID          int
	// TrunkMode is set if the connection point can have sub-ports.
	TrunkMode bool
	// VNICType is for example "normal" or "direct-physical", "" if the VNFD does not state it.
	VNICType string
	// NICRequirements are the virtual_network_interface_requirements.
	NICRequirements []NICRequirement
	// Pos is the position of the node template.
	Pos problem.Position
}

// CPProtocol is CpProtocolData: a protocol of a connection point and the addresses for it.
type CPProtocol struct {
	// LayerProtocol is associated_layer_protocol, for instance "ipv4".
	LayerProtocol string
	Addresses     []CPAddress
}

// CPAddress is AddressData. MAC is nil for an IP address, and IP is nil for a MAC address.
type CPAddress struct {
	MAC *MACAddress
	IP  *IPAddress
}

// MACAddress is L2AddressData.
type MACAddress struct {
	// Assigned is mac_address_assignment: a request gives the address, else the VIM assigns one.
	Assigned bool
}

// IPAddress is L3AddressData.
type IPAddress struct {
	// Assigned is ip_address_assignment: a request gives the address.
	Assigned bool
	// Method is ip_address_assignment_subtype, how an address is assigned that no request gives: "dynamic", "vnf_pkg" or "external"; "" if
	// the VNFD does not state it (SOL001 v4.3.1).
	Method string
	// Floating is floating_ip_activated.
	Floating bool
	// Version is ip_address_type: "ipv4", "ipv6", or "" if the VNFD does not state it.
	Version string
	// Number is number_of_ip_address; 0 if the VNFD does not state it.
	Number int
	// Fixed are the fixed_ip_address values (SOL001 v4.3.1).
	Fixed []string
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
	// Requirement is the name of the requirement under which the substitution mappings expose the connection point, "" if they do
	// not.
	Requirement string
	// CP is the ID of the VduCp that implements the connection point, "" if the VNFD does not name one.
	CP string
	// VirtualLink is the ID of the internal virtual link that a VnfExtCp is connected to, "" for a VduCp.
	VirtualLink string
	// LayerProtocols are for instance ["ipv4"].
	LayerProtocols []string
	// Protocols are the addresses that the connection point needs (protocol).
	Protocols []CPProtocol
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
	// MaxBitrate and MinBitrate are the requirements of vl_profile at the root, in bits per second; 0 if the VNFD does not state
	// them.
	MaxBitrate, MinBitrate int64
	// Protocols are the virtual_link_protocol_data of vl_profile.
	Protocols []LinkProtocol
	// ExternallyManaged is "allowed" or "required", "" if the VNFD does not state it.
	ExternallyManaged string
	// Pos is the position of the node template.
	Pos problem.Position
}

// LinkProtocol describes a protocol of a virtual link (VirtualLinkProtocolData).
type LinkProtocol struct {
	// LayerProtocol is associated_layer_protocol, for instance "ipv4".
	LayerProtocol string
	// L2 and L3 are nil if the VNFD does not state them.
	L2 *L2Protocol
	L3 *L3Protocol
}

// L2Protocol is L2ProtocolData.
type L2Protocol struct {
	Name string
	// NetworkType is "flat", "vlan", "vxlan" or "gre".
	NetworkType     string
	VLANTransparent bool
	// MTU is in bytes; 0 if the VNFD does not state it.
	MTU            int
	SegmentationID string
}

// L3Protocol is L3ProtocolData.
type L3Protocol struct {
	Name string
	// IPVersion is "ipv4" or "ipv6". CIDR is the range of the subnet. Gateway is the address of its gateway.
	IPVersion, CIDR, Gateway string
	// Pools are the ranges from which addresses are allocated.
	Pools []AddressPool
	// DHCP is dhcp_enabled, nil if the VNFD does not state it.
	DHCP *bool
	// IPv6Mode is ipv6_address_mode, such as "slaac".
	IPv6Mode string
}

// AddressPool is a range of addresses. Start and End belong to the range.
type AddressPool struct{ Start, End string }

// VirtualCP is a VirtualCp: one address for all VNFCs of container VDUs, for example a Service of Kubernetes (SOL001
// v4.2.1).
type VirtualCP struct {
	// ID is the name of the node template.
	ID, Description string
	// VDUs are the IDs of the VDUs that share the address (target).
	VDUs []string
	// VirtualLink is the ID of the internal virtual link of the connection point, "" if it has none.
	VirtualLink string
	// LayerProtocols are for instance ["ipv4"].
	LayerProtocols []string
	// Protocols are the addresses that the connection point needs (protocol).
	Protocols []CPProtocol
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
	// CPs are the IDs of the connection points that share the address (target).
	CPs []string
	// VirtualLink is the ID of the internal virtual link of the VIP.
	VirtualLink string
	// LayerProtocols are for instance ["ipv4"].
	LayerProtocols []string
	// Protocols are the addresses that the connection point needs (protocol).
	Protocols []CPProtocol
	// Function is vip_function: "high_availability" or "load_balance".
	Function string
	// SharedAddress is set if the VIP may have the same address as one of CPs (dedicated_ip_address: false).
	SharedAddress bool
	// Pos is the position of the node template.
	Pos problem.Position
}
