package tosca

import (
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

func (b *flavourBuilder) buildLevels() {
	policies := b.topo.policies(typeLevels)
	for _, p := range policies {
		for _, f := range p.properties.Get("levels").Map() {
			b.Levels = append(b.Levels, InstantiationLevel{
				ID:          f.Key,
				Description: b.text(f.Value.Get("description")),
				ScaleLevels: b.scaleInfo(f.Value.Get("scale_info")),
				Instances:   map[string]int{},
				Pos:         f.Pos,
			})
		}
	}
	sortByID(b.Levels, func(l InstantiationLevel) string { return l.ID })
	for _, p := range policies {
		b.defaultLevel(p)
	}
	for _, p := range b.topo.policies(typeVduLevels) {
		for _, f := range p.properties.Get("levels").Map() {
			level := b.level(f.Key)
			if level == nil {
				b.report.Errorf(f.Pos, problem.UnknownLevel, "there is no instantiation level %q", f.Key)
				continue
			}
			for _, v := range b.targetVDUs(p) {
				level.Instances[v.ID] = b.count(f.Value.Get("number_of_instances"), 0)
			}
		}
	}
}

func (b *flavourBuilder) scaleInfo(n *yamltree.Node) map[string]int {
	levels := map[string]int{}
	for _, f := range n.Map() {
		a := b.knownAspect(f.Key, f.Pos)
		if a == nil {
			continue
		}
		value := f.Value.Get("scale_level")
		level := b.count(value, 0)
		if level > a.MaxLevel {
			b.report.Errorf(value.Pos, problem.LevelAboveMax, "the aspect %s goes up to the scale level %d, not %d", a.ID, a.MaxLevel, level)
		}
		levels[a.ID] = level
	}
	return levels
}

// knownAspect returns the aspect that a policy names. It returns nil and reports a problem if the aspect does not exist. This is a
// warning for a VNF without aspects, which does not scale: such policies are common in real packages.
func (b *flavourBuilder) knownAspect(name string, pos problem.Position) *Aspect {
	a := b.aspect(name)
	switch {
	case len(b.Aspects) == 0:
		b.report.Warnf(pos, problem.UnknownAspect, "there are no scaling aspects, %q is ignored", name)
	case a == nil:
		b.report.Errorf(pos, problem.UnknownAspect, "there is no scaling aspect %q", name)
	}
	return a
}

// defaultLevel reads default_level, which a VNFD with a single level may omit.
func (b *flavourBuilder) defaultLevel(p policy) {
	n := p.properties.Get("default_level")
	name := b.text(n)
	switch {
	case name != "" && b.level(name) != nil:
		b.DefaultLevel = name
	case name != "":
		b.report.Errorf(n.Pos, problem.DefaultLevel, "the default level %q is no instantiation level", name)
	case len(b.Levels) == 1:
		b.DefaultLevel = b.Levels[0].ID
	case len(b.Levels) > 1:
		b.report.Warnf(p.pos, problem.DefaultLevel, "there are %d instantiation levels and no default_level", len(b.Levels))
	}
}
