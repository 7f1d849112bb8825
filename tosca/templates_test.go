package tosca_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/tosca"
)

// vendored is a VNFD whose types, policies and sections have no field in Flavour.
const vendored = `tosca_definitions_version: tosca_simple_yaml_1_3
imports: [etsi_nfv_sol001_vnfd_types.yaml]
capability_types:
  my.Endpoint: {derived_from: tosca.capabilities.Root, properties: {port: {type: integer, default: 80}, tls: {type: boolean, default: false}}}
relationship_types:
  my.Uses: {derived_from: tosca.relationships.Root, properties: {weight: {type: integer}}}
interface_types:
  my.Probe: {derived_from: tosca.interfaces.Root, operations: {check: {description: probes}}}
node_types:
  my.Base:
    derived_from: tosca.nodes.Root
    properties:
      colour: {type: string, default: red}
      shape: {type: string, required: false, default: round}
    attributes: {address: {type: string}}
    capabilities: {api: {type: my.Endpoint, properties: {port: {type: integer, default: 443}}}}
    requirements: [peer: {capability: my.Endpoint, occurrences: [0, UNBOUNDED]}]
    interfaces: {probe: {type: my.Probe}}
  my.Probed:
    derived_from: my.Base
    properties: {colour: {type: string, default: blue}, limits: {type: map, entry_schema: integer}}
policy_types:
  my.Watch: {derived_from: tosca.policies.Root, properties: {every: {type: string, default: 1 m}}, triggers: {late: {event: silence, action: [{set_state: error}]}}}
group_types:
  my.Rack: {derived_from: tosca.groups.Root, properties: {row: {type: integer}}}
topology_template:
  inputs: {n: {type: integer, default: 3}}
  node_templates:
    VNF:
      type: tosca.nodes.nfv.VNF
      properties: {descriptor_id: i, provider: p, product_name: n, software_version: '1', descriptor_version: '1', flavour_id: f, flavour_description: d, vnfm_info: ['1:x']}
    probed:
      type: my.Probed
      description: an appliance
      metadata: {owner: me}
      properties: {limits: {a: {get_input: n}, b: 2}, shape: {get_attribute: [SELF, address]}}
      attributes: {address: unknown}
      capabilities: {api: {properties: {tls: true}}}
      requirements:
        - peer: other
        - peer: {node: my.Probed, capability: my.Endpoint, relationship: {type: my.Uses, properties: {weight: 7}}}
      interfaces: {probe: {operations: {check: {implementation: v.yaml}}}}
      artifacts: {conf: {type: tosca.artifacts.File, file: v.yaml, description: itself, deploy_path: /etc}, short: v.yaml}
    other: {type: my.Base}
  groups:
    rack: {type: my.Rack, properties: {row: 4}, members: [probed, other]}
  policies:
    - watch:
        type: my.Watch
        targets: [probed, rack]
        triggers:
          - slow:
              description: later
              event: delay
              schedule: {start_time: soon}
              target_filter: {node: probed}
              condition: [{latency: [{greater_than: 5}]}]
              action: [{delegate: {workflow: repair, inputs: [{level: 2}]}}, {call_operation: Vnflcm.heal}]
  workflows: {repair: {description: repairs}}
  outputs: {url: {value: http://a}}
`

