package hot

import (
	"fmt"
	"slices"
	"sort"
	"strconv"

	"gopkg.in/yaml.v3"
)

// Reference is a get_param expression of a template: a value that the template reads from a parameter.
type Reference struct {
	// Path begins with the name of the parameter: nfv, VDU, workerNode, vcImageId. Numbers are indices of lists.
	Path []string
	File string // in the package
	Line int
}

// String returns the position of the reference as file:line.
func (r Reference) String() string { return fmt.Sprintf("%s:%d", r.File, r.Line) }

// References lists the values that the base HOT reads from a parameter, in the order of the text, followed by those of
// nested templates that declare a parameter with the same name.
func (t *Template) References(parameter string) []Reference {
	out := t.references(parameter)
	for _, ref := range t.nested() {
		if f := t.files[ref]; at(f.root, "parameters", parameter) != nil {
			out = append(out, f.references(parameter)...)
		}
	}
	return out
}

func (f *file) references(parameter string) []Reference {
	var out []Reference
	walk(get(f.root, "resources"), func(key string, value *yaml.Node) {
		if key != "get_param" {
			return
		}
		if path := paramPath(value); len(path) > 0 && path[0] == parameter {
			out = append(out, Reference{Path: path, File: f.path, Line: value.Line})
		}
	})
	return out
}

// paramPath returns the path of a get_param. The path ends before the first element that Heat computes.
func paramPath(n *yaml.Node) []string {
	if n.Kind == yaml.ScalarNode {
		return []string{n.Value}
	}
	var out []string
	if n.Kind == yaml.SequenceNode {
		for _, c := range n.Content {
			if c.Kind != yaml.ScalarNode {
				break
			}
			out = append(out, c.Value)
		}
	}
	return out
}

// nested returns the references to nested templates, sorted.
func (t *Template) nested() []string {
	var out []string
	for ref, f := range t.files {
		if f.root != nil {
			out = append(out, ref)
		}
	}
	sort.Strings(out)
	return out
}

// Parameter is the declaration of a parameter in the base HOT.
type Parameter struct {
	Name       string
	Type       string // string, number, json, comma_delimited_list, boolean
	HasDefault bool
	Hidden     bool // Heat does not show its value
	File       string
	Line       int
}

// Parameters lists the parameters that the base HOT declares, in the order of the text.
func (t *Template) Parameters() []Parameter {
	n := get(t.root, "parameters")
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	var out []Parameter
	for i := 0; i+1 < len(n.Content); i += 2 {
		p := n.Content[i+1]
		hidden, _ := strconv.ParseBool(text(get(p, "hidden")))
		out = append(out, Parameter{Name: n.Content[i].Value, Type: text(get(p, "type")), HasDefault: get(p, "default") != nil,
			Hidden: hidden, File: t.path, Line: n.Content[i].Line})
	}
	return out
}

// Default returns the default of a parameter of the base HOT, scalars as texts.
func (t *Template) Default(parameter string) (value any, declared bool) {
	n := get(at(t.root, "parameters", parameter), "default")
	return plain(n), n != nil
}

// Resource is a resource of the base HOT.
type Resource struct {
	Name, Type string
	File       string
	Line       int
}

// Resources lists the resources of the base HOT, in the order of the text.
func (t *Template) Resources() []Resource {
	var out []Resource
	t.eachResource(func(key, r *yaml.Node) {
		out = append(out, Resource{Name: key.Value, Type: text(get(r, "type")), File: t.path, Line: key.Line})
	})
	return out
}

// Resource returns the resource of the base HOT with the name, or nil.
func (t *Template) Resource(name string) *Resource {
	all := t.Resources()
	if i := slices.IndexFunc(all, func(r Resource) bool { return r.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

func (f *file) eachResource(visit func(key, resource *yaml.Node)) {
	n := get(f.root, "resources")
	for i := 0; i+1 < len(n.Content); i += 2 {
		visit(n.Content[i], n.Content[i+1])
	}
}

// The types of groups. Heat creates the members of a group from one resource definition of the template.
const (
	// AutoScalingGroup names its members with random names. It removes unhealthy members first, then the oldest.
	AutoScalingGroup = "OS::Heat::AutoScalingGroup"
	// ResourceGroup numbers its members from 0. It removes the members with the highest numbers.
	ResourceGroup = "OS::Heat::ResourceGroup"
)

const serverType = "OS::Nova::Server"

// Group is a resource of the type AutoScalingGroup or ResourceGroup: Heat creates a number of equal members from it.
type Group struct {
	Name, Type string
	// Parameter is the path of the parameter from which the template reads the number of members. It is empty if the
	// template has no get_param for the number.
	Parameter []string
	// Number is the number of members if the template contains it as a number, -1 otherwise.
	Number int
	// Servers holds the names of the servers in one member, including servers of nested templates. If the member is a
	// server, Servers holds the name of the group.
	Servers []string
	File    string
	Line    int
}

// capacityKeys holds the properties of groups for the number of members and for the definition of a member.
var capacityKeys = map[string]struct{ number, member string }{
	AutoScalingGroup: {"desired_capacity", "resource"},
	ResourceGroup:    {"count", "resource_def"},
}

// Groups lists the groups of the base HOT, in the order of the text.
func (t *Template) Groups() []Group {
	var out []Group
	t.eachResource(func(key, r *yaml.Node) {
		kind := text(get(r, "type"))
		keys, isGroup := capacityKeys[kind]
		if !isGroup {
			return
		}
		g := Group{Name: key.Value, Type: kind, Number: -1, File: t.path, Line: key.Line}
		capacity := at(r, "properties", keys.number)
		if param := get(capacity, "get_param"); param != nil {
			g.Parameter = paramPath(param)
		} else if n, err := strconv.Atoi(text(capacity)); err == nil {
			g.Number = n
		}
		g.Servers = t.serversOf(at(r, "properties", keys.member), key.Value, 0)
		out = append(out, g)
	})
	return out
}

// serversOf returns the names of the servers of a resource: its own name if it is a server, or the servers of its nested
// template.
func (t *Template) serversOf(resource *yaml.Node, name string, level int) []string {
	kind := text(get(resource, "type"))
	if kind == serverType {
		return []string{name}
	}
	f := t.files[kind]
	if f == nil || f.root == nil || level > maxDepth {
		return nil
	}
	var out []string
	f.eachResource(func(key, r *yaml.Node) { out = append(out, t.serversOf(r, key.Value, level+1)...) })
	return out
}

// Single is a resource outside of groups that creates servers: a server, or a nested template with servers.
type Single struct {
	Resource
	Servers []string // names of the servers
}

// Singles lists the resources of the base HOT outside of groups that create servers.
func (t *Template) Singles() []Single {
	var out []Single
	t.eachResource(func(key, r *yaml.Node) {
		if servers := t.serversOf(r, key.Value, 0); len(servers) > 0 {
			out = append(out, Single{Resource{Name: key.Value, Type: text(get(r, "type")), File: t.path, Line: key.Line}, servers})
		}
	})
	return out
}
