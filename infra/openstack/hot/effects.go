package hot

import (
	"maps"
	"reflect"
	"slices"

	"gopkg.in/yaml.v3"
)

// Action is what Heat does to a resource.
type Action int

// The actions. Update covers resources that Heat may also replace, if this package does not know their type.
const (
	Update Action = iota
	Rebuild
	Replace
	Remove
	Add
)

// Effect is what Heat does to a resource of a stack that is updated to another template.
type Effect struct {
	// Path has the names of the resources that contain the resource, and its name at the end. It has no members of groups.
	Path   []string
	Type   string
	Action Action
	// Properties are the properties that differ, with their values where parameters have them as texts.
	Properties []Property
}

// Property is a property that differs.
type Property struct{ Name, From, To string }

// Effects compares t, with the values of its parameters, with the template of a stack. Both include the resources of nested templates. It
// knows what Heat 19 does to servers, ports, volumes and floating addresses.
func (t *Template) Effects(parameters map[string]any, from *Template, former map[string]any) []Effect {
	a := scope{of: from, file: &from.file, parameters: former}
	b := scope{of: t, file: &t.file, parameters: parameters}
	return compareLevels(a, b, nil)
}

// scope is a template with the values of its parameters.
type scope struct {
	of         *Template
	file       *file
	parameters map[string]any
	replaced   map[string]bool // resources that get another id
}

// value returns an expression with the values of parameters. Two expressions with equal values have the same result.
func (s scope) value(n *yaml.Node) any {
	if n == nil {
		return nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		if len(n.Content) == 2 {
			if v, isFunction := s.function(n.Content[0].Value, n.Content[1]); isFunction {
				return v
			}
		}
		out := map[string]any{}
		each(n, func(key string, value *yaml.Node) { out[key] = s.value(value) })
		return out
	case yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for i, c := range n.Content {
			out[i] = s.value(c)
		}
		return out
	}
	return plainScalar(n)
}

// function returns the value of a function of HOT.
func (s scope) function(name string, argument *yaml.Node) (any, bool) {
	switch name {
	case "get_param":
		path := paramPath(argument)
		whole := argument.Kind == yaml.ScalarNode || len(path) == len(argument.Content)
		if v, known := s.parameter(path); whole && known {
			return v, true
		}
		return map[string]any{name: plain(argument)}, true
	case "get_resource", "get_attr":
		path := paramPath(argument)
		if len(path) > 0 && s.replaced[path[0]] {
			return map[string]any{name: plain(argument), "replaced": true}, true
		}
		return map[string]any{name: plain(argument)}, true
	case "get_file":
		if f := s.of.files[argument.Value]; f != nil {
			return map[string]any{name: string(f.text)}, true
		}
	case "if":
		if argument.Kind == yaml.SequenceNode && len(argument.Content) > 0 {
			return map[string]any{name: s.value(argument), "condition": s.value(at(s.file.root, "conditions", argument.Content[0].Value))}, true
		}
	}
	return nil, false
}

// parameter returns the value at a path of a parameter, or its default.
func (s scope) parameter(path []string) (any, bool) {
	if len(path) == 0 {
		return nil, false
	}
	v, known := s.parameters[path[0]]
	if !known {
		declared := get(at(s.file.root, "parameters", path[0]), "default")
		return plain(declared), declared != nil && len(path) == 1
	}
	for _, key := range path[1:] {
		m, isMap := v.(map[string]any)
		if v, known = m[key]; !isMap || !known {
			return nil, isMap // a key that is missing is null
		}
	}
	return textual(v), true
}

// textual returns a value in the form of plain.
func textual(v any) any {
	var n yaml.Node
	if n.Encode(v) != nil {
		return v
	}
	return plain(&n)
}

// compareLevels compares two templates at one level of nesting, until it is known which resources are replaced.
func compareLevels(a, b scope, path []string) []Effect {
	names := map[string]bool{}
	for _, f := range []*file{a.file, b.file} {
		f.eachResource(func(key, _ *yaml.Node) { names[key.Value] = true })
	}
	a.replaced, b.replaced = map[string]bool{}, map[string]bool{}
	for {
		var out []Effect
		more := false
		for _, name := range slices.Sorted(maps.Keys(names)) {
			for _, e := range compareResources(a, b, at(a.file.root, "resources", name), at(b.file.root, "resources", name), append(slices.Clone(path), name)) {
				own := len(e.Path) == len(path)+1
				if own && e.Action == Replace && !b.replaced[name] {
					b.replaced[name], more = true, true
				}
				out = append(out, e)
			}
		}
		if !more {
			return out
		}
	}
}

