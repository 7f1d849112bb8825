package tosca_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

func vnfd(t *testing.T, files fstest.MapFS) *tosca.VNFD {
	t.Helper()
	p, err := tosca.OpenFS(context.Background(), files)
	if err != nil {
		t.Fatal(err)
	}
	return p.VNFD()
}

func TestOneTopologyIsOneFlavour(t *testing.T) {
	const mapped = head + "  substitution_mappings: {node_type: tosca.nodes.nfv.VNF, properties: {flavour_id: f}}\n"
	for want, yaml := range map[string]string{"default": head, "f": mapped} {
		v := vnfd(t, fstest.MapFS{"v.yaml": file(yaml)})
		if len(v.Flavours) != 1 || v.Flavours[0].ID != want || v.Flavours[0].VDU("VDU") == nil {
			t.Errorf("flavours %+v, want only %q", v.Flavours, want)
		}
	}
}

// TestVNFWithoutNode checks a topology that states its type only in its substitution mappings. The properties of the descriptor are the
// defaults of the type.
func TestVNFWithoutNode(t *testing.T) {
	v := vnfd(t, fstest.MapFS{"v.yaml": file(`tosca_definitions_version: tosca_simple_yaml_1_0
node_types:
  x:
    derived_from: tosca.nodes.nfv.VNF
    properties:
      descriptor_id: {default: d}
      descriptor_version: {default: '3'}
      provider: {default: p}
      product_name: {constraints: [valid_values: [n]]}
      software_version: {default: '4'}
      flavour_id: {default: only}
topology_template:
  substitution_mappings: {node_type: x}
`)})
	got := []string{v.ID, v.Version, v.Provider, v.ProductName, v.SoftwareVersion, v.Flavours[0].ID}
	if diff := cmp.Diff([]string{"d", "3", "p", "n", "4", "only"}, got); diff != "" {
		t.Errorf("descriptor (-want +got):\n%s", diff)
	}
}

// TestSubstitutionMappings checks the notations of mapped properties (values or inputs) and of mapped requirements (a mapping or a
// list), each in short and in long form.
func TestSubstitutionMappings(t *testing.T) {
	const (
		cp    = "    cp: { type: tosca.nodes.nfv.VduCp, properties: { layer_protocols: [ ipv4 ] }, requirements: [ virtual_binding: VDU ] }\n"
		input = "  inputs: { df: { type: string, default: small } }\n"
	)
	for name, mappings := range map[string]string{
		"values":            "properties: { flavour_id: small }, requirements: { out: [ cp, virtual_link ] }",
		"an input":          "properties: { flavour_id: [ df ] }, requirements: [ out: [ cp, virtual_link ] ]",
		"an expression":     "properties: { flavour_id: { get_input: df } }, requirements: [ out: [ [ cp, virtual_link ] ] ]",
		"the long notation": "properties: { flavour_id: { mapping: [ df ] } }, requirements: [ out: { mapping: [ cp, virtual_link ] } ]",
		"a long value":      "properties: { flavour_id: { value: small } }, requirements: [ out: [ cp, virtual_link ] ]",
	} {
		f := vnfd(t, fstest.MapFS{"v.yaml": file(head + cp + input + "  substitution_mappings: { node_type: tosca.nodes.nfv.VNF, " + mappings + " }\n")}).Flavours[0]
		if f.ID != "small" || len(f.ExternalCPs) != 1 || f.ExternalCPs[0].Requirement != "out" || f.ExternalCPs[0].CP != "cp" {
			t.Errorf("%s: flavour %s, external connection points %v", name, f.ID, f.ExternalCPs)
		}
	}
}

// TestHooksOfTheEntryFile checks that a flavour whose VNF node has no interfaces uses the interfaces of the entry file.
func TestHooksOfTheEntryFile(t *testing.T) {
	const node = `tosca_definitions_version: tosca_simple_yaml_1_2
topology_template:
  substitution_mappings: {node_type: tosca.nodes.nfv.VNF, properties: {flavour_id: f}}
  node_templates: {VNF: {type: tosca.nodes.nfv.VNF}}
`
	v := vnfd(t, fstest.MapFS{
		"TOSCA-Metadata/TOSCA.meta": file("Entry-Definitions: v.yaml\n"),
		"f.yaml":                    file(node),
		"v.yaml": file(minimal + `      interfaces: {Vnflcm: {scale_end: d, type: tosca.interfaces.nfv.Vnflcm}}
      artifacts: {d: v.yaml, other: f.yaml}
imports: [f.yaml]
`),
	})
	f, err := v.Flavour("f")
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Hooks) != 1 || f.Hooks["scale_end"].Driver != "d" {
		t.Errorf("hooks %v", f.Hooks)
	}
	if f.Drivers["d"].File != "v.yaml" || f.Artifacts["other"].File != "f.yaml" || len(f.Drivers)+len(f.Artifacts) != 2 {
		t.Errorf("drivers %v, other artifacts %v", f.Drivers, f.Artifacts)
	}
}

