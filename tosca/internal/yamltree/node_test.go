package yamltree_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
)

func parse(t *testing.T, text string) *yamltree.Node {
	t.Helper()
	r := &report.Report{}
	n := yamltree.NewParser(r).Parse("f.yaml", []byte(text))
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestField looks keys up in mappings of all sizes, which are searched in two ways.
func TestField(t *testing.T) {
	for _, size := range []int{0, 1, 15, 16, 17, 300} {
		var text strings.Builder
		text.WriteString("merged: &m {last: own, other: theirs}\nmap:\n  <<: *m\n")
		for i := range size {
			fmt.Fprintf(&text, "  k%d: v%d\n", i, i)
		}
		text.WriteString("  last: null\n")
		n := parse(t, text.String()).Get("map")
		for i := range size {
			if got := n.Get(fmt.Sprintf("k%d", i)).Str(); got != fmt.Sprintf("v%d", i) {
				t.Errorf("of %d fields, k%d is %q", size, i, got)
			}
		}
		f, ok := n.Field("last")
		if !ok || !n.Has("last") || n.Get("last") != nil || f.Key != "last" || f.Pos.Line != size+4 {
			t.Errorf("of %d fields, the null is %v, %v", size, f, ok)
		}
		if n.Get("other").Str() != "theirs" || n.Has("none") || n.Get("none") != nil {
			t.Errorf("of %d fields, merged or absent ones are wrong", size)
		}
	}
}

func TestNothing(t *testing.T) {
	var n *yamltree.Node
	if n.Get("a") != nil || n.Path("a", "b") != nil || n.Has("a") || n.Map() != nil || n.List() != nil ||
		n.Str() != "" || n.Present() != nil || len(n.Named()) != 0 || n.Flow() != "null" {
		t.Error("a node that is not there has something")
	}
	if _, ok := parse(t, "[a]").Field("a"); ok {
		t.Error("a sequence has a field")
	}
}
