package yamltree_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
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

// TestField looks up keys in small mappings, which are searched linearly, and in large mappings, which are indexed.
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
				t.Errorf("%d fields: k%d is %q", size, i, got)
			}
		}
		f, ok := n.Field("last")
		if !ok || !n.Has("last") || n.Get("last") != nil || f.Key != "last" || f.Pos.Line != size+4 {
			t.Errorf("%d fields: the field with a null value is %v, %v", size, f, ok)
		}
		if n.Get("other").Str() != "theirs" || n.Has("none") || n.Get("none") != nil {
			t.Errorf("%d fields: merged or absent fields are wrong", size)
		}
	}
}

func TestNothing(t *testing.T) {
	var n *yamltree.Node
	if n.Get("a") != nil || n.Path("a", "b") != nil || n.Has("a") || n.Map() != nil || n.List() != nil ||
		n.Str() != "" || n.Present() != nil || len(n.Named()) != 0 || n.Flow() != "null" {
		t.Error("an absent node has fields, items or text")
	}
	if _, ok := parse(t, "[a]").Field("a"); ok {
		t.Error("a sequence has a field")
	}
}

// TestTexts checks errors and warnings for files that other readers would read differently.
func TestTexts(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"one document", "a: b\n", ""},
		{"with its marks", "%YAML 1.1\n---\na: b\n...\n# end\n", ""},
		{"a second document", "a: b\n---\nc: d\n", "f.yaml:2:1 yaml.second-document"},
		{"an empty second document", "a: b\n---\n", "f.yaml:2:1 yaml.second-document?"},
		{"more behind the end", "a: b\n...\nc: d\n", "f.yaml:2:1 yaml.syntax"},
		{"a fault in the second document", "a: b\n---\n{\n", "f.yaml:3:1 yaml.syntax"},
		{"many directives", strings.Repeat("%TAG !e! tag:x,2000:\n", 20) + "---\na: b\n", "f.yaml csar.too-large"},
		{"override in a key", "a\u202eb: c\n", "f.yaml:1:1 yaml.bidirectional-text?"},
		{"isolate in a value", "a: \"b\u2066c\"\n", "f.yaml:1:4 yaml.bidirectional-text?"},
		{"escaped", `a: "b\u202Ec"`, "f.yaml:1:4 yaml.bidirectional-text?"},
		{"letters from right to left", "a: \u05d0\u05d1\n", ""},
	} {
		r := &report.Report{}
		yamltree.NewParser(r).Parse("f.yaml", []byte(tt.text))
		got := ""
		for _, p := range problemsOf(r) {
			got += p.Position.String() + " " + string(p.Code)
		}
		for _, w := range r.Warnings() {
			got += w.Position.String() + " " + string(w.Code) + "?"
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, h := range hostile {
		f.Add(h.make(500))
	}
	f.Add("a: &a [*a]\n<<: *a\n")
	f.Add("a: b\n---\n\u202ec: d\n")
	f.Fuzz(func(t *testing.T, text string) {
		r := &report.Report{}
		root := yamltree.NewParser(r).Parse("f.yaml", []byte(text))
		if len(root.Flow()) > 1<<20+len(text) {
			t.Errorf("Flow returns %d bytes", len(root.Flow()))
		}
		for _, p := range append(r.Warnings(), problemsOf(r)...) {
			if p.File != "f.yaml" || p.Message == "" {
				t.Errorf("a problem lacks its file or message: %#v", p)
			}
		}
	})
}

// problemsOf returns the errors of a report.
func problemsOf(r *report.Report) problem.List {
	var list problem.List
	_ = errors.As(r.Err(), &list)
	return list
}
