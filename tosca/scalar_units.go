package tosca

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

var sizeForm = regexp.MustCompile(`^(-?[0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)$`)

// sizeUnits are the units of scalar-unit.size. TOSCA ignores their case.
var sizeUnits = map[string]float64{
	"b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}

// bytes reads a scalar-unit.size. An absent value is 0. A number without a unit counts as bytes, with a warning.
func (v values) bytes(n *yamltree.Node) int64 {
	n = v.eval(n)
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

// timeUnits are the units of scalar-unit.time. TOSCA ignores their case.
var timeUnits = map[string]float64{
	"d": 86400e9, "h": 3600e9, "m": 60e9, "s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1,
}

// duration reads a scalar-unit.time. An absent value is 0.
func (v values) duration(n *yamltree.Node) time.Duration {
	n = v.eval(n)
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

// bitrate reads a number of bits per second. An absent value is 0.
func (v values) bitrate(n *yamltree.Node) int64 {
	n = v.eval(n)
	if n == nil || isFunction(n) {
		return 0
	}
	number, err := strconv.ParseInt(n.Str(), 10, 64)
	switch {
	case err != nil:
		v.report.Errorf(n.Pos, problem.Type, "this must be a number of bits per second")
		return 0
	case number < 0:
		v.report.Errorf(n.Pos, problem.Negative, "this must not be negative")
		return 0
	}
	return number
}
