package openstack_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"
)

var groupNames = []string{"master_instance", "worker_instance"}

// status is the state of the stack of a group. Each call brings its update closer to its end.
func (n *nestedStack) status(otherwise string) string {
	switch {
	case n.left > 0:
		n.left--
		return "UPDATE_IN_PROGRESS"
	case n.failed != "":
		return "UPDATE_FAILED"
	case n.updated > 0 && otherwise == "CREATE_COMPLETE":
		return "UPDATE_COMPLETE"
	}
	return otherwise
}

// resource returns a resource of the template of a stack, or nil if the template lacks it.
func (s *fakeStack) resource(name string) map[string]any {
	template, _ := s.template.(map[string]any)
	resources, _ := template["resources"].(map[string]any)
	r, _ := resources[name].(map[string]any)
	return r
}

// declared is the declaration of a parameter.
func (s *fakeStack) declared(name string) map[string]any {
	template, _ := s.template.(map[string]any)
	parameters, _ := template["parameters"].(map[string]any)
	p, _ := parameters[name].(map[string]any)
	return p
}

// values are the values of the parameters, or their defaults.
func (s *fakeStack) values() map[string]any {
	out := map[string]any{}
	template, _ := s.template.(map[string]any)
	parameters, _ := template["parameters"].(map[string]any)
	for name := range parameters {
		if value := s.declared(name)["default"]; value != nil {
			out[name] = value
		}
	}
	maps.Copy(out, s.params)
	return out
}

// evaluate computes the functions in an expression of a template that the sample uses.
func (s *fakeStack) evaluate(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if path, of := v["get_param"]; of {
			list, isList := path.([]any)
			if !isList {
				return s.values()[path.(string)]
			}
			value := s.values()[list[0].(string)]
			for _, key := range list[1:] {
				m, _ := value.(map[string]any)
				value = m[key.(string)]
			}
			return value
		}
		if name, of := v["get_resource"]; of {
			return s.idOf(name.(string))
		}
		if list, of := v["if"].([]any); of { // all conditions of the sample hold
			return s.evaluate(list[1])
		}
		out := map[string]any{}
		for key, value := range v {
			out[key] = s.evaluate(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = s.evaluate(v[i])
		}
		return out
	}
	return v
}

// idOf is the id of a resource. Heat replaces a configuration that changes.
func (s *fakeStack) idOf(name string) string {
	r := s.resource(name)
	if kind, _ := r["type"].(string); strings.HasSuffix(kind, "Config") {
		text, _ := json.Marshal(s.evaluate(r["properties"]))
		return fmt.Sprintf("config-%x", sha256.Sum256(text))
	}
	return "id-of-" + name
}

// memberOf is the definition of the members of a group.
func (f *fake) memberOf(s *fakeStack, group string) any {
	properties, _ := s.resource(group)["properties"].(map[string]any)
	return s.evaluate(properties["resource"])
}

func (f *fake) capacity(s *fakeStack, group string) int {
	properties, _ := s.resource(group)["properties"].(map[string]any)
	switch n := s.evaluate(properties["desired_capacity"]).(type) {
	case float64:
		return int(n)
	case int:
		return n
	}
	return len(s.groups[group])
}

// roll changes members like Heat: if the definition of their group has changed, those that differ from it.
func (f *fake) roll(s *fakeStack, before map[string]any) {
	for _, group := range groupNames {
		now := f.memberOf(s, group)
		if reflect.DeepEqual(before[group], now) {
			continue
		}
		for _, m := range s.groups[group] {
			if !reflect.DeepEqual(m.def, now) {
				f.rolled++
				f.change(m, now)
			}
		}
	}
}

