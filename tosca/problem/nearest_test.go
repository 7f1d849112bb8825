package problem_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca/problem"
)

func TestNearestFirst(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100)
	for name, c := range map[string]struct {
		name  string
		among []string
		want  []string
	}{
		"similar":        {"ap_CP", []string{"db_CP", "web_CP", "app_CP"}, []string{"app_CP", "db_CP", "web_CP"}},
		"equally so":     {"c", []string{"b", "a"}, []string{"a", "b"}},
		"a long one":     {"x", []string{long, "yyyyyy"}, []string{"yyyyyy", long}},
		"for a long one": {long, []string{"b", "a"}, []string{"a", "b"}},
		"of none":        {"a", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, problem.NearestFirst(c.name, c.among)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"aspectId", "numberOfSteps", "type"}
	for name, want := range map[string]string{"numberofsteps": "numberOfSteps", "NUMBEROFSTEPS": "numberOfSteps", "number_of_steps": "numberOfSteps", "aspctId": "aspectId",
		"tpye": "type", "typ": "type", "type": "", "cause": "", "": "", strings.Repeat("aspectId", 11): ""} {
		if got := problem.Nearest(name, known); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	types := []string{"tosca.nodes.nfv.VNF", "tosca.nodes.nfv.Cp", "tosca.nodes.nfv.VduCp", "tosca.nodes.Compute"}
	for name, want := range map[string]string{"tosca.nodes.nfv.VL": "", "tosca.nodes.nfv.VduCP": "tosca.nodes.nfv.VduCp", "tosca.nodes.nfv.Vducpp": "tosca.nodes.nfv.VduCp",
		"tosca.nodes.Computer": "tosca.nodes.Compute", "tosca.node.Compute": "tosca.nodes.Compute", "tosca.nodes.nvf.VNF": "tosca.nodes.nfv.VNF"} {
		if got := problem.Nearest(name, types); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if got := problem.Nearest("vnfIs", []string{"vnfIb", "vnfIa"}); got != "vnfIa" {
		t.Errorf("of equally similar names the first of the alphabet is wanted, not %q", got)
	}
	for range 10 {
		if got := problem.Nearest("vnfIs", []string{"vnfIa", "vnfIb"}); got != "vnfIa" {
			t.Errorf("of equally similar names the first is wanted, not %q", got)
		}
	}
}
