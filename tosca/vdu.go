package tosca

import "github.com/vnfkit/vnfkit/tosca/problem"

// VDUKind is the kind of the VNFCs of a VDU.
type VDUKind string

// The kinds of VDUs of SOL001.
const (
	// ComputeVDU: each VNFC is a virtual machine (Vdu.Compute).
	ComputeVDU VDUKind = "compute"
	// ContainerVDU: each VNFC is a group of containers, such as a pod
	// (Vdu.OsContainerDeployableUnit, SOL001 v4.2.1).
	ContainerVDU VDUKind = "os-container"
)

// VDU is a virtualisation deployment unit.
type VDU struct {
	// ID is the name of the node template, which is vduId in SOL003.
	ID   string
	Kind VDUKind
	// Name and Description are texts for display.
	Name, Description string
	// Min and Max limit the number of instances (vdu_profile). Max is -1 without a limit.
	Min, Max int
	// Initial is the number of instances with all aspects at scale level 0 (VduInitialDelta). Without this policy it is Min.
	Initial int
	// Image is nil if the VDU boots from a storage, or if the VNFD names no image. Containers have separate images.
	Image *SoftwareImage
	// Compute are the requirements of the VDU on its virtual machine.
	Compute Compute
	// Containers are the IDs of the containers of a ContainerVDU.
	Containers []string
	// MCIO identifies the object that a ContainerVDU becomes.
	MCIO MCIO
	// Storages are the IDs of the storages attached to each instance.
	Storages []string
	// Capabilities are the requested_additional_capabilities, sorted by key.
	Capabilities []RequestedCapability
	// NFVIConstraints is nfvi_constraints.
	NFVIConstraints map[string]string
	// BootData is boot_data as written in the descriptor: a text before SOL001 v2.7.1, a mapping since then. It may be
	// nil.
	BootData any
	// ConfigurableProperties are the values that the descriptor sets in configurable_properties, nil if there are none.
	ConfigurableProperties map[string]any
	// Artifacts maps the keys of the VDU's artifacts, its image among them.
	Artifacts map[string]Artifact
	// Pos is the position of the node template.
	Pos problem.Position
}

// Compute is the virtual_compute capability of a VDU.
type Compute struct {
	// VirtualCPUs is num_virtual_cpu; 0 if the VNFD does not state it.
	VirtualCPUs int
	// CPUArchitecture is cpu_architecture, "" if the VNFD does not state it.
	CPUArchitecture string
	// Memory is virtual_mem_size in bytes; 0 if the VNFD does not state it.
	Memory int64
	// LocalStorage holds the sizes of virtual_local_storage in bytes.
	LocalStorage []int64
	// FlavourName is requested_additional_capability_name, which VNFMs for OpenStack use as the name of a Nova flavour.
	FlavourName string
}

// MCIO names the managed container infrastructure object that a VDU becomes (McioIdentificationData, SOL001 v4.3.1).
type MCIO struct {
	// Name and Type are for instance "web" and "Deployment".
	Name, Type string
	// Constraints are the mcio_constraint_params, such as "local_affinity_cis_node".
	Constraints []string
}

// RequestedCapability is a capability beyond those that SOL001 names
// (RequestedAdditionalCapability).
type RequestedCapability struct {
	Name string
	// Mandatory is support_mandatory.
	Mandatory bool
	// MinVersion and PreferredVersion are "" if the VNFD does not state them.
	MinVersion, PreferredVersion string
	// Performance is target_performance_parameters.
	Performance map[string]string
}

// Container is an OS container (Vdu.OsContainer, SOL001 v4.2.1). Amounts are 0
// when not given.
type Container struct {
	// ID is the name of the node template.
	ID                string
	Name, Description string
	// RequestedCPU and CPULimit are in milli-CPU (IFA011 7.1.6.13).
	RequestedCPU, CPULimit int
	// Sizes are in bytes.
	RequestedMemory, MemoryLimit                     int64
	RequestedEphemeralStorage, EphemeralStorageLimit int64
	// Extended are the extended_resource_requests.
	Extended []ExtendedResource
	// HugePages are the huge_pages_resources.
	HugePages []HugePages
	// Image is the software image of the container, nil if the VNFD has none.
	Image *SoftwareImage
	// Artifacts maps the keys of the container's artifacts, its image among them.
	Artifacts map[string]Artifact
	// Pos is the position of the node template.
	Pos problem.Position
}

// ExtendedResource is an amount of a resource such as a GPU.
type ExtendedResource struct {
	// Resource are the key-value pairs that name it.
	Resource map[string]string
	Amount   int
}

// HugePages asks for memory in pages of a size, both in bytes.
type HugePages struct{ PageSize, Requested int64 }

// MCIOP is a managed container infrastructure object package (Mciop, SOL001
// v4.2.1), such as a Helm chart.
type MCIOP struct {
	// ID is the name of the node template.
	ID string
	// VDUs are the IDs of the VDUs whose objects the MCIOP creates (associatedVdu).
	VDUs []string
	// DependsOn are the IDs of the MCIOPs that are deployed before (requirement dependency, SOL001 v5.4.1 6.8.14.7).
	DependsOn []string
	// Chart is the path of its Helm chart as the VNFD writes it, for
	// Package.Artifact; "" when it has none.
	Chart string
	// Artifacts maps the keys of its artifacts, the chart among them.
	Artifacts map[string]Artifact
	// Pos is the position of the node template.
	Pos problem.Position
}

// SoftwareImage is the software image of a VDU, of a storage or of a container:
// sw_image_data (until SOL001 v4.2.1), or the properties of the SwImage artifact,
// and the file of that.
type SoftwareImage struct {
	// Name and Version identify the image. Provider is its maker.
	Name, Version, Provider string
	// ChecksumAlgorithm is in lower case, for example "sha-512". Checksum is hexadecimal.
	ChecksumAlgorithm, Checksum string
	// ContainerFormat and DiskFormat are formats of Glance, for example "bare" and "qcow2".
	ContainerFormat, DiskFormat string
	// MinDisk, MinRAM and Size are in bytes; 0 if the VNFD does not state them.
	MinDisk, MinRAM, Size int64
	// OperatingSystem is "" if the VNFD does not state it.
	OperatingSystem string
	// Virtualisation are the supported_virtualisation_environments.
	Virtualisation []string
	// File is the location as written in the VNFD: a path for Package.Artifact or a URL. It is "" if the VIM must have the image
	// already.
	File string
	// Pos is sw_image_data.
	Pos problem.Position
}

// StorageKind is one of the three kinds of storage.
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
	// Size is in bytes; 0 if the VNFD does not state it.
	Size int64
	// Shared is set if all VNFCs use the same storage instead of one storage each (per_vnfc_instance: false, SOL001 v4.2.1).
	Shared bool
	// RDMA is rdma_enabled of a block storage.
	RDMA bool
	// Protocol is file_system_protocol, and VirtualLink the ID of the virtual link
	// of a file storage.
	Protocol, VirtualLink string
	// Image is the initial content of the storage, nil if it starts empty.
	Image *SoftwareImage
	// Artifacts maps the keys of the storage's artifacts, its image among them.
	Artifacts map[string]Artifact
	// Pos is the position of the node template.
	Pos problem.Position
}
