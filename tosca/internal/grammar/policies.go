package grammar

import (
	"strings"

	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// group checks a group and its members (TOSCA Simple Profile 1.3, 3.8.5).
func (v *validator) group(s *scope, f yamltree.Field) {
	if !v.spend(1) || !v.keys(f.Value, groupDefinition) {
		return
	}
	d := v.typeOf(GroupTypes, f, groupDefinition)
	v.properties(s, f.Value.Get("properties"), d, "properties", nil)
	v.required(f.Value, d, nil, f.Pos, f.Key)
	allowed := nearestList(d, "members")
	for _, m := range f.Value.Get("members").List() {
		v.member(s, m, allowed, false)
	}
}

// policy checks a policy and its targets (3.8.6).
func (v *validator) policy(s *scope, f yamltree.Field) {
	if !v.spend(1) || !v.keys(f.Value, policyDefinition) {
		return
	}
	d := v.typeOf(PolicyTypes, f, policyDefinition)
	v.properties(s, f.Value.Get("properties"), d, "properties", nil)
	v.required(f.Value, d, nil, f.Pos, f.Key)
	allowed := nearestList(d, "targets")
	for _, t := range f.Value.Get("targets").List() {
		v.member(s, t, allowed, true)
	}
	for _, t := range f.Value.Get("triggers").Named() {
		v.activities(s, t.Value.Get("action"), nil)
	}
}

// nearestList returns the list in a section of a type or, if the type has no such section, of its nearest ancestor that has it.
func nearestList(d *Type, section string) []*yamltree.Node {
	for ; d != nil; d = d.Parent {
		if list := d.Node.Get(section); list != nil {
			return list.List()
		}
	}
	return nil
}

// member checks that the member of a group, or the target of a policy, exists and has one of the allowed types. If allowed is
// empty, any type is valid. If groups is set, n may also name a group.
func (v *validator) member(s *scope, n *yamltree.Node, allowed []*yamltree.Node, groups bool) {
	if !v.spend(1) {
		return
	}
	f, ok := s.templates.Field(n.Str())
	kind := NodeTypes
	if !ok && groups {
		f, ok = s.groups.Field(n.Str())
		kind = GroupTypes
	}
	if !ok {
		known := keysOf(s.templates)
		if groups {
			known = append(known, keysOf(s.groups)...)
		}
		v.unknown(n.Pos, problem.UnknownNode, "there is no template", n.Str(), known)
		return
	}
	d := v.types.Lookup(kind, f.Value.Get("type").Str())
	if d == nil || len(allowed) == 0 {
		return
	}
	var names []string
	for _, a := range allowed {
		if v.types.Is(kind, d.Name, a.Str()) {
			return
		}
		names = append(names, a.Str())
	}
	v.wrongTarget(n, d, strings.Join(names, " or "))
}
