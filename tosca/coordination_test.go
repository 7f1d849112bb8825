package tosca_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca"
)

const coordinated = `tosca_definitions_version: tosca_simple_yaml_1_3
imports: [etsi_nfv_sol001_vnfd_types.yaml]
data_types:
  my.Inputs: {derived_from: tosca.datatypes.nfv.InputOpCoordParams, properties: {grace: {type: integer}}}
  my.Drain: {derived_from: tosca.datatypes.nfv.VnfLcmOpCoord, properties: {input_parameters: {type: my.Inputs}}}
policy_types:
  my.Drain: {derived_from: tosca.policies.nfv.LcmCoordinationAction, properties: {action: {type: my.Drain}}}
topology_template:
  node_templates:
    VNF:
      type: tosca.nodes.nfv.VNF
      properties: {descriptor_id: i, provider: p, product_name: n, software_version: '1', descriptor_version: '1', flavour_id: f, flavour_description: d, vnfm_info: ['1:x']}
    VDU: {type: tosca.nodes.nfv.Vdu.Compute, properties: {name: v, description: v, vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 1}}}
    CP:
      type: tosca.nodes.nfv.VduCp
      requirements: [virtual_binding: VDU]
      properties:
        layer_protocols: [ipv4]
        protocol:
          - associated_layer_protocol: ipv4
            address_data:
              - {address_type: mac_address, l2_address_data: {mac_address_assignment: true}}
              - address_type: ip_address
                l3_address_data: {ip_address_assignment: false, ip_address_assignment_subtype: dynamic, floating_ip_activated: true, ip_address_type: ipv4, number_of_ip_address: 2}
              - {address_type: ip_address, l3_address_data: {floating_ip_activated: false, fixed_ip_address: [10.0.0.1]}}
  policies:
    - drain:
        type: my.Drain
        properties: {action_name: empty, action: {description: drains, endpoint_type: vnf, coordination_stage: start, input_parameters: {grace: 30}}}
    - scaling: {type: tosca.policies.nfv.LcmCoordinationsForLcmOperation, properties: {vnf_lcm_operation: scale, actions: [empty], referenced_coordination_actions: [other]}}
    - utilization:
        type: tosca.policies.nfv.VnfIndicator
        properties: {source: vnf}
        targets: [VNF]
        triggers:
          out:
            event: tosca.interfaces.nfv.VnfIndicator.utilization
            condition: [utilization: [greater_or_equal: 60.0]]
            action: [call_operation: {operation: Vnflcm.scale, inputs: {type: {value: scale_out}, aspect: {value: workers}}}]
`

// TestCoordination reads what a driver needs beyond VDUs and networks: coordination actions, triggers of indicators, addresses of
// connection points.
func TestCoordination(t *testing.T) {
	f := vnfd(t, fstest.MapFS{"v.yaml": file(coordinated)}).Flavours[0]
	actions := []tosca.CoordinationAction{{ID: "drain", Name: "empty", Description: "drains", Endpoint: "vnf", Stage: "start", Inputs: map[string]any{"grace": int64(30)}}}
	if diff := cmp.Diff(actions, f.CoordinationActions, withoutPositions()); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	operations := map[string]tosca.Coordinations{"scale": {Actions: []string{"empty"}, Referenced: []string{"other"}}}
	if diff := cmp.Diff(operations, f.Coordinations, withoutPositions()); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
	indicators := []tosca.Indicator{{ID: "utilization", Source: "vnf", Triggers: map[string]tosca.Trigger{"out": {
		Event:     "tosca.interfaces.nfv.VnfIndicator.utilization",
		Condition: []any{map[string]any{"utilization": []any{map[string]any{"greater_or_equal": 60.0}}}},
		Actions:   []tosca.Action{{Kind: "call_operation", Name: "Vnflcm.scale", Inputs: map[string]any{"type": "scale_out", "aspect": "workers"}}},
	}}}}
	if diff := cmp.Diff(indicators, f.Indicators, withoutPositions()); diff != "" {
		t.Errorf("indicators (-want +got):\n%s", diff)
	}
	protocols := []tosca.CPProtocol{{LayerProtocol: "ipv4", Addresses: []tosca.CPAddress{
		{MAC: &tosca.MACAddress{Assigned: true}},
		{IP: &tosca.IPAddress{Method: "dynamic", Floating: true, Version: "ipv4", Number: 2}},
		{IP: &tosca.IPAddress{Fixed: []string{"10.0.0.1"}}},
	}}}
	if diff := cmp.Diff(protocols, f.CPs[0].Protocols); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}
