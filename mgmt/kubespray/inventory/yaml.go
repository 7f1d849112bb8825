package inventory

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Generate implements Generator.
func (g YAML) Generate(inv Inventory) ([]File, error) {
	inv = complete(inv)
	if err := check(inv, g.Options); err != nil {
		return nil, err
	}
	hosts, secrets, values := g.written(inv)
	root := mapping()
	all := mapping()
	add(root, groupAll, all)
	entries := mapping()
	add(all, "hosts", entries)
	for _, h := range hosts {
		add(entries, h.Name, hostNode(h))
	}
	children := mapping()
	add(all, "children", children)
	for _, each := range inv.memberships() {
		members := mapping()
		for _, name := range each.children {
			add(members, name, null())
		}
		group := mapping()
		add(group, "hosts", members)
		add(children, each.name, group)
	}
	for _, each := range inv.Generation.groupTree() {
		below := mapping()
		for _, name := range each.children {
			add(below, name, null())
		}
		group := mapping()
		add(group, "children", below)
		add(children, each.name, group)
	}
	content, err := encodeYAML(root)
	if err != nil {
		return nil, err
	}
	files, err := variablesFiles(inv, g.Options, secrets, values)
	return append([]File{{yamlName, g.inventoryMode(), content}}, files...), err
}

func (g YAML) written(inv Inventory) ([]host, apart, apart) {
	return written(inv.Nodes, g.Options, func(any) bool { return false })
}

// memberships returns the groups that have hosts, with their hosts: first those of the roles in the specification's order,
// then further groups by name.
func (inv Inventory) memberships() []parent {
	var out []parent
	for _, each := range roleGroups {
		p := parent{name: inv.Generation.group(each.group)}
		for _, n := range inv.Nodes {
			if slices.Contains(n.Roles, each.role) {
				p.children = append(p.children, n.Name)
			}
		}
		out = append(out, p)
	}
	further := map[string][]string{}
	for _, n := range inv.Nodes {
		for _, group := range n.Groups {
			further[group] = append(further[group], n.Name)
		}
	}
	for _, group := range slices.Sorted(maps.Keys(further)) {
		out = append(out, parent{group, further[group]})
	}
	return out
}

func hostNode(h host) *yaml.Node {
	if len(h.lines) == 0 {
		return null()
	}
	out := mapping()
	for _, v := range h.lines {
		add(out, v.name, valueNode(v.value))
	}
	return out
}

func mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"} }

func null() *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"} }

func add(to *yaml.Node, key string, value *yaml.Node) {
	to.Content = append(to.Content, textNode(key), value)
}

// valueNode writes a value of a type that plain returns.
func valueNode(value any) *yaml.Node {
	switch v := value.(type) {
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v)}
	case int64, uint64:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: fmt.Sprint(v)}
	case float64:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!float", Value: floatText(v)}
	case Template:
		return textNode(string(v))
	case string:
		n := textNode(v)
		if looksLikeTemplate(v) {
			n.Tag, n.Style = "!unsafe", yaml.DoubleQuotedStyle
		}
		return n
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, each := range v {
			n.Content = append(n.Content, valueNode(each))
		}
		return n
	case map[string]any:
		n := mapping()
		for _, key := range slices.Sorted(maps.Keys(v)) {
			add(n, key, valueNode(v[key]))
		}
		return n
	}
	panic(fmt.Sprintf("inventory: %T is not plain", value))
}

var plainText = regexp.MustCompile(`^([A-Za-z_/][A-Za-z0-9_./@-]*|[0-9]{1,3}(\.[0-9]{1,3}){3})$`)

// textNode writes a string so that PyYAML reads a string. PyYAML reads YAML 1.1, where yes without quotes is a boolean and
// 1:30 the number 90.
func textNode(text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Style: yaml.DoubleQuotedStyle}
	if plainText.MatchString(text) && !slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}, strings.ToLower(text)) {
		n.Style = 0
	}
	return n
}

// floatText writes a number with a decimal point and a sign of the exponent. Without them PyYAML reads a string.
func floatText(v float64) string {
	text := strconv.FormatFloat(v, 'g', -1, 64)
	mantissa, exponent, scientific := strings.Cut(text, "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	if scientific {
		return mantissa + "e" + exponent
	}
	return mantissa
}
