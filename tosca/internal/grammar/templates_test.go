package grammar_test

import "testing"

func TestTemplates(t *testing.T) {
	const two = "  node_templates:\n    s: {type: Server, properties: {name: it}}\n    c: {type: Client, properties: {name: it}"
	run(t, []testCase{
		{"nothing", in("}"), nil},
		{"keyname", in("}, propertys: {}"), []string{"propertys tosca.unknown-keyname"}},
		{"no type", "  node_templates: {s: {}}\n", []string{"s tosca.missing-keyname"}},
		{"no mapping", "  node_templates: {s: Server}\n", []string{"Server tosca.wrong-type"}},
		{"unknown type", "  node_templates: {s: {type: Serve}}\n", []string{"Serve tosca.unknown-type"}},
		{"unknown property", in(", naem: x}"), []string{"naem tosca.unknown-property"}},
		{"inherited property", in(", count: 10}"), []string{"10 tosca.value-not-allowed"}},
		{"property refined without its type", "  node_templates: {s: {type: Refined, properties: {name: it, count: ten}}}\n", []string{"ten tosca.wrong-type"}},
		{"property in a data type", in(", size: {memory: big}}"), []string{"big tosca.wrong-type"}},
		{"list", in(", tags: [a, [b]]}"), []string{"[b tosca.wrong-type"}},
		{"missing property", "  node_templates: {s: {type: Server}}\n", []string{"s tosca.missing-property"}},
		{"attribute", in("}, attributes: {state_of_it: x, state_of: y}"), []string{"state_of tosca.unknown-attribute"}},
		{"capability", in("}, capabilities: {severing: {}}"), []string{"severing tosca.unknown-capability"}},
		{"capability property", in("}, capabilities: {serving: {properties: {port: 1, extra: a, prot: 2}}}"),
			[]string{"a tosca.wrong-type", "prot tosca.unknown-property"}},
		{"capability keyname", in("}, capabilities: {serving: {port: 1}}"), []string{"port tosca.unknown-keyname"}},
		{"interface", in("}, interfaces: {Live: {}}"), []string{"Live tosca.unknown-interface"}},
		{"inherited interface", in("}, interfaces: {Standard: {create: x.sh}}"), nil},
		{"operations", in("}, interfaces: {Life: {born: {implementation: x}, operations: {dead: []}}}"), nil},
		{"operation", in("}, interfaces: {Life: {operations: {bron: x}}}"), []string{"bron tosca.unknown-operation"}},
		{"operation keyname", in("}, interfaces: {Life: {born: {implementaton: x}}}"), []string{"implementaton tosca.unknown-keyname"}},
		{"implementation", in("}, interfaces: {Life: {born: {implementation: {primary: x, dependency: y}}}}"), []string{"dependency tosca.unknown-keyname"}},
		{"artifacts", in("}, artifacts: {a: x.sh, b: {type: Program, file: x.go, properties: {language: go}}}"), nil},
		{"artifact", in("}, artifacts: {b: {type: Programm, file: x.go}}"), []string{"Programm tosca.unknown-type"}},
		{"artifact property", in("}, artifacts: {b: {type: Program, file: x.go, properties: {lang: go}}}"), []string{"lang tosca.unknown-property"}},

		{"requirements", two + ", requirements: [server: s, any: {node: c}, any: {node: Server}]}\n", nil},
		{"unknown requirement", two + ", requirements: [serve: s]}\n", []string{"serve tosca.unknown-requirement"}},
		{"unknown target", two + ", requirements: [server: t]}\n", []string{"t vnfd.unknown-node"}},
		{"target of a wrong type", two + ", requirements: [server: c]}\n", []string{"c tosca.wrong-target"}},
		{"too many", two + ", requirements: [server: s, server: s]}\n", []string{"server tosca.occurrences"}},
		{"requirement keyname", two + ", requirements: [server: {node: s, relation: x}]}\n", []string{"relation tosca.unknown-keyname"}},
		{"capability of the target", two + ", requirements: [server: {node: s, capability: feet}]}\n", []string{"feet tosca.unknown-capability"}},
		{"relationship", two + ", requirements: [server: {node: s, relationship: {type: Rel}}]}\n", []string{"Rel tosca.unknown-type"}},
		{"node filter", two + ", requirements: [server: {node: Server, node_filter: {properties: [count: {less_than: 3}, name: [equall: x]], capability: x}}]}\n",
			[]string{"equall tosca.unknown-keyname", "capability tosca.unknown-keyname"}},

		{"group", in("}") + "  groups: {g: {type: Servers, members: [s], propertys: {}}}\n", []string{"propertys tosca.unknown-keyname"}},
		{"member", two + "}\n  groups: {g: {type: Servers, members: [c, d]}}\n", []string{"c tosca.wrong-target", "d vnfd.unknown-node"}},
		{"policy", two + "}\n  groups: {g: {type: Servers}}\n  policies: [p: {type: Rule, targets: [s, g, c, d], properties: {strict: true}}]\n",
			[]string{"c tosca.wrong-target", "d vnfd.unknown-node"}},
		{"policy property", "  policies: {p: {type: Rule, properties: {strcit: true}}}\n", []string{"p tosca.missing-property", "strcit tosca.unknown-property"}},
		{"topology keyname", "  node_template: {}\n", []string{"node_template tosca.unknown-keyname"}},
		{"service template keyname", "nodes: {}\n", []string{"nodes tosca.unknown-keyname"}},
		{"relationship template", "  relationship_templates: {r: {type: tosca.relationships.AttachesTo, properties: {location: /, size: 1}}}\n", []string{"size tosca.unknown-property"}},
		{"output", "  outputs: {o: {valeu: 1, value: {get_input: makre}}}\n", []string{"valeu tosca.unknown-keyname", "makre tosca.unknown-input"}},
	})
}

