package tosca_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca"
)

// descriptors are descriptors of each kind, without faults of their kind.
var descriptors = map[string]string{
	"nsd": `    NS: {type: tosca.nodes.nfv.NS, properties: {descriptor_id: n, designer: d, version: '1', name: n, invariant_id: i, flavour_id: s}}
    web: {type: tosca.nodes.nfv.VNF, properties: {descriptor_id: w, descriptor_version: '1', provider: p, product_name: w, software_version: '1', flavour_id: s, flavour_description: f, vnfm_info: ['0:x']}}
    db: {type: tosca.nodes.nfv.VNF, properties: {descriptor_id: x, descriptor_version: '1', provider: p, product_name: w, software_version: '1', flavour_id: s, flavour_description: f, vnfm_info: ['0:x']}}
`,
	"placeholder": `    NS: {type: tosca.nodes.nfv.NS, properties: {descriptor_id: n, designer: d, version: '1', name: n, invariant_id: i, flavour_id: s}}
    web: {type: tosca.nodes.nfv.VNF, properties: {descriptor_version: '1', provider: p, product_name: w, software_version: '1', flavour_id: s, flavour_description: f, vnfm_info: ['0:x']}}
`,
	"pnfd": `    PNF: {type: tosca.nodes.nfv.PNF, properties: {descriptor_id: n, function_description: f, provider: d, version: '1', name: n, descriptor_invariant_id: i}}
`,
	"two VNFs": `    web: {type: tosca.nodes.nfv.VNF, properties: {descriptor_id: w, descriptor_version: '1', provider: p, product_name: w, software_version: '1', flavour_id: s, flavour_description: f, vnfm_info: ['0:x']}}
    db: {type: tosca.nodes.nfv.VNF, properties: {descriptor_id: x, descriptor_version: '1', provider: p, product_name: w, software_version: '1', flavour_id: s, flavour_description: f, vnfm_info: ['0:x']}}
`,
	"early Tacker": `    VDU1: {type: tosca.nodes.nfv.VDU.Tacker}
`,
}

// TestDescriptors opens descriptors of each kind as a VNFD, and as any descriptor.
func TestDescriptors(t *testing.T) {
	const early = `v.yaml:5:18: tosca.nodes.nfv.VDU.Tacker is a type of the NFV profile of OASIS, which early Tacker used; ` +
		`write the descriptor with the types of SOL001; did you mean "tosca.nodes.nfv.Vdu.Compute"? [tosca.unknown-type]`
	const placeholder = `v.yaml:6:5: web needs the property "descriptor_id" of tosca.nodes.nfv.VNF [tosca.missing-property]`
	const none = "v.yaml: no node template has a type derived from tosca.nodes.nfv.VNF [vnfd.not-a-vnfd]"
	for _, tt := range []struct {
		name        string
		asVNFD, any []string
	}{
		{"nsd", []string{"v.yaml:5:5: this is the descriptor of a network service [vnfd.not-a-vnfd]"}, nil},
		{"placeholder", []string{"v.yaml:5:5: this is the descriptor of a network service [vnfd.not-a-vnfd]", placeholder}, []string{placeholder}},
		{"pnfd", []string{"v.yaml:5:5: this is the descriptor of a PNF [vnfd.not-a-vnfd]"}, nil},
		{"two VNFs", []string{"v.yaml:5:5: the topology has several VNFs, db and web: a VNFD describes one [vnfd.not-a-vnfd]"},
			[]string{"v.yaml:5:5: the topology has several VNFs, db and web: a VNFD describes one [vnfd.not-a-vnfd]"}},
		{"early Tacker", []string{none, early}, []string{early}},
	} {
		files := fstest.MapFS{"v.yaml": file("tosca_definitions_version: tosca_simple_yaml_1_3\nimports: [etsi_nfv_sol001_vnfd_types.yaml, etsi_nfv_sol001_nsd_types.yaml, " +
			"etsi_nfv_sol001_pnfd_types.yaml]\ntopology_template:\n  node_templates:\n" + descriptors[tt.name])}
		for kind, c := range map[string]struct {
			opts []tosca.Option
			want []string
		}{"VNFD": {nil, tt.asVNFD}, "any": {[]tosca.Option{tosca.AnyDescriptor()}, tt.any}} {
			dir := t.TempDir()
			for name, f := range files {
				rewrite(t, dir+"/"+name, f.Data)
			}
			problems, err := tosca.Check(t.Context(), dir, c.opts...)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range problems {
				got = append(got, p.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s as %s: problems (-want +got):\n%s", tt.name, kind, diff)
			}
		}
	}
}
