package grammar

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// operators are the operators of constraint clauses (TOSCA Simple Profile 1.3, 3.6.3).
var operators = []string{
	"equal", "greater_than", "greater_or_equal", "less_than", "less_or_equal", "in_range",
	"valid_values", "length", "min_length", "max_length", "pattern", "schema",
}

// constraints checks a value against constraint clauses. The type of the value must have been checked.
func (v *validator) constraints(n *yamltree.Node, kind string, clauses *yamltree.Node) {
	for _, c := range clauses.Named() {
		if !v.spend(1) {
			return
		}
		if c.Value.Present() == nil || v.satisfies(n, kind, c.Key, c.Value) {
			continue
		}
		p := problem.Problem{
			Position: n.Pos, Code: problem.Value,
			Message:  fmt.Sprintf("the value %s is not allowed", shown(n)),
			Expected: c.Key + " " + c.Value.Flow(),
		}
		switch {
		case c.Key == "valid_values" && v.nearestValue(n, c.Value.List(), &p):
			v.deviation(problem.ValueCase, p)
		case c.Key == "valid_values" && v.ofIdentifier:
			v.deviation(problem.OtherIdentifiers, p)
		default:
			v.add(p)
		}
	}
}

// nearestValue adds the nearest valid value to the problem of an invalid value. It returns true if the two differ only
// in case.
func (v *validator) nearestValue(n *yamltree.Node, allowed []*yamltree.Node, p *problem.Problem) bool {
	var texts []string
	for _, a := range allowed {
		v.spend(1)
		if strings.EqualFold(a.Str(), n.Str()) {
			p.Nearest = a.Str()
			return true
		}
		texts = append(texts, a.Str())
	}
	p.Nearest = problem.Nearest(n.Str(), texts)
	return false
}

// satisfies evaluates one clause. If the value cannot be compared, it returns true: a clause that does not fit the type is not
// a fault of the value.
func (v *validator) satisfies(n *yamltree.Node, kind, operator string, limit *yamltree.Node) bool {
	switch operator {
	case "equal":
		return same(n, limit, kind)
	case "valid_values":
		for _, a := range limit.List() {
			if !v.spend(1) || same(n, a, kind) {
				return true
			}
		}
		return len(limit.List()) == 0
	case "in_range":
		items := limit.List()
		if len(items) != 2 {
			return true
		}
		low, high := items[0], items[1]
		below, comparable := compare(n, low, kind)
		above, comparable2 := compare(n, high, kind)
		return (!comparable || below >= 0) && (!comparable2 || above <= 0)
	case "length", "min_length", "max_length":
		return lengthOf(n, operator, limit)
	case "pattern":
		return n.Kind != yamltree.Scalar || v.matches(limit.Str(), n.Text)
	}
	order, comparable := compare(n, limit, kind)
	if !comparable {
		return true
	}
	switch operator {
	case "greater_than":
		return order > 0
	case "greater_or_equal":
		return order >= 0
	case "less_than":
		return order < 0
	case "less_or_equal":
		return order <= 0
	}
	return true
}

func same(a, b *yamltree.Node, kind string) bool {
	if a.Kind != yamltree.Scalar || b == nil || b.Kind != yamltree.Scalar {
		return true
	}
	if kind == "boolean" {
		return strings.EqualFold(a.Text, b.Text)
	}
	if order, comparable := compare(a, b, kind); comparable {
		return order == 0
	}
	return a.Text == b.Text
}

// compare orders two values of a type that has an order.
func compare(a, b *yamltree.Node, kind string) (order int, comparable bool) {
	if kind == "version" {
		return compareVersions(a.Str(), b.Str()), a.Str() != "" && b.Str() != ""
	}
	x, ok1 := number(a, kind)
	y, ok2 := number(b, kind)
	return cmp.Compare(x, y), ok1 && ok2
}

// number returns a number, or a scalar-unit in its base unit.
func number(n *yamltree.Node, kind string) (float64, bool) {
	text := strings.TrimSpace(n.Str())
	switch {
	case text == "UNBOUNDED":
		return math.Inf(1), true
	case kind == "integer":
		i, err := strconv.ParseInt(text, 0, 64)
		return float64(i), err == nil
	case kind == "float":
		f, err := strconv.ParseFloat(text, 64)
		return f, err == nil
	}
	if units[kind] == nil {
		return 0, false
	}
	m := unitForm.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	factor, known := unit(kind, m[2])
	f, err := strconv.ParseFloat(m[1], 64)
	return f * factor, known && err == nil
}

func compareVersions(a, b string) int {
	x, y := strings.FieldsFunc(a, isVersionSeparator), strings.FieldsFunc(b, isVersionSeparator)
	for i := range max(len(x), len(y)) {
		var p, q int
		if i < len(x) {
			p, _ = strconv.Atoi(x[i])
		}
		if i < len(y) {
			q, _ = strconv.Atoi(y[i])
		}
		if p != q {
			return cmp.Compare(p, q)
		}
	}
	return 0
}

func isVersionSeparator(r rune) bool { return r == '.' || r == '-' }

func lengthOf(n *yamltree.Node, operator string, limit *yamltree.Node) bool {
	want, err := strconv.Atoi(limit.Str())
	if err != nil {
		return true
	}
	length := len(n.Items) + len(n.Fields)
	if n.Kind == yamltree.Scalar {
		length = utf8.RuneCountInString(n.Text)
	}
	switch operator {
	case "min_length":
		return length >= want
	case "max_length":
		return length <= want
	}
	return length == want
}

// bounds returns the bounds of a range. UNBOUNDED counts as the largest number.
func bounds(n *yamltree.Node) (lower, upper int, ok bool) {
	if !n.Is(yamltree.Sequence) || len(n.Items) != 2 {
		return 0, 0, false
	}
	items := n.Items
	lower, err := strconv.Atoi(items[0].Str())
	if err != nil {
		return 0, 0, false
	}
	if strings.EqualFold(items[1].Str(), "UNBOUNDED") {
		return lower, math.MaxInt, true
	}
	upper, err = strconv.Atoi(items[1].Str())
	return lower, upper, err == nil
}
