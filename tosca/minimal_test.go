package tosca_test

import "testing/fstest"

// minimal is a VNFD without a fault.
const minimal = `tosca_definitions_version: tosca_simple_yaml_1_2
topology_template:
  node_templates:
    VNF:
      type: tosca.nodes.nfv.VNF
      properties: { descriptor_id: i, provider: p, product_name: n, software_version: '1', descriptor_version: '1' }
`

// metaHead are the keys that each TOSCA.meta must have, except Entry-Definitions.
const metaHead = "TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-By: t\n"

// withManifest returns a package of one file with the files that SOL004 requires beside it.
func withManifest(vnfd, provider, product string) fstest.MapFS {
	return fstest.MapFS{"v.yaml": file(vnfd), "ChangeLog.txt": file("x"), "v.mf": file("metadata:\n vnf_product_name: " + product +
		"\n vnf_provider_id: " + provider + "\n vnf_package_version: 1\n vnf_release_date_time: 2026-11-30T10:00:00Z\n")}
}

func file(content string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(content), Mode: 0o644} }
