package tosca

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// maxCount is the largest number of instances, steps or processors believed.
const maxCount = 1_000_000

// values reads typed values of one topology and reports those of another kind.
// Values that are functions without a result here count as not given, only text
// shows them.
type values struct {
	topo   *topology
	report *report.Report
}

// text reads a string; a function is rendered as it stands.
func (v values) text(n *yamltree.Node) string {
	n = v.topo.eval(n)
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

// texts reads a list of strings; a single string is a list of one.
func (v values) texts(n *yamltree.Node) []string {
	n = v.topo.eval(n)
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

// count reads a number that is not negative; absent is what it is when not given.
func (v values) count(n *yamltree.Node, absent int) int {
	n = v.topo.eval(n)
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

// boolean reads true or false; false when not given.
func (v values) boolean(n *yamltree.Node) bool {
	n = v.topo.eval(n)
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

var sizeForm = regexp.MustCompile(`^(-?[0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)$`)

// sizeUnits are those of scalar-unit.size, whose case TOSCA ignores.
var sizeUnits = map[string]float64{
	"b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}

// bytes reads a scalar-unit.size; 0 when not given. A number without a unit is
// taken for bytes, with a warning.
func (v values) bytes(n *yamltree.Node) int64 {
	n = v.topo.eval(n)
	if n == nil || isFunction(n) {
		return 0
	}
	m := sizeForm.FindStringSubmatch(strings.TrimSpace(n.Str()))
	if m == nil {
		v.report.Errorf(n.Pos, problem.Type, "this must be a size such as \"4 GB\"")
		return 0
	}
	factor, known := sizeUnits[strings.ToLower(m[2])]
	switch {
	case m[2] == "":
		factor = 1
		v.report.Warnf(n.Pos, problem.Type, "a size needs a unit, this is taken for bytes")
	case !known:
		v.report.Errorf(n.Pos, problem.Type, "%q is no unit of size; known are B, kB, MB, GB, TB, KiB, MiB, GiB and TiB", m[2])
		return 0
	}
	number, err := strconv.ParseFloat(m[1], 64)
	size := math.Round(number * factor)
	switch {
	case size < 0:
		v.report.Errorf(n.Pos, problem.Negative, "a size must not be negative")
		return 0
	case err != nil || size > 1<<62:
		v.report.Errorf(n.Pos, problem.Type, "this size is too large")
		return 0
	}
	return int64(size)
}

var timeForm = regexp.MustCompile(`^(-?[0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)$`)

// timeUnits are those of scalar-unit.time, whose case TOSCA ignores.
var timeUnits = map[string]float64{
	"d": 86400e9, "h": 3600e9, "m": 60e9, "s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1,
}

// duration reads a scalar-unit.time; 0 when not given.
func (v values) duration(n *yamltree.Node) time.Duration {
	n = v.topo.eval(n)
	if n == nil || isFunction(n) {
		return 0
	}
	m := timeForm.FindStringSubmatch(strings.TrimSpace(n.Str()))
	if m == nil || timeUnits[strings.ToLower(m[2])] == 0 {
		v.report.Errorf(n.Pos, problem.Type, "this must be a time such as \"30 s\"; units are d, h, m, s, ms, us and ns")
		return 0
	}
	number, err := strconv.ParseFloat(m[1], 64)
	length := math.Round(number * timeUnits[strings.ToLower(m[2])])
	switch {
	case length < 0:
		v.report.Errorf(n.Pos, problem.Negative, "a time must not be negative")
		return 0
	case err != nil || length > 1<<62:
		v.report.Errorf(n.Pos, problem.Type, "this time is too long")
		return 0
	}
	return time.Duration(length)
}

// value reads what the model keeps as it is: texts, numbers and truth values,
// lists ([]any) and mappings (map[string]any).
func (v values) value(n *yamltree.Node) any {
	n = v.topo.eval(n)
	switch {
	case n == nil:
		return nil
	case isFunction(n):
		return n.Flow()
	case n.Kind == yamltree.Mapping:
		fields := make(map[string]any, len(n.Fields))
		for _, f := range n.Fields {
			fields[f.Key] = v.value(f.Value)
		}
		return fields
	case n.Kind == yamltree.Sequence:
		items := make([]any, len(n.Items))
		for i, item := range n.Items {
			items[i] = v.value(item)
		}
		return items
	}
	return scalar(n)
}

// scalar is a scalar as its YAML tag says; numbers too large for that stay texts.
func scalar(n *yamltree.Node) any {
	switch n.Tag {
	case "!!bool":
		return strings.EqualFold(n.Text, "true")
	case "!!int":
		if i, err := strconv.ParseInt(n.Text, 0, 64); err == nil {
			return i
		}
	case "!!float":
		if f, err := strconv.ParseFloat(n.Text, 64); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f
		}
	}
	return n.Text
}
