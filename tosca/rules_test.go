package tosca_test

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestNumbers has sizes that a VNFM refuses when it instantiates or scales the VNF.
func TestNumbers(t *testing.T) {
	levels := func(l string) string {
		return "    - l: {type: tosca.policies.nfv.InstantiationLevels, properties: {default_level: a, levels: {a: {scale_info: {out: {scale_level: " + l + "}}}}}}\n"
	}
	maximum := func(n string) string {
		return strings.Replace(head, "max_number_of_instances: 3", "max_number_of_instances: "+n, 1)
	}
	for name, c := range map[string]struct {
		yaml string
		want []string
	}{
		"right":                   {head + aspect + levels("2"), nil},
		"highest level":           {maximum("2") + aspect + levels("1"), []string{"v.yaml:7:81 vnfd.outside-vdu-profile?"}},
		"instantiation level":     {maximum("2") + aspect + levels("2"), []string{"v.yaml:7:81 vnfd.outside-vdu-profile?", "v.yaml:10:97 vnfd.outside-vdu-profile?"}},
		"no maximum":              {strings.Replace(head, ", max_number_of_instances: 3", "", 1) + aspect + levels("2"), nil},
		"initially too many":      {maximum("1") + strings.Replace(aspect, "initial_delta: {number_of_instances: 1}", "initial_delta: {number_of_instances: 2}", 1), []string{"v.yaml:5:5 vnfd.outside-vdu-profile?"}},
		"no steps":                {head + strings.Replace(aspect, ", step_deltas: [d]", "", 1), []string{"v.yaml:7:81 vnfd.unknown-delta?"}},
		"stated number":           {maximum("5") + aspect + levels("1") + "    - n: {type: tosca.policies.nfv.VduInstantiationLevels, targets: [VDU], properties: {levels: {a: {number_of_instances: 2}}}}\n", nil},
		"deltas that add nothing": {head + strings.Replace(aspect, "d: {number_of_instances: 1}", "d: {number_of_instances: 0}", 1), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, found(t, fstest.MapFS{"v.yaml": file(c.yaml)})); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

const (
	sumA = "559aead08264d5795d3909718cdd05abd49572e84fe55590eef31a88a08fdffd" // SHA-256 of "A"
	sumB = "df7e70e5021544f4834bbee64a9e3789febc4be81470df629cad6ddb03320a5c"
)

// TestFiles has artifacts whose files are not in the package, and checksums that contradict each other.
func TestFiles(t *testing.T) {
	artifact := func(a string) string { return minimal + "      artifacts: {x: " + a + "}\n" }
	image := func(file, algorithm, hash string) string {
		return head + `    A:
      type: tosca.nodes.nfv.Vdu.Compute
      properties: {sw_image_data: {name: a, checksum: {algorithm: ` + algorithm + `, hash: ` + hash + `}}}
      artifacts: {i: {type: tosca.artifacts.nfv.SwImage, file: ` + file + `}}
`
	}
	manifest := "metadata:\n  vnf_product_name: n\n  vnf_provider_id: p\n  vnf_package_version: '1'\n  vnf_release_date_time: 2026-01-01T00:00:00Z\n\nSource: images/a\nAlgorithm: SHA-256\nHash: " + sumA + "\n"
	for name, c := range map[string]struct {
		yaml string
		more fstest.MapFS
		want []string
	}{
		"in the package":      {artifact("{type: tosca.artifacts.File, file: images/a}"), nil, nil},
		"relative":            {artifact("{type: tosca.artifacts.File, file: ./images/a}"), nil, nil},
		"folder":              {artifact("{type: tosca.artifacts.File, file: images}"), nil, nil},
		"short notation":      {artifact("images/b"), nil, []string{"v.yaml:7:19 csar.missing-file?"}},
		"missing":             {artifact("{type: tosca.artifacts.File, file: images/b}"), nil, []string{"v.yaml:7:19 csar.missing-file?"}},
		"missing driver":      {artifact("{type: tosca.artifacts.Implementation.Bash, file: images/b}"), nil, []string{"v.yaml:7:19 csar.missing-file?"}},
		"URL":                 {artifact("{type: tosca.artifacts.File, file: 'https://example.org/b'}"), nil, nil},
		"repository":          {artifact("{type: tosca.artifacts.File, file: b, repository: r}"), nil, nil},
		"of a request":        {artifact("{type: tosca.artifacts.File, file: {get_attribute: [SELF, state]}}"), nil, nil},
		"container image":     {strings.Replace(head, "1_2\n", "1_3\nimports: [etsi_nfv_sol001_vnfd_types.yaml]\n", 1) + "    C: {type: tosca.nodes.nfv.Vdu.OsContainer, artifacts: {i: {type: tosca.artifacts.nfv.SwImage, file: 'registry/nginx:1'}}}\n", nil, nil},
		"checksum":            {image("images/a", "sha-256", sumA), nil, nil},
		"upper case":          {image("images/a", "sha-256", strings.ToUpper(sumA)), fstest.MapFS{"v.mf": file(manifest)}, nil},
		"another algorithm":   {image("images/a", "sha-512", sumB), fstest.MapFS{"v.mf": file(manifest)}, nil},
		"no checksum":         {image("images/a", "sha-256", "unknown"), fstest.MapFS{"v.mf": file(manifest)}, nil},
		"manifest":            {image("images/a", "sha-256", sumB), fstest.MapFS{"v.mf": file(manifest)}, []string{"v.yaml:8:35 csar.hash-mismatch"}},
		"two images":          {image("images/a", "sha-256", sumA) + strings.Replace(strings.TrimPrefix(image("images/a", "sha-256", sumB), head), "    A:", "    B:", 1), nil, []string{"v.yaml:12:35 csar.hash-mismatch"}},
		"checksum of a file":  {artifact("{type: tosca.artifacts.File, file: images/a, checksum: " + sumB + ", checksum_algorithm: SHA-256}"), fstest.MapFS{"v.mf": file(manifest)}, []string{"v.yaml:7:19 csar.hash-mismatch"}},
		"checksums of a file": {artifact("{type: tosca.artifacts.File, file: images/a, checksum: " + sumA + ", checksum_algorithm: SHA-256}"), fstest.MapFS{"v.mf": file(manifest)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{"TOSCA-Metadata/TOSCA.meta": file("TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-By: a\nEntry-Definitions: v.yaml\n"),
				"v.yaml": file(c.yaml), "images/a": file("A")}
			maps.Copy(files, c.more)
			if listed := files["v.mf"]; listed != nil { // a manifest with digests lists all files
				files["v.mf"] = file(string(listed.Data) + fmt.Sprintf("Source: v.yaml\nAlgorithm: SHA-256\nHash: %x\n", sha256.Sum256([]byte(c.yaml))))
			}
			var got []string
			for _, problem := range found(t, files) {
				if strings.HasPrefix(problem, "v.yaml") {
					got = append(got, problem)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPackageChangeRules has policies for a change of the package that contradict the VNFD.
func TestPackageChangeRules(t *testing.T) {
	text := strings.Replace(changing, "VERSION", "4.4.1", 1)
	text = strings.Replace(text, "          actions: [drain]\n", "", 1)
	const selector = "[{source_descriptor_id: one, destination_descriptor_id: two, source_flavour_id: g}]\n"
	for name, c := range map[string]struct {
		from, to string
		want     []string
	}{
		"right": {"", "", nil},
		"this VNFD is the source": {selector, "[{source_descriptor_id: two, destination_descriptor_id: three, source_flavour_id: f}]\n",
			[]string{"v.yaml:37:15 vnfd.package-change"}}, // the mapping is of another change
		"flavour of the source": {selector, "[{source_descriptor_id: two, destination_descriptor_id: three, source_flavour_id: g}]\n",
			[]string{"v.yaml:40:22 vnfd.package-change"}},
		"flavour":            {"destination_flavour_id: f", "destination_flavour_id: g", []string{"v.yaml:29:7 vnfd.package-change"}},
		"VDU":                {"destination_id: VDU", "destination_id: WDU", []string{"v.yaml:37:15 vnfd.package-change"}},
		"connection point":   {"vdu, source_id: old, destination_id: VDU", "cp, source_id: old, destination_id: CP", []string{"v.yaml:37:15 vnfd.package-change"}},
		"node":               {"component_type: vdu", "component_type: virtual_storage", nil},
		"aspect":             {"component_type: vdu", "component_type: scaling_aspect", []string{"v.yaml:37:15 vnfd.package-change"}},
		"level":              {"component_type: vdu", "component_type: instantiation_level", []string{"v.yaml:37:15 vnfd.package-change"}},
		"other VNFDs":        {"destination_descriptor_id: two", "destination_descriptor_id: three", []string{"v.yaml:40:22 vnfd.package-change?"}},
		"action":             {"          referenced_coordination_actions", "          actions: [drain]\n          referenced_coordination_actions", []string{"v.yaml:29:7 vnfd.unknown-action"}},
		"the same selectors": {selector, strings.Replace(selector, "]\n", ", "+selector[1:], 1), []string{"v.yaml:40:105 vnfd.package-change"}},
		"action of an operation": {"    - upgrade:\n", "    - scaling: {type: tosca.policies.nfv.LcmCoordinationsForLcmOperation, properties: {vnf_lcm_operation: scale, actions: [drain]}}\n    - upgrade:\n",
			[]string{"v.yaml:29:7 vnfd.unknown-action"}},
	} {
		t.Run(name, func(t *testing.T) {
			yaml := strings.Replace(text+selector, c.from, c.to, 1)
			if yaml == text+selector && c.from != "" {
				t.Fatal("the VNFD has no fault")
			}
			got := found(t, fstest.MapFS{"TOSCA-Metadata/TOSCA.meta": file("TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-By: a\nEntry-Definitions: v.yaml\n"), "up.sh": file(""), "v.yaml": file(yaml)})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// TestContainerRules has containers and MCIOPs of which nothing can be deployed.
func TestContainerRules(t *testing.T) {
	head := strings.Replace(head, "1_2\n", "1_3\nimports: [etsi_nfv_sol001_vnfd_types.yaml]\n", 1)
	const (
		container = "    C: {type: tosca.nodes.nfv.Vdu.OsContainer, artifacts: {i: {type: tosca.artifacts.nfv.SwImage, file: nginx}}}\n"
		pod       = "    P: {type: tosca.nodes.nfv.Vdu.OsContainerDeployableUnit, requirements: [container: C]}\n"
		chart     = "{type: tosca.artifacts.nfv.HelmChart, file: v.yaml}"
	)
	mciop := func(artifacts string) string {
		return "    M: {type: tosca.nodes.nfv.Mciop, requirements: [associatedVdu: P], artifacts: {" + artifacts + "}}\n"
	}
	for name, c := range map[string]struct {
		yaml string
		want []string
	}{
		"right":              {container + pod + mciop("c: "+chart), nil},
		"no image, no chart": {strings.Replace(container, "nfv.SwImage", "File", 1) + pod, []string{"v.yaml:7:5 vnfd.missing-artifact?"}},
		"image of the chart": {strings.Replace(container, "nfv.SwImage", "File", 1) + pod + mciop("c: "+chart), nil},
		"no chart":           {container + pod + mciop("c: {type: tosca.artifacts.File, file: v.yaml}"), []string{"v.yaml:9:5 vnfd.missing-artifact?"}},
		"several charts":     {container + pod + mciop("c: "+chart+", d: "+chart), []string{"v.yaml:9:140 vnfd.several-charts?"}},
		"no such chart":      {container + pod + mciop("c: {type: tosca.artifacts.nfv.HelmChart, file: x.tgz}"), []string{"v.yaml:9:84 csar.missing-file?"}},
		"without an MCIOP":   {container + pod, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, found(t, fstest.MapFS{"v.yaml": file(head + c.yaml)})); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}
