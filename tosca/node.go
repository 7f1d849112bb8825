package tosca

import (
	"strings"
)

// nodeKind tells what a YAML node is.
type nodeKind int

const (
	scalarNode nodeKind = iota
	mappingNode
	sequenceNode
	nullNode
)

// node is a YAML node with its place, its aliases followed and its merge keys
// applied. All methods accept a nil node, which stands for "not there", so that
// paths into a document need no checks on the way.
type node struct {
	pos    Position
	kind   nodeKind
	text   string  // of a scalar
	fields []field // of a mapping, in document order
	items  []*node // of a sequence
	size   int     // nodes in the tree, aliases counted as often as they stand
	height int     // levels in the tree
}

// field is one key of a mapping.
type field struct {
	key   string
	pos   Position
	value *node
}

// get returns the value of a key, nil when the key is absent or its value null.
func (n *node) get(key string) *node {
	for _, f := range n.mapping() {
		if f.key == key {
			return f.value.present()
		}
	}
	return nil
}

// path is get for one key after the other.
func (n *node) path(keys ...string) *node {
	for _, key := range keys {
		n = n.get(key)
	}
	return n
}

// has reports whether the key is there, be it with a null value.
func (n *node) has(key string) bool {
	for _, f := range n.mapping() {
		if f.key == key {
			return true
		}
	}
	return false
}

// present turns null into nil.
func (n *node) present() *node {
	if n == nil || n.kind == nullNode {
		return nil
	}
	return n
}

// mapping returns the fields of a mapping and nothing for other nodes.
func (n *node) mapping() []field {
	if n == nil || n.kind != mappingNode {
		return nil
	}
	return n.fields
}

// sequence returns the items of a sequence and nothing for other nodes.
func (n *node) sequence() []*node {
	if n == nil || n.kind != sequenceNode {
		return nil
	}
	return n.items
}

// scalar returns the text of a scalar and "" for other nodes.
func (n *node) scalar() string {
	if n == nil || n.kind != scalarNode {
		return ""
	}
	return n.text
}

// named returns the fields of a mapping, and those of a sequence of mappings
// with one key each: TOSCA writes policies, requirements and imports so, and
// packages use either form for all three.
func (n *node) named() []field {
	fields := n.mapping()
	for _, item := range n.sequence() {
		fields = append(fields, item.mapping()...)
	}
	return fields
}

// at is the position of n, or that of the first of the others that is there.
func (n *node) at(others ...*node) Position {
	for _, c := range append([]*node{n}, others...) {
		if c != nil {
			return c.pos
		}
	}
	return Position{}
}

// flow renders n on one line, the way an expression is shown that cannot be
// resolved here. It is cut off after a few levels and some 200 bytes, since it is
// for reading only.
func (n *node) flow() string {
	var b strings.Builder
	n.writeFlow(&b, 4)
	return b.String()
}

func (n *node) writeFlow(b *strings.Builder, levels int) {
	const longest = 200
	switch {
	case n == nil || n.kind == nullNode:
		b.WriteString("null")
	case n.kind == scalarNode:
		b.WriteString(n.text)
	case levels == 0:
		b.WriteString("...")
	case n.kind == mappingNode:
		b.WriteByte('{')
		for i, f := range n.fields {
			if i > 0 {
				b.WriteString(", ")
			}
			if b.Len() > longest {
				b.WriteString("...")
				break
			}
			b.WriteString(f.key + ": ")
			f.value.writeFlow(b, levels-1)
		}
		b.WriteByte('}')
	default:
		b.WriteByte('[')
		for i, item := range n.items {
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
