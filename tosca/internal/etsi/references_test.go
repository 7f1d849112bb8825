package etsi_test

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// kinds are the sections that define types.
var kinds = []string{
	"artifact_types", "data_types", "capability_types", "relationship_types",
	"interface_types", "node_types", "group_types", "policy_types",
}

// names are the types that a set of documents defines, by kind.
type names map[string]map[string]bool

func (n names) add(doc *yaml.Node) {
	for _, kind := range kinds {
		if n[kind] == nil {
			n[kind] = map[string]bool{}
		}
		each(get(doc, kind), func(name string, _ *yaml.Node) { n[kind][name] = true })
	}
}

// has also returns true for the built-in types of YAML and TOSCA.
func (n names) has(kind, name string) bool {
	switch name {
	case "string", "integer", "float", "boolean", "timestamp", "version", "range", "list", "map",
		"scalar-unit.size", "scalar-unit.time", "scalar-unit.frequency", "scalar-unit.bitrate":
		return kind == "data_types"
	}
	return n[kind][name]
}

// reference is a type that a document names.
type reference struct{ kind, name string }

// references lists the types that the type definitions of a document refer to.
func references(doc *yaml.Node) []reference {
	var found []reference
	add := func(kind string, value *yaml.Node) {
		if value != nil && value.Kind == yaml.ScalarNode && value.Value != "" {
			found = append(found, reference{kind, value.Value})
		}
	}
	for _, kind := range kinds {
		each(get(doc, kind), func(_ string, def *yaml.Node) {
			add(kind, get(def, "derived_from"))
			for _, section := range []string{"properties", "attributes", "inputs"} {
				schemas(get(def, section), add)
			}
			each(get(def, "capabilities"), func(_ string, c *yaml.Node) {
				add("capability_types", c)
				add("capability_types", get(c, "type"))
				all(get(c, "valid_source_types"), "node_types", add)
			})
			each(get(def, "interfaces"), func(_ string, i *yaml.Node) { add("interface_types", get(i, "type")) })
			each(get(def, "requirements"), func(_ string, r *yaml.Node) {
				add("node_types", get(r, "node"))
				add("capability_types", get(r, "capability"))
				add("relationship_types", get(r, "relationship"))
			})
			operations(kind, def, add)
			targets(kind, def, add)
		})
	}
	return found
}

// schemas visits the types of property definitions and of their entries.
func schemas(section *yaml.Node, add func(string, *yaml.Node)) {
	each(section, func(_ string, p *yaml.Node) {
		for ; p != nil; p = get(p, "entry_schema") {
			add("data_types", get(p, "type"))
			if p.Kind == yaml.ScalarNode { // entry_schema: string
				add("data_types", p)
			}
		}
	})
}

func operations(kind string, def *yaml.Node, add func(string, *yaml.Node)) {
	if kind != "interface_types" {
		return
	}
	each(def, func(_ string, operation *yaml.Node) { schemas(get(operation, "inputs"), add) })
	each(get(def, "operations"), func(_ string, operation *yaml.Node) { schemas(get(operation, "inputs"), add) })
}

// targets calls add for the types to which relationships, groups and policies apply. Targets of policies are node types or group
// types.
func targets(kind string, def *yaml.Node, add func(string, *yaml.Node)) {
	all(get(def, "valid_target_types"), "capability_types", add)
	all(get(def, "members"), "node_types", add)
	if kind == "policy_types" {
		all(get(def, "targets"), "node_types or group_types", add)
	}
}

func all(list *yaml.Node, kind string, add func(string, *yaml.Node)) {
	if list != nil {
		for _, item := range list.Content {
			add(kind, item)
		}
	}
}

// missing returns the references to undefined types, each once and in the form "kind name".
func (n names) missing(refs []reference) map[string]bool {
	found := map[string]bool{}
	for _, r := range refs {
		resolved := false
		for kind := range strings.SplitSeq(r.kind, " or ") {
			resolved = resolved || n.has(kind, r.name)
		}
		if !resolved {
			found[r.kind+" "+r.name] = true
		}
	}
	return found
}

// get returns the value of a key, or nil.
func get(n *yaml.Node, key string) *yaml.Node {
	var found *yaml.Node
	each(n, func(k string, v *yaml.Node) {
		if k == key {
			found = v
		}
	})
	return found
}

// each visits the entries of a mapping, or of the mappings in a list.
func each(n *yaml.Node, visit func(string, *yaml.Node)) {
	switch {
	case n == nil:
	case n.Kind == yaml.DocumentNode, n.Kind == yaml.SequenceNode:
		for _, c := range n.Content {
			each(c, visit)
		}
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			visit(n.Content[i].Value, n.Content[i+1])
		}
	}
}
