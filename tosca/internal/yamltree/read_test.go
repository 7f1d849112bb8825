package yamltree_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// TestMisfits reads the field x of documents as a mapping, as a list, and as named entries.
func TestMisfits(t *testing.T) {
	read := map[string]func(*yamltree.Node) int{
		"map":   func(n *yamltree.Node) int { return len(n.Map()) },
		"list":  func(n *yamltree.Node) int { return len(n.List()) },
		"named": func(n *yamltree.Node) int { return len(n.Named()) },
	}
	for _, tt := range []struct {
		as, yaml string
		read     int
		want     []string
	}{
		{"map", "x: {a: 1, b: 2}", 2, nil},
		{"map", "x: ", 0, nil},
		{"map", "y: 1", 0, nil},
		{"map", "x: a", 0, []string{"f.yaml:1:4: this must be a mapping of keys and values [tosca.wrong-type]"}},
		{"map", "x: [a]", 0, []string{"f.yaml:1:4: this must be a mapping of keys and values [tosca.wrong-type]"}},
		{"list", "x: [a, b]", 2, nil},
		{"list", "x: null", 0, nil},
		{"list", "x: a", 0, []string{"f.yaml:1:4: this must be a list [tosca.wrong-type]"}},
		{"list", "x: {a: b}", 0, []string{"f.yaml:1:4: this must be a list [tosca.wrong-type]"}},
		{"named", "x: {a: b, c: d}", 2, nil},
		{"named", "x:\n- a: b\n- \n- c: d\n", 2, nil},
		{"named", "x:\n- a: b\n- c:d\n", 1, []string{"f.yaml:3:3: this must be a mapping of keys and values; expected \"c: d\", with a space after the colon [tosca.wrong-type]"}},
		{"named", "x:\n- [a]\n- http://a b\n", 0, []string{"f.yaml:2:3: this must be a mapping of keys and values [tosca.wrong-type]",
			"f.yaml:3:3: this must be a mapping of keys and values [tosca.wrong-type]"}},
		{"named", "m: &m 1\nx: {<<: *m, a: b}", 1, []string{"f.yaml:1:4: this must be a mapping of keys and values [tosca.wrong-type]"}},
	} {
		parser := yamltree.NewParser(&report.Report{})
		parser.Misfits = &report.Report{}
		n := parser.Parse("f.yaml", []byte(tt.yaml)).Get("x")
		for range 3 { // a node that is read again is reported once
			if got := read[tt.as](n); got != tt.read {
				t.Errorf("%q as %s: %d entries, want %d", tt.yaml, tt.as, got, tt.read)
			}
		}
		var got []string
		if list, failed := parser.Misfits.Err().(problem.List); failed { //nolint:errorlint // Err documents this type
			for _, p := range list {
				got = append(got, p.Error())
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q as %s (-want +got):\n%s", tt.yaml, tt.as, diff)
		}
	}
}