// makeIndividuals makes the servers of a VDU as the template defines them, one by one.
func (f *fake) makeIndividuals(s *fakeStack, vdu, group string) {
	template, _ := s.template.(map[string]any)
	resources, _ := template["resources"].(map[string]any)
	s.groups[group] = slices.DeleteFunc(s.groups[group], func(m *member) bool { return resources[m.name] == nil })
	for _, name := range slices.Sorted(maps.Keys(resources)) {
		if !strings.HasPrefix(name, vdu+"-") {
			continue
		}
		def := s.evaluate(resources[name])
		i := slices.IndexFunc(s.groups[group], func(m *member) bool { return m.name == name })
		if i < 0 {
			f.serial++
			i, s.groups[group] = len(s.groups[group]), append(s.groups[group], &member{name: name, stack: f.id(), server: f.id(), port: f.id(), volume: f.id(), def: def,
				address: fmt.Sprintf("10.3.%d.%d", f.serial/250, f.serial%250+1), created: time.Unix(int64(f.serial), 0), floating: vdu == "workerNode"})
		}
		m := s.groups[group][i]
		if !reflect.DeepEqual(m.def, def) {
			f.change(m, def)
		}
		if m.sick || m.unhealthy {
			m.server, m.sick, m.unhealthy = f.id(), false, false
		}
	}
}

// defined is the definition of a member in the stack of its group, also if Nova has failed to follow it.
func (m *member) defined() any {
	if m.ahead != nil {
		return m.ahead
	}
	return m.def
}

// change gives a member another definition.
func (f *fake) change(m *member, def any) {
	was, now := propertiesOf(m.def), propertiesOf(def)
	if was["image"] != now["image"] {
		m.rebuilt++
	}
	if was["flavor"] != now["flavor"] {
		m.resized++
	}
	m.def = def
}

func propertiesOf(def any) map[string]any {
	m, _ := def.(map[string]any)
	properties, _ := m["properties"].(map[string]any)
	return properties
}

// attribute answers for a resource of type OS::Heat::Value.
func (f *fake) attribute(s *fakeStack, name string) (int, any) {
	r := s.resource(name)
	if r["type"] != "OS::Heat::Value" {
		return refusal(http.StatusNotFound, "The Resource ("+name+") could not be found.")
	}
	return http.StatusOK, map[string]any{"resource": map[string]any{"resource_name": name,
		"attributes": map[string]any{"value": s.evaluate(r["properties"].(map[string]any)["value"])}}}
}

// groupTemplate is the template that Heat has made of the members of a group.
func (f *fake) groupTemplate(s *fakeStack, group string) any {
	resources, ids := map[string]any{}, map[string]any{}
	for _, m := range s.groups[group] {
		resources[m.name], ids[m.name] = m.defined(), map[string]any{"get_resource": m.name}
	}
	return map[string]any{"heat_template_version": "2015-04-30", "resources": resources,
		"outputs": map[string]any{"refs_map": map[string]any{"value": ids}}}
}

// updateGroup changes the members of a group as the template says.
func (f *fake) updateGroup(s *fakeStack, group string, body map[string]any) (int, any) {
	var template struct {
		Resources map[string]any
		Outputs   map[string]struct{ Value map[string]any }
	}
	if err := json.Unmarshal([]byte(body["template"].(string)), &template); err != nil {
		return refusal(http.StatusBadRequest, err.Error())
	}
	for name := range template.Outputs["refs_map"].Value {
		if template.Resources[name] == nil {
			return refusal(http.StatusBadRequest, "The specified reference \""+name+"\" is incorrect.")
		}
	}
	if s.nested[group] == nil {
		s.nested[group] = &nestedStack{}
	}
	n := s.nested[group]
	n.updated, n.left, n.failed = n.updated+1, f.polls, ""
	s.groups[group] = slices.DeleteFunc(s.groups[group], func(m *member) bool { return template.Resources[m.name] == nil })
	for _, m := range s.groups[group] {
		want := template.Resources[m.name]
		if reflect.DeepEqual(m.defined(), want) && m.ahead == nil {
			continue
		}
		if f.broken != nil && !reflect.DeepEqual(m.def, want) {
			if reason := f.broken(m); reason != "" {
				n.failed, m.ahead = reason, want
				continue
			}
		}
		m.ahead = nil
		f.change(m, want)
	}
	for name, def := range template.Resources {
		if !slices.ContainsFunc(s.groups[group], func(m *member) bool { return m.name == name }) {
			f.serial++
			s.groups[group] = append(s.groups[group], &member{name: name, stack: f.id(), server: f.id(), port: f.id(), volume: f.id(), def: def,
				address: fmt.Sprintf("10.2.%d.%d", f.serial/250, f.serial%250+1), created: time.Unix(int64(f.serial), 0), floating: strings.HasPrefix(group, "worker")})
		}
	}
	return http.StatusAccepted, nil
}
