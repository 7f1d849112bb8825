package grammar

import (
	"maps"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// construct is an entity of the grammar. keys are its keynames in any version from 1.0 to 1.3.
type construct struct {
	name string
	keys []string
}

func entity(name, keys string) construct { return construct{name, strings.Fields(keys)} }

// The clauses refer to the TOSCA Simple Profile 1.3.
var (
	serviceTemplate = entity("a service template", // 3.10
		`tosca_definitions_version namespace metadata template_name template_author template_version description
		dsl_definitions repositories imports artifact_types data_types capability_types interface_types
		relationship_types node_types group_types policy_types topology_template`)
	topologyTemplate = entity("a topology template", // 3.9
		`description inputs node_templates relationship_templates groups policies outputs substitution_mappings workflows`)
	importDefinition = entity("an import", "file repository namespace_uri namespace_prefix") // 3.6.8

	nodeTemplate = entity("a node template", // 3.8.3
		`type description metadata directives properties attributes requirements capabilities interfaces artifacts node_filter copy`)
	relationshipTemplate = entity("a relationship template", // 3.8.4
		`type description metadata properties attributes interfaces copy`)
	groupDefinition     = entity("a group", "type description metadata properties attributes members interfaces targets") // 3.8.5
	policyDefinition    = entity("a policy", "type description metadata properties targets triggers")                     // 3.8.6
	substitutionMapping = entity("a substitution mapping",                                                                // 3.8.14
		`node_type substitution_filter properties attributes capabilities requirements interfaces`)

	capabilityAssignment  = entity("a capability", "properties attributes occurrences")                     // 3.8.1
	requirementAssignment = entity("a requirement", "capability node relationship node_filter occurrences") // 3.8.2
	nodeFilter            = entity("a node filter", "properties capabilities")                              // 3.6.5
	artifactDefinition    = entity("an artifact",                                                           // 3.6.7
		"type file repository description deploy_path artifact_version version checksum checksum_algorithm properties metadata")
	operationDefinition = entity("an operation", "description implementation inputs outputs")        // 3.6.17
	implementationOf    = entity("an implementation", "primary dependencies timeout operation_host") // 3.6.16
	propertyDefinition  = entity("a property definition",                                            // 3.6.10
		"type description required default status constraints key_schema entry_schema external-schema external_schema metadata")
	attributeDefinition = entity("an attribute definition", "type description default status key_schema entry_schema metadata") // 3.6.12
	parameterDefinition = entity("an input",                                                                                    // 3.6.14
		"type description required default status constraints key_schema entry_schema external-schema external_schema metadata value")
	outputDefinition      = entity("an output", "type description value key_schema entry_schema status required default constraints metadata mapping")
	capabilityDefinition  = entity("a capability definition", "type description properties attributes valid_source_types occurrences metadata") // 3.7.2
	requirementDefinition = entity("a requirement definition", "capability node relationship occurrences description metadata node_filter")     // 3.7.3
)

// typeDefinition maps each kind of types to the keynames of its definitions (3.7).
var typeDefinition = map[Kind]construct{
	ArtifactTypes:     entity("an artifact type", "derived_from version metadata description mime_type file_ext properties"),
	DataTypes:         entity("a data type", "derived_from version metadata description constraints properties key_schema entry_schema"),
	CapabilityTypes:   entity("a capability type", "derived_from version metadata description properties attributes valid_source_types"),
	RelationshipTypes: entity("a relationship type", "derived_from version metadata description properties attributes interfaces valid_target_types"),
	NodeTypes:         entity("a node type", "derived_from version metadata description attributes properties requirements capabilities interfaces artifacts"),
	GroupTypes:        entity("a group type", "derived_from version metadata description attributes properties members requirements capabilities interfaces"),
	PolicyTypes:       entity("a policy type", "derived_from version metadata description properties targets triggers"),
}

// interfaceKeys are the keynames of an interface. Before TOSCA 1.3 any other key of an interface is an operation.
var interfaceKeys = []string{"type", "inputs", "operations", "notifications", "derived_from", "version", "metadata", "description"}

// keys checks that a node is a mapping and has only the keynames of a construct. It returns false if the node is not a
// mapping, so that the caller does not look up keys.
func (v *validator) keys(n *yamltree.Node, of construct) bool {
	if !v.mapping(n, of.name) {
		return false
	}
	for _, f := range n.Map() {
		v.spend(1)
		if !slices.Contains(of.keys, f.Key) {
			v.unknown(f.Pos, problem.UnknownKeyname, of.name+" has no keyname", f.Key, of.keys)
		}
	}
	return true
}

// mapping checks that a node is a mapping. Null counts as an empty mapping.
func (v *validator) mapping(n *yamltree.Node, what string) bool {
	if n.Present() == nil || n.Kind == yamltree.Mapping {
		return n != nil
	}
	v.errorf(n.Pos, problem.Type, "%s must be a mapping of keys and values", what)
	return false
}

// unknown reports a name that is not among the known names.
func (v *validator) unknown(pos problem.Position, code problem.Code, what, name string, known []string) {
	v.add(v.unknownName(pos, code, what, name, known))
}

func (v *validator) unknownName(pos problem.Position, code problem.Code, what, name string, known []string) problem.Problem {
	return problem.Problem{
		Position: pos, Code: code,
		Message:  what + " \"" + name + "\"",
		Expected: oneOf(known),
		Nearest:  problem.Nearest(name, known),
	}
}

// oneOf returns a text that lists the names, "" if they are too many to be read.
func oneOf(names []string) string {
	const most = 25
	if len(names) == 0 || len(names) > most {
		return ""
	}
	names = slices.Clone(names)
	slices.Sort(names)
	return "one of " + strings.Join(slices.Compact(names), ", ")
}

// namesIn returns the names that a type and its ancestors define in a section.
func (v *validator) namesIn(d *Type, section string) []string {
	found := map[string]bool{}
	for ; d != nil; d = d.Parent {
		for _, f := range d.Node.Get(section).Named() {
			v.spend(1)
			found[f.Key] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}
