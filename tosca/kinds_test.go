package tosca_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestWrongKinds has texts where TOSCA wants a mapping or a list, most of them because the space after a colon is missing.
func TestWrongKinds(t *testing.T) {
	const vnf = "node_types:\n  my.VNF:\n    derived_from: tosca.nodes.nfv.VNF\n"
	for _, tt := range []struct {
		name, yaml string
		want       []string
	}{
		{"requirement", head + "    CP: {type: tosca.nodes.nfv.VduCp, requirements: [virtual_binding: VDU, virtual_link:VL]}\n", []string{"v.yaml:6:76 tosca.wrong-type"}},
		{"policy", head + "  policies: [scaling:tosca.policies.nfv.ScalingAspects]\n", []string{"v.yaml:6:14 tosca.wrong-type"}},
		{"policies", head + "  policies: scaling\n", []string{"v.yaml:6:13 tosca.wrong-type"}},
		{"targets", head + "  policies: [{a: {type: tosca.policies.nfv.AffinityRule, targets: VDU, properties: {scope: zone}}}]\n", []string{"v.yaml:6:67 tosca.wrong-type"}},
		{"group", head + "  groups: {g: VDU}\n", []string{"v.yaml:6:15 tosca.wrong-type"}},
		{"groups", head + "  groups: [g]\n", []string{"v.yaml:6:11 tosca.wrong-type"}},
		{"members", head + "  groups: {g: {type: tosca.groups.nfv.PlacementGroup, members: VDU, properties: {description: d}}}\n", []string{"v.yaml:6:64 tosca.wrong-type"}},
		{"mapped requirement", head + "  substitution_mappings: {node_type: tosca.nodes.nfv.VNF, requirements: [virtual_link:CP]}\n", []string{"v.yaml:6:74 tosca.wrong-type"}},
		{"mapped requirements", head + "  substitution_mappings: {node_type: tosca.nodes.nfv.VNF, requirements: CP}\n", []string{"v.yaml:6:73 tosca.wrong-type"}},
		{"requirement of a type", head + vnf + "    requirements: [more:tosca.capabilities.nfv.VirtualLinkable]\n", []string{"v.yaml:9:20 tosca.wrong-type"}},
		{"constraint", head + vnf + "    properties: {n: {type: integer, default: 0, constraints: ['greater_than:1']}}\n", []string{"v.yaml:9:63 tosca.wrong-type"}},
		{"constraints", head + vnf + "    properties: {n: {type: integer, default: 0, constraints: positive}}\n", []string{"v.yaml:9:62 tosca.wrong-type"}},
		{"valid values", head + vnf + "    properties: {n: {type: string, default: a, constraints: [valid_values: a]}}\n", []string{"v.yaml:9:76 tosca.wrong-type"}},
		{"valid sources", head + "capability_types: {c: {derived_from: tosca.capabilities.Root, valid_source_types: my.VNF}}\n", []string{"v.yaml:6:83 tosca.wrong-type"}},
		{"targets of a type", head + "policy_types: {p: {derived_from: tosca.policies.Root, targets: VDU}}\n", []string{"v.yaml:6:64 tosca.wrong-type"}},
		{"interfaces of a type", head + vnf + "    interfaces: Vnflcm\n", []string{"v.yaml:9:17 tosca.wrong-type"}},
		{"artifacts", head + "    SW: {type: tosca.nodes.nfv.Vdu.VirtualFileStorage, artifacts: image}\n", []string{"v.yaml:6:67 tosca.wrong-type"}},
		{"node types", head + "node_types: my.VNF\n", []string{"v.yaml:6:13 tosca.wrong-type"}},
		{"imports", "imports: other.yaml\n" + head, []string{"v.yaml:1:10 tosca.wrong-type"}},
		{"merged text", head + "m: &m text\nnode_types: {<<: *m}\n", []string{"v.yaml:6:1 tosca.unknown-keyname", "v.yaml:6:4 tosca.wrong-type"}},
		{"node filter", head + "    VL: {type: tosca.nodes.nfv.VnfVirtualLink}\n    CP: {type: tosca.nodes.nfv.VduCp, requirements: [virtual_binding: {node_filter: {properties: [name:v]}}, virtual_link: VL]}\n",
			[]string{"v.yaml:7:99 tosca.wrong-type"}},

		{"right forms", head + "    VL: {type: tosca.nodes.nfv.VnfVirtualLink}\n    CP: {type: tosca.nodes.nfv.VduCp, requirements: [virtual_binding: {node_filter: {properties: [name: v, order: {in_range: [1, 2]}]}}, virtual_link: VL]}\n" +
			"  substitution_mappings: {node_type: tosca.nodes.nfv.VNF, properties: {flavour_id: [f]}, requirements: {virtual_link: {mapping: [CP, virtual_link], properties: {}}}}\n" +
			"  inputs: {f: {type: string, default: f}}\nartifact_types:\ninterface_types: {i: {derived_from: tosca.interfaces.Root, run: {}}}\nimports: [{one: {file: etsi_nfv_sol001_vnfd_types.yaml}}]\n", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := found(t, fstest.MapFS{"v.yaml": file(tt.yaml)})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUnfilledRequirements has connection points and deployable units whose types demand requirements.
func TestUnfilledRequirements(t *testing.T) {
	const cp, unit = head + "    CP: {type: tosca.nodes.nfv.VduCp, requirements: [virtual_binding: VDU", head + "    DU: {type: tosca.nodes.nfv.Vdu.OsContainerDeployableUnit}\n"
	const substitution = "]}\n  substitution_mappings: {node_type: tosca.nodes.nfv.VNF, requirements: [virtual_link: "
	unfilled := []string{"v.yaml:6:5 tosca.unfilled-requirement?"}
	for _, tt := range []struct {
		name, yaml string
		want       []string
	}{
		{"no link", cp + "]}\n", unfilled},
		{"link", cp + ", virtual_link: VL]}\n    VL: {type: tosca.nodes.nfv.VnfVirtualLink}\n", nil},
		{"link chosen later", cp + ", virtual_link: {node_filter: {}}]}\n", nil},
		{"null link", cp + ", virtual_link: ]}\n", []string{"v.yaml:6:76 tosca.wrong-type?"}},
		{"external", cp + substitution + "[CP, virtual_link]]}\n", nil},
		{"external, one of several", cp + substitution + "[[CP, virtual_link]]]}\n", nil},
		{"external with properties", cp + substitution + "{mapping: [CP, virtual_link], properties: {}}]}\n", nil},
		{"external by another name", cp + substitution + "[CP, virtual_binding]]}\n", unfilled},
		{"unit", strings.Replace(unit, "simple_yaml_1_2", "simple_yaml_1_3", 1), unfilled},
		{"unit of an MCIOP", strings.Replace(unit, "simple_yaml_1_2", "simple_yaml_1_3", 1) + "    M: {type: tosca.nodes.nfv.Mciop, requirements: [associatedVdu: DU], artifacts: {c: {type: tosca.artifacts.nfv.HelmChart, file: v.yaml}}}\n", nil},
		{"own type", head + "    C: {type: my}\nnode_types: {my: {derived_from: tosca.nodes.Root, requirements: [link: tosca.capabilities.Node]}}\n", nil},
		{"relaxed type", head + "    C: {type: my}\nnode_types: {my: {derived_from: tosca.nodes.nfv.VduCp, requirements: [virtual_link: {capability: tosca.capabilities.nfv.VirtualLinkable, occurrences: [0, 1]}]}}\n",
			[]string{"v.yaml:6:5 tosca.unfilled-requirement?"}}, // its binding
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := found(t, fstest.MapFS{"v.yaml": file(tt.yaml)})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}
