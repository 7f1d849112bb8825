package hot

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Transition describes the templates that a stack has while its VNFCs change one by one from one template to another one.
type Transition struct {
	From, To *Template
	// Taken are the resources of To that take the place of those of From, or are added. Dropped are resources of From that are removed, and
	// Withheld are resources that only To has and that are not added yet. What belongs to one of these resources alone, such as its ports and
	// volumes, changes with it. Of all other resources From's definition stays, and what only To has is added.
	Taken, Dropped, Withheld []string
	// Kept are the parameters whose values To takes over from From. All others of To have a name that ends in NextSuffix.
	Kept []string
	// Evaluated are groups of To whose members Heat is to describe: see MemberValue.
	Evaluated []string
	// Sizes are the numbers of members of groups.
	Sizes map[string]int
}

// NextSuffix ends the names of those parameters and conditions of a Transition that belong to its To.
const NextSuffix = "__next"

// memberPrefix begins the names of the resources with which Heat describes the members of groups.
const memberPrefix = "vnfkit_member_"

// MemberValue returns the name of the resource of type OS::Heat::Value whose attribute "value" has the type, the properties and the metadata
// of the members that a group of To will have.
func MemberValue(group string) string { return memberPrefix + group }

// InTransition reports whether a template was made by a Transition.
func (t *Template) InTransition() bool {
	n := get(t.root, "parameters")
	for i := 0; n != nil && i+1 < len(n.Content); i += 2 {
		if strings.HasSuffix(n.Content[i].Value, NextSuffix) {
			return true
		}
	}
	return slices.ContainsFunc(t.Resources(), func(r Resource) bool { return strings.HasPrefix(r.Name, memberPrefix) })
}