func TestFunctions(t *testing.T) {
	value := func(v string) string { return in(", tags: [" + v + "]}") }
	run(t, []testCase{
		{"input", value("{get_input: maker}"), nil},
		{"unknown input", value("{get_input: taker}"), []string{"taker tosca.unknown-input"}},
		{"input with a path", value("{get_input: [maker, a, 1]}"), nil},
		{"property", value("{get_property: [s, name]}"), nil},
		{"property of itself", value("{get_property: [SELF, count]}"), nil},
		{"property of a capability", value("{get_property: [SELF, serving, port]}"), nil},
		{"property of the host", value("{get_property: [HOST, whatever]}"), nil},
		{"unknown property", value("{get_property: [SELF, cuont]}"), []string{"cuont tosca.unknown-property"}},
		{"property of nobody", value("{get_property: [x, name]}"), []string{"x vnfd.unknown-node"}},
		{"attribute", value("{get_attribute: [SELF, state_of_it]}"), nil},
		{"too few arguments", value("{get_property: [SELF]}"), []string{"{get_property tosca.function"}},
		{"nested", value("{concat: [a, {get_input: b}, {token: [a, b]}]}"), []string{"b tosca.unknown-input", "{token tosca.function"}},
		{"nodes of a type", value("{get_nodes_of_type: Serve}"), []string{"Serve tosca.unknown-type"}},
		{"in the input of an operation", in("}, interfaces: {Life: {born: {inputs: {i: {get_input: b}}}}}"), []string{"b tosca.unknown-input"}},
	})
}

