package inventory

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Parse reads a YAML inventory and the variables files below group_vars beside it. See [INI.Parse].
func (g YAML) Parse(files []File) (Inventory, error) { return parseFiles(files, g.Options, parseYAML) }

func parseYAML(content []byte) (*tree, error) {
	root, err := documentOf(content)
	if err != nil {
		return nil, err
	}
	p := yamlParser{tree: newTree()}
	return p.tree, p.groups(root, 0, nil)
}

// documentOf returns the node of the only document.
func documentOf(content []byte) (*yaml.Node, error) {
	if len(content) > maxBytes {
		return nil, fmt.Errorf("is larger than %d bytes", maxBytes)
	}
	var doc, second yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(content))
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return null(), nil
	case err != nil:
		return nil, err
	}
	if err := d.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, errors.New("must be one YAML document")
	}
	return doc.Content[0], nil
}

type yamlParser struct {
	*tree
	values valueReader
}

// groups reads a map of groups by name and calls each with their names.
func (p *yamlParser) groups(n *yaml.Node, depth int, each func(name string)) error {
	return p.values.entries(n, depth, func(key string, value *yaml.Node) error {
		p.group(key)
		if each != nil {
			each(key)
		}
		return p.values.entries(value, depth+1, func(part string, content *yaml.Node) error {
			switch part {
			case "children":
				return p.groups(content, depth+2, func(child string) {
					g := p.group(key)
					g.children = append(g.children, child)
				})
			case "hosts":
				return p.values.entries(content, depth+2, func(pattern string, vars *yaml.Node) error { return p.host(key, pattern, vars, depth+3) })
			case "vars":
				return p.values.entries(content, depth+2, func(name string, value *yaml.Node) error {
					v, err := p.values.read(value, depth+3)
					p.group(key).vars[name] = v
					return err
				})
			}
			return nil // Ansible leaves others alone, with a warning
		})
	})
}

func (p *yamlParser) host(group, pattern string, vars *yaml.Node, depth int) error {
	names, port, err := expandHosts(pattern, maxHosts)
	if err != nil {
		return err
	}
	read := map[string]any{}
	if port != 0 {
		read[varPort] = port
	}
	err = p.values.entries(vars, depth, func(name string, value *yaml.Node) (err error) {
		read[name], err = p.values.read(value, depth+1)
		return err
	})
	if err != nil {
		return err
	}
	return p.addHosts(group, names, read)
}

// readYAML returns the plain value of a document.
func readYAML(content []byte) (any, error) {
	n, err := documentOf(content)
	if err != nil {
		return nil, err
	}
	var r valueReader
	return r.read(n, 0)
}

// valueReader reads values as Ansible's loader does: YAML 1.1. It counts them, since an alias multiplies what it stands for.
type valueReader struct{ count int }

func (r *valueReader) enter(n *yaml.Node, depth int) (*yaml.Node, error) {
	if r.count++; r.count > maxValues {
		return nil, fmt.Errorf("has more than %d values", maxValues)
	}
	if depth > deepest {
		return nil, fmt.Errorf("line %d: is nested more than %d deep", n.Line, deepest)
	}
	if n.Kind == yaml.AliasNode {
		return n.Alias, nil
	}
	return n, nil
}

// entries calls each for the entries of a map. Nothing is an empty map, and a string a map of it to nothing.
func (r *valueReader) entries(n *yaml.Node, depth int, each func(key string, value *yaml.Node) error) error {
	n, err := r.enter(n, depth)
	switch {
	case err != nil:
		return err
	case n.Kind == yaml.ScalarNode && (n.ShortTag() == "!!null" || n.Value == ""):
		return nil
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str":
		return each(n.Value, null())
	case n.Kind != yaml.MappingNode:
		return fmt.Errorf("line %d: must be a map", n.Line)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, err := r.enter(n.Content[i], depth)
		switch {
		case err != nil:
			return err
		case key.Kind != yaml.ScalarNode:
			return fmt.Errorf("line %d: a key must be a string", key.Line)
		case key.ShortTag() == "!!merge":
			return fmt.Errorf("line %d: merge keys (<<) are not supported", key.Line)
		}
		if err := each(key.Value, n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (r *valueReader) read(n *yaml.Node, depth int) (any, error) {
	n, err := r.enter(n, depth)
	if err != nil {
		return nil, err
	}
	switch n.Kind {
	case yaml.ScalarNode:
		return scalar(n)
	case yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for i, each := range n.Content {
			if out[i], err = r.read(each, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	case yaml.MappingNode:
		out := map[string]any{}
		return out, r.entries(n, depth, func(key string, value *yaml.Node) (err error) {
			out[key], err = r.read(value, depth+1)
			return err
		})
	}
	return nil, errors.New("is no YAML value")
}

var (
	yamlInt   = regexp.MustCompile(`^[-+]?(0b[01_]+|0[0-7_]+|(0|[1-9][0-9_]*)|0x[0-9a-fA-F_]+)$`)
	yamlFloat = regexp.MustCompile(`^[-+]?([0-9][0-9_]*\.[0-9_]*([eE][-+][0-9]+)?|\.[0-9][0-9_]*([eE][-+][0-9]+)?)$`)
	yamlSixty = regexp.MustCompile(`^[-+]?[1-9][0-9_]*(:[0-5]?[0-9])+$`)
)

// scalar resolves as YAML 1.1 says, https://yaml.org/type/, which PyYAML follows.
func scalar(n *yaml.Node) (any, error) {
	switch n.Tag {
	case "!unsafe":
		return n.Value, nil
	case "!vault", "!vault-encrypted":
		return encrypted(n.Value), nil
	}
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 || n.Style&yaml.TaggedStyle != 0 && n.ShortTag() == "!!str" {
		return dataOrTemplate(n.Value), nil
	}
	switch text := n.Value; {
	case text == "" || text == "~" || strings.EqualFold(text, "null") && strings.Contains("null Null NULL", text):
		return nil, nil //nolint:nilnil // null is a value
	case strings.Contains(" yes Yes YES true True TRUE on On ON ", " "+text+" "):
		return true, nil
	case strings.Contains(" no No NO false False FALSE off Off OFF ", " "+text+" "):
		return false, nil
	case yamlInt.MatchString(text):
		digits := strings.ReplaceAll(text, "_", "")
		if i, err := strconv.ParseInt(digits, 0, 64); err == nil {
			return i, nil
		}
		if u, err := strconv.ParseUint(strings.TrimPrefix(digits, "+"), 0, 64); err == nil {
			return u, nil
		}
	case yamlFloat.MatchString(text):
		if f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64); err == nil {
			return f, nil
		}
	case yamlSixty.MatchString(text):
		return sixty(text), nil
	}
	return dataOrTemplate(n.Value), nil
}

// sixty reads a number to the base of 60: 1:30 is 90.
func sixty(text string) any {
	sign := int64(1)
	if text[0] == '-' {
		sign = -1
	}
	var out int64
	for _, part := range strings.Split(strings.ReplaceAll(strings.TrimLeft(text, "+-"), "_", ""), ":") {
		digit, err := strconv.ParseInt(part, 10, 32)
		if err != nil || out > 1<<50 {
			return dataOrTemplate(text)
		}
		out = out*60 + digit
	}
	return sign * out
}
