package tosca

import (
	"cmp"
	"maps"
	"slices"
)

// policy is one policy of the flavour.
type policy struct {
	id         string
	pos        Position
	properties *node
	targets    []*node
}

// policies lists the policies whose type is base or derived from it, in document
// order.
func (b *flavourBuilder) policies(base string) []policy {
	var found []policy
	for _, section := range []*node{b.topo.node.get("policies"), b.topo.doc.root.get("policies")} {
		for _, f := range section.named() {
			if b.topo.types.is(policyTypes, f.value.get("type").scalar(), base) {
				found = append(found, policy{f.key, f.pos, f.value.get("properties"), f.value.get("targets").sequence()})
			}
		}
	}
	return found
}

func (b *flavourBuilder) buildPolicies() {
	if n := b.topo.doc.root.get("policies"); n != nil {
		b.report.warnf(n.pos, CodeMisplaced, "policies belong into the topology_template")
	}
	b.buildGroups()
	b.buildAspects()
	b.buildDeltas()
	b.buildInitial()
	b.buildLevels()
	b.buildAffinity()
	b.checkNumbers()
}

func (b *flavourBuilder) buildGroups() {
	for _, f := range b.topo.node.get("groups").mapping() {
		g := PlacementGroup{ID: f.key, Description: b.text(f.value.path("properties", "description")), Pos: f.pos}
		for _, m := range f.value.get("members").sequence() {
			if b.exists(m.scalar(), m.pos) {
				g.Members = append(g.Members, m.scalar())
			}
		}
		if b.topo.types.is(groupTypes, f.value.get("type").scalar(), typePlacementGroup) {
			b.Groups = append(b.Groups, g)
		}
	}
	sortByID(b.Groups, func(g PlacementGroup) string { return g.ID })
}

func (b *flavourBuilder) buildAspects() {
	for _, p := range b.policies(typeScalingAspects) {
		for _, f := range p.properties.get("aspects").mapping() {
			b.Aspects = append(b.Aspects, Aspect{
				ID:          f.key,
				Name:        b.text(f.value.get("name")),
				Description: b.text(f.value.get("description")),
				MaxLevel:    b.count(f.value.get("max_scale_level"), 0),
				StepDeltas:  b.texts(f.value.get("step_deltas")),
				Deltas:      map[string]map[string]int{},
				Pos:         f.pos,
			})
		}
	}
	sortByID(b.Aspects, func(a Aspect) string { return a.ID })
}

// buildDeltas reads how many instances the steps of an aspect add to a VDU.
func (b *flavourBuilder) buildDeltas() {
	for _, p := range b.policies(typeAspectDeltas) {
		name := p.properties.get("aspect")
		a := b.aspect(b.text(name))
		if a == nil {
			b.report.errorf(name.at(p.properties, &node{pos: p.pos}), CodeUnknownAspect, "there is no scaling aspect %q", name.scalar())
			continue
		}
		deltas := map[string]int{}
		for _, f := range p.properties.get("deltas").mapping() {
			deltas[f.key] = b.count(f.value.get("number_of_instances"), 0)
		}
		for _, v := range b.targetVDUs(p) {
			if a.Deltas[v.ID] == nil {
				a.Deltas[v.ID] = map[string]int{}
			}
			maps.Copy(a.Deltas[v.ID], deltas)
		}
	}
	for _, a := range b.Aspects {
		b.checkSteps(a)
	}
}

// checkSteps holds the steps of an aspect against its deltas. It only warns: the
// VNF can be instantiated, and Flavour.Instances refuses the steps concerned.
func (b *flavourBuilder) checkSteps(a Aspect) {
	for _, step := range a.StepDeltas {
		if !a.hasDelta(step) {
			b.report.warnf(a.Pos, CodeUnknownDelta, "a step of the aspect %s names the delta %q, which no VDU has", a.ID, step)
		}
	}
}

func (b *flavourBuilder) buildInitial() {
	for _, p := range b.policies(typeInitialDelta) {
		number := p.properties.path("initial_delta", "number_of_instances")
		for _, v := range b.targetVDUs(p) {
			v.Initial = b.count(number, v.Min)
		}
	}
}

func (b *flavourBuilder) buildAffinity() {
	for _, base := range []string{typeAffinity, typeAntiAffinity} {
		for _, p := range b.policies(base) {
			rule := AffinityRule{
				ID:    p.id,
				Anti:  base == typeAntiAffinity,
				Scope: b.text(p.properties.get("scope")),
				Pos:   p.pos,
			}
			for _, t := range p.targets {
				if b.topo.node.path("groups", t.scalar()) != nil || b.exists(t.scalar(), t.pos) {
					rule.Targets = append(rule.Targets, t.scalar())
				}
			}
			b.Affinity = append(b.Affinity, rule)
		}
	}
	sortByID(b.Affinity, func(r AffinityRule) string { return r.ID })
}

// targetVDUs returns the VDUs a policy is about. Targets that do not exist are a
// problem; nodes of other kinds are passed over.
func (b *flavourBuilder) targetVDUs(p policy) []*VDU {
	var found []*VDU
	for _, t := range p.targets {
		if !b.exists(t.scalar(), t.pos) {
			continue
		}
		if i, ok := slices.BinarySearchFunc(b.VDUs, t.scalar(), func(v VDU, id string) int { return cmp.Compare(v.ID, id) }); ok {
			found = append(found, &b.VDUs[i])
		}
	}
	return found
}
