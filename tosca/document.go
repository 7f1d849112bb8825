package tosca

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"gopkg.in/yaml.v3"
)

const (
	// maxDepth is how deep a document may be nested; SOL001 needs about 15.
	maxDepth = 100
	// maxNodes is how many nodes all documents of a VNFD may have together,
	// aliases counted as often as they are used. The ETSI type files have 4000.
	maxNodes = 250_000
)

// parseYAML reads the first document of a YAML file. Faults go to the report;
// the result is nil when nothing can be read. The budget, shared by all files of
// a VNFD, goes down by the number of nodes.
func parseYAML(file string, content []byte, budget *int, r *report) *node {
	var y yaml.Node
	if err := decodeYAML(content, &y); err != nil {
		if !errors.Is(err, io.EOF) {
			r.errorf(yamlPosition(file, err), CodeYAML, "%v", err)
		}
		return nil
	}
	c := converter{file: file, report: r, budget: budget, anchors: map[*yaml.Node]*node{}}
	root := c.convert(&y, 0)
	if c.stopped || root == nil {
		return nil
	}
	if root.height > maxDepth {
		c.stop(&y, CodeTooDeep, "nested more than %d levels deep", maxDepth)
		return nil
	}
	return root.present()
}

// decodeYAML turns a panic of the YAML library, which is no longer maintained,
// into an error: packages come from strangers.
func decodeYAML(content []byte, y *yaml.Node) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("yaml: %v", p)
		}
	}()
	return yaml.NewDecoder(bytes.NewReader(content)).Decode(y)
}

var yamlLine = regexp.MustCompile(`line (\d+)`)

func yamlPosition(file string, err error) Position {
	pos := Position{File: file}
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		pos.Line, _ = strconv.Atoi(m[1]) // digits; an absurd number leaves 0
		pos.Column = 1
	}
	return pos
}

// converter turns yaml.Nodes into nodes. Each anchored node is converted once
// and shared by its aliases; sizes and heights count as if it were copied.
type converter struct {
	file    string
	report  *report
	budget  *int
	anchors map[*yaml.Node]*node // nil while the node is being converted
	stopped bool
}

// stop gives up on the document.
func (c *converter) stop(y *yaml.Node, code, format string, args ...any) {
	if !c.stopped {
		c.report.errorf(c.pos(y), code, format, args...)
	}
	c.stopped = true
}

func (c *converter) pos(y *yaml.Node) Position {
	return Position{File: c.file, Line: y.Line, Column: y.Column}
}

// spend takes n nodes from the budget.
func (c *converter) spend(y *yaml.Node, n int) bool {
	if *c.budget < n {
		c.stop(y, CodeTooLarge, "the VNFD has more than %d YAML nodes with its aliases followed", maxNodes)
	}
	*c.budget -= min(n, *c.budget)
	return !c.stopped
}

func (c *converter) convert(y *yaml.Node, depth int) *node {
	if depth > maxDepth {
		c.stop(y, CodeTooDeep, "nested more than %d levels deep", maxDepth)
	}
	if c.stopped {
		return nil
	}
	switch y.Kind {
	case yaml.DocumentNode:
		if len(y.Content) == 0 {
			return nil
		}
		return c.convert(y.Content[0], depth)
	case yaml.AliasNode:
		return c.alias(y)
	}
	if !c.spend(y, 1) {
		return nil
	}
	if y.Anchor != "" {
		c.anchors[y] = nil
	}
	n := &node{pos: c.pos(y), text: y.Value, size: 1, height: 1}
	switch y.Kind {
	case yaml.MappingNode:
		n.kind = mappingNode
		c.mapping(n, y, depth)
	case yaml.SequenceNode:
		n.kind = sequenceNode
		for _, item := range y.Content {
			n.items = append(n.items, n.adopt(c.convert(item, depth+1)))
		}
	default:
		if y.ShortTag() == "!!null" {
			n.kind = nullNode
		}
	}
	if y.Anchor != "" {
		c.anchors[y] = n
	}
	return n
}

// adopt counts a child into the size and height of n.
func (n *node) adopt(child *node) *node {
	if child == nil { // only after the converter has stopped
		child = &node{kind: nullNode}
	}
	n.size += child.size
	n.height = max(n.height, child.height+1)
	return child
}

// alias returns the node an alias stands for. Its size is taken from the budget,
// which is how chains of aliases that multiply are found before anything walks
// through them.
func (c *converter) alias(y *yaml.Node) *node {
	n, known := c.anchors[y.Alias]
	switch {
	case n == nil && known:
		c.stop(y, CodeYAML, "the alias *%s stands inside the node it names", y.Value)
		return nil
	case n == nil:
		c.stop(y, CodeYAML, "the alias *%s names no node above it", y.Value)
		return nil
	case !c.spend(y, n.size):
		return nil
	}
	return n
}

func (c *converter) mapping(n *node, y *yaml.Node, depth int) {
	seen := make(map[string]int, len(y.Content)/2)
	var merged []*node
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, value := y.Content[i], y.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			c.report.errorf(c.pos(key), CodeYAML, "a key must be a plain text")
			continue
		}
		child := n.adopt(c.convert(value, depth+1))
		if key.ShortTag() == "!!merge" {
			merged = append(merged, child)
			continue
		}
		if line, twice := seen[key.Value]; twice {
			c.report.errorf(c.pos(key), CodeDuplicateKey, "key %q stands already in line %d", key.Value, line)
			continue
		}
		seen[key.Value] = key.Line
		n.fields = append(n.fields, field{key: key.Value, pos: c.pos(key), value: child})
	}
	for _, m := range merged {
		for _, from := range append([]*node{m}, m.sequence()...) {
			c.merge(n, y, from, seen)
		}
	}
}

// merge adds the fields of a merged mapping that n does not have itself.
func (c *converter) merge(n *node, y *yaml.Node, from *node, seen map[string]int) {
	for _, f := range from.mapping() {
		if _, own := seen[f.key]; own {
			continue
		}
		if !c.spend(y, 1) {
			return
		}
		seen[f.key] = f.pos.Line
		n.fields = append(n.fields, f)
	}
}
