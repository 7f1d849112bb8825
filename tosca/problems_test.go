package tosca_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// head is the beginning of a VNFD with one flavour. It has 5 lines.
const head = `tosca_definitions_version: tosca_simple_yaml_1_2
topology_template:
  node_templates:
    VNF: &vnf {type: tosca.nodes.nfv.VNF, properties: {descriptor_id: i, provider: p, product_name: n, software_version: '1', descriptor_version: '1'}}
    VDU: {type: tosca.nodes.nfv.Vdu.Compute, properties: {vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 3}}}
`

// aspect is a policies section with one aspect of two levels. After head it has the lines 6 to 9.
const aspect = `  policies:
    - aspects: {type: tosca.policies.nfv.ScalingAspects, properties: {aspects: {out: {max_scale_level: 2, step_deltas: [d]}}}}
    - deltas: {type: tosca.policies.nfv.VduScalingAspectDeltas, targets: [VDU], properties: {aspect: out, deltas: {d: {number_of_instances: 1}}}}
    - initial: {type: tosca.policies.nfv.VduInitialDelta, targets: [VDU], properties: {initial_delta: {number_of_instances: 1}}}
`

// found returns the faults of a package as "file:line:col code", warnings with a question mark. It omits the faults that all VNFDs of
// these tests have: they have no imports and lack properties that the tests do not need.
func found(t *testing.T, files fstest.MapFS) []string {
	t.Helper()
	var list []string
	p, err := tosca.OpenFS(context.Background(), files)
	if err != nil {
		var problems problem.List
		if !errors.As(err, &problems) {
			t.Fatalf("no problems but: %v", err)
		}
		for _, p := range problems {
			list = append(list, p.Position.String()+" "+string(p.Code))
		}
		return list
	}
	for _, w := range p.Warnings() {
		if w.Quirk == problem.UnimportedTypes || w.Quirk == problem.IncompleteProperties {
			continue
		}
		list = append(list, w.Position.String()+" "+string(w.Code)+"?")
	}
	return list
}

