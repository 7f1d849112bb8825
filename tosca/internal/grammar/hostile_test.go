package grammar_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/tosca/problem"
)

// TestHostile checks that descriptors made to be slow to check are checked or refused. Each of them would take minutes if the
// work were not limited.
func TestHostile(t *testing.T) {
	repeat := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.ReplaceAll(format, "#", fmt.Sprint(i)))
		}
		return b.String()
	}
	const head = "tosca_definitions_version: tosca_simple_yaml_1_3\n"
	tests := map[string]string{
		"a long lineage": head + "node_types:\n  T0: {derived_from: tosca.nodes.Root}\n" +
			strings.ReplaceAll(repeat(4_000, "  T#+: {derived_from: T#}\n"), "+", "x"),
		"a ring of types": head + "node_types:\n" + repeat(4_000, "  T#: {derived_from: U#}\n  U#: {derived_from: T#}\n"),
		"many templates of a type with many properties": head +
			"node_types:\n  T:\n    properties:\n" + repeat(4_000, "      p#: {required: false}\n") +
			"topology_template:\n  node_templates:\n" + repeat(4_000, "    t#: {type: T}\n"),
		"many values with many valid ones": head +
			"node_types:\n  T: {properties: {p: {type: string, required: false, constraints: [valid_values: [" + repeat(4_000, "v#, ") + "]]}}}\n" +
			"topology_template:\n  node_templates:\n" + repeat(4_000, "    t#: {type: T, properties: {p: z}}\n"),
		"a pattern for many values": head +
			"node_types:\n  T: {properties: {p: {type: string, constraints: [pattern: '" + strings.Repeat("(a|b)*", 80) + "']}}}\n" +
			"topology_template:\n  node_templates:\n" + repeat(4_000, "    t#: {type: T, properties: {p: ababab}}\n"),
		"many patterns": head +
			"node_types:\n  T:\n    properties:\n" + repeat(4_000, "      p#: {type: string, default: x, constraints: [pattern: '((x{9}){9}){9}#']}\n"),
		"many faults": head + "topology_template:\n  node_templates:\n" + repeat(10_000, "    t#: {}\n"),
		"unknown names among many": head + "node_types:\n" + repeat(4_000, "  T#: {}\n") +
			"topology_template:\n  node_templates:\n" + repeat(4_000, "    t#: {type: X#}\n"),
	}
	for name, document := range tests {
		t.Run(name, func(t *testing.T) {
			for _, p := range validate(t, files{"v.yaml": document}, problem.Quirks...) {
				if p.Severity == problem.Error {
					return
				}
			}
			t.Logf("checked")
		})
	}
}

// TestLinear checks that the cost of a descriptor grows linearly with its templates.
func TestLinear(t *testing.T) {
	cost := func(templates int) float64 {
		var b strings.Builder
		b.WriteString(types + "  node_templates:\n")
		for i := range templates {
			fmt.Fprintf(&b, "    s%d: {type: Server, properties: {name: n%d, size: {memory: 1 GB}, tags: [a, {get_input: maker}]}}\n", i, i)
			fmt.Fprintf(&b, "    c%d: {type: Client, properties: {name: m}, requirements: [server: s%d, any: c0]}\n", i, i)
		}
		document := files{"v.yaml": b.String()}
		return testing.AllocsPerRun(3, func() { validate(t, document) })
	}
	small, large := cost(100), cost(1000)
	if large > 11*small {
		t.Errorf("100 templates cost %.0f allocations, 1000 cost %.0f", small, large)
	}
}

// TestShapes checks that no kind of value at any keyname makes the validator panic.
func TestShapes(t *testing.T) {
	values := []string{"", "x", "1", "[]", "[x]", "[[x]]", "{}", "{x: y}", "{x: {y: z}}", "{x: [y]}", "[{x: y}]", "[{x: {y: [z]}}]", "{get_input: x}", "{get_property: {x: y}}", "{type: {}}", "{x: {type: Server, properties: x}}"}
	for _, key := range []string{
		"type", "properties", "attributes", "capabilities", "requirements", "interfaces", "artifacts", "node_filter", "members", "targets",
		"constraints", "entry_schema", "occurrences", "valid_source_types", "operations", "inputs", "implementation", "default", "derived_from",
	} {
		for _, value := range values {
			pair := key + ": " + value
			lines := "  node_templates:\n" +
				"    s: {type: Server, " + pair + "}\n" +
				"    t: {type: Server, capabilities: {serving: {" + pair + "}}, interfaces: {Life: {born: {" + pair + "}}}, artifacts: {a: {" + pair + "}}}\n" +
				"    c: {type: Client, requirements: [server: {" + pair + "}]}\n" +
				"  groups: {g: {type: Servers, " + pair + "}}\n" +
				"  policies: [p: {type: Rule, " + pair + "}]\n" +
				"  substitution_mappings: {node_type: Server, " + pair + "}\n" +
				"relationship_types: {R: {" + pair + ", properties: {p: {" + pair + "}}, interfaces: {I: {" + pair + "}}}}\n"
			validate(t, files{"v.yaml": types + lines})
		}
	}
}

func FuzzValidate(f *testing.F) {
	f.Add(types + in("}"))
	f.Add(types + in(", size: {memory: 1 GB}, tags: [{get_input: maker}]}, capabilities: {serving: {properties: {port: 1}}}"))
	f.Add(types + "  node_templates: {c: {type: Client, properties: {name: it}, requirements: [server: {node: c, node_filter: {properties: [a: {equal: 1}]}}]}}\n")
	f.Add(types + "  substitution_mappings: {node_type: Server, capabilities: {serving: [[s, serving]]}}\n  policies: [p: {type: Rule, targets: [g]}]\n")
	f.Fuzz(func(t *testing.T, document string) {
		for _, p := range validate(t, files{"v.yaml": document}, problem.QuotedValue, problem.LooseMappings) {
			if p.Code == "" || p.Message == "" || p.File == "" {
				t.Errorf("a problem lacks its file, code or message: %#v", p)
			}
		}
	})
}
