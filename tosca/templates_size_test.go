package tosca_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// numbered returns n lines that each have a number.
func numbered(n int, line string) string {
	var lines strings.Builder
	for i := range n {
		fmt.Fprintf(&lines, line+"\n", i)
	}
	return lines.String()
}

// TestTemplatesThatGrow checks that a small VNFD with many templates of a type that has many parts is refused instead of filling the memory.
func TestTemplatesThatGrow(t *testing.T) {
	nodes := numbered(400, "    n%d: { type: my.Many }")
	for name, tt := range map[string]struct{ types, templates string }{
		"defaults of capabilities": {"node_types:\n  my.Many:\n    derived_from: tosca.nodes.Root\n    capabilities:\n" +
			numbered(100, "      c%d: { type: my.Wide }") + "capability_types:\n  my.Wide:\n    derived_from: tosca.capabilities.Root\n    properties:\n" +
			numbered(100, "      p%d: { type: string, default: x }"), nodes},
		"artifacts": {"node_types:\n  my.Many:\n    derived_from: tosca.nodes.Root\n    artifacts:\n" +
			numbered(2000, "      a%d: { type: tosca.artifacts.File, file: v.yaml }"), nodes},
		"triggers": {"policy_types:\n  my.Many:\n    derived_from: tosca.policies.Root\n    triggers:\n" +
			numbered(2000, "      t%d: { event: e, action: [ set_state: x ] }"), "  policies:\n" + numbered(400, "    - p%d: { type: my.Many }")},
	} {
		t.Run(name, func(t *testing.T) {
			vnfd := tt.types + head + tt.templates
			_, err := tosca.OpenFS(t.Context(), fstest.MapFS{"v.yaml": file(vnfd)})
			if !errors.Is(err, problem.Problem{Code: problem.TooLarge}) {
				t.Errorf("%v, want %s", err, problem.TooLarge)
			}
		})
	}
}
