package tosca_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// described returns a VNFD whose VDU "it" has the given description.
func described(expression string) string {
	return `tosca_definitions_version: tosca_simple_yaml_1_3
imports: [ etsi_nfv_sol001_vnfd_types.yaml ]
node_types:
  x.Vdu:
    derived_from: tosca.nodes.nfv.Vdu.Compute
    properties: { nick: { type: string, default: { concat: [ the-, { get_property: [ SELF, name ] } ] } } }
    capabilities:
      virtual_compute:
        type: tosca.capabilities.nfv.VirtualCompute
        properties: { virtual_memory: { type: tosca.datatypes.nfv.VirtualMemory, default: { virtual_mem_size: 3 GB, numa_enabled: false } } }
topology_template:
  inputs:
    size: { type: integer, default: 4 }
    who: { type: string }
    space: { type: scalar-unit.size }
    map: { type: map, entry_schema: { type: string }, default: { key: value } }
    list: { type: list, entry_schema: { type: string }, default: [ first, second ] }
  node_templates:
    VNF:
      type: tosca.nodes.nfv.VNF
      properties: { descriptor_id: i, provider: Maker, product_name: n, software_version: '1.2.3', descriptor_version: '1', flavour_id: f, flavour_description: d, vnfm_info: [ 'etsivnfm:v4.4.1' ] }
    it:
      type: x.Vdu
      properties:
        name: me
        description: ` + expression + `
        vdu_profile: { min_number_of_instances: 1, max_number_of_instances: { get_input: size } }
      capabilities:
        virtual_compute: { properties: { virtual_cpu: { num_virtual_cpu: { get_input: size } } } }
      requirements:
        - virtual_storage: disk
    disk:
      type: tosca.nodes.nfv.Vdu.VirtualBlockStorage
      properties: { virtual_block_storage_data: { size_of_storage: { get_input: space }, rdma_enabled: false } }
`
}

