package chartcases

import (
	"path"
	"testing/fstest"
)

// VNFD is the id of the VNFD of Package.
const VNFD = "2b7d2f3c-2d0f-4f0e-9c8b-6f2b1d9b0c52"

// The flavour of Package, its VDU, which has one instance at scale level 0, and the aspect that scales the VDU.
const (
	Flavour = "simple"
	VDU     = "WEB"
	Aspect  = "webs"
)

// Path is where Package has its chart.
const Path = "Files/chart"

const vnfd = `tosca_definitions_version: tosca_simple_yaml_1_2
node_types:
  odd.VNF: {derived_from: tosca.nodes.nfv.VNF}
topology_template:
  substitution_mappings: {node_type: odd.VNF, properties: {flavour_id: simple}}
  node_templates:
    VNF:
      type: odd.VNF
      properties: {descriptor_id: ` + VNFD + `, descriptor_version: '1.0', provider: Odd, product_name: Odd, software_version: '1.0', vnfm_info: ['0:vnfkit'],
        flavour_id: simple, flavour_description: one chart}
      interfaces: {Vnflcm: {instantiate: []}}
    WEB:
      type: tosca.nodes.nfv.Vdu.Compute
      properties: {name: web, description: web, vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 3}}
  policies:
    - aspects: {type: tosca.policies.nfv.ScalingAspects, properties: {aspects: {webs: {name: webs, description: webs, max_scale_level: 2, step_deltas: [one]}}}}
    - initial: {type: tosca.policies.nfv.VduInitialDelta, targets: [WEB], properties: {initial_delta: {number_of_instances: 1}}}
    - deltas: {type: tosca.policies.nfv.VduScalingAspectDeltas, targets: [WEB], properties: {aspect: webs, deltas: {one: {number_of_instances: 1}}}}
`

// Package returns a package of a VNF whose chart is the directory Path.
func Package(chart map[string][]byte) fstest.MapFS {
	files := fstest.MapFS{
		"TOSCA-Metadata/TOSCA.meta": {Data: []byte("TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-By: odd\nEntry-Definitions: Definitions/vnfd.yaml\n")},
		"Definitions/vnfd.yaml":     {Data: []byte(vnfd)},
	}
	for name, text := range chart {
		files[path.Join(Path, name)] = &fstest.MapFile{Data: text}
	}
	return files
}
