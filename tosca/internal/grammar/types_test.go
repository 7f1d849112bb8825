package grammar_test

import (
	"context"
	"testing"

	"github.com/vnfkit/vnfkit/tosca/internal/documents"
	"github.com/vnfkit/vnfkit/tosca/internal/grammar"
	"github.com/vnfkit/vnfkit/tosca/internal/report"
)

func newTypes(t *testing.T, f files) grammar.Types {
	t.Helper()
	r := &report.Report{}
	set, err := documents.Load(context.Background(), f, "v.yaml", nil, r)
	if err != nil {
		t.Fatal(err)
	}
	return grammar.NewTypes(set, r)
}

func TestIs(t *testing.T) {
	d := newTypes(t, files{
		"v.yaml": "tosca_definitions_version: tosca_simple_yaml_1_2\n" +
			"imports: [etsi_nfv_sol001_vnfd_types.yaml, {file: o.yaml, namespace_prefix: o}]\n" +
			"node_types: {My.Vdu: {derived_from: tosca.nodes.nfv.Vdu.Compute}, Far: {derived_from: o:Their.Vdu}, Lost: {derived_from: nowhere}}\n",
		"o.yaml": "tosca_definitions_version: tosca_simple_yaml_1_2\nnode_types: {Their.Vdu: {derived_from: My.Vdu}}\n",
	})
	tests := []struct {
		name, base string
		want       bool
	}{
		{"My.Vdu", "My.Vdu", true},
		{"My.Vdu", "tosca.nodes.nfv.Vdu.Compute", true},
		{"My.Vdu", "tosca.nodes.Root", true},
		{"My.Vdu", "tosca.nodes.nfv.VduCp", false},
		{"tosca.nodes.nfv.Vdu.Compute", "My.Vdu", false},
		{"o:Their.Vdu", "tosca.nodes.nfv.Vdu.Compute", true},
		{"p:Their.Vdu", "tosca.nodes.nfv.Vdu.Compute", false},
		{"Far", "tosca.nodes.nfv.Vdu.Compute", true},
		{"Lost", "nowhere", true},
		{"unknown", "unknown", true},
		{"unknown", "tosca.nodes.Root", false},
		{"", "", false},
	}
	for _, tt := range tests {
		if got := d.Is(grammar.NodeTypes, tt.name, tt.base); got != tt.want {
			t.Errorf("%q is %q: %v", tt.name, tt.base, got)
		}
	}
}

func TestProperty(t *testing.T) {
	d := newTypes(t, files{"v.yaml": `tosca_definitions_version: tosca_simple_yaml_1_2
node_types:
  A: {properties: {p: {type: string, default: a}, q: {type: string, constraints: [valid_values: [only]]}, r: {type: string}}}
  B: {derived_from: A, properties: {p: {type: string, default: b}}}
`})
	for property, want := range map[string]string{"p": "b", "q": "only", "r": "", "s": ""} {
		if got := grammar.Default(d.Property(grammar.NodeTypes, "B", property)).Str(); got != want {
			t.Errorf("the default of %s is %q, want %q", property, got, want)
		}
	}
}

// TestImplicitTypes checks that the types that a descriptor does not import are read only for a name that is not defined otherwise.
func TestImplicitTypes(t *testing.T) {
	const head = "tosca_definitions_version: tosca_simple_yaml_1_2\nimports: [etsi_nfv_sol001_vnfd_types.yaml]\n" +
		"data_types: {My.Text: {derived_from: string}}\n" +
		"policy_types: {My.Policy: {derived_from: tosca.policies.Root, targets: [tosca.nodes.nfv.VnfVirtualLink, tosca.groups.nfv.PlacementGroup]}}\n"
	for _, tt := range []struct {
		name, topology string
		reads          int
	}{
		{"imported types", "VL: {type: tosca.nodes.nfv.VnfVirtualLink}\n    CP: {type: tosca.nodes.nfv.VduCp, requirements: [virtual_link: VL]}", 0},
		{"short name", "VL: {type: VnfVirtualLink}", 1},
		{"type of a network service", "NS: {type: tosca.nodes.nfv.NS}\n    NS2: {type: tosca.nodes.nfv.NS}", 1},
		{"unknown types", "A: {type: my.A}\n    B: {type: my.B}", 1},
	} {
		r := &report.Report{}
		f := files{"v.yaml": head + "topology_template:\n  node_templates:\n    " + tt.topology + "\n"}
		set, err := documents.Load(t.Context(), f, "v.yaml", nil, r)
		if err != nil {
			t.Fatal(err)
		}
		reads, implicit := 0, set.Implicit
		set.Implicit = func() []documents.Document {
			reads++
			return implicit()
		}
		grammar.Validate(set, grammar.NewTypes(set, r), nil, r)
		if reads != tt.reads {
			t.Errorf("%s: the types are read %d times, want %d", tt.name, reads, tt.reads)
		}
	}
}
