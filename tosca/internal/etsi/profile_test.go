package etsi_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/tosca/internal/etsi"
)

var toscaVersions = []string{
	"tosca_simple_yaml_1_0", "tosca_simple_yaml_1_0_0", "tosca_simple_yaml_1_1",
	"tosca_simple_yaml_1_2", "tosca_simple_yaml_1_3",
}

func TestProfileIsClosed(t *testing.T) {
	for _, version := range toscaVersions {
		content, ok := etsi.Profile(version)
		if !ok {
			t.Errorf("there is no profile %s", version)
			continue
		}
		doc := parse(t, version, content)
		defined := names{}
		defined.add(doc)
		if diff := cmp.Diff(map[string]bool{}, defined.missing(references(doc))); diff != "" {
			t.Errorf("%s: undefined types:\n%s", version, diff)
		}
		each(doc, func(section string, types *yaml.Node) {
			twice := map[string]bool{}
			each(types, func(name string, _ *yaml.Node) {
				if twice[name] {
					t.Errorf("%s: %s stands twice in %s", version, name, section)
				}
				twice[name] = true
			})
		})
	}
}

func TestProfileVersions(t *testing.T) {
	tests := []struct {
		kind, name string
		want       [4]bool // in 1.0, 1.1, 1.2, 1.3
	}{
		{"node_types", "tosca.nodes.Root", [4]bool{true, true, true, true}},
		{"node_types", "tosca.nodes.BlockStorage", [4]bool{true, false, false, false}},
		{"node_types", "tosca.nodes.Storage.BlockStorage", [4]bool{false, true, true, true}},
		{"node_types", "tosca.nodes.Abstract.Compute", [4]bool{false, false, true, true}},
		{"capability_types", "tosca.capabilities.Compute", [4]bool{false, true, true, true}},
		{"data_types", "tosca.datatypes.TimeInterval", [4]bool{false, true, true, true}},
		{"data_types", "tosca.datatypes.json", [4]bool{false, false, true, true}},
		{"artifact_types", "tosca.artifacts.template", [4]bool{false, false, false, true}},
	}
	for i, version := range []string{"1_0", "1_1", "1_2", "1_3"} {
		content, _ := etsi.Profile("tosca_simple_yaml_" + version)
		defined := names{}
		defined.add(parse(t, version, content))
		for _, tt := range tests {
			if got := defined[tt.kind][tt.name]; got != tt.want[i] {
				t.Errorf("%s in %s: %v, want %v", tt.name, version, got, tt.want[i])
			}
		}
	}
}

// TestProfileKeepsLines checks that each version has its types in the same lines as simple_profile.yaml, because problems contain
// these positions.
func TestProfileKeepsLines(t *testing.T) {
	lineOf := func(version, text string) int {
		content, _ := etsi.Profile(version)
		before, _, _ := bytes.Cut(content, []byte(text))
		return bytes.Count(before, []byte("\n"))
	}
	const last = "tosca.policies.Performance:"
	want := lineOf("tosca_simple_yaml_1_0", last)
	for _, version := range toscaVersions {
		if got := lineOf(version, last); got != want {
			t.Errorf("%s stands in line %d of %s and %d of 1.0", last, got, version, want)
		}
	}
}

func TestProfileUnknown(t *testing.T) {
	for _, version := range []string{"", "1.3", "tosca_2_0", "tosca_simple_yaml_1_4", "tosca_simple_profile_for_nfv_1_0"} {
		if _, ok := etsi.Profile(version); ok {
			t.Errorf("there is a profile %q", version)
		}
	}
}
