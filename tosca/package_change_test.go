package tosca_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// changing is a VNFD of SOL001 with an operation for the change of its package and a policy whose selector follows.
const changing = `tosca_definitions_version: tosca_simple_yaml_1_3
imports: [https://forge.etsi.org/rep/nfv/SOL001/raw/vVERSION/etsi_nfv_sol001_vnfd_types.yaml]
interface_types:
  my.Change:
    derived_from: tosca.interfaces.nfv.ChangeCurrentVnfPackage
    operations:
      from_1_to_2: {description: up, inputs: {speed: {type: string, default: slow}}}
      from_2_to_1: {description: down}
node_types:
  my.VNF:
    derived_from: tosca.nodes.nfv.VNF
    interfaces: {change: {type: my.Change}}
topology_template:
  inputs: {next: {type: string, default: two}}
  node_templates:
    VNF:
      type: my.VNF
      properties: {descriptor_id: two, provider: p, product_name: n, software_version: '1', descriptor_version: '1', flavour_id: f}
      artifacts: {script: {type: tosca.artifacts.Implementation.Bash, file: up.sh}}
      interfaces:
        change: {operations: {from_1_to_2: {implementation: script}}}
        Vnflcm:
          operations:
            change_current_package: {implementation: script}
            change_current_package_start: {implementation: {primary: script}}
            change_current_package_end: script
    VDU: {type: tosca.nodes.nfv.Vdu.Compute}
  policies:
    - upgrade:
        type: tosca.policies.nfv.VnfPackageChange
        triggers:
          change: {event: requested, action: [{call_operation: {operation: change.from_1_to_2, inputs: {level: {value: 1}}}}]}
        properties:
          modification_qualifier: up
          additional_modification_description: newer
          component_mappings:
            - {component_type: vdu, source_id: old, destination_id: VDU, description: renamed}
          destination_flavour_id: f
          actions: [drain]
          referenced_coordination_actions: [other]
          selector: `

func withoutPositions() cmp.Option { return cmpopts.IgnoreTypes(problem.Position{}) }

func TestPackageChange(t *testing.T) {
	const one, two = "{source_descriptor_id: one, destination_descriptor_id: {get_input: next}, source_flavour_id: f}",
		"{source_descriptor_id: zero, destination_descriptor_id: two, source_flavour_id: g}"
	first := tosca.PackageChangeSelector{SourceID: "one", DestinationID: "two", SourceFlavourID: "f"}
	second := tosca.PackageChangeSelector{SourceID: "zero", DestinationID: "two", SourceFlavourID: "g"}
	for version, c := range map[string]struct {
		selector string
		want     []tosca.PackageChangeSelector
	}{
		"3.3.1": {one, []tosca.PackageChangeSelector{first}},
		"3.7.1": {one, []tosca.PackageChangeSelector{first}},
		"4.2.1": {"[" + one + ", " + two + "]", []tosca.PackageChangeSelector{first, second}},
		"4.4.1": {"[" + one + "]", []tosca.PackageChangeSelector{first}},
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(changing, "VERSION", version, 1)
			if version != "3.3.1" {
				text = strings.Replace(text, "    - upgrade:\n", "    - drain: {type: tosca.policies.nfv.LcmCoordinationAction, properties: {action_name: drain}}\n    - upgrade:\n", 1)
			} else {
				text = strings.Replace(text, "          actions: [drain]\n          referenced_coordination_actions: [other]\n", "", 1)
			}
			v := vnfd(t, fstest.MapFS{
				"TOSCA-Metadata/TOSCA.meta": file("Entry-Definitions: v.yaml\n"), "up.sh": file(""), "v.yaml": file(text + c.selector + "\n"),
			})
			want := tosca.PackageChange{
				ID: "upgrade", Selectors: c.want, Qualifier: "up", Description: "newer", DestinationFlavourID: "f",
				Mappings: []tosca.ComponentMapping{{Type: tosca.MappedVDU, SourceID: "old", DestinationID: "VDU", Description: "renamed"}},
				Actions:  []string{"drain"}, ReferencedActions: []string{"other"}, Operation: "from_1_to_2",
				Triggers: map[string]tosca.Trigger{"change": {Event: "requested", Actions: []tosca.Action{{
					Kind: "call_operation", Name: "change.from_1_to_2", Inputs: map[string]any{"level": int64(1)},
				}}}},
			}
			if version == "3.3.1" {
				want.Actions, want.ReferencedActions = nil, nil
			}
			if diff := cmp.Diff([]tosca.PackageChange{want}, v.Changes, withoutPositions()); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			operations := map[string]tosca.Hook{"from_1_to_2": {Driver: "script", Inputs: map[string]any{"speed": "slow"}}, "from_2_to_1": {}}
			if diff := cmp.Diff(operations, v.Flavours[0].ChangeOperations, withoutPositions()); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
			hook := tosca.Hook{Driver: "script"}
			hooks := map[string]tosca.Hook{"change_current_package": hook, "change_current_package_start": hook, "change_current_package_end": hook}
			if diff := cmp.Diff(hooks, v.Flavours[0].Hooks, withoutPositions()); diff != "" {
				t.Errorf("hooks (-want +got):\n%s", diff)
			}
		})
	}
}

// TestChange looks up the policy of a change, and the ids that components have after it.
func TestChange(t *testing.T) {
	v := tosca.VNFD{Changes: []tosca.PackageChange{
		{ID: "up", Selectors: []tosca.PackageChangeSelector{{SourceID: "a", DestinationID: "b", SourceFlavourID: "f"}}},
		{ID: "down", Selectors: []tosca.PackageChangeSelector{{SourceID: "c", DestinationID: "b", SourceFlavourID: "f"}, {SourceID: "b", DestinationID: "a", SourceFlavourID: "f"}},
			Mappings: []tosca.ComponentMapping{{Type: tosca.MappedCP, SourceID: "x", DestinationID: "y"}}},
	}}
	if c := v.Change("a", "f", "b"); c == nil || c.ID != "up" {
		t.Errorf("a to b: %+v", c)
	}
	down := v.Change("b", "f", "a")
	if down == nil || down.ID != "down" {
		t.Fatalf("b to a: %+v", down)
	}
	if cp, vdu := down.Destination(tosca.MappedCP, "x"), down.Destination(tosca.MappedVDU, "x"); cp != "y" || vdu != "x" {
		t.Errorf("after the change the connection point is %s, the VDU %s", cp, vdu)
	}
	if c := v.Change("a", "g", "b"); c != nil {
		t.Errorf("a flavour without a policy: %+v", c)
	}
}