func TestSubstitution(t *testing.T) {
	with := func(m string) string { return in("}") + "  substitution_mappings: {node_type: Server, " + m + "}\n" }
	run(t, []testCase{
		{"lists", with("capabilities: {serving: [s, serving]}, requirements: [dependency: [s, dependency]]"), nil},
		{"map of lists", with("requirements: {dependency: [[s, dependency], [s, dependency]]}"), nil},
		{"nothing mapped", with("requirements: {dependency: []}"), nil},
		{"properties", with("properties: {name: it, count: [maker], naem: x}"), []string{"naem tosca.unknown-property"}},
		{"property value", with("properties: {count: 10}"), []string{"10 tosca.value-not-allowed"}},
		{"unknown type", "  substitution_mappings: {node_type: Serve}\n", []string{"Serve tosca.unknown-type"}},
		{"no type", "  substitution_mappings: {}\n", []string{"{ tosca.missing-keyname"}},
		{"unknown capability", with("capabilities: {serving: [s, feet]}"), []string{"feet tosca.unknown-capability"}},
		{"no pair", with("capabilities: {serving: s}, requirements: {dependency: [s]}"), []string{"s tosca.wrong-type", "[s tosca.wrong-type"}},
		{"keyname", with("requirement: {}"), []string{"requirement tosca.unknown-keyname"}},
	})
}

func TestTypeDefinitions(t *testing.T) {
	run(t, []testCase{
		{"parent", "relationship_types: {R: {derived_from: Q}}\n", []string{"Q tosca.unknown-type"}},
		{"parent of another kind", "relationship_types: {R: {derived_from: Server}}\n", []string{"Server tosca.unknown-type"}},
		{"keyname", "relationship_types: {R: {valid_targets: []}}\n", []string{"valid_targets tosca.unknown-keyname"}},
		{"targets", "relationship_types: {R: {valid_target_types: [Serving, Server]}}\n", []string{"Server tosca.unknown-type"}},
		{"property", "relationship_types: {R: {properties: {p: {type: Sise}}}}\n", []string{"Sise tosca.unknown-type"}},
		{"interface", "relationship_types: {R: {interfaces: {L: {type: Lief}, M: {type: Life, born: {input: {}}}}}}\n",
			[]string{"Lief tosca.unknown-type", "input tosca.unknown-keyname"}},
	})
	const nodes = "node_types: {N: {"
	for _, tt := range []struct{ definition, want string }{
		{"capabilities: {c: Serving, d: {type: Severing}}", "Severing tosca.unknown-type"},
		{"capabilities: {c: {type: Serving, valid_source_types: [M]}}", "M tosca.unknown-type"},
		{"capabilities: {c: {type: Serving, occurrences: [2, 1]}}", "[2 tosca.wrong-type"},
		{"requirements: [r: Severing]", "Severing tosca.unknown-type"},
		{"requirements: [r: {capability: Serving, node: M}]", "M tosca.unknown-type"},
		{"requirements: [r: {capability: Serving, relationship: {type: M}}]", "M tosca.unknown-type"},
		{"requirements: [r: {capability: Serving, nodes: M}]", "nodes tosca.unknown-keyname"},
	} {
		document := "tosca_definitions_version: tosca_simple_yaml_1_3\n" + nodes + tt.definition + "}}\ncapability_types: {Serving: {}}\n"
		list := validate(t, files{"v.yaml": document})
		if len(list) != 1 || wordAt(document, list[0].Position)+" "+string(list[0].Code) != tt.want {
			t.Errorf("%s: %v, want %s", tt.definition, list, tt.want)
		}
	}
}

// TestMessages compares the texts of problems.
func TestMessages(t *testing.T) {
	for lines, want := range map[string]string{
		in(", naem: x}"):                  `v.yaml:36:46: Server has no property "naem"; expected one of count, name, size, tags; did you mean "name"? [tosca.unknown-property]`,
		in(", count: 10}"):                `v.yaml:36:53: the value 10 is not allowed; expected in_range [1, 9] [tosca.value-not-allowed]`,
		in(", count: one}"):               `v.yaml:36:53: the value one is no integer; expected a whole number [tosca.wrong-type]`,
		"  policies: [p: {type: Ruel}]\n": `v.yaml:35:24: there is no type "Ruel" among the policy_types; did you mean "Rule"? [tosca.unknown-type]`,
	} {
		if got := validate(t, files{"v.yaml": types + lines}).Error(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