// TestHookWithoutArtifact checks that a driver may be a file of the package that is not an artifact.
func TestHookWithoutArtifact(t *testing.T) {
	for _, implementation := range []string{"drive.sh", "{ primary: drive.sh }", "{ primary: { file: drive.sh, type: tosca.artifacts.Implementation.Bash } }"} {
		f := vnfd(t, fstest.MapFS{
			"TOSCA-Metadata/TOSCA.meta": file("Entry-Definitions: v.yaml\n"),
			"drive.sh":                  file("true"),
			"v.yaml":                    file(minimal + "      interfaces: { Vnflcm: { heal_end: { implementation: " + implementation + " } } }\n"),
		}).Flavours[0]
		if d := f.Drivers[f.Hooks["heal_end"].Driver]; d.File != "drive.sh" {
			t.Errorf("%s: hooks %v, drivers %v", implementation, f.Hooks, f.Drivers)
		}
	}
}

// TestImageInArtifact checks the notation before SOL001 v2.5.1.
func TestImageInArtifact(t *testing.T) {
	v := vnfd(t, fstest.MapFS{"v.yaml": file(head + `    OLD:
      type: tosca.nodes.nfv.Vdu.Compute
      artifacts:
        img: {type: old.SwImage, file: i.qcow2, properties: {version: '2', checksum: abcd, min_disk: 2 GB}}
    BARE:
      type: tosca.nodes.nfv.Vdu.Compute
      artifacts:
        img: {type: tosca.artifacts.nfv.SwImage, file: i.qcow2}
artifact_types:
  old.SwImage:
    derived_from: tosca.artifacts.nfv.SwImage
    properties: {version: {type: string}, checksum: {type: string}, min_disk: {type: scalar-unit.size}}
`)})
	want := map[string]tosca.SoftwareImage{
		"OLD":  {Name: "img", Version: "2", Checksum: "abcd", MinDisk: 2e9, File: "i.qcow2"},
		"BARE": {Name: "img", File: "i.qcow2"},
	}
	for id, image := range want {
		got := *v.Flavours[0].VDU(id).Image
		got.Pos = problem.Position{}
		if diff := cmp.Diff(image, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
	if v.Flavours[0].VDU("VDU").Image != nil || v.Flavours[0].VDU("NONE") != nil {
		t.Error("a VDU without an image has an image, or VDU returns an unknown VDU")
	}
}

// TestOrderOfMCIOPs: MCIOPs are deployed in the order of the descriptor, and after those that they depend on.
func TestOrderOfMCIOPs(t *testing.T) {
	head := strings.Replace(head, "1_2\n", "1_3\nimports: [etsi_nfv_sol001_vnfd_types.yaml]\n", 1)
	const pod = "    pod: {type: tosca.nodes.nfv.Vdu.OsContainerDeployableUnit}\n"
	mciop := func(name, more string) string {
		return "    " + name + ": {type: tosca.nodes.nfv.Mciop, requirements: [associatedVdu: pod" + more + "]}\n"
	}
	for _, c := range []struct {
		name, yaml string
		want       []string
	}{
		{"as written", mciop("web", "") + mciop("db", "") + mciop("api", ""), []string{"web", "db", "api"}},
		{"a dependency", mciop("web", ", dependency: api") + mciop("api", ", dependency: {node: db}") + mciop("db", "") + mciop("a", ""), []string{"db", "api", "web", "a"}},
		{"a dependency on another node", mciop("web", ", dependency: pod") + mciop("db", ""), []string{"web", "db"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, p := range vnfd(t, fstest.MapFS{"v.yaml": file(head + pod + c.yaml)}).Flavours[0].MCIOPs {
				got = append(got, p.ID)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	circle := found(t, fstest.MapFS{"v.yaml": file(head + pod + mciop("web", ", dependency: db") + mciop("db", ", dependency: web"))})
	if diff := cmp.Diff([]string{"v.yaml:8:5 vnfd.dependency-cycle"}, circle); diff != "" {
		t.Errorf("a circle:\n%s", diff)
	}
}
