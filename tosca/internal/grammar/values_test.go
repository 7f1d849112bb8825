package grammar_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca/problem"
)

// TestValues checks values against types. Each value is the default of a property.
func TestValues(t *testing.T) {
	const ok = ""
	tests := []struct {
		definition, value string
		want              problem.Code
	}{
		{"type: string", "abc", ok},
		{"type: string", "[abc]", problem.Type},
		{"type: string", "{get_input: x}", ok},
		{"type: string", "1.0", problem.Type},
		{"type: string", "true", problem.Type},
		{"type: integer", "0x1F", ok},
		{"type: integer", "'1'", problem.Type},
		{"type: integer", "1.5", problem.Type},
		{"type: float", "1", ok},
		{"type: float", "1e-3", ok},
		{"type: float", "much", problem.Type},
		{"type: boolean", "false", ok},
		{"type: boolean", "yes", problem.Type},
		{"type: boolean", "perhaps", problem.Type},
		{"type: timestamp", "2024-02-29T12:00:00Z", ok},
		{"type: timestamp", "2024-02-29", ok},
		{"type: timestamp", "29.2.2024", problem.Type},
		{"type: version", "1.2.3.beta-4", ok},
		{"type: version", "1.2", ok},
		{"type: version", "1.2.3.4.5", problem.Type},
		{"type: range", "[1, 4]", ok},
		{"type: range", "[1, UNBOUNDED]", ok},
		{"type: range", "[4, 1]", problem.Type},
		{"type: range", "[1]", problem.Type},
		{"type: range", "1", problem.Type},
		{"type: scalar-unit.size", "4 GB", ok},
		{"type: scalar-unit.size", "1.5GiB", ok},
		{"type: scalar-unit.size", "4 gb", ok},
		{"type: scalar-unit.size", "4", problem.Type},
		{"type: scalar-unit.size", "4 s", problem.Type},
		{"type: scalar-unit.time", "10 ms", ok},
		{"type: scalar-unit.frequency", "2.4 GHz", ok},
		{"type: scalar-unit.bitrate", "10 Mibps", ok},
		{"type: scalar-unit.bitrate", "10 MB", problem.Type},
		{"type: list, entry_schema: {type: integer}", "[1, 2]", ok},
		{"type: list, entry_schema: integer", "[1, a]", problem.Type},
		{"type: list", "a", problem.Type},
		{"type: map, entry_schema: {type: list, entry_schema: {type: integer}}", "{a: [1]}", ok},
		{"type: map, entry_schema: {type: list, entry_schema: {type: integer}}", "{a: [x]}", problem.Type},
		{"type: map", "[a]", problem.Type},
		{"type: Size", "{memory: 1 GB, cpus: 2}", ok},
		{"type: Size", "{memory: 1 GB, cpus: 0}", problem.Value},
		{"type: Size", "{cpus: 2}", problem.RequiredProperty},
		{"type: Size", "{memory: 1 GB, disk: 2}", problem.UnknownProperty},
		{"type: Size", "big", problem.Type},
		{"type: Count", "3", ok},
		{"type: Count", "three", problem.Type},

		{"type: integer, constraints: [equal: 2]", "2", ok},
		{"type: integer, constraints: [equal: 2]", "3", problem.Value},
		{"type: integer, constraints: [greater_than: 2]", "2", problem.Value},
		{"type: integer, constraints: [greater_or_equal: 2]", "2", ok},
		{"type: integer, constraints: [less_than: 2]", "2", problem.Value},
		{"type: integer, constraints: {less_or_equal: 2}", "3", problem.Value},
		{"type: integer, constraints: [in_range: [1, UNBOUNDED]]", "7", ok},
		{"type: integer, constraints: [in_range: [1, 4]]", "5", problem.Value},
		{"type: scalar-unit.size, constraints: [greater_than: 1 GB]", "900 MB", problem.Value},
		{"type: scalar-unit.size, constraints: [greater_than: 1 GB]", "1 GiB", ok},
		{"type: scalar-unit.bitrate, constraints: [less_than: 8 Mbps]", "1 MBps", problem.Value},
		{"type: version, constraints: [greater_than: '1.9']", "'1.10'", ok},
		{"type: string, constraints: [valid_values: [a, b]]", "c", problem.Value},
		{"type: string, constraints: [valid_values: [a, b]]", "B", problem.Value},
		{"type: string, constraints: [length: 2]", "äö", ok},
		{"type: string, constraints: [min_length: 3]", "ab", problem.Value},
		{"type: list, constraints: [max_length: 1]", "[1, 2]", problem.Value},
		{"type: string, constraints: [pattern: '[0-9]+']", "'12'", ok},
		{"type: string, constraints: [pattern: '[0-9]+']", "12a", problem.Value},
		{"type: string, constraints: [pattern: '(?=x)']", "y", ok},             // RE2 does not support this pattern
		{"type: string, constraints: [pattern: '((x{99}){99}){99}']", "y", ok}, // too large
		{"type: string, constraints: [nearly: 2]", "ab", problem.UnknownKeyname},
		{"type: strnig", "ab", problem.UnknownType},
		{"type: list, entry_schema: {type: strnig}", "[]", problem.UnknownType},
		{"type: string, requird: false", "ab", problem.UnknownKeyname},
	}
	for _, tt := range tests {
		name := tt.definition + " = " + tt.value
		document := types + fmt.Sprintf("relationship_types: {R: {properties: {p: {%s, default: %s}}}}\n", tt.definition, tt.value)
		var want []problem.Code
		if tt.want != ok {
			want = []problem.Code{tt.want}
		}
		var got []problem.Code
		for _, p := range validate(t, files{"v.yaml": document}) {
			got = append(got, p.Code)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestDeviations checks that each quirk turns its deviation, and no other deviation, into a warning that names the quirk.
func TestDeviations(t *testing.T) {
	tests := []struct {
		quirk problem.Quirk
		lines string
	}{
		{problem.UnquotedText, "  node_templates: {s: {type: Server, properties: {name: 1.0}}}\n"},
		{problem.QuotedValue, in(", count: '2'}")},
		{problem.ValueCase, "  policies: [{r: {type: Case, properties: {c: SHA-1}}}]\npolicy_types: {Case: {derived_from: tosca.policies.Root, properties: {c: {type: string, constraints: [valid_values: [sha-1]]}}}}\n"},
		{problem.MissingUnit, in(", size: {memory: 4}}")},
		{problem.IncompleteProperties, "  node_templates: {s: {type: Server}}\n"},
		{problem.UnimportedTypes, "  groups: {g: {type: tosca.groups.nfv.PlacementGroup, properties: {description: d}, members: []}}\n"},
		{problem.EmptyRequirement, "  node_templates: {c: {type: Client, properties: {name: it}, requirements: [any: ]}}\n"},
		{problem.MappedRequirements, "  node_templates: {c: {type: Client, properties: {name: it}, requirements: {any: c}}}\n"},
		{problem.LooseMappings, "  substitution_mappings: {node_type: Client, requirements: {server: [nobody, server]}}\n"},
		{problem.LooseMappings, "  substitution_mappings: {node_type: Client, requirements: {nothing: []}}\n"},
		{problem.MisplacedSections, "groups: {g: {type: Servers}}\n"},
		{problem.MisfiledTypes, "  node_templates: {}\nrelationship_types: {tosca.datatypes.nfv.Own: {derived_from: tosca.datatypes.Root}}\n"},
		{problem.RollbackHooks, in("}, interfaces: {Life: {operations: {born_rollback_start: x}}}")},
	}
	for _, tt := range tests {
		document := files{"v.yaml": types + tt.lines}
		if tt.quirk == problem.ValueCase {
			document = files{"v.yaml": without(types, "policy_types: ") + tt.lines}
		}
		for _, allowed := range []bool{false, true} {
			want := []string{"error " + string(tt.quirk)}
			var quirks []problem.Quirk
			if allowed {
				want = []string{"warning " + string(tt.quirk)}
				quirks = []problem.Quirk{tt.quirk}
			}
			var got []string
			for _, p := range validate(t, document, quirks...) {
				got = append(got, string(p.Severity)+" "+string(p.Quirk))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s in %s (-want +got):\n%s", tt.quirk, tt.lines, diff)
			}
		}
	}
}

// TestEmptyValues checks that messages quote an empty value.
func TestEmptyValues(t *testing.T) {
	document := types + "  node_templates:\n    s: {type: Server, properties: {name: it, count: '', size: {memory: ''}}}\n"
	for _, p := range validate(t, files{"v.yaml": document}) {
		if !strings.HasPrefix(p.Message, `the value "" is no `) {
			t.Errorf("the empty value is not quoted: %v", p)
		}
	}
	document = strings.Replace(types, "name: {type: string}", "name: {type: string, constraints: [valid_values: [it]]}", 1) + in("}")
	document = strings.Replace(document, "name: it", "name: ''", 1)
	if list := validate(t, files{"v.yaml": document}); len(list) != 1 || !strings.HasPrefix(list[0].Message, `the value "" is not allowed`) {
		t.Errorf("the empty value is not quoted: %v", list)
	}
}
