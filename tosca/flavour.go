package tosca

import "github.com/vnfkit/vnfkit/tosca/problem"

// Flavour is one deployment flavour (DF) of a VNF: a topology template whose
// substitution mappings carry its flavour_id, or the only topology of a VNFD
// that has no more than one.
//
// All lists are sorted by ID, so that equal packages give equal models.
type Flavour struct {
	// ID is flavour_id; "default" when the VNFD gives none.
	ID string
	// Description is flavour_description.
	Description string
	// VDUs are the node templates of type tosca.nodes.nfv.Vdu.Compute and of
	// types derived from it.
	VDUs []VDU
	// CPs are the VduCp node templates.
	CPs []ConnectionPoint
	// ExternalCPs are what the VNF shows to the outside.
	ExternalCPs []ExternalCP
	// VirtualLinks are the VnfVirtualLink node templates.
	VirtualLinks []VirtualLink
	// Storages are the Virtual{Block,File,Object}Storage node templates.
	Storages []Storage
	// Aspects are the scaling aspects.
	Aspects []Aspect
	// Levels are the instantiation levels, DefaultLevel the one to take when a
	// request names none. DefaultLevel is "" when there are no levels.
	Levels       []InstantiationLevel
	DefaultLevel string
	// Affinity holds the affinity and anti-affinity rules.
	Affinity []AffinityRule
	// Groups are the placement groups that affinity rules can name.
	Groups []PlacementGroup
	// Operations configures the LCM operations.
	Operations Operations
	// Hooks maps the hooks of the Vnflcm interface that name a driver, such as
	// "instantiate_end", to the key of that driver in Drivers.
	Hooks map[string]string
	// Drivers maps the keys of the artifacts of type
	// tosca.artifacts.Implementation and of types derived from it.
	Drivers map[string]Artifact
	// Artifacts maps the keys of the other artifacts of the VNF node.
	Artifacts map[string]Artifact
	// Pos is the VNF node of the flavour, or its topology template.
	Pos problem.Position
}

// VDU is a virtualisation deployment unit made of a virtual machine.
type VDU struct {
	// ID is the name of the node template: what SOL003 calls vduId.
	ID string
	// Name and Description are the texts for people.
	Name, Description string
	// Min and Max bound the number of instances (vdu_profile); Max is -1 when
	// the VNFD sets none.
	Min, Max int
	// Initial is the number of instances with all aspects at scale level 0
	// (VduInitialDelta); without such a policy it is Min.
	Initial int
	// Image is nil when the VDU boots from a storage or from nothing the VNFD
	// knows.
	Image *SoftwareImage
	// Compute is what the VDU asks of its machine.
	Compute Compute
	// Storages are the IDs of the storages attached to each instance.
	Storages []string
	// Artifacts maps the keys of the VDU's artifacts, its image among them.
	Artifacts map[string]Artifact
	// Pos is the node template.
	Pos problem.Position
}

// Compute is the virtual_compute capability of a VDU.
type Compute struct {
	// VirtualCPUs is num_virtual_cpu; 0 when not given.
	VirtualCPUs int
	// Memory is virtual_mem_size in bytes; 0 when not given.
	Memory int64
	// LocalStorage holds the sizes of virtual_local_storage in bytes.
	LocalStorage []int64
	// FlavourName is requested_additional_capability_name, which services on
	// OpenStack read as the name of a Nova flavour.
	FlavourName string
}

// SoftwareImage is the sw_image_data of a VDU or of a storage, together with
// the file of its SwImage artifact.
type SoftwareImage struct {
	// Name and Version name the image.
	Name, Version string
	// ChecksumAlgorithm is lower case, for instance "sha-512"; Checksum is
	// hexadecimal.
	ChecksumAlgorithm, Checksum string
	// ContainerFormat and DiskFormat are Glance's: "bare", "qcow2".
	ContainerFormat, DiskFormat string
	// MinDisk, MinRAM and Size are in bytes; 0 when not given.
	MinDisk, MinRAM, Size int64
	// File is the image as the VNFD writes it: a path for Package.Artifact, a
	// URL, or "" when the image is expected to be in the VIM already.
	File string
	// Pos is sw_image_data.
	Pos problem.Position
}

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
	// VNICType is "normal", "direct-physical" and the like, "" when not given.
	VNICType string
	// NICRequirements are the virtual_network_interface_requirements as found.
	NICRequirements []NICRequirement
	// Pos is the node template.
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

// ExternalCP is a connection point of the VNF as a whole: a VnfExtCp node, or a
// VduCp whose virtual_link the substitution mappings show to the outside.
type ExternalCP struct {
	// ID is the name of the node template.
	ID string
	// Requirement is the name under which the substitution mappings show it,
	// "" when they do not.
	Requirement string
	// CP is the ID of the VduCp behind it, "" when there is none.
	CP string
	// VirtualLink is the ID of the internal virtual link a VnfExtCp ends, "" for
	// others.
	VirtualLink string
	// LayerProtocols are for instance ["ipv4"].
	LayerProtocols []string
	// Pos is the node template.
	Pos problem.Position
}

// VirtualLink is a VnfVirtualLink: a network inside the VNF.
type VirtualLink struct {
	// ID is the name of the node template: what SOL003 calls vnfVirtualLinkDescId.
	ID, Description string
	// LayerProtocols are those of its connectivity type.
	LayerProtocols []string
	// Pos is the node template.
	Pos problem.Position
}

// StorageKind tells the three kinds of storage apart.
type StorageKind string

// The kinds of storage of SOL001.
const (
	BlockStorage  StorageKind = "block"
	ObjectStorage StorageKind = "object"
	FileStorage   StorageKind = "file"
)

// Storage is a virtual storage.
type Storage struct {
	// ID is the name of the node template.
	ID   string
	Kind StorageKind
	// Size is in bytes; 0 when not given.
	Size int64
	// Image is what the storage is filled with, nil when it starts empty.
	Image *SoftwareImage
	// Pos is the node template.
	Pos problem.Position
}

// Artifact is a file that a node template names.
type Artifact struct {
	// Type is the artifact type, for instance
	// "tosca.artifacts.Implementation.Python"; "" in the short notation.
	Type string
	// File is the path as the VNFD writes it; give it to Package.Artifact.
	File        string
	Description string
	// Pos is the artifact's definition.
	Pos problem.Position
}

// AffinityRule is an AffinityRule or AntiAffinityRule policy.
type AffinityRule struct {
	// ID is the name of the policy.
	ID string
	// Anti is set for anti-affinity.
	Anti bool
	// Scope says how near or how far apart: "nfvi_node", "zone", "zone_group",
	// "network_link_and_node" and the like.
	Scope string
	// Targets are IDs of VDUs, virtual links or placement groups.
	Targets []string
	// Pos is the policy.
	Pos problem.Position
}

// PlacementGroup is a group of nodes that affinity rules treat as one.
type PlacementGroup struct {
	// ID is the name of the group.
	ID, Description string
	// Members are IDs of node templates.
	Members []string
	// Pos is the group.
	Pos problem.Position
}
