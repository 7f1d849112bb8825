// Package grammar knows the types of a descriptor.
package grammar

import (
	"github.com/vnfkit/vnfkit/tosca/internal/documents"
	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// Kind is a section of a service template that defines types.
type Kind string

const (
	NodeTypes      Kind = "node_types"
	ArtifactTypes  Kind = "artifact_types"
	PolicyTypes    Kind = "policy_types"
	GroupTypes     Kind = "group_types"
	InterfaceTypes Kind = "interface_types"
)

var kinds = []Kind{NodeTypes, ArtifactTypes, PolicyTypes, GroupTypes, InterfaceTypes}

// normative are derivations of the TOSCA Simple Profile that no package defines.
var normative = map[string]string{
	"tosca.artifacts.Implementation.Bash":   "tosca.artifacts.Implementation",
	"tosca.artifacts.Implementation.Python": "tosca.artifacts.Implementation",
}

// Types holds the type definitions of all documents by kind and name.
type Types map[Kind]map[string]yamltree.Field

func NewTypes(documents []documents.Document, r *report.Report) Types {
	t := Types{}
	for _, kind := range kinds {
		t[kind] = map[string]yamltree.Field{}
		for _, d := range documents {
			for _, f := range d.Root.Get(string(kind)).Map() {
				if _, known := t[kind][f.Key]; !known {
					t[kind][f.Key] = f
				}
			}
		}
		for name, f := range t[kind] {
			if t.cyclic(kind, name) {
				r.Errorf(f.Pos, problem.TypeCycle, "the type %s is derived from itself", name)
			}
		}
	}
	return t
}

func (t Types) parent(kind Kind, name string) string {
	if parent := t[kind][name].Value.Get("derived_from").Str(); parent != "" {
		return parent
	}
	return normative[name]
}

// cyclic reports whether the ancestors of a type lead back to it.
func (t Types) cyclic(kind Kind, name string) bool {
	for _, ancestor := range t.lineage(kind, name)[1:] {
		if ancestor == name {
			return true
		}
	}
	return false
}

// lineage lists a type and its ancestors, nearest first. It ends where a cycle
// closes, with the type that closes it.
func (t Types) lineage(kind Kind, name string) []string {
	var line []string
	seen := map[string]bool{}
	for ; name != ""; name = t.parent(kind, name) {
		line = append(line, name)
		if seen[name] {
			break
		}
		seen[name] = true
	}
	return line
}

// Is reports whether a type is base or derived from it.
func (t Types) Is(kind Kind, name, base string) bool {
	if name == "" {
		return false
	}
	for _, ancestor := range t.lineage(kind, name) {
		if ancestor == base {
			return true
		}
	}
	return false
}

// Property returns the definition of a property in the nearest type that has it.
func (t Types) Property(kind Kind, name, property string) *yamltree.Node {
	if name == "" {
		return nil
	}
	for _, ancestor := range t.lineage(kind, name) {
		if def := t[kind][ancestor].Value.Path("properties", property); def != nil {
			return def
		}
	}
	return nil
}

// ValidValues returns the valid_values constraint of a property definition.
func ValidValues(definition *yamltree.Node) []*yamltree.Node {
	for _, c := range definition.Get("constraints").Named() {
		if c.Key == "valid_values" {
			return c.Value.List()
		}
	}
	return nil
}

// Default returns what a property has when a template does not set it: its
// default or, as descriptors often leave it, the only value it may have.
func Default(definition *yamltree.Node) *yamltree.Node {
	if d := definition.Get("default"); d != nil {
		return d
	}
	if values := ValidValues(definition); len(values) == 1 {
		return values[0].Present()
	}
	return nil
}
