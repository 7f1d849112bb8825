package grammar_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestShortNames uses short and qualified names of normative types of every kind (TOSCA Simple Profile 1.3 chapter 5, SOL001 chapter 6).
func TestShortNames(t *testing.T) {
	run(t, []testCase{
		{"node", "  node_templates: {c: {type: Compute}, d: {type: tosca:Compute}, e: {type: tosca:BlockStorage, properties: {name: n, size: 1 GB}}}\n", nil},
		{"node of SOL001 that is not imported", "  node_templates: {l: {type: toscanfv:VnfVirtualLink, properties: {connectivity_type: {layer_protocols: [ipv4]}, " +
			"vl_profile: {max_bitrate_requirements: {root: 1}, min_bitrate_requirements: {root: 1}}}}}\n", []string{"toscanfv tosca.unknown-type"}},
		{"property by a short name", "  node_templates: {c: {type: Compute, properties: {size: 1}}}\n", []string{"size tosca.unknown-property"}},
		{"target by a short name", "  node_templates: {s: {type: SoftwareComponent, requirements: [host: Compute]}}\n", nil},
		{"relationship", "  relationship_templates: {r: {type: AttachesTo, properties: {location: /}}}\n", nil},
		{"policy and group", "  policies: [p: {type: tosca:Placement}]\n  groups: {g: {type: tosca:Root}}\n", nil},
		{"unknown", "  node_templates: {c: {type: tosca:Computer}}\n", []string{"tosca tosca.unknown-type"}},
	})
}

func TestShortNamesInTypes(t *testing.T) {
	const document = `tosca_definitions_version: tosca_simple_yaml_1_3
data_types:
  Login: {derived_from: tosca.datatypes.Root, properties: {credential: {type: tosca:Credential}, version: {type: tosca:version}, old: {type: version, required: false}}}
capability_types:
  Mine: {derived_from: tosca:Endpoint.Public, valid_source_types: [tosca:Compute]}
interface_types:
  Steps: {derived_from: Standard}
artifact_types:
  Script: {derived_from: tosca:Bash}
relationship_types:
  Near: {derived_from: DependsOn, valid_target_types: [Node]}
node_types:
  Box:
    derived_from: tosca:Compute
    properties: {login: {type: Login}}
    capabilities: {mine: Mine}
    requirements: [near: {capability: tosca:Node, node: Compute, relationship: Near, occurrences: [0, 1]}]
  Wide: {derived_from: tosca:Root, requirements: [box: {capability: Mine, node: Box}]}
group_types: {Boxes: {derived_from: tosca:Root, members: [Compute]}}
policy_types: {Beside: {derived_from: Placement, targets: [Compute, Boxes]}}
topology_template:
  relationship_templates: {near: {type: Near}}
  node_templates:
    box: {type: Box, properties: {login: {credential: {token: t, token_type: k}, version: 1.2.3}}, requirements: [near: box]}
    wide: {type: Wide, requirements: [box: tosca.nodes.Compute]}
    narrow: {type: Wide, requirements: [box: tosca.nodes.WebServer]}
  groups: {g: {type: Boxes, members: [box, wide]}}
  policies: [p: {type: Beside, targets: [box, g, wide]}]
`
	var got []string
	for _, p := range validate(t, files{"v.yaml": document}) {
		got = append(got, wordAt(document, p.Position)+" "+string(p.Code))
	}
	want := []string{"tosca.nodes.WebServer tosca.wrong-target", "wide tosca.wrong-target", "wide tosca.wrong-target"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// TestRightForms uses functions of relationship templates and attributes in the long notation.
func TestRightForms(t *testing.T) {
	const relationship = "  relationship_templates: {r: {type: tosca.relationships.AttachesTo, properties: {location: /}}}\n"
	run(t, []testCase{
		{"property of a relationship", relationship + in(", tags: [{get_property: [r, location]}]}"), nil},
		{"attribute of a relationship", relationship + in(", tags: [{get_attribute: [r, state]}]}"), nil},
		{"unknown property of a relationship", relationship + in(", tags: [{get_property: [r, locatoin]}]}"), []string{"locatoin tosca.unknown-property"}},
		{"attribute", in("}, attributes: {state_of_it: {description: d, value: on}}"), nil},
		{"attribute without description", in("}, attributes: {state_of_it: {value: on}}"), nil},
		{"wrong attribute", in("}, attributes: {state_of_it: {value: [on]}}"), []string{"[on tosca.wrong-type"}},
		{"no attribute", in("}, attributes: {state_of_it: {values: on}}"), []string{"{values tosca.wrong-type"}},
	})
}
