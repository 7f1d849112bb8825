package hot

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Differences compares t with the template and the files of a stack, and returns the names of the entries that differ or
// that only one of the two has. "resources.worker" is an entry of the base HOT, "worker.yaml: resources.server" an entry
// of a nested template. "worker.yaml" alone is a file that the stack does not have, whose content differs, or that is not
// a template there; "base HOT" alone says that top is not a template. Differences compares parameters, conditions and
// resources. It ignores descriptions, outputs, the sizes of groups, and files that t does not refer to.
func (t *Template) Differences(top string, files map[string]string) []string {
	out := t.differences(t.root, "base HOT", top)
	for i := range out {
		out[i] = strings.TrimPrefix(out[i], "base HOT: ")
	}
	for _, name := range slices.Sorted(maps.Keys(t.files)) {
		f := t.files[name]
		text, there := files[name]
		switch {
		case !there || f.root == nil && string(f.text) != text:
			out = append(out, name)
		case f.root != nil:
			out = append(out, t.differences(f.root, name, text)...)
		}
	}
	return out
}

// differences compares a template with the text of another one, section by section.
func (t *Template) differences(mine *yaml.Node, name, text string) []string {
	other := &file{path: name, text: []byte(text)}
	if t.parse(other) != nil {
		return []string{name}
	}
	var out []string
	for _, section := range []string{"parameters", "conditions", "resources"} {
		a, b := entries(get(mine, section)), entries(get(other.root, section))
		both := maps.Clone(a)
		maps.Copy(both, b)
		for _, entry := range slices.Sorted(maps.Keys(both)) {
			if !reflect.DeepEqual(a[entry], b[entry]) {
				out = append(out, name+": "+section+"."+entry)
			}
		}
	}
	return out
}

// entries returns the values of a section, without descriptions and sizes of groups. Equal values have the same form
// whether they were written as YAML or as JSON.
func entries(section *yaml.Node) map[string]any {
	out, _ := plain(section).(map[string]any)
	if out == nil {
		out = map[string]any{}
	}
	return out
}

func plain(n *yaml.Node) any {
	if n == nil {
		return nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		out := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if key := n.Content[i].Value; key != "description" {
				out[key] = plain(n.Content[i+1])
			}
		}
		if properties, ok := out["properties"].(map[string]any); ok {
			delete(properties, capacityKeys[text(get(n, "type"))].number)
		}
		return out
	case yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for i, item := range n.Content {
			out[i] = plain(item)
		}
		return out
	}
	return plainScalar(n)
}

// plainScalar returns a scalar as a string, read as Heat reads it: as YAML 1.1, and dates as strings.
func plainScalar(n *yaml.Node) string {
	switch strings.ToLower(n.Value) {
	case "yes", "on":
		return "true"
	case "no", "off":
		return "false"
	}
	var value any
	if n.ShortTag() == "!!timestamp" || n.Decode(&value) != nil || value == nil {
		return n.Value
	}
	return fmt.Sprint(value)
}
