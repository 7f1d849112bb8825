package tosca

import (
	"math"
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
)

// value converts a node to a Go value: a text, a number, a boolean, a list ([]any) or a mapping (map[string]any).
func (v values) value(n *yamltree.Node) any {
	n = v.eval(n)
	switch {
	case n == nil || !v.topo.spend(n, 1):
		return nil
	case isFunction(n):
		return n.Flow()
	case n.Kind == yamltree.Mapping && v.topo.spend(n, 3): // the memory of a map
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

// scalar converts a scalar to the type of its YAML tag. A number that is too large for the type stays a text.
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

// mapping is value for mappings. It returns nil for other nodes and for an empty mapping.
func (v values) mapping(n *yamltree.Node) map[string]any {
	fields, _ := v.value(n).(map[string]any)
	if len(fields) == 0 {
		return nil
	}
	return fields
}
