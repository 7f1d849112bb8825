package tosca_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca"
)

// declaring is a VNFD whose types declare additional_parameters: in the node type, in the type of its ancestor and in the type of an
// interface.
const declaring = `tosca_definitions_version: tosca_simple_yaml_1_3
imports: [https://forge.etsi.org/rep/nfv/SOL001/raw/v4.4.1/etsi_nfv_sol001_vnfd_types.yaml]
data_types:
  my.Size: {derived_from: integer}
  my.Zones: {derived_from: list, entry_schema: string}
  my.Site:
    derived_from: tosca.datatypes.Root
    properties:
      name: {type: string}
      zones: {type: my.Zones, required: false}
      nested: {type: my.Site, required: false}
  my.Common:
    derived_from: tosca.datatypes.nfv.VnfOperationAdditionalParameters
    properties: {trace: {type: boolean, required: false}}
  my.Instantiate:
    derived_from: my.Common
    properties:
      site: {type: my.Site, description: where}
      size: {type: my.Size, default: 3}
      ratio: {type: float, required: false}
      labels: {type: map, required: false, entry_schema: {type: string}}
      disk: {type: scalar-unit.size, required: false}
      ports: {type: range, required: false}
      free: {type: map, required: false}
  my.Change: {derived_from: tosca.datatypes.nfv.VnfOperationAdditionalParameters, properties: {fast: {type: boolean}}}
interface_types:
  my.Change:
    derived_from: tosca.interfaces.nfv.ChangeCurrentVnfPackage
    operations: {up: {inputs: {additional_parameters: {type: my.Change}}}}
node_types:
  my.Base:
    derived_from: tosca.nodes.nfv.VNF
    interfaces:
      Vnflcm: {type: tosca.interfaces.nfv.Vnflcm, operations: {heal: {inputs: {additional_parameters: {type: my.Common, required: false}}}}}
  my.VNF:
    derived_from: my.Base
    interfaces:
      Vnflcm: {type: tosca.interfaces.nfv.Vnflcm, operations: {instantiate: {inputs: {additional_parameters: {type: my.Instantiate}}}, scale: {}}}
      change: {type: my.Change}
topology_template:
  node_templates:
    VNF:
      type: my.VNF
      properties: {descriptor_id: i, provider: p, product_name: n, software_version: '1', descriptor_version: '1', flavour_id: f, flavour_description: d, vnfm_info: ['1:x']}
`

func TestAdditionalParameters(t *testing.T) {
	f := vnfd(t, fstest.MapFS{"v.yaml": file(declaring)}).Flavours[0]
	trace := tosca.Attribute{Name: "trace", Type: "boolean", Base: "boolean"}
	want := map[string][]tosca.Attribute{"heal": {trace}, "up": {{Name: "fast", Type: "boolean", Base: "boolean", Required: true}}}
	got := map[string][]tosca.Attribute{"heal": f.AdditionalParameters["heal"], "up": f.AdditionalParameters["up"]}
	if diff := cmp.Diff(want, got, withoutPositions()); diff != "" || len(f.AdditionalParameters) != 3 {
		t.Errorf("%d operations; heal and up (-want +got):\n%s", len(f.AdditionalParameters), diff)
	}
	var names []string
	for _, a := range f.AdditionalParameters["instantiate"] {
		names = append(names, a.Name)
	}
	if diff := cmp.Diff([]string{"disk", "free", "labels", "ports", "ratio", "site", "size", "trace"}, names); diff != "" {
		t.Errorf("instantiate (-want +got):\n%s", diff)
	}

	const site = `"site": {"name": "a"}`
	for _, c := range []struct {
		operation, given string
		faults           []string
		undeclared       []tosca.Undeclared
	}{
		{"instantiate", `{` + site + `}`, nil, nil},
		{"instantiate", `{"site": {"name": "a", "zones": ["x"], "nested": {"name": "b"}}, "size": 4, "ratio": 0.5, "labels": {"a": "b"},
			"disk": "1 GB", "ports": [1, 2], "free": {"a": [1]}, "trace": true}`, nil, nil},
		{"instantiate", `{"site": {"name": "a", "zones": "x"}, "size": "4", "ratio": "0.5", "trace": "true", "disk": 5, "labels": null}`, nil, nil},
		{"instantiate", `{}`, []string{"site: is required by the VNFD"}, nil},
		{"instantiate", `{"site": null, "size": null}`, []string{"site: is required by the VNFD"}, nil},
		{"instantiate", `{"site": {"nested": {}}}`, []string{"site.name: is required by the VNFD", "site.nested.name: is required by the VNFD"}, nil},
		{"instantiate", `{"site": "a"}`, []string{"site: must be an object"}, nil},
		{"instantiate", `{"site": {"name": 1, "zones": ["x", 2]}}`, []string{"site.name: must be of type string", "site.zones[1]: must be of type string"}, nil},
		{"instantiate", `{` + site + `, "size": 1.5, "ratio": "much", "trace": "perhaps", "labels": {"a": {}}, "disk": true, "free": []}`, []string{
			"disk: must be of type scalar-unit.size", "free: must be an object", "labels.a: must be of type string", "ratio: must be of type float",
			"size: must be of type integer", "trace: must be of type boolean"}, nil},
		{"instantiate", `{` + site + `, "labels": ["a"]}`, []string{"labels: must be an object"}, nil},
		{"instantiate", `{"site": {"name": "a", "zone": 1}, "sizes": 2, "other": 3}`, nil, []tosca.Undeclared{
			{Path: "additionalParams.site.zone", Nearest: "zones"}, {Path: "additionalParams.other"}, {Path: "additionalParams.sizes", Nearest: "size"}}},
		{"heal", `{"trace": "x"}`, []string{"trace: must be of type boolean"}, nil},
		{"scale", `{"anything": {}}`, nil, nil},
		{"up", `{}`, []string{"fast: is required by the VNFD"}, nil},
	} {
		given := map[string]any{}
		d := json.NewDecoder(strings.NewReader(c.given))
		d.UseNumber()
		if err := d.Decode(&given); err != nil {
			t.Fatal(err)
		}
		undeclared, err := f.CheckParameters(c.operation, given)
		var faults []string
		if err != nil {
			faults = strings.Split(strings.ReplaceAll(err.Error(), "tosca: additionalParams.", ""), "\n")
		}
		if diff := cmp.Diff(c.faults, faults); diff != "" {
			t.Errorf("%s %s: faults (-want +got):\n%s", c.operation, c.given, diff)
		}
		if diff := cmp.Diff(c.undeclared, undeclared); diff != "" {
			t.Errorf("%s %s: undeclared (-want +got):\n%s", c.operation, c.given, diff)
		}
	}
}
