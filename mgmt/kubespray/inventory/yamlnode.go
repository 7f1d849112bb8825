package inventory

import (
	"fmt"

	"gopkg.in/yaml.v3"
)

// child is an entry of a map, nil if there is none.
func child(n *yaml.Node, key string) *yaml.Node {
	if i := index(n, key); i >= 0 {
		return n.Content[i+1]
	}
	return nil
}

// index of a key in a map, -1 if it is not there.
func index(n *yaml.Node, key string) int {
	if n == nil || n.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return i
		}
	}
	return -1
}

func isNothing(n *yaml.Node) bool {
	return n == nil || n.Kind == yaml.ScalarNode && (n.ShortTag() == "!!null" || n.Value == "")
}

// makeMap makes a map of a node that has nothing.
func makeMap(n *yaml.Node) error {
	switch {
	case n.Kind == yaml.MappingNode:
		if len(n.Content) == 0 {
			n.Style &^= yaml.FlowStyle
		}
		return nil
	case isNothing(n):
		*n = yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", HeadComment: n.HeadComment, LineComment: n.LineComment, FootComment: n.FootComment}
		return nil
	}
	return fmt.Errorf("line %d: must be a map to be changed", n.Line)
}

// nameToMap makes a map of one name to nothing.
func nameToMap(n *yaml.Node) {
	name := *n
	*n = *mapping()
	n.Content = []*yaml.Node{&name, null()}
}

// open returns the map below a key, and makes it if it is not there.
func open(n *yaml.Node, key string) (*yaml.Node, error) {
	if err := makeMap(n); err != nil {
		return nil, err
	}
	if index(n, key) < 0 {
		add(n, key, mapping())
	}
	out := child(n, key)
	return out, makeMap(out)
}

// removeEntry removes an entry of a map. A comment above it stays, above the next one: it may be about several.
func removeEntry(n *yaml.Node, i int) {
	comment := n.Content[i].HeadComment
	n.Content = append(n.Content[:i:i], n.Content[i+2:]...)
	switch {
	case comment == "":
	case i < len(n.Content):
		n.Content[i].HeadComment = joinComments(comment, n.Content[i].HeadComment)
	case i > 0:
		n.Content[i-2].FootComment = joinComments(n.Content[i-2].FootComment, comment)
	default:
		n.HeadComment = joinComments(n.HeadComment, comment)
	}
}

func joinComments(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}
