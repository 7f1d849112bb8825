package tosca

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// maxCount limits numbers of instances, steps and processors.
const maxCount = 1_000_000

// values reads typed values of one topology and reports values of the wrong type. A function that the descriptor cannot resolve
// counts as an absent value; only text returns its expression.
type values struct {
	topo   *topology
	report *report.Report
	self   template // the template that SELF refers to
}

// valuesOf returns values for a topology with its VNF node as SELF.
func valuesOf(t *topology) values {
	n, _ := t.vnf()
	return values{t, t.report, n}
}

// eval evaluates n if n is a function.
func (v values) eval(n *yamltree.Node) *yamltree.Node { return v.topo.eval(n, v.self) }

// path is Node.Path that also evaluates functions on the path.
func (v values) path(n *yamltree.Node, keys ...string) *yamltree.Node {
	n = v.eval(n)
	for _, key := range keys {
		n = v.eval(n.Get(key))
	}
	return n
}

// fields returns the fields of a mapping, which may be the value of an expression.
func (v values) fields(n *yamltree.Node) []yamltree.Field {
	if n = v.eval(n); isFunction(n) {
		return nil
	}
	return n.Map()
}

// items returns the items of a list, which may be the value of an expression.
func (v values) items(n *yamltree.Node) []*yamltree.Node {
	if n = v.eval(n); isFunction(n) {
		return nil
	}
	return n.List()
}

// text reads a string. For a function that the descriptor cannot resolve, it returns the expression as text.
func (v values) text(n *yamltree.Node) string {
	n = v.eval(n)
	switch {
	case n == nil:
		return ""
	case n.Kind == yamltree.Scalar:
		return n.Text
	case isFunction(n):
		return n.Flow()
	}
	v.report.Errorf(n.Pos, problem.Type, "this must be a text")
	return ""
}

// texts reads a list of strings. A single string counts as a list with one element.
func (v values) texts(n *yamltree.Node) []string {
	n = v.eval(n)
	switch {
	case n == nil || isFunction(n):
		return nil
	case n.Kind == yamltree.Scalar:
		return []string{n.Text}
	case n.Kind != yamltree.Sequence:
		v.report.Errorf(n.Pos, problem.Type, "this must be a list")
		return nil
	}
	var list []string
	for _, item := range n.Items {
		if text := v.text(item); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// count reads a number that is not negative. It returns absent for an absent value.
func (v values) count(n *yamltree.Node, absent int) int {
	n = v.eval(n)
	if n == nil || isFunction(n) {
		return absent
	}
	number, err := strconv.Atoi(n.Str())
	switch {
	case err != nil || number > maxCount:
		v.report.Errorf(n.Pos, problem.Type, "this must be a whole number of at most %d", maxCount)
		return absent
	case number < 0:
		v.report.Errorf(n.Pos, problem.Negative, "this must not be negative")
		return absent
	}
	return number
}

// boolean reads a boolean. An absent value is false.
func (v values) boolean(n *yamltree.Node) bool {
	n = v.eval(n)
	if n == nil || isFunction(n) {
		return false
	}
	switch strings.ToLower(n.Str()) {
	case "true", "yes":
		return true
	case "false", "no":
		return false
	}
	v.report.Errorf(n.Pos, problem.Type, "this must be true or false")
	return false
}

// choice reads a boolean. It returns nil for an absent value.
func (v values) choice(n *yamltree.Node) *bool {
	n = v.eval(n)
	if n == nil || isFunction(n) {
		return nil
	}
	chosen := v.boolean(n)
	return &chosen
}

// textMap reads a mapping of texts. It returns nil for an absent value.
func (v values) textMap(n *yamltree.Node) map[string]string {
	n = v.eval(n)
	if n == nil || isFunction(n) {
		return nil
	}
	if n.Kind != yamltree.Mapping {
		v.report.Errorf(n.Pos, problem.Type, "this must be a mapping")
		return nil
	}
	texts := make(map[string]string, len(n.Fields))
	for _, f := range n.Fields {
		texts[f.Key] = v.text(f.Value)
	}
	return texts
}

// sortedFields orders fields by their keys.
func sortedFields(fields []yamltree.Field) []yamltree.Field {
	return slices.SortedStableFunc(slices.Values(fields), func(x, y yamltree.Field) int { return cmp.Compare(x.Key, y.Key) })
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
