package openstack

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/infra/openstack/hot"
	"github.com/vnfkit/vnfkit/infra/openstack/internal/heat"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// place is where the stack has the server of a unit.
type place struct {
	holder string // resource of the base HOT
	// member is set for members of an AutoScalingGroup that change in the stack of the group.
	member string
}

// changeBatch changes the units of op.Batch. Without a Batch, rolling back, it changes what belongs to no unit.
func (p *packageWork) changeBatch(ctx context.Context) error {
	if err := vnflcm.Do(ctx, p.op, "update-stack", "", p.updateStack); err != nil || p.op.Batch == nil {
		return err
	}
	t, err := p.currentTree(ctx)
	if err != nil {
		return err
	}
	changes := p.memberChanges(t)
	for _, group := range slices.Sorted(maps.Keys(changes)) {
		p.op.Declare(group)
		err := vnflcm.Do(ctx, p.op, "change-members", group, func(ctx context.Context) error { return p.changeMembers(ctx, group, changes[group], p.files()) })
		if err != nil {
			return err
		}
	}
	if !p.isReturn {
		return nil
	}
	return vnflcm.Do(ctx, p.op, "restore-stack", "", p.restoreStack)
}

// currentTree lists the resources of the stack.
func (p *packageWork) currentTree(ctx context.Context) (tree, error) {
	s, err := p.find(ctx)
	if err != nil || s == nil {
		return tree{}, errors.Join(err, ErrNoStack)
	}
	return p.tree(ctx, s)
}

// files are the files of both packages.
func (p *packageWork) files() map[string]string {
	files := maps.Clone(p.sides.Target.Files)
	if files == nil {
		files = map[string]string{}
	}
	maps.Copy(files, p.sides.Origin.Files)
	return files
}

// memberChanges returns, for each AutoScalingGroup, the definitions of its members of op.Batch; nil for one that is removed.
func (p *packageWork) memberChanges(t tree) map[string]map[string]json.RawMessage {
	out := map[string]map[string]json.RawMessage{}
	for _, u := range p.op.Batch.Units {
		at := p.placeOf(u, t)
		if at.member == "" {
			continue
		}
		if out[at.holder] == nil {
			out[at.holder] = map[string]json.RawMessage{}
		}
		out[at.holder][at.member] = nil
		if u.Change != vnflcm.VnfcRemoved {
			out[at.holder][at.member] = p.memberDefinition(at)
		}
	}
	return out
}

// memberDefinition returns the definition that op.Package gives a member.
func (p *packageWork) memberDefinition(at place) json.RawMessage {
	if !p.isReturn {
		return p.sides.Target.Members[at.holder]
	}
	if own := p.sides.Origin.Members[at.holder+"/"+at.member]; own != nil {
		return own
	}
	for _, key := range slices.Sorted(maps.Keys(p.sides.Origin.Members)) { // the member was added while the VNF was mixed
		if strings.HasPrefix(key, at.holder+"/") {
			return p.sides.Origin.Members[key]
		}
	}
	return nil
}

// placeOf finds the server of a unit: in the stack, in the stack as it was, or where the target will have it.
func (p *packageWork) placeOf(u vnflcm.PackageUnit, t tree) place {
	for _, s := range t.servers() {
		if s.vnfc == u.ID {
			at := place{holder: s.Path[0]}
			if s.group != nil && len(s.group.Path) == 1 && p.hasMembers(at.holder) {
				at.member = s.member.Name
			}
			return at
		}
	}
	for key := range p.sides.Origin.Members {
		group, member, _ := strings.Cut(key, "/")
		for _, path := range p.from.Servers() {
			if path[0] == group && t.idAt(slices.Insert(slices.Clone(path), 1, member)) == u.ID || path[0] == group && len(path) == 1 && t.idAt([]string{group, member}) == u.ID {
				return place{holder: group, member: member}
			}
		}
	}
	for _, path := range p.from.Servers() {
		if t.idAt(path) == u.ID {
			return place{holder: path[0]}
		}
	}
	at := place{holder: holderOf(p.to, u)}
	if p.hasMembers(at.holder) {
		at.member = memberName(u)
	}
	return at
}

