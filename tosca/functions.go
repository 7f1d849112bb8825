package tosca

import (
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// Limits for the cost of expressions, which can be nested.
const (
	// maxNesting limits how deep functions may be nested in, or refer to, each other.
	maxNesting = 20
	// maxEvaluations limits the cost of all expressions of a VNFD: one unit for each function, and one unit for every few bytes
	// that concat and token return.
	maxEvaluations = 1_000_000
	// maxText limits the bytes that concat returns.
	maxText = 64 << 10
)

// isFunction reports whether n is a TOSCA function. After evaluation, these are the functions that only a request or a running
// system can resolve.
func isFunction(n *yamltree.Node) bool {
	name, _ := function(n)
	return name != ""
}

// function returns the name and the arguments of a TOSCA function, "" if n is not a function (TOSCA 1.3 4.3 to 4.8).
func function(n *yamltree.Node) (name string, arguments *yamltree.Node) {
	if !n.Is(yamltree.Mapping) || len(n.Fields) != 1 {
		return "", nil
	}
	name, arguments = n.Fields[0].Key, n.Fields[0].Value.Present()
	switch name {
	case "get_input", "get_property", "get_attribute", "get_artifact", "get_operation_output", "get_nodes_of_type":
		return name, arguments
	case "concat", "join", "token": // names that a key of data may have too
		if arguments.Is(yamltree.Sequence) && len(arguments.Items) > 0 {
			return name, arguments
		}
	}
	return "", nil
}

// evaluation resolves the expressions in a node template.
type evaluation struct {
	topo  *topology
	self  template // the template that SELF refers to
	depth int
}

// eval returns the value of n if n is a function that the descriptor alone resolves. It returns other nodes unchanged, including
// functions of the running system and functions of an input whose value only a request sets.
func (t *topology) eval(n *yamltree.Node, self template) *yamltree.Node {
	return evaluation{t, self, maxNesting}.eval(n)
}

func (e evaluation) eval(n *yamltree.Node) *yamltree.Node {
	n = n.Present()
	name, arguments := function(n)
	if name == "" || e.depth == 0 || !e.topo.spend(n, 1) {
		return n
	}
	e.depth--
	var value *yamltree.Node
	switch name {
	case "get_input":
		value = e.input(arguments)
	case "get_property":
		value = e.property(arguments)
	case "concat":
		value = e.concat(n, arguments)
	case "token":
		value = e.token(n, arguments)
	}
	if value == nil || isFunction(value) {
		return n
	}
	return value
}

// input evaluates get_input (TOSCA 1.3 4.4.1): it returns the default of an input, or the part of the default at a path.
func (e evaluation) input(arguments *yamltree.Node) *yamltree.Node {
	name, path := arguments.Str(), []*yamltree.Node(nil)
	if arguments.Is(yamltree.Sequence) && len(arguments.Items) > 0 {
		name, path = arguments.Items[0].Str(), arguments.Items[1:]
	}
	return e.walk(e.topo.node.Path("inputs", name, "default"), path)
}

// property evaluates get_property (TOSCA 1.3 4.4.2) with the arguments [entity, property, path...] or [entity, capability or
// requirement, property, path...].
func (e evaluation) property(arguments *yamltree.Node) *yamltree.Node {
	if !arguments.Is(yamltree.Sequence) || len(arguments.Items) < 2 {
		return nil
	}
	list := arguments.Items
	if entity := list[0].Str(); entity != "SELF" {
		found, ok := e.topo.byID[entity]
		if !ok {
			return nil
		}
		e.self = found
	}
	name := list[1].Str()
	if v := e.topo.assigned(e.self, name); v != nil {
		return e.walk(v, list[2:])
	}
	if len(list) == 2 {
		return nil
	}
	if v := e.topo.capability(e.self, name, list[2].Str()); v != nil {
		return e.walk(v, list[3:])
	}
	if all := e.self.node.Get("requirements"); all == nil || !e.topo.spend(arguments, len(all.Fields)+len(all.Items)) {
		return nil
	}
	for _, r := range e.topo.requirements(e.self) {
		if target, ok := e.topo.byID[r.target]; ok && r.name == name && r.target != "" {
			e.self = target
			return e.walk(e.topo.assigned(target, list[2].Str()), list[3:])
		}
	}
	return nil
}

// walk follows keys and indexes into a value.
func (e evaluation) walk(n *yamltree.Node, path []*yamltree.Node) *yamltree.Node {
	n = e.eval(n)
	for _, step := range path {
		if n.Is(yamltree.Sequence) {
			i, err := strconv.Atoi(step.Str())
			if err != nil || i < 0 || i >= len(n.Items) {
				return nil
			}
			n = e.eval(n.Items[i])
			continue
		}
		n = e.eval(n.Get(step.Str()))
	}
	return e.whole(n)
}

// whole also evaluates the functions inside lists and mappings, while SELF is known.
func (e evaluation) whole(n *yamltree.Node) *yamltree.Node {
	if n == nil || n.Kind == yamltree.Scalar || isFunction(n) || e.depth == 0 || !e.topo.spend(n, 1+len(n.Fields)+len(n.Items)) {
		return n
	}
	e.depth--
	resolved := yamltree.Node{Pos: n.Pos, Kind: n.Kind, Tag: n.Tag}
	for _, f := range n.Fields {
		f.Value = e.whole(e.eval(f.Value))
		resolved.Fields = append(resolved.Fields, f)
	}
	for _, item := range n.Items {
		resolved.Items = append(resolved.Items, e.whole(e.eval(item)))
	}
	return &resolved
}

// concat evaluates concat (TOSCA 1.3 4.3.1).
func (e evaluation) concat(n, arguments *yamltree.Node) *yamltree.Node {
	var text strings.Builder
	for _, part := range arguments.List() {
		part = e.eval(part)
		if part == nil || part.Kind != yamltree.Scalar || text.Len()+len(part.Text) > maxText || !e.topo.spend(n, 1+len(part.Text)/16) {
			return nil
		}
		text.WriteString(part.Text)
	}
	return &yamltree.Node{Pos: n.Pos, Kind: yamltree.Scalar, Tag: "!!str", Text: text.String()}
}

// token evaluates token (TOSCA 1.3 4.3.3) with the arguments [text, characters that end a part, index].
func (e evaluation) token(n, arguments *yamltree.Node) *yamltree.Node {
	list := arguments.List()
	if len(list) != 3 {
		return nil
	}
	text, ends := e.eval(list[0]), e.eval(list[1]).Str()
	index, err := strconv.Atoi(e.eval(list[2]).Str())
	if text == nil || text.Kind != yamltree.Scalar || ends == "" || err != nil || index < 0 || !e.topo.spend(n, 1+len(text.Text)/16) {
		return nil
	}
	parts := strings.FieldsFunc(text.Text, func(r rune) bool { return strings.ContainsRune(ends, r) })
	if index >= len(parts) {
		return nil
	}
	return &yamltree.Node{Pos: n.Pos, Kind: yamltree.Scalar, Tag: "!!str", Text: parts[index]}
}

// spend takes units from the budget for expressions. It returns false if the budget is used up.
func (t *topology) spend(n *yamltree.Node, units int) bool {
	if *t.budget < 0 {
		return false
	}
	if *t.budget -= units; *t.budget < 0 {
		t.report.Errorf(n.Pos, problem.TooLarge, "reading the values and expressions of the VNFD takes more than %d steps", maxEvaluations)
		return false
	}
	return true
}
