package grammar

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// scalarTypes maps the scalar types of YAML and TOSCA to the description of a valid value (TOSCA Simple Profile 1.3,
// 3.3).
var scalarTypes = map[string]string{
	"string":                "a text",
	"integer":               "a whole number",
	"float":                 "a number",
	"boolean":               "true or false",
	"timestamp":             "a time such as 2024-02-29T12:00:00Z",
	"version":               "a version such as 1.2 or 1.2.3.beta-4",
	"range":                 "a range such as [1, 4] or [1, UNBOUNDED]",
	"scalar-unit.size":      "a size such as \"4 GB\"",
	"scalar-unit.time":      "a time such as \"10 s\"",
	"scalar-unit.frequency": "a frequency such as \"2.4 GHz\"",
	"scalar-unit.bitrate":   "a bitrate such as \"10 Mbps\"",
}

func isScalarType(kind string) bool { return scalarTypes[kind] != "" }

// isPrimitive reports whether a type is built into TOSCA or YAML.
func isPrimitive(kind string) bool {
	kind = primitiveName(kind)
	return kind == "list" || kind == "map" || isScalarType(kind)
}

// primitiveName returns the short form of the qualified name of a primitive type: version for tosca:version.
func primitiveName(kind string) string { return strings.TrimPrefix(kind, toscaPrefix) }

// units maps the scalar-unit types to their units in lower case and the factors of the units. TOSCA ignores case in units of
// size, and packages write all units in any case. The function unit distinguishes Mbps from MBps.
var units = map[string]map[string]float64{
	"scalar-unit.size": {
		"b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
		"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
	},
	"scalar-unit.time": {
		"d": 86400, "h": 3600, "m": 60, "s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9,
	},
	"scalar-unit.frequency": {"hz": 1, "khz": 1e3, "mhz": 1e6, "ghz": 1e9},
	"scalar-unit.bitrate": {
		"bps": 1, "kbps": 1e3, "mbps": 1e6, "gbps": 1e9, "tbps": 1e12,
		"kibps": 1 << 10, "mibps": 1 << 20, "gibps": 1 << 30, "tibps": 1 << 40,
	},
}

var (
	versionForm = regexp.MustCompile(`^[0-9]+(\.[0-9]+(\.[0-9]+(\.[A-Za-z0-9_]+(-[0-9]+)?)?)?)?$`)
	unitForm    = regexp.MustCompile(`^(-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)\s*([A-Za-z]*)$`)
)

// scalar checks a value of a scalar type.
func (v *validator) scalar(n *yamltree.Node, kind string) bool {
	if kind == "range" {
		return v.rangeOf(n)
	}
	if n.Kind != yamltree.Scalar {
		v.wrongType(n, kind)
		return false
	}
	switch kind {
	case "string":
		if n.Tag != "!!str" {
			v.deviation(problem.UnquotedText, v.typeProblem(n, kind))
		}
	case "integer", "float", "boolean":
		return v.plain(n, kind)
	case "version":
		if !versionForm.MatchString(n.Text) {
			v.wrongType(n, kind)
			return false
		}
	case "timestamp":
		if n.Tag != "!!timestamp" && !isTime(n.Text) {
			v.wrongType(n, kind)
			return false
		}
	default:
		return v.scalarUnit(n, kind)
	}
	return true
}

// plain checks numbers and booleans. A quoted value, and a boolean of YAML 1.1 such as yes, is a deviation with the quirk
// QuotedValue.
func (v *validator) plain(n *yamltree.Node, kind string) bool {
	switch {
	case kind == "integer" && n.Tag == "!!int",
		kind == "float" && (n.Tag == "!!float" || n.Tag == "!!int"),
		kind == "boolean" && n.Tag == "!!bool":
		return true
	}
	text := strings.TrimSpace(n.Text)
	var err error
	switch kind {
	case "integer":
		_, err = strconv.ParseInt(text, 0, 64)
	case "float":
		_, err = strconv.ParseFloat(text, 64)
	case "boolean":
		switch strings.ToLower(text) {
		case "true", "false", "yes", "no", "on", "off":
		default:
			err = strconv.ErrSyntax
		}
	}
	if err != nil {
		v.wrongType(n, kind)
		return false
	}
	v.deviation(problem.QuotedValue, v.typeProblem(n, kind))
	return true
}

func (v *validator) scalarUnit(n *yamltree.Node, kind string) bool {
	m := unitForm.FindStringSubmatch(strings.TrimSpace(n.Text))
	if m == nil {
		v.wrongType(n, kind)
		return false
	}
	if m[2] == "" {
		v.deviation(problem.MissingUnit, v.typeProblem(n, kind))
		return false
	}
	if _, known := unit(kind, m[2]); !known {
		v.wrongType(n, kind)
		return false
	}
	return true
}

// unit returns the factor of a unit. The suffix Bps means bytes per second, bps means bits per second.
func unit(kind, name string) (float64, bool) {
	factor, known := units[kind][strings.ToLower(name)]
	if kind == "scalar-unit.bitrate" && strings.HasSuffix(name, "Bps") {
		factor *= 8
	}
	return factor, known
}

// rangeOf checks [lower, upper].
func (v *validator) rangeOf(n *yamltree.Node) bool {
	if lower, upper, ok := bounds(n); !ok || lower > upper {
		v.wrongType(n, "range")
		return false
	}
	return true
}

func (v *validator) wrongType(n *yamltree.Node, kind string) { v.add(v.typeProblem(n, kind)) }

func (v *validator) typeProblem(n *yamltree.Node, kind string) problem.Problem {
	return problem.Problem{
		Position: n.Pos, Code: problem.Type,
		Message:  "the value " + shown(n) + " is no " + kind,
		Expected: scalarTypes[kind],
	}
}

// shown returns a value as messages name it. An empty text is quoted.
func shown(n *yamltree.Node) string { return cmp.Or(n.Flow(), `""`) }

func isTime(text string) bool {
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02", "2006-1-2",
		"2006-01-02t15:04:05.999999999Z07:00", "2006-1-2 15:4:5.999999999 -7",
	} {
		if _, err := time.Parse(layout, strings.TrimSpace(text)); err == nil {
			return true
		}
	}
	return false
}