// Template returns the template. It changes neither From nor To. Files of the two must have different names, unless they have the same text
// (DistinctFiles).
func (x Transition) Template() (*Template, error) {
	out := &Template{file: x.From.file, files: map[string]*file{}}
	out.root, out.changed = clone(x.From.root), true
	maps.Copy(out.files, x.To.files)
	maps.Copy(out.files, x.From.files)
	if v := text(get(x.To.root, "heat_template_version")); v > text(get(out.root, "heat_template_version")) {
		set(out.root, "heat_template_version", scalar(v))
	}
	x.addDeclarations(out)
	resources := get(out.root, "resources")
	gone := x.gone()
	for _, name := range gone {
		remove(resources, name)
	}
	for name, r := range x.taken() {
		set(resources, name, x.next(r))
	}
	for _, group := range x.Evaluated {
		set(resources, MemberValue(group), x.evaluation(group))
	}
	out.forget(gone)
	for group, n := range x.Sizes {
		if err := out.setSize(group, n); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// setSize sets the number of members of a group, and widens its limits if necessary.
func (t *Template) setSize(group string, n int) error {
	if err := t.SetCapacity(group, n); err != nil {
		return err
	}
	properties := at(t.root, "resources", group, "properties")
	for key, exceeds := range map[string]func(limit int) bool{"min_size": func(l int) bool { return l > n }, "max_size": func(l int) bool { return l < n }} {
		var limit int
		if v := get(properties, key); v != nil && v.Decode(&limit) == nil && exceeds(limit) {
			set(properties, key, number(n))
		}
	}
	return nil
}

// addDeclarations adds the parameters and conditions of To under their names with the suffix.
func (x Transition) addDeclarations(out *Template) {
	parameters := sectionOf(out.root, "parameters")
	each(get(x.To.root, "parameters"), func(name string, p *yaml.Node) {
		if !slices.Contains(x.Kept, name) {
			set(parameters, name+NextSuffix, clone(p))
		} else if get(parameters, name) == nil {
			set(parameters, name, clone(p))
		}
	})
	if given := get(x.To.root, "conditions"); given != nil {
		conditions := sectionOf(out.root, "conditions")
		each(given, func(name string, c *yaml.Node) { set(conditions, name+NextSuffix, x.nextCondition(c)) })
	}
}

// sectionOf returns a section of a template, and adds it if necessary.
func sectionOf(root *yaml.Node, name string) *yaml.Node {
	if n := get(root, name); n != nil && n.Kind == yaml.MappingNode {
		return n
	}
	n := &yaml.Node{Kind: yaml.MappingNode}
	set(root, name, n)
	return n
}

func each(n *yaml.Node, visit func(key string, value *yaml.Node)) {
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		visit(n.Content[i].Value, n.Content[i+1])
	}
}

// taken returns the definitions of To that the template has.
func (x Transition) taken() map[string]*yaml.Node {
	out, from := map[string]*yaml.Node{}, get(x.From.root, "resources")
	belongs := x.To.belongings()
	each(get(x.To.root, "resources"), func(name string, r *yaml.Node) {
		holder := name
		if owner := belongs[name]; owner != "" {
			holder = owner
		}
		switch {
		case slices.Contains(x.Taken, holder):
		case get(from, name) != nil, slices.Contains(x.Withheld, holder):
			return
		}
		out[name] = r
	})
	return out
}

// gone returns the dropped resources, and those of From that belong to them and that To does not have.
func (x Transition) gone() []string {
	gone := slices.Clone(x.Dropped)
	for name, holder := range x.From.belongings() {
		if slices.Contains(x.Dropped, holder) && !slices.Contains(gone, name) && at(x.To.root, "resources", name) == nil {
			gone = append(gone, name)
		}
	}
	return gone
}

// next returns a copy of a definition of To with the names that its parameters and conditions have in the template.
func (x Transition) next(n *yaml.Node) *yaml.Node {
	out := clone(n)
	x.rename(out)
	if c := get(out, "condition"); c != nil && out.Kind == yaml.MappingNode {
		set(out, "condition", x.nextCondition(c))
	}
	return out
}

// rename changes the names in functions below a node.
func (x Transition) rename(n *yaml.Node) {
	walk(n, func(key string, value *yaml.Node) {
		switch {
		case key == "get_param" && value.Kind == yaml.ScalarNode:
			value.Value = x.parameter(value.Value)
		case key == "get_param" && value.Kind == yaml.SequenceNode && len(value.Content) > 0 && value.Content[0].Kind == yaml.ScalarNode:
			value.Content[0] = scalar(x.parameter(value.Content[0].Value))
		case key == "if" && value.Kind == yaml.SequenceNode && len(value.Content) > 0:
			value.Content[0] = x.nextCondition(value.Content[0])
		}
	})
}

func (x Transition) parameter(name string) string {
	if slices.Contains(x.Kept, name) || strings.HasPrefix(name, "OS::") { // pseudo parameters
		return name
	}
	return name + NextSuffix
}

// nextCondition returns a copy of a condition: the name of one, or a function.
func (x Transition) nextCondition(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.ScalarNode {
		if n.ShortTag() == "!!bool" {
			return clone(n)
		}
		return scalar(n.Value + NextSuffix)
	}
	out := clone(n)
	x.rename(out)
	each(out, func(key string, value *yaml.Node) {
		switch key {
		case "not":
			*value = *x.nextCondition(value)
		case "and", "or":
			for i, c := range value.Content {
				value.Content[i] = x.nextCondition(c)
			}
		}
	})
	return out
}

// evaluation is the resource with which Heat describes a member of a group of To.
func (x Transition) evaluation(group string) *yaml.Node {
	r := at(x.To.root, "resources", group)
	member := x.next(at(r, "properties", capacityKeys[text(get(r, "type"))].member))
	out := &yaml.Node{Kind: yaml.MappingNode}
	set(out, "type", scalar("OS::Heat::Value"))
	properties := &yaml.Node{Kind: yaml.MappingNode}
	set(properties, "type", scalar("json"))
	set(properties, "value", member)
	set(out, "properties", properties)
	return out
}

// belongings returns the resource with servers to which each other resource belongs: that resource alone refers to it, directly or through
// other resources, or it refers to that resource and to what belongs to it, and to no other resource with servers. So do resources to which
// only such resources refer, such as the volume of an attachment.
func (t *Template) belongings() map[string]string {
	holders, needs, users, near := t.Holders(), map[string][]string{}, map[string][]string{}, map[string][]string{}
	t.eachResource(func(key, r *yaml.Node) {
		needs[key.Value] = mentioned(r)
		near[key.Value] = append(near[key.Value], needs[key.Value]...)
		for _, name := range needs[key.Value] {
			near[name] = append(near[name], key.Value)
		}
	})
	for _, holder := range holders {
		for _, name := range reached(holder, needs, holders) {
			users[name] = append(users[name], holder)
		}
	}
	out := map[string]string{}
	for name, list := range users {
		if len(list) == 1 {
			out[name] = list[0]
		}
	}
	for _, holder := range holders {
		out[holder] = holder
	}
	for found := true; found; {
		found = false
		for name, list := range near {
			if out[name] != "" || len(users[name]) > 0 {
				continue
			}
			if owners := distinctOwners(list, out); len(owners) == 1 {
				out[name], found = owners[0], true
			}
		}
	}
	return out
}

// distinctOwners returns the resources with servers to which resources belong.
func distinctOwners(names []string, of map[string]string) (out []string) {
	for _, name := range names {
		if owner := of[name]; owner != "" {
			out = append(out, owner)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// reached returns the resources that a holder needs, directly or through resources that are no holders.
func reached(holder string, needs map[string][]string, holders []string) (out []string) {
	for todo := []string{holder}; len(todo) > 0; todo = todo[1:] {
		for _, name := range needs[todo[0]] {
			if !slices.Contains(out, name) && !slices.Contains(holders, name) {
				out, todo = append(out, name), append(todo, name)
			}
		}
	}
	return out
}

// mentioned returns the resources that a definition refers to.
func mentioned(r *yaml.Node) (out []string) {
	walk(r, func(key string, value *yaml.Node) {
		switch {
		case key == "get_resource" && value.Kind == yaml.ScalarNode:
			out = append(out, value.Value)
		case key == "get_attr" && value.Kind == yaml.SequenceNode && len(value.Content) > 0:
			out = append(out, value.Content[0].Value)
		}
	})
	return out
}

// Holders returns the names of the resources of the base HOT that create servers: groups, servers and nested templates with servers.
func (t *Template) Holders() (out []string) {
	for _, g := range t.Groups() {
		out = append(out, g.Name)
	}
	for _, s := range t.Singles() {
		out = append(out, s.Name)
	}
	return out
}

// Defines reports whether a resource has the definition that it has in other. Of groups it compares the members.
func (t *Template) Defines(name string, other *Template) bool {
	return reflect.DeepEqual(t.essence(name), other.essence(name))
}

func (t *Template) essence(name string) any {
	r := at(t.root, "resources", name)
	if keys, isGroup := capacityKeys[text(get(r, "type"))]; isGroup {
		return plain(at(r, "properties", keys.member))
	}
	return plain(r)
}
