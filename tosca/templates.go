package tosca

import (
	"slices"

	"github.com/vnfkit/vnfkit/tosca/problem"
)

// Topology is a topology template as the descriptor states it, for drivers that need more than the typed fields of Flavour: types of a
// vendor, properties that SOL001 adds later. All lists are sorted by ID.
//
// Values are texts, numbers, booleans, lists ([]any) and mappings (map[string]any). Expressions are evaluated. A value that only a request
// or a running system can resolve is the text of its expression, for example "{get_attribute: [VDU, address]}".
type Topology struct {
	Nodes    []NodeTemplate
	Policies []Policy
	Groups   []Group
	// Sections are the remaining sections of the topology template, by keyname: inputs, outputs, relationship_templates,
	// substitution_mappings, workflows.
	Sections map[string]any
}

// Template has the fields that node templates, policies and groups have in common.
type Template struct {
	// ID is the name of the template.
	ID string
	// Type is the name of the type.
	Type string
	// Lineage are Type and its ancestors, the nearest one first.
	Lineage     []string
	Description string
	Metadata    map[string]any
	// Properties are the properties that the template sets, and the defaults of its type.
	Properties map[string]any
	// Pos is the position of the template.
	Pos problem.Position
}

// Is reports whether the type of the template is base or derived from base.
func (t Template) Is(base string) bool { return slices.Contains(t.Lineage, base) }

// NodeTemplate is a node template.
type NodeTemplate struct {
	Template

	// Attributes are the initial values that the template gives to attributes.
	Attributes map[string]any
	// Capabilities are the properties of capabilities that the template sets and the defaults of the node type, by capability.
	Capabilities map[string]map[string]any
	// Requirements are the requirements that the template assigns, in document order.
	Requirements []Requirement
	// Interfaces are the interfaces of the template as written, without those of its type.
	Interfaces map[string]any
	// Artifacts are the artifacts of the template and of its type, by key.
	Artifacts map[string]Artifact
}

// Requirement is a requirement that a node template assigns.
type Requirement struct {
	Name string
	// Node is the ID of the node template that fulfils the requirement, or a node type. It is "" if only Filter selects the target.
	Node string
	// Capability is the capability of the target, a name or a type. Relationship is a relationship template or type. Both are "" if
	// the descriptor does not name them.
	Capability, Relationship string
	// Properties are the properties of the relationship.
	Properties map[string]any
	// Filter is node_filter, nil if absent.
	Filter any
	// Pos is the position of the requirement.
	Pos problem.Position
}

// Policy is a policy.
type Policy struct {
	Template

	// Targets are IDs of node templates and groups.
	Targets []string
	// Triggers are the triggers of the policy and of its type, by name.
	Triggers map[string]Trigger
}

// Group is a group.
type Group struct {
	Template

	// Members are IDs of node templates.
	Members []string
	// Interfaces are the interfaces of the group as written.
	Interfaces map[string]any
}