// hasMembers reports whether the members of a holder change in the stack of their group: the stack had the group before the change.
func (p *packageWork) hasMembers(holder string) bool { return isAutoScaling(p.from, holder) }

// isAutoScaling reports whether a resource of the base HOT is an AutoScalingGroup.
func isAutoScaling(t *hot.Template, name string) bool {
	r := t.Resource(name)
	return r != nil && r.Type == hot.AutoScalingGroup
}

// holderOf returns the resource of the base HOT that makes the server of an added unit.
func holderOf(t *hot.Template, u vnflcm.PackageUnit) string {
	for _, name := range []string{u.Name, u.VDUs[0]} {
		for _, path := range t.Servers() {
			if path[0] == name || slices.Contains(path, name) {
				return path[0]
			}
		}
	}
	return ""
}

// updateStack gives the stack the definition with the resources of the units that have changed and those of op.Batch, and reads how Heat
// describes the members of groups.
func (p *packageWork) updateStack(ctx context.Context) error {
	r, t, x, err := p.progress(ctx)
	if err != nil {
		return err
	}
	s := r.stack
	if p.op.Batch != nil {
		p.advance(&x, t)
	}
	if err := p.setSizes(ctx, &x, t); err != nil {
		return err
	}
	def, err := p.sides.transition(x)
	if err != nil {
		return err
	}
	wanted := def
	if p.sides.Given { // the hidden ones too
		wanted.Parameters = maps.Clone(def.Parameters)
		maps.DeleteFunc(wanted.Parameters, func(name string, _ any) bool { return s.Parameters[name] == hidden })
	}
	if !s.Status.Complete() || !isDefinedBy(r, wanted, x.Sizes) {
		if s, err = p.apply(ctx, s, def); err != nil {
			return err
		}
	}
	if err := p.noteGiven(ctx); err != nil {
		return err
	}
	return p.readMembers(ctx, s, x.Evaluated)
}

// noteGiven stores that the stack has the parameters of the target.
func (p *packageWork) noteGiven(ctx context.Context) error {
	if p.sides.Given {
		return nil
	}
	p.sides.Given = true
	return p.op.State().Put(ctx, sidesKey, p.sides)
}

// isDefinedBy reports whether a stack has a definition.
func isDefinedBy(r running, def heat.Definition, sizes map[string]int) bool {
	t, err := hot.Parse(def.Template, def.Files)
	if err != nil || len(t.Differences(r.text.Template, r.text.Files)) > 0 || !sameParameters(r.stack.Parameters, def.Parameters) {
		return false
	}
	return !slices.ContainsFunc(r.template.Groups(), func(g hot.Group) bool {
		n, sized := sizes[g.Name]
		return sized && n != g.Number
	})
}

// readMembers stores the definitions that Heat has computed for the members of the target's groups.
func (p *packageWork) readMembers(ctx context.Context, s *heat.Stack, groups []string) error {
	if p.isReturn {
		return nil
	}
	now := map[string]json.RawMessage{}
	for _, group := range groups {
		value, err := p.heat.Attribute(ctx, s, hot.MemberValue(group), "value")
		if err != nil {
			return err
		}
		now[group] = value
	}
	if maps.EqualFunc(now, p.sides.Target.Members, sameJSON) {
		return nil
	}
	p.sides.Target.Members = now
	return p.op.State().Put(ctx, sidesKey, p.sides)
}

// progress waits for the stack, and describes it and how far it is between the two definitions.
func (p *packageWork) progress(ctx context.Context) (r running, t tree, x hot.Transition, err error) {
	s, r, err := p.look(ctx)
	if err == nil {
		t, err = p.tree(ctx, s)
	}
	if err == nil {
		x, err = p.present(r)
	}
	return r, t, x, err
}