func TestProblemsOfAVNFD(t *testing.T) {
	const levels = "    - l: {type: tosca.policies.nfv.InstantiationLevels, properties: {levels: {a: {scale_info: {out: {scale_level: 1}}}}}}\n"
	tests := []struct {
		name, yaml string
		want       []string
	}{
		{"nothing", head + aspect + levels, nil},
		{"deltas without aspects", head + "  policies: [d: {type: tosca.policies.nfv.VduScalingAspectDeltas, targets: [VDU], properties: {aspect: out, deltas: {d: {number_of_instances: 1}}}}]\n",
			[]string{"v.yaml:6:104 vnfd.unknown-aspect?"}},
		{"syntax", "a: [\n", []string{"v.yaml:1:1 yaml.syntax"}},
		{"empty", "", []string{"v.yaml yaml.syntax"}},
		{"no mapping", "- a\n", []string{"v.yaml:1:1 yaml.syntax"}},
		{"key that is no text", head + "  ? [a]\n  : b\n", []string{"v.yaml:6:5 yaml.syntax"}},
		{"key twice", head + "    VDU: {}\n", []string{"v.yaml:6:5 yaml.duplicate-key"}},
		{"alias in itself", head + "x: &x [*x]\n", []string{"v.yaml:6:8 yaml.syntax"}},
		{"version 2.0", strings.Replace(head, "simple_yaml_1_2", "2_0", 1), []string{"v.yaml:1:28 tosca.version"}},
		{"no version", head[strings.Index(head, "\n")+1:], []string{"v.yaml tosca.version"}},
		{"no VNF", "tosca_definitions_version: tosca_simple_yaml_1_0\n", []string{"v.yaml vnfd.not-a-vnfd"}},
		{"no descriptor_id", strings.Replace(head, "descriptor_id: i, ", "", 1), []string{"v.yaml:4:5 vnfd.missing-property"}},
		{"value not allowed", strings.Replace(head, "nfv.VNF,", "nfv.VNF2,", 1) +
			"node_types: {tosca.nodes.nfv.VNF2: {derived_from: tosca.nodes.nfv.VNF, properties: {provider: {constraints: [{valid_values: [q]}]}}}}\n",
			[]string{"v.yaml:4:85 tosca.value-not-allowed?"}}, // an error with Strict
		{"type of itself", head + "node_types: {a: {derived_from: b}, b: {derived_from: a}}\n",
			[]string{"v.yaml:6:14 tosca.type-cycle", "v.yaml:6:36 tosca.type-cycle"}},
		{"text expected", strings.Replace(head, "provider: p", "provider: [p]", 1), []string{"v.yaml:4:84 tosca.wrong-type"}},
		{"negative", strings.Replace(head, "max_number_of_instances: 3", "max_number_of_instances: -3", 1), []string{"v.yaml:5:126 tosca.value-not-allowed"}},
		{"no number", strings.Replace(head, "max_number_of_instances: 3", "max_number_of_instances: three", 1), []string{"v.yaml:5:126 tosca.wrong-type"}},
		{"minimum above maximum", strings.Replace(head, "min_number_of_instances: 1", "min_number_of_instances: 4", 1),
			[]string{"v.yaml:5:72 vnfd.outside-vdu-profile"}},
		{"sizes", head + `    A: {type: tosca.nodes.nfv.Vdu.VirtualBlockStorage, properties: {virtual_block_storage_data: {size_of_storage: 1 XB}}}
    B: {type: tosca.nodes.nfv.Vdu.VirtualBlockStorage, properties: {virtual_block_storage_data: {size_of_storage: -1 GB}}}
    C: {type: tosca.nodes.nfv.Vdu.VirtualBlockStorage, properties: {virtual_block_storage_data: {size_of_storage: much}}}
    D: {type: tosca.nodes.nfv.Vdu.VirtualBlockStorage, properties: {virtual_block_storage_data: {size_of_storage: 99999999999 TB}}}
`, []string{"v.yaml:6:115 tosca.wrong-type", "v.yaml:7:115 tosca.value-not-allowed", "v.yaml:8:115 tosca.wrong-type", "v.yaml:9:115 tosca.wrong-type"}},
		{"size without unit", head + "    A: {type: tosca.nodes.nfv.Vdu.VirtualBlockStorage, properties: {virtual_block_storage_data: {size_of_storage: 1}}}\n",
			[]string{"v.yaml:6:115 tosca.wrong-type?"}},
		{"CP of an unknown VDU", head + "    CP: {type: tosca.nodes.nfv.VduCp, requirements: [{virtual_binding: VDU2}]}\n", []string{"v.yaml:6:72 vnfd.unknown-node"}},
		{"mapping of an unknown CP", head + "  substitution_mappings: {node_type: tosca.nodes.nfv.VNF, requirements: {virtual_link: [CP, virtual_link]}}\n",
			[]string{"v.yaml:6:89 vnfd.unknown-node?"}},
		{"member of a group", head + "  groups: {g: {type: tosca.groups.nfv.PlacementGroup, members: [VDU2]}}\n", []string{"v.yaml:6:65 vnfd.unknown-node"}},
		{"unknown driver", strings.Replace(head, "type: tosca.nodes.nfv.VNF,", "type: tosca.nodes.nfv.VNF, interfaces: {Vnflcm: {heal_end: {implementation: d}}},", 1),
			[]string{"v.yaml:4:92 vnfd.unknown-driver"}},
		{"file of a driver", strings.Replace(head, "type: tosca.nodes.nfv.VNF,",
			"type: tosca.nodes.nfv.VNF, interfaces: {Vnflcm: {heal_end: {implementation: d}}}, artifacts: {d: {type: tosca.artifacts.Implementation.Python, file: x.py}},", 1),
			[]string{"v.yaml:4:110 csar.missing-file?"}},
		{"deltas of an unknown aspect", head + strings.Replace(aspect, "aspect: out", "aspect: in", 1), []string{"v.yaml:8:102 vnfd.unknown-aspect"}},
		{"step with an unknown delta", head + strings.Replace(aspect, "step_deltas: [d]", "step_deltas: [e]", 1), []string{"v.yaml:7:81 vnfd.unknown-delta?"}},
		{"target of deltas", head + strings.Replace(aspect, "targets: [VDU]", "targets: [VDU2]", 1), []string{"v.yaml:8:75 vnfd.unknown-node"}},
		{"initial above maximum", head + strings.Replace(aspect, "initial_delta: {number_of_instances: 1}", "initial_delta: {number_of_instances: 4}", 1),
			[]string{"v.yaml:5:5 vnfd.outside-vdu-profile?"}},
		{"level of an unknown aspect", head + aspect + strings.Replace(levels, "out:", "in:", 1), []string{"v.yaml:10:96 vnfd.unknown-aspect"}},
		{"level above the maximum", head + aspect + strings.Replace(levels, "scale_level: 1", "scale_level: 3", 1), []string{"v.yaml:10:115 vnfd.level-above-max"}},
		{"default level", head + aspect + strings.Replace(levels, "levels: {a", "default_level: b, levels: {a", 1), []string{"v.yaml:10:85 vnfd.default-level"}},
		{"no default level", head + aspect + strings.Replace(levels, "levels: {a:", "levels: {b: {}, a:", 1), []string{"v.yaml:10:7 vnfd.default-level?"}},
		{"numbers of an unknown level", head + aspect + levels +
			"    - v: {type: tosca.policies.nfv.VduInstantiationLevels, targets: [VDU], properties: {levels: {b: {number_of_instances: 1}}}}\n",
			[]string{"v.yaml:11:98 vnfd.unknown-level"}},
		{"numbers that contradict", head + aspect + levels +
			"    - v: {type: tosca.policies.nfv.VduInstantiationLevels, targets: [VDU], properties: {levels: {a: {number_of_instances: 7}}}}\n",
			[]string{"v.yaml:10:79 vnfd.level-mismatch?", "v.yaml:10:79 vnfd.outside-vdu-profile?"}},
		{"rule for nobody", head + "  policies:\n    - r: {type: tosca.policies.nfv.AntiAffinityRule, targets: [VDU2], properties: {scope: zone}}\n", []string{"v.yaml:7:64 vnfd.unknown-node"}},
		{"policies in the wrong place", head + strings.ReplaceAll(aspect[2:], "\n  ", "\n"), []string{"v.yaml:7:3 vnfd.misplaced?"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := found(t, fstest.MapFS{"v.yaml": file(tt.yaml)})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestImports(t *testing.T) {
	with := func(imports string) string { return head + "imports: " + imports + "\n" }
	const types = "tosca_definitions_version: tosca_simple_yaml_1_2\n"
	tests := []struct {
		name, imports string
		want          []string
	}{
		{"beside", "[other.yaml]", nil},
		{"from the root", "[Definitions/other.yaml]", nil},
		{"itself", "[v.yaml]", []string{"Definitions/v.yaml:6:11 tosca.import-cycle?"}},
		{"ETSI types that are not there", "[etsi_nfv_sol001_vnfd_types.yaml, etsi_nfv_sol001_common_2_5_1_types.yaml]",
			[]string{"Definitions/v.yaml:6:44 tosca.import-missing"}},
		{"ETSI types from the network", "['https://forge.etsi.org/x/v2.6.1/etsi_nfv_sol001_vnfd_types.yaml']", nil},
		{"the network", "['https://example.org/types.yaml']", []string{"Definitions/v.yaml:6:11 tosca.import-remote"}},
		{"out of the package", "[../../x.yaml]", []string{"Definitions/v.yaml:6:11 tosca.import-outside-package"}},
		{"absolute", "[/etc/passwd]", []string{"Definitions/v.yaml:6:11 tosca.import-outside-package"}},
		{"missing", "[{a: {file: none.yaml}}]", []string{"Definitions/v.yaml:6:22 tosca.import-missing"}},
		{"no name", "[[a], null]", []string{"Definitions/v.yaml:6:11 tosca.wrong-type"}},
		{"no file name", "[{file: [a]}]", []string{"Definitions/v.yaml:6:18 tosca.wrong-type"}},
		{"fault in the imported file", "[bad.yaml]", []string{"Definitions/bad.yaml:1:28 tosca.version"}},
		{"no version in the imported file", "[plain.yaml]", []string{"Definitions/plain.yaml tosca.version?"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := found(t, fstest.MapFS{
				"TOSCA-Metadata/TOSCA.meta": file(metaHead + "Entry-Definitions: Definitions/v.yaml\n"),
				"Definitions/v.yaml":        file(with(tt.imports)),
				"Definitions/other.yaml":    file(types),
				"Definitions/bad.yaml":      file("tosca_definitions_version: tosca_2_0\n"),
				"Definitions/plain.yaml":    file("node_types: {}\n"),
			})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMetaProblems(t *testing.T) {
	tests := []struct {
		name, meta string
		want       []string
	}{
		{"as little as can be", strings.ToLower(metaHead) + "entry-definitions: v.yaml", nil},
		{"BOM, CRLF, comment, continuation", "\ufeffEntry-Definitions: v.\r\n yaml\r\n# x\r\n" + metaHead, nil},
		{"no entry", "CSAR-Version: 1.1\n", []string{"TOSCA-Metadata/TOSCA.meta csar.missing-entry-definitions"}},
		{"entry is not there", "Entry-Definitions: w.yaml\n", []string{"TOSCA-Metadata/TOSCA.meta csar.missing-entry-definitions"}},
		{"entry outside", "Entry-Definitions: ../v.yaml\n", []string{"TOSCA-Metadata/TOSCA.meta csar.outside-package"}},
		{"no colon", "Entry-Definitions: v.yaml\nhello\n", []string{"TOSCA-Metadata/TOSCA.meta:2:1 csar.meta"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := found(t, fstest.MapFS{"TOSCA-Metadata/TOSCA.meta": file(tt.meta), "v.yaml": file(minimal)})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSameFlavourTwice(t *testing.T) {
	df := head + "  substitution_mappings: {node_type: tosca.nodes.nfv.VNF, properties: {flavour_id: f}}\n"
	got := found(t, fstest.MapFS{
		"TOSCA-Metadata/TOSCA.meta": file("Entry-Definitions: v.yaml\n"),
		"v.yaml":                    file(minimal + "imports: [a.yaml, b.yaml]\n"),
		"a.yaml":                    file(df),
		"b.yaml":                    file(df),
	})
	if diff := cmp.Diff([]string{"b.yaml:4:5 vnfd.flavour-id"}, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// TestNotOneVNF checks that descriptors of a network service or of several VNFs are refused.
func TestNotOneVNF(t *testing.T) {
	const version = "tosca_definitions_version: tosca_simple_yaml_1_2\n"
	vnf := func(id string) string { return strings.Replace(head, "descriptor_id: i", "descriptor_id: "+id, 1) }
	flavour := func(id, name string) string {
		return vnf(id) + "  substitution_mappings: {node_type: tosca.nodes.nfv.VNF, properties: {flavour_id: " + name + "}}\n"
	}
	another := strings.TrimPrefix(strings.SplitAfter(vnf("j"), "node_templates:\n")[1], "    VNF: &vnf")
	tests := []struct {
		name  string
		entry string
		a, b  string // imported documents
		want  []string
	}{
		{"one", vnf("i"), "", "", nil},
		{"flavours", minimal, flavour("i", "a"), flavour("i", "b"), nil},
		{"two VNFs in a topology", vnf("i") + "    VNF2:" + strings.Split(another, "\n")[0] + "\n", "", "", []string{"v.yaml:6:5 vnfd.not-a-vnfd"}},
		{"a network service", vnf("i") + "    NS: {type: tosca.nodes.nfv.NS}\n", "", "", []string{"v.yaml:6:5 vnfd.not-a-vnfd"}},
		{"a network service of a type of its own", vnf("i") + "    NS: {type: my.NS}\nnode_types: {my.NS: {derived_from: tosca.nodes.nfv.NS}}\n", "", "",
			[]string{"v.yaml:6:5 vnfd.not-a-vnfd"}},
		{"substitutes a network service", vnf("i") + "  substitution_mappings: {node_type: tosca.nodes.nfv.NS}\n", "", "", []string{"v.yaml:6:38 vnfd.not-a-vnfd"}},
		{"a network service that is imported", vnf("i"), version + "topology_template: {node_templates: {NS: {type: tosca.nodes.nfv.NS}}}\n", "",
			[]string{"a.yaml:2:38 vnfd.not-a-vnfd"}},
		{"a PNF", version + "topology_template: {node_templates: {P: {type: tosca.nodes.nfv.PNF}}}\n", "", "", []string{"v.yaml:2:38 vnfd.not-a-vnfd"}},
		{"substitutes a PNF", version + "topology_template: {substitution_mappings: {node_type: tosca.nodes.nfv.PNF}}\n", "", "",
			[]string{"v.yaml:2:56 vnfd.not-a-vnfd"}},
		{"imports two VNFs", version, flavour("i", "a"), flavour("j", "b"), []string{"b.yaml:4:5 vnfd.not-a-vnfd"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := fstest.MapFS{"TOSCA-Metadata/TOSCA.meta": file("Entry-Definitions: v.yaml\n"), "v.yaml": file(tt.entry)}
			if tt.a != "" {
				files["a.yaml"] = file(tt.a)
				tt.entry += "imports: [a.yaml]\n"
			}
			if tt.b != "" {
				files["b.yaml"] = file(tt.b)
				tt.entry = strings.Replace(tt.entry, "[a.yaml]", "[a.yaml, b.yaml]", 1)
			}
			files["v.yaml"] = file(tt.entry)
			var got []string
			_, err := tosca.OpenFS(t.Context(), files)
			var problems problem.List
			errors.As(err, &problems)
			for _, p := range problems {
				if p.Code == problem.NotVNFD {
					got = append(got, p.Position.String()+" "+string(p.Code))
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s\n%v", diff, err)
			}
			p, err := tosca.OpenFS(t.Context(), files, tosca.AnyDescriptor())
			if tt.want != nil && err == nil && p.VNFD() != nil {
				t.Errorf("with AnyDescriptor the package has the VNFD %+v", p.VNFD())
			}
		})
	}
}

// TestBombs checks that documents that would expand without limit are refused. Without limits each would take longer than the test
// binary may run.
func TestBombs(t *testing.T) {
	var aliases strings.Builder
	aliases.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 60; i++ {
		n := string(rune('0'+i/10)) + string(rune('0'+i%10))
		last := string(rune('0'+(i-1)/10)) + string(rune('0'+(i-1)%10))
		if i == 1 {
			last = "0"
		}
		aliases.WriteString("a" + n + ": &a" + n + " [" + strings.TrimSuffix(strings.Repeat("*a"+last+",", 10), ",") + "]\n")
	}
	tests := map[string]struct {
		yaml string
		want problem.Code
	}{
		"aliases":          {head + aliases.String(), problem.TooLarge},
		"depth":            {head + "x: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), problem.TooDeep},
		"depth by aliases": {head + "a: &a " + strings.Repeat("[", 90) + strings.Repeat("]", 90) + "\nb: " + strings.Repeat("[", 90) + "*a" + strings.Repeat("]", 90), problem.TooDeep},
		"width":            {head + "x: [" + strings.Repeat("a,", 300_000) + "]", problem.TooLarge},
		"merges":           {head + "a: &a {" + keys(500) + "}\nb: [" + strings.Repeat("{<<: *a},", 600) + "]", problem.TooLarge},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := tosca.OpenFS(context.Background(), fstest.MapFS{"v.yaml": file(tt.yaml)})
			if !errors.Is(err, problem.Problem{Code: tt.want}) {
				t.Errorf("Open: %v, want %s", err, tt.want)
			}
		})
	}
}

func keys(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("k" + strings.Repeat("x", i) + ": 1, ")
	}
	return b.String()
}

func TestProblemsAreBounded(t *testing.T) {
	long := "n" + strings.Repeat("x", 5000)
	yaml := head + "    CP: {type: tosca.nodes.nfv.VduCp, requirements: [" + strings.Repeat("{virtual_binding: "+long+"},", 3) + "]}\n" +
		"  groups: {g: {members: [" + strings.Repeat("a,\n", 2000) + "]}}\n"
	_, err := tosca.OpenFS(context.Background(), fstest.MapFS{"v.yaml": file(yaml)})
	var problems problem.List
	if !errors.As(err, &problems) || len(problems) != 1000 {
		t.Fatalf("%d problems, want 1000", len(problems))
	}
	for _, p := range problems {
		if len(p.Message) > 1100 {
			t.Errorf("a message of %d bytes", len(p.Message))
		}
	}
}

func TestProblemText(t *testing.T) {
	_, err := tosca.OpenFS(context.Background(), fstest.MapFS{"v.yaml": file(head + "    VDU: {}\n")})
	const want = `v.yaml:6:5: key "VDU" stands already in line 5 [yaml.duplicate-key]`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	var p problem.Problem
	if !errors.As(err, &p) || p.Line != 6 || p.String() != want {
		t.Errorf("errors.As gives %v", p)
	}
}
