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
	// VDUs are the node templates of type tosca.nodes.nfv.Vdu.Compute and
	// tosca.nodes.nfv.Vdu.OsContainerDeployableUnit, and of types derived from
	// these.
	VDUs []VDU
	// Containers are the Vdu.OsContainer node templates that VDUs are made of.
	Containers []Container
	// MCIOPs are the Mciop node templates: the packages from which the managed
	// container infrastructure objects of VDUs are made.
	MCIOPs []MCIOP
	// CPs are the VduCp node templates, sub-ports (VduSubCp) among them.
	CPs []ConnectionPoint
	// VirtualCPs are the VirtualCp node templates, VIPs the VipCp ones.
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
	// Hooks maps the operations of the Vnflcm interface that name a driver, for example "instantiate_end" or
	// "scale_rollback_start", to the driver and its inputs.
	Hooks map[string]Hook
	// Drivers maps the keys of the artifacts of type
	// tosca.artifacts.Implementation and of types derived from it.
	Drivers map[string]Artifact
	// Artifacts maps the keys of the artifacts of the VNF node that are not in Drivers.
	Artifacts map[string]Artifact
	// Indicators are the VnfIndicator policies.
	Indicators []Indicator
	// NodeFilters are the filters of requirements that do not name their target, as written in the descriptor.
	NodeFilters []NodeFilter
	// Pos is the position of the VNF node of the flavour, or its topology template.
	Pos problem.Position
}

// Hook is an operation of the Vnflcm interface that has a driver.
type Hook struct {
	// Driver is the key of the driver in Flavour.Drivers.
	Driver string
	// Inputs are the inputs that the descriptor gives the operation: texts, numbers, truth values, lists and mappings.
	// A value that only a request can give is the text of its expression.
	Inputs map[string]any
	// Pos is the position of the operation.
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
	// Pos is the position of the artifact's definition.
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
	// Pos is the position of the policy.
	Pos problem.Position
}

// PlacementGroup is a group of nodes that affinity rules treat as one.
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
	// Pos is the position of the policy.
	Pos problem.Position
}

// NodeFilter is a filter for the target of a requirement, if the descriptor does not name the target.
type NodeFilter struct {
	// Node is the ID of the node template, Requirement the name of its
	// requirement.
	Node, Requirement string
	// Filter is the node_filter as written in the descriptor.
	Filter any
	// Pos is the position of node_filter.
	Pos problem.Position
}
