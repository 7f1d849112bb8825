package tosca_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca"
)

// TestImageWithoutFile checks that only an image in the package needs a checksum: the VIM must have other images already.
func TestImageWithoutFile(t *testing.T) {
	image := func(more string) string {
		return `tosca_definitions_version: tosca_simple_yaml_1_2
imports: [etsi_nfv_sol001_vnfd_types.yaml]
topology_template:
  node_templates:
    VNF:
      type: tosca.nodes.nfv.VNF
      properties: {descriptor_id: i, provider: p, product_name: n, software_version: '1', descriptor_version: '1', flavour_id: f, flavour_description: d, vnfm_info: ['1:x']}
    VDU:
      type: tosca.nodes.nfv.Vdu.Compute
      properties:
        name: v
        description: v
        vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 1}
        sw_image_data: {name: i, version: '1', container_format: bare, disk_format: raw, min_disk: 1 GB, size: 1 GB}
` + more
	}
	for name, c := range map[string]struct {
		yaml string
		want []string
	}{
		"no artifact":      {image(""), nil},
		"another artifact": {image("      artifacts: {a: {type: tosca.artifacts.File, file: v.yaml}}\n"), nil},
		"image":            {image("      artifacts: {a: {type: tosca.artifacts.nfv.SwImage, file: v.yaml}}\n"), []string{"v.yaml:14:24 tosca.missing-property?"}},
	} {
		p, err := tosca.OpenFS(t.Context(), fstest.MapFS{"v.yaml": file(c.yaml)})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range p.Warnings() {
			got = append(got, w.Position.String()+" "+string(w.Code)+"?")
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