// present describes how far the stack is between the two definitions.
func (p *packageWork) present(r running) (x hot.Transition, err error) {
	was, will := p.from.Holders(), p.to.Holders()
	for _, name := range will {
		if slices.Contains(was, name) && p.hasMembers(name) && isAutoScaling(p.to, name) {
			x.Evaluated = append(x.Evaluated, name)
		}
	}
	isComplete := p.sides.Completed && p.runs(r, p.to, p.sides.Target)
	all := hot.Transition{From: p.from, To: p.to, Taken: will, Kept: p.sides.keptParameters(p.from, p.to)}
	next, err := all.Template()
	if err != nil {
		return x, err
	}
	isBetween := r.template.InTransition()
	for _, name := range will {
		isThere := r.template.Resource(name) != nil
		switch isCommon := slices.Contains(was, name); {
		case isComplete, isBetween && isThere && (!isCommon || r.template.Defines(name, next)):
			x.Taken = append(x.Taken, name)
		case !isCommon:
			x.Withheld = append(x.Withheld, name)
		}
	}
	for _, name := range was {
		if !slices.Contains(will, name) && (isComplete || isBetween && r.template.Resource(name) == nil) {
			x.Dropped = append(x.Dropped, name)
		}
	}
	return x, nil
}

// advance changes the resources of the units of op.Batch that are not members of AutoScalingGroups.
func (p *packageWork) advance(x *hot.Transition, t tree) {
	for _, u := range p.op.Batch.Units {
		at := p.placeOf(u, t)
		if at.member != "" {
			continue
		}
		isOld, isNew := slices.Contains(p.from.Holders(), at.holder), slices.Contains(p.to.Holders(), at.holder)
		for list, wanted := range map[*[]string]bool{&x.Taken: isNew && !p.isReturn, &x.Dropped: !isNew && !p.isReturn, &x.Withheld: !isOld && p.isReturn} {
			*list = slices.DeleteFunc(*list, func(name string) bool { return name == at.holder })
			if wanted {
				*list = append(*list, at.holder)
			}
		}
	}
}

// setSizes sets the numbers of members: of groups that the stack had, those that it has, and of groups that only the target has, as many as
// the batches have added.
func (p *packageWork) setSizes(ctx context.Context, x *hot.Transition, t tree) error {
	x.Sizes = map[string]int{}
	for _, g := range p.from.Groups() {
		if g.Type != hot.AutoScalingGroup || slices.Contains(x.Dropped, g.Name) {
			continue
		}
		m, err := p.membersOf(ctx, t, g.Name)
		if err != nil {
			return err
		}
		x.Sizes[g.Name] = len(m.resources)
	}
	for _, g := range p.to.Groups() {
		if slices.Contains(x.Taken, g.Name) && !slices.Contains(p.from.Holders(), g.Name) {
			x.Sizes[g.Name] = p.added(g.Name)
		}
	}
	return nil
}

// added counts the units of a new group that have been added once op.Batch is done. Without a Batch all have been.
func (p *packageWork) added(group string) (n int) {
	for _, u := range p.op.PackagePlan.Units {
		isOfBatch := p.op.Batch != nil && slices.ContainsFunc(p.op.Batch.Units, func(b vnflcm.PackageUnit) bool { return b.ID == u.ID })
		if isOfBatch && p.isReturn {
			return n
		}
		if u.Change == vnflcm.VnfcAdded && holderOf(p.to, u) == group {
			n++
		}
		if isOfBatch && p.isLastOfBatch(u) {
			return n
		}
	}
	return n
}

func (p *packageWork) isLastOfBatch(u vnflcm.PackageUnit) bool {
	return p.op.Batch.Units[len(p.op.Batch.Units)-1].ID == u.ID
}

// restoreStack gives the stack the definition that it had and removes the images of the target, if no unit runs by the target any more.
func (p *packageWork) restoreStack(ctx context.Context) error {
	_, t, x, err := p.progress(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(x.Taken, func(name string) bool { return !slices.Contains(x.Evaluated, name) }) || len(x.Dropped) > 0 {
		return nil
	}
	for _, group := range x.Evaluated {
		m, err := p.membersOf(ctx, t, group)
		if err != nil {
			return err
		}
		for name, definition := range m.resources {
			if !sameJSON(definition, p.memberDefinition(place{group, name})) {
				return nil
			}
		}
	}
	if err := p.complete(ctx); err != nil {
		return err
	}
	return p.releaseOthers(ctx)
}
