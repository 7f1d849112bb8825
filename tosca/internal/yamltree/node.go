// Package yamltree reads YAML into a tree of nodes with their positions. It follows aliases, applies merge keys, and limits the
// size of the tree, so that a hostile document cannot exhaust the memory.
package yamltree

import (
	"strings"

	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// Kind is the kind of a YAML node.
type Kind int

// The kinds of nodes.
const (
	Scalar Kind = iota
	Mapping
	Sequence
	Null
)

// Node is a YAML node with its position. Aliases are followed and merge keys applied. All methods accept a nil node, which stands
// for an absent node, so that callers can chain them without checks.
type Node struct {
	Pos    problem.Position
	Kind   Kind
	Text   string  // of a scalar
	Tag    string  // of a scalar: "!!str", "!!int", "!!float", "!!bool", "!!timestamp", ...
	Fields []Field // of a mapping, in document order
	Items  []*Node // of a sequence
	size   int     // nodes in the tree, an aliased node for each use
	height int     // levels in the tree
	index  map[string]int
	misfit *report.Report // where reads of another kind are reported, once; may be nil
}

// indexed is the number of fields from which on the keys of a mapping are indexed. A hostile descriptor may have mappings of many
// thousand fields.
const indexed = 16

func (n *Node) buildIndex() {
	if len(n.Fields) < indexed {
		return
	}
	n.index = make(map[string]int, len(n.Fields))
	for i, f := range n.Fields {
		n.index[f.Key] = i
	}
}

// Field returns the field of a key, false if the key is absent.
func (n *Node) Field(key string) (Field, bool) {
	if n == nil || n.Kind != Mapping {
		return Field{}, false
	}
	if n.index != nil {
		i, ok := n.index[key]
		if !ok {
			return Field{}, false
		}
		return n.Fields[i], true
	}
	for _, f := range n.Fields {
		if f.Key == key {
			return f, true
		}
	}
	return Field{}, false
}

// Field is one key of a mapping.
type Field struct {
	Key   string
	Pos   problem.Position
	Value *Node
}

// Get returns the value of a key, nil if the key is absent or its value is null.
func (n *Node) Get(key string) *Node {
	f, _ := n.Field(key)
	return f.Value.Present()
}

// Path returns the value at a path of keys, nil if a key is absent.
func (n *Node) Path(keys ...string) *Node {
	for _, key := range keys {
		n = n.Get(key)
	}
	return n
}

// Has reports whether the key exists. Its value may be null.
func (n *Node) Has(key string) bool {
	_, ok := n.Field(key)
	return ok
}

// Present returns n, or nil if n is null.
func (n *Node) Present() *Node {
	if n == nil || n.Kind == Null {
		return nil
	}
	return n
}

// Str returns the text of a scalar and "" for other nodes.
func (n *Node) Str() string {
	if n == nil || n.Kind != Scalar {
		return ""
	}
	return n.Text
}

// At returns the position of n. If n is nil, it returns the position of the first of others that is not nil.
func (n *Node) At(others ...*Node) problem.Position {
	for _, c := range append([]*Node{n}, others...) {
		if c != nil {
			return c.Pos
		}
	}
	return problem.Position{}
}

// Flow returns n in flow style on one line, for example for an expression that cannot be resolved. It omits levels below the
// fourth and items after some 200 bytes, because the result is only for display.
func (n *Node) Flow() string {
	var b strings.Builder
	n.writeFlow(&b, 4)
	return b.String()
}

func (n *Node) writeFlow(b *strings.Builder, levels int) {
	const longest = 200
	switch {
	case n == nil || n.Kind == Null:
		b.WriteString("null")
	case n.Kind == Scalar:
		b.WriteString(n.Text)
	case levels == 0:
		b.WriteString("...")
	case n.Kind == Mapping:
		b.WriteByte('{')
		for i, f := range n.Fields {
			if i > 0 {
				b.WriteString(", ")
			}
			if b.Len() > longest {
				b.WriteString("...")
				break
			}
			b.WriteString(f.Key + ": ")
			f.Value.writeFlow(b, levels-1)
		}
		b.WriteByte('}')
	default:
		b.WriteByte('[')
		for i, item := range n.Items {
			if i > 0 {
				b.WriteString(", ")
			}
			if b.Len() > longest {
				b.WriteString("...")
				break
			}
			item.writeFlow(b, levels-1)
		}
		b.WriteByte(']')
	}
}
