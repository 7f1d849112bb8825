package yamltree

import (
	"strings"

	"github.com/vnfkit/vnfkit/tosca/problem"
)

// Is reports whether a node exists and has this kind. Use it before Map and List where a document may have either kind.
func (n *Node) Is(kind Kind) bool { return n != nil && n.Kind == kind }

// Map returns the fields of a mapping, nil if the node is absent or null. It reports a node of another kind, see Parser.Misfits.
func (n *Node) Map() []Field {
	if n.Present() == nil {
		return nil
	}
	if n.Kind != Mapping {
		n.reportMisfit("a mapping of keys and values")
	}
	return n.Fields
}

// List returns the items of a sequence, nil if the node is absent or null. It reports a node of another kind, see Parser.Misfits.
func (n *Node) List() []*Node {
	if n.Present() == nil {
		return nil
	}
	if n.Kind != Sequence {
		n.reportMisfit("a list")
	}
	return n.Items
}

// Named returns the fields of a mapping, or of a sequence of mappings with one key each. TOSCA writes policies,
// requirements and imports as such sequences; packages use either form for all three. It reports other nodes and items.
func (n *Node) Named() []Field {
	if !n.Is(Sequence) {
		return n.Map()
	}
	var fields []Field
	for _, item := range n.Items {
		fields = append(fields, item.Map()...)
	}
	return fields
}

// reportMisfit reports that the node should be of another kind. It reports a node once, because the same node may be read often.
func (n *Node) reportMisfit(want string) {
	if n.misfit == nil {
		return
	}
	p := problem.Problem{Position: n.Pos, Code: problem.Type, Message: "this must be " + want}
	if key, value, found := strings.Cut(n.Text, ":"); n.Kind == Scalar && found && value != "" && !strings.ContainsAny(n.Text, " \n") {
		p.Expected = "\"" + key + ": " + value + "\", with a space after the colon"
	}
	n.misfit.Add(p)
	n.misfit = nil
}
