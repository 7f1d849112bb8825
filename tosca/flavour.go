package tosca

import "github.com/vnfkit/vnfkit/tosca/problem"

// Flavour is one deployment flavour (DF) of a VNF: a topology template whose substitution mappings state a flavour_id, or the
// topology of a VNFD that has only one.
//
// All lists but MCIOPs are sorted by ID, so that equal packages have equal models.
type Flavour struct {
	// ID is flavour_id, "default" if the VNFD does not state it.
	ID string
	// Description is flavour_description.
	Description string
	// VDUs are the node templates whose type is, or is derived from, tosca.nodes.nfv.Vdu.Compute or
	// tosca.nodes.nfv.Vdu.OsContainerDeployableUnit.
	VDUs []VDU
	// Containers are the Vdu.OsContainer node templates that VDUs are made of.
	Containers []Container
	// MCIOPs are the Mciop node templates: the packages from which the managed container infrastructure objects of VDUs
	// are made. They are in the order of deployment: each one after those that it depends on, otherwise as in the
	// descriptor.
	MCIOPs []MCIOP
	// CPs are the VduCp node templates, including sub-ports (VduSubCp).
	CPs []ConnectionPoint
	// VirtualCPs are the VirtualCp node templates, VIPs are the VipCp node templates.
	VirtualCPs []VirtualCP
	VIPs       []VIP
	// ExternalCPs are the external connection points of the VNF.
	ExternalCPs []ExternalCP
	// VirtualLinks are the VnfVirtualLink node templates.
	VirtualLinks []VirtualLink
	// Storages are the Virtual{Block,File,Object}Storage node templates.
	Storages []Storage
	// Aspects are the scaling aspects.
	Aspects []Aspect
	// Levels are the instantiation levels. DefaultLevel is the level for a request that does not name one; it is "" if Levels is
	// empty.
	Levels       []InstantiationLevel
	DefaultLevel string
	// Affinity holds the affinity and anti-affinity rules.
	Affinity []AffinityRule
	// PlacementGroups are the placement groups that affinity rules can name.
	PlacementGroups []PlacementGroup
	// Operations configures the LCM operations.
	Operations Operations
	// Hooks maps the operations of the Vnflcm interface that name a driver, for example "instantiate_end" or
	// "scale_rollback_start", to the driver and its inputs.
	Hooks map[string]Hook
	// ChangeOperations are the operations of interfaces derived from ChangeCurrentVnfPackage (SOL001 v3.3.1): the VNFD's own
	// operations for a change of the package, of which a PackageChange names one. An operation without a driver has no Hook.Driver.
	ChangeOperations map[string]Hook
	// AdditionalParameters maps operations of Vnflcm, such as "instantiate", and ChangeOperations to the attributes of additionalParams
	// that the descriptor declares for them (VnfOperationAdditionalParameters), sorted by name. CheckParameters compares a request with
	// them.
	AdditionalParameters map[string][]Attribute
	// Drivers are the artifacts, by key, whose type is tosca.artifacts.Implementation or derived from it.
	Drivers map[string]Artifact
	// Artifacts are the other artifacts of the VNF node, by key.
	Artifacts map[string]Artifact
	// Indicators are the VnfIndicator policies.
	Indicators []Indicator
	// CoordinationActions are the LcmCoordinationAction policies. Coordinations maps LCM operations in the names of SOL001, such as
	// "scale_to_level", to the actions that they need.
	CoordinationActions []CoordinationAction
	Coordinations       map[string]Coordinations
	// NodeFilters are the filters of requirements that do not name their target, as written in the descriptor.
	NodeFilters []NodeFilter
	// Topology is the topology template of the flavour as the descriptor states it.
	Topology
	// Pos is the position of the VNF node of the flavour or, without such a node, of its topology template.
	Pos problem.Position
}

// Hook is an operation of the Vnflcm interface that has a driver.
type Hook struct {
	// Driver is the key of the driver in Flavour.Drivers.
	Driver string
	// Inputs are the inputs of the operation in the descriptor: texts, numbers, booleans, lists and mappings. A value that only
	// a request can set is the text of its expression.
	Inputs map[string]any
	// Pos is the position of the operation.
	Pos problem.Position
}

// Artifact is a file that a node template refers to.
type Artifact struct {
	// Type is the artifact type, for example "tosca.artifacts.Implementation.Python". It is "" in the short notation.
	Type string
	// File is the path as written in the VNFD. Package.Artifact accepts it.
	File        string
	Description string
	// Properties are the properties of the artifact. Other are its remaining keynames, such as checksum, by name.
	Properties, Other map[string]any
	// Pos is the position of the artifact's definition.
	Pos problem.Position
}

// AffinityRule is an AffinityRule or AntiAffinityRule policy.
type AffinityRule struct {
	// ID is the name of the policy.
	ID string
	// Anti is set for anti-affinity.
	Anti bool
	// Scope is the scope of the rule: "nfvi_node", "zone", "zone_group", "network_link_and_node" or another value of SOL001.
	Scope string
	// Targets are IDs of VDUs, virtual links or placement groups.
	Targets []string
	// Pos is the position of the policy.
	Pos problem.Position
}

// PlacementGroup is a group of nodes that an affinity rule can name as one target.
type PlacementGroup struct {
	// ID is the name of the group.
	ID, Description string
	// Members are IDs of node templates.
	Members []string
	// Pos is the position of the group.
	Pos problem.Position
}

// Indicator is a VnfIndicator policy: a value that the VNF or its EM reports about its state.
type Indicator struct {
	// ID is the name of the policy.
	ID string
	// Source is "vnf", "em" or "both_vnf_and_em".
	Source string
	// Triggers are the triggers of the policy, by name: what to do when the value changes.
	Triggers map[string]Trigger
	// Pos is the position of the policy.
	Pos problem.Position
}

// NodeFilter is a filter for the target of a requirement, if the descriptor does not name the target.
type NodeFilter struct {
	// Node is the ID of the node template, Requirement is the name of its requirement.
	Node, Requirement string
	// Filter is the node_filter as written in the descriptor.
	Filter any
	// Pos is the position of node_filter.
	Pos problem.Position
}
