package grammar_test

import "testing"

// workflow returns a topology with a group and a workflow of two steps. The text in step is added to the first step.
func workflow(step string) string {
	return in("}") + "  groups: {g: {type: Servers, members: [s]}}\n" +
		"  workflows: {w: {inputs: {a: {type: string}}, steps: {one: {target: s" + step + "}, two: {target: g, activities: [set_state: down]}}}, other: {steps: {}}}\n"
}

func TestWorkflows(t *testing.T) {
	run(t, []testCase{
		{"right", workflow(", activities: [call_operation: Life.born, delegate: {workflow: other}, inline: other, delegate: deploy], on_success: [two], on_failure: [two]"), nil},
		{"operation with inputs", workflow(", activities: [call_operation: {operation: Life.dead, inputs: [a: 1]}]"), nil},
		{"operation of a type", workflow(", activities: [call_operation: Standard.create, call_operation: tosca.interfaces.node.lifecycle.Standard.stop]"), nil},
		{"filter", workflow(", filter: [or: [count: [equal: 1]]], operation_host: ORCHESTRATOR"), nil},
		{"precondition", in("}") + "  workflows: {w: {preconditions: [{target: s, condition: [count: [equal: 1]]}, {target: t}]}}\n", []string{"t vnfd.unknown-node"}},
		{"keyname", in("}") + "  workflows: {w: {step: {}}}\n", []string{"step tosca.unknown-keyname"}},
		{"keyname of a step", workflow(", activity: []"), []string{"activity tosca.unknown-keyname"}},
		{"keyname of a precondition", in("}") + "  workflows: {w: {preconditions: [{targets: s}]}}\n", []string{"targets tosca.unknown-keyname"}},
		{"target", in("}") + "  workflows: {w: {steps: {one: {target: t}}}}\n", []string{"t vnfd.unknown-node"}},
		{"next step", workflow(", on_success: [three], on_failure: [tow]"), []string{"three tosca.unknown-step", "tow tosca.unknown-step"}},
		{"no list", workflow(", on_success: two"), []string{"two tosca.wrong-type"}},
		{"workflow", workflow(", activities: [delegate: x, inline: {workflow: y}]"), []string{"x tosca.unknown-workflow", "y tosca.unknown-workflow"}},
		{"operation", workflow(", activities: [call_operation: Life.bron]"), []string{"Life.bron tosca.unknown-operation"}},
		{"workflow of a trigger", in("}") + "  policies: [p: {type: Rule, targets: [s], properties: {strict: true}, triggers: {t: {event: e, action: [delegate: x, call_operation: A.b]}}}]\n",
			[]string{"x tosca.unknown-workflow"}},
	})
}

func TestRelationshipNames(t *testing.T) {
	named := func(relationship string) string {
		return "  relationship_templates: {r: {type: tosca.relationships.DependsOn}}\n  node_templates:\n    s: {type: Server, properties: {name: it}}\n" +
			"    c: {type: Client, properties: {name: it}, requirements: [server: {node: s, relationship: " + relationship + "}]}\n"
	}
	run(t, []testCase{
		{"template", named("r"), nil},
		{"type", named("tosca.relationships.DependsOn"), nil},
		{"short name", named("DependsOn"), nil},
		{"long form", named("{type: tosca.relationships.DependsOn}"), nil},
		{"unknown", named("q"), []string{"q tosca.unknown-relationship"}},
	})
}