func TestFunctions(t *testing.T) {
	for expression, want := range map[string]string{
		`{ get_input: size }`:                                                                   "4",
		`{ get_input: who }`:                                                                    "{get_input: who}",
		`{ get_input: [ map, key ] }`:                                                           "value",
		`{ get_input: [ list, 1 ] }`:                                                            "second",
		`{ get_input: [ list, 2 ] }`:                                                            "{get_input: [list, 2]}",
		`{ get_property: [ SELF, name ] }`:                                                      "me",
		`{ get_property: [ VNF, provider ] }`:                                                   "Maker",
		`{ get_property: [ SELF, nick ] }`:                                                      "the-me",
		`{ get_property: [ SELF, vdu_profile, max_number_of_instances ] }`:                      "4",
		`{ get_property: [ SELF, virtual_compute, virtual_cpu, num_virtual_cpu ] }`:             "4",
		`{ get_property: [ SELF, virtual_compute, virtual_memory, virtual_mem_size ] }`:         "3 GB",
		`{ get_property: [ SELF, virtual_storage, virtual_block_storage_data, rdma_enabled ] }`: "false",
		`{ get_property: [ SELF, description ] }`:                                               "{get_property: [SELF, description]}",
		`{ get_attribute: [ SELF, tosca_id ] }`:                                                 "{get_attribute: [SELF, tosca_id]}",
		`{ concat: [ a, { get_property: [ SELF, name ] }, '-', { get_input: size } ] }`:         "ame-4",
		`{ concat: [ a, { concat: [ b, { token: [ 'x/y/z', '/', 1 ] } ] } ] }`:                  "aby",
		`{ concat: [ a, { get_input: who } ] }`:                                                 "{concat: [a, {get_input: who}]}",
		`{ token: [ { get_property: [ VNF, software_version ] }, '.', 2 ] }`:                    "3",
		`{ token: [ 'a.b', '.', 5 ] }`:                                                          "{token: [a.b, ., 5]}",
	} {
		t.Run(expression, func(t *testing.T) {
			v := vnfd(t, fstest.MapFS{"v.yaml": file(described(expression))})
			if got := v.Flavours[0].VDU("it").Description; got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// TestFunctionsElsewhere checks expressions in numbers, sizes and defaults of types.
func TestFunctionsElsewhere(t *testing.T) {
	f := vnfd(t, fstest.MapFS{"v.yaml": file(described("d"))}).Flavours[0]
	got := f.VDU("it")
	if got.Max != 4 || got.Compute.VirtualCPUs != 4 || got.Compute.Memory != 3e9 {
		t.Errorf("maximum %d, %d CPUs, %d bytes of memory", got.Max, got.Compute.VirtualCPUs, got.Compute.Memory)
	}
	if f.Storages[0].Size != 0 {
		t.Errorf("a size that only a request can set is %d", f.Storages[0].Size)
	}
}

// TestExpressionsThatGrow checks that evaluation stops early for expressions whose result doubles with every step, or that never end.
func TestExpressionsThatGrow(t *testing.T) {
	var nodes, inputs strings.Builder
	for i := range 40 {
		next := fmt.Sprintf("{ get_property: [ n%d, name ] }", i+1)
		fmt.Fprintf(&nodes, "    n%d: { type: tosca.nodes.nfv.Vdu.Compute, properties: { name: { concat: [ x, %s, %s ] }, description: d, vdu_profile: { min_number_of_instances: 1, max_number_of_instances: 1 } } }\n", i, next, next)
	}
	nodes.WriteString("    n40: { type: tosca.nodes.nfv.Vdu.Compute, properties: { name: end, description: d, vdu_profile: { min_number_of_instances: 1, max_number_of_instances: 1 } } }\n")
	fmt.Fprintf(&inputs, "  inputs:\n    long: { type: string, default: %s }\n", strings.Repeat("x", 60<<10))
	long := "{ concat: [ " + strings.Repeat("{ get_input: long }, ", 100) + "x ] }"
	for name, yaml := range map[string]string{
		"each name is twice the next": described("d") + nodes.String(),
		"long texts, often":           strings.Replace(described(long), "  inputs:\n", inputs.String(), 1),
	} {
		t.Run(name, func(t *testing.T) {
			p, err := tosca.OpenFS(context.Background(), fstest.MapFS{"v.yaml": file(yaml)})
			if err != nil {
				if !errors.Is(err, problem.Problem{Code: problem.TooLarge}) {
					t.Errorf("%v, want %s", err, problem.TooLarge)
				}
				return
			}
			for _, v := range p.VNFD().Flavours[0].VDUs {
				if len(v.Name) > 1<<17 || len(v.Description) > 1<<17 {
					t.Errorf("%s has a name of %d and a description of %d bytes", v.ID, len(v.Name), len(v.Description))
				}
			}
		})
	}
}

// TestNodeFilter checks a requirement with a node filter instead of a target.
func TestNodeFilter(t *testing.T) {
	yaml := strings.Replace(described("d"), "        - virtual_storage: disk\n", `        - virtual_storage:
            node: tosca.nodes.nfv.Vdu.VirtualBlockStorage
            node_filter:
              properties:
                - virtual_block_storage_data: { equal: { size_of_storage: 1 GB } }
`, 1)
	f := vnfd(t, fstest.MapFS{"v.yaml": file(yaml)}).Flavours[0]
	want := []tosca.NodeFilter{{Node: "it", Requirement: "virtual_storage", Filter: map[string]any{
		"properties": []any{map[string]any{"virtual_block_storage_data": map[string]any{"equal": map[string]any{"size_of_storage": "1 GB"}}}},
	}}}
	for i := range f.NodeFilters {
		f.NodeFilters[i].Pos = problem.Position{}
	}
	if diff := cmp.Diff(want, f.NodeFilters); diff != "" {
		t.Errorf("filters (-want +got):\n%s", diff)
	}
	if s := f.VDU("it").Storages; s != nil {
		t.Errorf("storages %v although the requirement has no target", s)
	}
}
