package tosca

import (
	"maps"
	"slices"

	"github.com/vnfkit/vnfkit/tosca/internal/grammar"
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// policy is one policy of a topology.
type policy struct {
	id         string
	pos        problem.Position
	node       *yamltree.Node
	properties *yamltree.Node
	targets    []*yamltree.Node
}

// allPolicies returns the policies in document order. Some packages have policies at the top level of the document.
func (t *topology) allPolicies() []policy {
	var found []policy
	for _, section := range []*yamltree.Node{t.node.Get("policies"), t.doc.Root.Get("policies")} {
		for _, f := range section.Named() {
			found = append(found, policy{f.Key, f.Pos, f.Value, f.Value.Get("properties"), f.Value.Get("targets").List()})
		}
	}
	return found
}

// policies returns the policies whose type is base or derived from base, in document order.
func (t *topology) policies(base string) []policy {
	return slices.DeleteFunc(t.allPolicies(), func(p policy) bool {
		return !t.types.Is(grammar.PolicyTypes, p.node.Get("type").Str(), base)
	})
}

func (b *flavourBuilder) buildPolicies() {
	if n := b.topo.doc.Root.Get("policies"); n != nil {
		b.report.Warnf(n.Pos, problem.Misplaced, "policies belong into the topology_template")
	}
	b.buildGroups()
	b.buildAspects()
	b.buildDeltas()
	b.buildInitial()
	b.buildLevels()
	b.buildAffinity()
	b.buildIndicators()
	b.buildCoordinations()
	b.checkNumbers()
}

func (b *flavourBuilder) buildGroups() {
	for _, f := range b.topo.node.Get("groups").Map() {
		g := PlacementGroup{ID: f.Key, Description: b.text(f.Value.Path("properties", "description")), Pos: f.Pos}
		for _, m := range f.Value.Get("members").List() {
			if b.exists(m.Str(), m.Pos) {
				g.Members = append(g.Members, m.Str())
			}
		}
		if b.topo.types.Is(grammar.GroupTypes, f.Value.Get("type").Str(), typePlacementGroup) {
			b.PlacementGroups = append(b.PlacementGroups, g)
		}
	}
	sortByID(b.PlacementGroups, func(g PlacementGroup) string { return g.ID })
}

func (b *flavourBuilder) buildAspects() {
	for _, p := range b.topo.policies(typeScalingAspects) {
		for _, f := range p.properties.Get("aspects").Map() {
			b.Aspects = append(b.Aspects, Aspect{
				ID:          f.Key,
				Name:        b.text(f.Value.Get("name")),
				Description: b.text(f.Value.Get("description")),
				MaxLevel:    b.count(f.Value.Get("max_scale_level"), 0),
				StepDeltas:  b.texts(f.Value.Get("step_deltas")),
				Deltas:      map[string]map[string]int{},
				Pos:         f.Pos,
			})
		}
	}
	sortByID(b.Aspects, func(a Aspect) string { return a.ID })
}

// buildDeltas reads the numbers of instances that the steps of an aspect add to a VDU.
func (b *flavourBuilder) buildDeltas() {
	for _, p := range b.topo.policies(typeAspectDeltas) {
		name := p.properties.Get("aspect")
		a := b.knownAspect(b.text(name), name.At(p.properties, &yamltree.Node{Pos: p.pos}))
		if a == nil {
			continue
		}
		deltas := map[string]int{}
		for _, f := range p.properties.Get("deltas").Map() {
			deltas[f.Key] = b.count(f.Value.Get("number_of_instances"), 0)
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

// checkSteps compares the steps of an aspect with its deltas. It only warns, because the VNF can be instantiated; Scale refuses a
// step without a delta.
func (b *flavourBuilder) checkSteps(a Aspect) {
	if len(a.Deltas) == 0 {
		return // the aspect scales a resource that is not in the model
	}
	known := map[string]bool{}
	for _, deltas := range a.Deltas {
		for delta := range deltas {
			known[delta] = true
		}
	}
	if len(a.StepDeltas) == 0 && a.MaxLevel > 0 {
		b.report.Warnf(a.Pos, problem.UnknownDelta, "the aspect %s has no step_deltas: its steps add no instances", a.ID)
	}
	for _, step := range a.StepDeltas {
		if !known[step] {
			b.report.Warnf(a.Pos, problem.UnknownDelta, "a step of the aspect %s names the delta %q, which no VDU has", a.ID, step)
		}
	}
}

func (b *flavourBuilder) buildInitial() {
	for _, p := range b.topo.policies(typeInitialDelta) {
		number := p.properties.Path("initial_delta", "number_of_instances")
		for _, v := range b.targetVDUs(p) {
			v.Initial = b.count(number, v.Min)
		}
	}
}

func (b *flavourBuilder) buildAffinity() {
	for _, base := range []string{typeAffinity, typeAntiAffinity} {
		for _, p := range b.topo.policies(base) {
			rule := AffinityRule{
				ID:    p.id,
				Anti:  base == typeAntiAffinity,
				Scope: b.text(p.properties.Get("scope")),
				Pos:   p.pos,
			}
			for _, t := range p.targets {
				if b.topo.node.Path("groups", t.Str()) != nil || b.exists(t.Str(), t.Pos) {
					rule.Targets = append(rule.Targets, t.Str())
				}
			}
			b.Affinity = append(b.Affinity, rule)
		}
	}
	sortByID(b.Affinity, func(r AffinityRule) string { return r.ID })
}

// targetVDUs returns the VDUs among the targets of a policy. It reports targets that do not exist, and skips other nodes.
func (b *flavourBuilder) targetVDUs(p policy) []*VDU {
	var found []*VDU
	for _, t := range p.targets {
		if !b.exists(t.Str(), t.Pos) {
			continue
		}
		if v := b.VDU(t.Str()); v != nil {
			found = append(found, v)
		}
	}
	return found
}
