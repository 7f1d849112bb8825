package tosca

import (
	"github.com/vnfkit/vnfkit/tosca/internal/grammar"
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
)

// triggers reads the triggers of a policy, followed by the triggers that only its type or an ancestor of its type has.
func (v values) triggers(p policy) map[string]Trigger {
	var found map[string]Trigger
	add := func(section *yamltree.Node) {
		for _, f := range section.Named() {
			if _, known := found[f.Key]; known || !f.Value.Is(yamltree.Mapping) || !v.topo.spend(f.Value, 5) {
				continue
			}
			if found == nil {
				found = map[string]Trigger{}
			}
			found[f.Key] = v.trigger(f)
		}
	}
	add(p.node.Get("triggers"))
	for d := v.topo.types.Lookup(grammar.PolicyTypes, p.node.Get("type").Str()); d != nil; d = d.Parent {
		add(d.Node.Get("triggers"))
	}
	return found
}

func (v values) trigger(f yamltree.Field) Trigger {
	event := f.Value.Get("event")
	if event == nil { // before TOSCA 1.3
		event = f.Value.Get("event_type")
	}
	if named := event.Get("type"); named != nil {
		event = named
	}
	return Trigger{
		Description:  f.Value.Get("description").Str(),
		Event:        event.Str(),
		Schedule:     v.value(f.Value.Get("schedule")),
		TargetFilter: v.value(f.Value.Get("target_filter")),
		Condition:    v.value(f.Value.Get("condition")),
		Actions:      v.actions(f.Value.Get("action")),
		Pos:          f.Pos,
	}
}

// actions reads the activities of a trigger: a list (TOSCA 1.3), or the operation of earlier versions.
func (v values) actions(section *yamltree.Node) []Action {
	if section.Present() == nil || section.Kind == yamltree.Scalar {
		return nil
	}
	var actions []Action
	for _, f := range section.Named() {
		a := Action{Kind: f.Key, Name: f.Value.Str(), Pos: f.Pos}
		for _, named := range []string{"operation", "workflow"} {
			if n := f.Value.Get(named); n != nil {
				a.Name, a.Inputs = n.Str(), v.assignments(f.Value.Get("inputs"))
			}
		}
		if a.Name == "" {
			a.Inputs = v.mapping(f.Value)
		}
		actions = append(actions, a)
	}
	return actions
}

// assignments reads the inputs of an activity: a mapping, or a list of mappings with one key each. A value may be in the long notation,
// {value: x}.
func (v values) assignments(section *yamltree.Node) map[string]any {
	if section.Present() == nil || section.Kind == yamltree.Scalar {
		return nil
	}
	inputs := map[string]any{}
	for _, f := range section.Named() {
		value := f.Value
		if value.Has("value") && len(value.Fields) == 1 {
			value = value.Get("value")
		}
		inputs[f.Key] = v.value(value)
	}
	return inputs
}
