package tosca_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// TestContainerArtifacts counts the images of OS containers and the charts of MCIOPs.
func TestContainerArtifacts(t *testing.T) {
	const head = `tosca_definitions_version: tosca_simple_yaml_1_3
imports: [etsi_nfv_sol001_vnfd_types.yaml]
artifact_types: {my.Chart: {derived_from: tosca.artifacts.nfv.HelmChart}}
node_types: {my.Container: {derived_from: tosca.nodes.nfv.Vdu.OsContainer, artifacts: {i: {type: tosca.artifacts.nfv.SwImage, file: image}}}}
topology_template:
  node_templates:
    VNF: {type: tosca.nodes.nfv.VNF, properties: {descriptor_id: i, provider: p, product_name: n, software_version: '1', descriptor_version: '1'}}
    DU: {type: tosca.nodes.nfv.Vdu.OsContainerDeployableUnit, requirements: [container: C]}
`
	container := func(kind, artifacts string) string {
		return head + "    C: {type: " + kind + ", properties: {name: c, description: c}, artifacts: {" + artifacts + "}}\n"
	}
	mciop := func(artifacts string) string {
		return container("my.Container", "") + "    M: {type: tosca.nodes.nfv.Mciop, requirements: [associatedVdu: DU], artifacts: {" + artifacts + "}}\n"
	}
	const plain, image, chart = "tosca.nodes.nfv.Vdu.OsContainer", "{type: tosca.artifacts.nfv.SwImage, file: image}", "{type: tosca.artifacts.nfv.HelmChart, file: chart.tgz}"
	for _, tt := range []struct{ name, vnfd, want string }{
		{"one image", container(plain, "i: "+image), ""},
		{"an image of the type", container("my.Container", ""), ""},
		{"an image that replaces that of the type", container("my.Container", "i: "+image), ""},
		{"no image", container(plain, "s: {type: tosca.artifacts.File, file: image}"), "vnfd.yaml:9:5: the container C has no artifact of type tosca.artifacts.nfv.SwImage, its image [vnfd.artifact-count]"},
		{"two images", container("my.Container", "j: "+image),
			"vnfd.yaml:9:5: the container C has 2 artifacts of type tosca.artifacts.nfv.SwImage: only the first is its image [vnfd.artifact-count]"},
		{"one chart", mciop("c: {type: my.Chart, file: chart.tgz}, values: {type: tosca.artifacts.File, file: image}"), ""},
		{"no chart", mciop("values: {type: tosca.artifacts.File, file: image}"), "vnfd.yaml:10:5: the MCIOP M has no artifact of type tosca.artifacts.nfv.HelmChart, its chart [vnfd.artifact-count]"},
		{"two charts", mciop("c: " + chart + ", d: " + chart),
			"vnfd.yaml:10:5: the MCIOP M has 2 artifacts of type tosca.artifacts.nfv.HelmChart: only chart.tgz is deployed [vnfd.artifact-count]"},
	} {
		p, err := tosca.OpenFS(t.Context(), fstest.MapFS{"vnfd.yaml": file(tt.vnfd), "image": file("x"), "chart.tgz": file("x")})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, w := range p.Warnings() {
			if w.Code == problem.ArtifactCount {
				got += w.Error()
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: warnings (-want +got):\n%s", tt.name, diff)
		}
		_ = p.Close()
	}
}