// compareResources returns what happens to one resource, and to those in it.
func compareResources(a, b scope, was, now *yaml.Node, path []string) []Effect {
	switch {
	case was == nil && now == nil:
		return nil
	case was == nil:
		return b.whole(now, path, Add)
	case now == nil:
		return a.whole(was, path, Remove)
	}
	kindA, kindB := text(get(was, "type")), text(get(now, "type"))
	nestedA, nestedB := a.of.files[kindA], b.of.files[kindB]
	keys, isGroup := capacityKeys[kindB]
	switch {
	case nestedA != nil && nestedB != nil:
		return compareLevels(a.inside(nestedA, was), b.inside(nestedB, now), path)
	case kindA != kindB:
		return append(a.whole(was, path, Remove), b.whole(now, path, Add)...)
	case isGroup:
		return compareResources(a, b, at(was, "properties", keys.member), at(now, "properties", keys.member), path)
	}
	e := Effect{Path: path, Type: kindB, Action: Update, Properties: differing(a, b, get(was, "properties"), get(now, "properties"))}
	if len(e.Properties) == 0 {
		return nil
	}
	e.judge(b.value(get(now, "properties")))
	if len(e.Properties) == 0 {
		return nil
	}
	return []Effect{e}
}

// inside returns the scope of a nested template.
func (s scope) inside(f *file, holder *yaml.Node) scope {
	parameters, _ := s.value(get(holder, "properties")).(map[string]any)
	return scope{of: s.of, file: f, parameters: parameters}
}

// whole returns the same effect on a resource or, for nested templates and groups, on the resources in it.
func (s scope) whole(r *yaml.Node, path []string, action Action) (out []Effect) {
	kind := text(get(r, "type"))
	if keys, isGroup := capacityKeys[kind]; isGroup {
		return s.whole(at(r, "properties", keys.member), path, action)
	}
	f := s.of.files[kind]
	if f == nil || f.root == nil || len(path) > maxDepth {
		return []Effect{{Path: path, Type: kind, Action: action}}
	}
	f.eachResource(func(key, inner *yaml.Node) {
		out = append(out, s.whole(inner, append(slices.Clone(path), key.Value), action)...)
	})
	return out
}

// differing returns the properties that differ.
func differing(a, b scope, was, now *yaml.Node) (out []Property) {
	names := map[string]bool{}
	for _, n := range []*yaml.Node{was, now} {
		each(n, func(key string, _ *yaml.Node) { names[key] = true })
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		from, to := a.value(get(was, name)), b.value(get(now, name))
		if !reflect.DeepEqual(from, to) {
			p := Property{Name: name}
			p.From, _ = from.(string)
			p.To, _ = to.(string)
			out = append(out, p)
		}
	}
	return out
}

// inPlace has, for each type that this package knows, the properties that Heat changes without replacing the resource (update_allowed).
var inPlace = map[string][]string{
	serverType: {"name", "image", "flavor", "flavor_update_policy", "image_update_policy", "networks", "metadata", "software_config_transport",
		"user_data_update_policy", "user_data", "admin_pass", "tags", "deployment_swift_data"},
	"OS::Neutron::Port": {"name", "device_id", "device_owner", "fixed_ips", "security_groups", "replacement_policy", "dns_name", "tags", "value_specs",
		"admin_state_up", "allowed_address_pairs", "binding:vnic_type", "port_security_enabled", "qos_policy", "propagate_uplink_status", "no_fixed_ips"},
	"OS::Cinder::Volume":                 {"size", "backup_id", "name", "description", "volume_type", "metadata", "read_only"},
	"OS::Neutron::FloatingIP":            {"port_id", "fixed_ip_address", "dns_name", "dns_domain"},
	"OS::Neutron::FloatingIPAssociation": {"floatingip_id", "port_id", "fixed_ip_address"},
	"OS::Heat::SoftwareConfig":           {},
	"OS::Heat::CloudConfig":              {},
	"OS::Heat::MultipartMime":            {},
}

// judge sets the action from the properties that differ, and forgets those that have no effect.
func (e *Effect) judge(now any) {
	properties, _ := now.(map[string]any)
	policy := func(of, standard string) string {
		if p, given := properties[of+"_update_policy"].(string); given {
			return p
		}
		return standard
	}
	if e.Type == serverType {
		e.Properties = slices.DeleteFunc(e.Properties, func(p Property) bool {
			return p.Name == "user_data" && policy("user_data", "REPLACE") == "IGNORE" || p.Name == "image_update_policy" || p.Name == "flavor_update_policy" || p.Name == "user_data_update_policy"
		})
	}
	allowed, known := inPlace[e.Type]
	for _, p := range e.Properties {
		switch {
		case !known:
		case !slices.Contains(allowed, p.Name),
			p.Name == "user_data", p.Name == "flavor" && policy("flavor", "RESIZE") == "REPLACE", p.Name == "image" && policy("image", "REBUILD") == "REPLACE":
			e.Action = Replace
		case p.Name == "image" && e.Type == serverType && e.Action != Replace:
			e.Action = Rebuild
		}
	}
}

// Servers returns the paths of the servers in the template, as in Effect.
func (t *Template) Servers() (out [][]string) {
	s := scope{of: t, file: &t.file}
	t.eachResource(func(key, r *yaml.Node) {
		for _, e := range s.whole(r, []string{key.Value}, Add) {
			if e.Type == serverType {
				out = append(out, e.Path)
			}
		}
	})
	return out
}

// Owner returns the resource with servers to which a resource of the base HOT belongs, its own name for such a resource, or "".
func (t *Template) Owner(name string) string { return t.belongings()[name] }
