package grammar

import (
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// functions are the functions of the TOSCA Simple Profile 1.3, chapter 4, with their minimum number of arguments.
var functions = map[string]int{
	"get_input": 1, "get_property": 2, "get_attribute": 2, "get_operation_output": 4,
	"get_nodes_of_type": 1, "get_artifact": 2, "concat": 1, "join": 1, "token": 3,
}

// entities are the names by which a function refers to its own template or to a related template.
var entities = []string{"SELF", "SOURCE", "TARGET", "HOST"}

// function returns the name and the arguments of a function. A function is a mapping with the name as its only key; for any
// other value, function returns "".
func function(n *yamltree.Node) (string, *yamltree.Node) {
	if !n.Is(yamltree.Mapping) || len(n.Fields) != 1 || functions[n.Fields[0].Key] == 0 {
		return "", nil
	}
	return n.Fields[0].Key, n.Fields[0].Value
}

// scope is the topology and the template that contain a value.
type scope struct {
	inputs        *yamltree.Node
	templates     *yamltree.Node
	relationships *yamltree.Node // relationship templates
	groups        *yamltree.Node
	workflows     *yamltree.Node
	filled        map[[2]string]bool // node templates with a requirement that another part of the topology fills
	self          *Type              // type of the template; nil outside of templates or if the type is unknown
}

// within returns the scope of the values of a template of type d.
func (s *scope) within(d *Type) *scope {
	inner := *s
	inner.self = d
	return &inner
}

// function checks the arguments of a function, as far as they are known before a deployment. In a type, where s is nil, it
// checks only their number.
func (v *validator) function(s *scope, n *yamltree.Node, name string, args *yamltree.Node) {
	var list []*yamltree.Node
	switch {
	case args.Is(yamltree.Scalar):
		list = []*yamltree.Node{args}
	case args.Is(yamltree.Sequence):
		list = args.Items
	}
	if len(list) < functions[name] {
		v.errorf(n.Pos, problem.Function, "%s needs at least %d arguments", name, functions[name])
		return
	}
	for _, a := range list {
		if inner, innerArgs := function(a); inner != "" && v.spend(1) {
			v.function(s, a, inner, innerArgs)
		}
	}
	if s == nil {
		return
	}
	switch name {
	case "get_input":
		v.getInput(s, list[0])
	case "get_property", "get_attribute":
		v.getProperty(s, name, list)
	case "get_nodes_of_type":
		v.typeNamed(NodeTypes, list[0])
	}
}

func (v *validator) getInput(s *scope, name *yamltree.Node) {
	if name.Kind != yamltree.Scalar || s.inputs.Has(name.Text) {
		return
	}
	v.unknown(name.Pos, problem.UnknownInput, "there is no input", name.Text, keysOf(s.inputs))
}

// getProperty checks [entity, property] and [entity, capability or requirement, property]. It does not check further
// arguments, which select a part of the property's value.
func (v *validator) getProperty(s *scope, name string, args []*yamltree.Node) {
	entity, second := args[0], args[1]
	if entity.Kind != yamltree.Scalar || second.Kind != yamltree.Scalar {
		return
	}
	d := s.self
	if !slices.Contains(entities, entity.Text) {
		kind := NodeTypes
		f, known := s.templates.Field(entity.Text)
		if !known {
			kind = RelationshipTypes
			f, known = s.relationships.Field(entity.Text)
		}
		if !known {
			v.unknown(entity.Pos, problem.UnknownNode, "there is no node template", entity.Text, keysOf(s.templates))
			return
		}
		d = v.types.Lookup(kind, f.Value.Get("type").Str())
	} else if entity.Text != "SELF" {
		return // the entity depends on relationships
	}
	if d == nil || d.Kind != NodeTypes && d.Kind != RelationshipTypes {
		return
	}
	sections := []string{"properties", "attributes", "capabilities", "requirements"}
	var known []string
	for _, section := range sections {
		if _, ok := d.member(section, second.Text); ok {
			return
		}
		known = append(known, v.namesIn(d, section)...)
	}
	v.unknown(second.Pos, problem.UnknownProperty,
		d.Name+" has nothing for "+name+" named", second.Text, known)
}

func keysOf(n *yamltree.Node) []string {
	var keys []string
	for _, f := range n.Map() {
		keys = append(keys, f.Key)
	}
	return keys
}

// singular returns the name of one entry of a section: policy for policies.
func singular(section string) string {
	if stem, found := strings.CutSuffix(section, "ies"); found {
		return stem + "y"
	}
	return strings.TrimSuffix(section, "s")
}
