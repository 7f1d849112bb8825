package openstack

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/vnfkit/vnfkit/infra/openstack/internal/heat"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// members are the definitions of the members of an AutoScalingGroup: the template of the stack that Heat has made of them. An update of the
// whole stack leaves them alone, unless it changes the definition of the group: then Heat changes all members that differ from it.
type members struct {
	stack     *heat.Stack
	text      heat.Definition
	document  map[string]json.RawMessage
	resources map[string]json.RawMessage // by the name of the member
}

// membersOf reads the members of a group of the stack.
func (w *work) membersOf(ctx context.Context, t tree, group string) (m members, err error) {
	for _, r := range t.list {
		if len(r.Path) == 1 && r.Name == group && r.Nested != "" {
			m.stack, err = w.heat.Get(ctx, &heat.Stack{Name: r.NestedName, ID: r.Nested})
		}
	}
	if err != nil || m.stack == nil {
		return m, err
	}
	if m.text, err = w.heat.Definition(ctx, m.stack); err != nil {
		return m, err
	}
	if err = json.Unmarshal([]byte(m.text.Template), &m.document); err == nil && m.document["resources"] != nil {
		err = json.Unmarshal(m.document["resources"], &m.resources)
	}
	return m, err
}

// sameJSON reports whether two texts have the same value.
func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return a != nil && b != nil && json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// changeMembers gives members of a group definitions; nil removes a member. The other members keep theirs. files are those to which the
// definitions refer.
func (w *work) changeMembers(ctx context.Context, group string, wanted map[string]json.RawMessage, files map[string]string) error {
	s, err := w.atRest(ctx)
	if err != nil {
		return err
	}
	t, err := w.tree(ctx, s)
	if err != nil {
		return err
	}
	m, err := w.membersOf(ctx, t, group)
	if err != nil {
		return err
	}
	if m.stack == nil {
		return fmt.Errorf("the stack has no group %s", group)
	}
	if m.stack.Status.Complete() && m.has(wanted) {
		return nil
	}
	def, err := m.with(wanted, files)
	if err != nil {
		return err
	}
	return w.applyNested(ctx, m.stack, def)
}

// applyNested updates the stack of a group and waits until Heat has finished.
func (w *work) applyNested(ctx context.Context, s *heat.Stack, def heat.Definition) error {
	current := func(ctx context.Context) (*heat.Stack, error) { return w.heat.Get(ctx, s) }
	_, err := persist(ctx, w.cfg.Poll, func() (struct{}, error) {
		now, err := current(ctx)
		if err == nil {
			now, err = w.heat.AtRest(ctx, now, w.tell(ctx)) // an earlier request may have been accepted although its answer was lost
		}
		if err == nil && now == nil {
			err = fmt.Errorf("the stack %s of a group was deleted", s.Name)
		}
		if err == nil {
			_, err = w.heat.Apply(ctx, now, def, w.tell(ctx))
		}
		return struct{}{}, w.stoppedAt(ctx, err, current)
	})
	return err
}

// has reports whether the members have these definitions.
func (m members) has(wanted map[string]json.RawMessage) bool {
	for name, definition := range wanted {
		now, there := m.resources[name]
		if there != (definition != nil) || there && !sameJSON(now, definition) {
			return false
		}
	}
	return true
}

// with returns the definition of the group's stack with other definitions of some members.
func (m members) with(wanted map[string]json.RawMessage, files map[string]string) (heat.Definition, error) {
	for name, definition := range wanted {
		if definition == nil {
			delete(m.resources, name)
			m.forget(name)
			continue
		}
		m.resources[name] = definition
	}
	var err error
	if m.document["resources"], err = json.Marshal(m.resources); err != nil {
		return heat.Definition{}, err
	}
	text, err := json.Marshal(m.document)
	return heat.Definition{Template: string(text), Files: files, Parameters: map[string]any{}}, err
}

// forget removes a member from the outputs, which have a value for each member.
func (m members) forget(member string) {
	var outputs map[string]map[string]any
	if json.Unmarshal(m.document["outputs"], &outputs) != nil {
		return
	}
	for _, o := range outputs {
		if of, byMember := o["value"].(map[string]any); byMember {
			delete(of, member)
		}
	}
	if text, err := json.Marshal(outputs); err == nil {
		m.document["outputs"] = text
	}
}

// memberName returns the name of the member that a unit adds to a group.
func memberName(u vnflcm.PackageUnit) string { return "added-" + u.ID[:min(len(u.ID), 8)] }