func TestTopology(t *testing.T) {
	flavour := vnfd(t, fstest.MapFS{"v.yaml": file(vendored)}).Flavours[0]
	want := tosca.Topology{
		Nodes: []tosca.NodeTemplate{
			{},
			{
				Template: tosca.Template{ID: "other", Type: "my.Base", Lineage: []string{"my.Base", "tosca.nodes.Root"},
					Properties: map[string]any{"colour": "red", "shape": "round"}},
				Capabilities: map[string]map[string]any{"api": {"port": int64(443), "tls": false}},
			},
			{
				Template: tosca.Template{ID: "probed", Type: "my.Probed", Lineage: []string{"my.Probed", "my.Base", "tosca.nodes.Root"},
					Description: "an appliance", Metadata: map[string]any{"owner": "me"},
					Properties: map[string]any{"colour": "blue", "shape": "{get_attribute: [SELF, address]}", "limits": map[string]any{"a": int64(3), "b": int64(2)}}},
				Attributes:   map[string]any{"address": "unknown"},
				Capabilities: map[string]map[string]any{"api": {"port": int64(443), "tls": true}},
				Requirements: []tosca.Requirement{
					{Name: "peer", Node: "other"},
					{Name: "peer", Node: "my.Probed", Capability: "my.Endpoint", Relationship: "my.Uses", Properties: map[string]any{"weight": int64(7)}},
				},
				Interfaces: map[string]any{"probe": map[string]any{"operations": map[string]any{"check": map[string]any{"implementation": "v.yaml"}}}},
				Artifacts: map[string]tosca.Artifact{
					"conf":  {Type: "tosca.artifacts.File", File: "v.yaml", Description: "itself", Other: map[string]any{"deploy_path": "/etc"}},
					"short": {File: "v.yaml"},
				},
			},
		},
		Policies: []tosca.Policy{{
			Template: tosca.Template{ID: "watch", Type: "my.Watch", Lineage: []string{"my.Watch", "tosca.policies.Root"}, Properties: map[string]any{"every": "1 m"}},
			Targets:  []string{"probed", "rack"},
			Triggers: map[string]tosca.Trigger{
				"slow": {Description: "later", Event: "delay", Schedule: map[string]any{"start_time": "soon"}, TargetFilter: map[string]any{"node": "probed"},
					Condition: []any{map[string]any{"latency": []any{map[string]any{"greater_than": int64(5)}}}},
					Actions: []tosca.Action{{Kind: "delegate", Name: "repair", Inputs: map[string]any{"level": int64(2)}},
						{Kind: "call_operation", Name: "Vnflcm.heal"}}},
				"late": {Event: "silence", Actions: []tosca.Action{{Kind: "set_state", Name: "error"}}},
			},
		}},
		Groups: []tosca.Group{{
			Template: tosca.Template{ID: "rack", Type: "my.Rack", Lineage: []string{"my.Rack", "tosca.groups.Root"}, Properties: map[string]any{"row": int64(4)}},
			Members:  []string{"probed", "other"},
		}},
		Sections: map[string]any{
			"inputs":    map[string]any{"n": map[string]any{"type": "integer", "default": int64(3)}},
			"workflows": map[string]any{"repair": map[string]any{"description": "repairs"}},
			"outputs":   map[string]any{"url": map[string]any{"value": "http://a"}},
		},
	}
	got := flavour.Topology
	if !got.Nodes[0].Is("tosca.nodes.Root") || got.Nodes[0].Properties["provider"] != "p" {
		t.Errorf("VNF node %+v", got.Nodes[0])
	}
	got.Nodes[0] = tosca.NodeTemplate{}
	if diff := cmp.Diff(want, got, withoutPositions()); diff != "" {
		t.Errorf("topology (-want +got):\n%s", diff)
	}
}

// TestNothingIsLost looks for every value of the topology templates of packages in the model.
func TestNothingIsLost(t *testing.T) {
	for _, name := range []string{sample, "testdata/everything", "testdata/containers"} {
		p := open(t, name)
		v := p.VNFD()
		topologies := []tosca.Topology{v.Entry}
		for _, f := range v.Flavours {
			topologies = append(topologies, f.Topology)
		}
		text, err := json.Marshal(topologies)
		if err != nil {
			t.Fatal(err)
		}
		known := map[string]bool{}
		var decoded any
		if err := yaml.Unmarshal(text, &decoded); err != nil { // which keeps integers

			t.Fatal(err)
		}
		leaves(decoded, func(leaf string) { known[leaf] = true })
		for _, path := range p.VNFDFiles() {
			data, err := fs.ReadFile(p, path)
			if err != nil {
				t.Fatal(err)
			}
			var doc map[string]any
			if err := yaml.Unmarshal(data, &doc); err != nil {
				t.Fatal(err)
			}
			leaves(doc["topology_template"], func(leaf string) {
				if !known[leaf] {
					t.Errorf("%s: %s: %q is not in the model", name, path, leaf)
				}
			})
		}
	}
}

// leaves calls visit for the scalars of a document, except those of expressions.
func leaves(n any, visit func(string)) {
	switch n := n.(type) {
	case map[string]any:
		for key, value := range n {
			if !strings.HasPrefix(key, "get_") && key != "concat" && key != "token" {
				leaves(value, visit)
			}
		}
	case []any:
		for _, item := range n {
			leaves(item, visit)
		}
	case nil:
	default:
		visit(fmt.Sprint(n))
	}
}
