package tosca

import (
	"maps"
	"slices"
)

func (b *flavourBuilder) buildLevels() {
	policies := b.policies(typeLevels)
	for _, p := range policies {
		for _, f := range p.properties.get("levels").mapping() {
			b.Levels = append(b.Levels, InstantiationLevel{
				ID:          f.key,
				Description: b.text(f.value.get("description")),
				ScaleLevels: b.scaleInfo(f.value.get("scale_info")),
				Instances:   map[string]int{},
				Pos:         f.pos,
			})
		}
	}
	sortByID(b.Levels, func(l InstantiationLevel) string { return l.ID })
	for _, p := range policies {
		b.defaultLevel(p)
	}
	for _, p := range b.policies(typeVduLevels) {
		for _, f := range p.properties.get("levels").mapping() {
			level := b.level(f.key)
			if level == nil {
				b.report.errorf(f.pos, CodeUnknownLevel, "there is no instantiation level %q", f.key)
				continue
			}
			for _, v := range b.targetVDUs(p) {
				level.Instances[v.ID] = b.count(f.value.get("number_of_instances"), 0)
			}
		}
	}
}

func (b *flavourBuilder) scaleInfo(n *node) map[string]int {
	levels := map[string]int{}
	for _, f := range n.mapping() {
		a := b.aspect(f.key)
		if a == nil {
			b.report.errorf(f.pos, CodeUnknownAspect, "there is no scaling aspect %q", f.key)
			continue
		}
		value := f.value.get("scale_level")
		level := b.count(value, 0)
		if level > a.MaxLevel {
			b.report.errorf(value.pos, CodeLevelAboveMax, "the aspect %s goes up to the scale level %d, not %d", a.ID, a.MaxLevel, level)
		}
		levels[a.ID] = level
	}
	return levels
}

// defaultLevel reads default_level, which may be left out when there is only one
// level.
func (b *flavourBuilder) defaultLevel(p policy) {
	n := p.properties.get("default_level")
	name := b.text(n)
	switch {
	case name != "" && b.level(name) != nil:
		b.DefaultLevel = name
	case name != "":
		b.report.errorf(n.pos, CodeDefaultLevel, "the default level %q is no instantiation level", name)
	case len(b.Levels) == 1:
		b.DefaultLevel = b.Levels[0].ID
	case len(b.Levels) > 1:
		b.report.warnf(p.pos, CodeDefaultLevel, "there are %d instantiation levels and no default_level", len(b.Levels))
	}
}

// checkNumbers warns about sizes that contradict each other or lie outside the
// VDU profiles.
func (b *flavourBuilder) checkNumbers() {
	for _, v := range b.VDUs {
		b.checkProfile(v, v.Initial, v.Pos, "initially")
	}
	for _, l := range b.Levels {
		computed, err := b.Instances(l.ScaleLevels)
		if err != nil {
			continue // reported where the level was read
		}
		for _, id := range slices.Sorted(maps.Keys(l.Instances)) {
			number := l.Instances[id]
			v := b.VDU(id)
			if number != computed[id] && len(b.AspectsOf(id)) > 0 {
				b.report.warnf(l.Pos, CodeLevelMismatch, "the level %s gives %s %d instances, its scale levels give %d", l.ID, id, number, computed[id])
			}
			b.checkProfile(*v, number, l.Pos, "at level "+l.ID)
		}
	}
}

func (b *flavourBuilder) checkProfile(v VDU, number int, pos Position, when string) {
	if number < v.Min || (v.Max >= 0 && number > v.Max) {
		b.report.warnf(pos, CodeOutsideProfile, "%s has %d instances %s, its profile allows %d to %d", v.ID, number, when, v.Min, v.Max)
	}
}
