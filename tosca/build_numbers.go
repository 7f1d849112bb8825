package tosca

import "github.com/vnfkit/vnfkit/tosca/problem"

// maxChecks limits the work of the checks that only warn: aspects x steps x VDUs.
const maxChecks = 200_000

// checkNumbers warns about sizes that contradict each other or violate the VDU profiles: a VNFM refuses to instantiate the VNF in such a
// size and to scale the VNF to it.
func (b *flavourBuilder) checkNumbers() {
	scaled, work := map[string]bool{}, 0
	for _, a := range b.Aspects {
		work += 1 + len(a.StepDeltas)
		for vdu := range a.Deltas {
			scaled[vdu] = true
			work++
		}
	}
	for _, v := range b.VDUs {
		b.checkProfile(v, v.Initial, v.Pos, "initially")
	}
	for i, a := range b.Aspects {
		if (i+1)*(work+len(b.VDUs)) > maxChecks {
			return
		}
		b.checkAspect(a)
	}
	for i, l := range b.Levels {
		if (i+1)*(work+len(b.VDUs)) > maxChecks {
			return
		}
		b.checkSize(l, scaled)
	}
}

// checkAspect warns about VDUs of which an aspect makes too many instances at its highest level.
func (b *flavourBuilder) checkAspect(a Aspect) {
	added, err := a.upTo(a.MaxLevel)
	if err != nil {
		return // already reported
	}
	for _, id := range sortedKeys(added) {
		v := b.VDU(id)
		if number := v.Initial + added[id]; v.Max >= 0 && v.Initial <= v.Max && number > v.Max {
			b.report.Warnf(a.Pos, problem.OutsideProfile, "at its highest level, %d, the aspect %s makes %d instances of %s, whose profile allows at most %d: the VNF cannot be scaled out to it",
				a.MaxLevel, a.ID, number, id, v.Max)
		}
	}
}

// checkSize compares the numbers of an instantiation level with its scale levels and with the profiles of the VDUs.
func (b *flavourBuilder) checkSize(l InstantiationLevel, scaled map[string]bool) {
	computed, err := b.atScaleLevels(l.ScaleLevels)
	if err != nil {
		return // already reported
	}
	for _, v := range b.VDUs {
		number, isStated := l.Instances[v.ID]
		if isStated && number != computed.Instances[v.ID] && scaled[v.ID] {
			b.report.Warnf(l.Pos, problem.LevelMismatch, "the level %s gives %s %d instances, its scale levels give %d", l.ID, v.ID, number, computed.Instances[v.ID])
		}
		if !isStated {
			number = computed.Instances[v.ID]
		}
		if isStated || number != v.Initial {
			b.checkProfile(v, number, l.Pos, "at level "+l.ID)
		}
	}
}

func (b *flavourBuilder) checkProfile(v VDU, number int, pos problem.Position, when string) {
	if number < v.Min || (v.Max >= 0 && number > v.Max) {
		b.report.Warnf(pos, problem.OutsideProfile, "%s has %d instances %s, its profile allows %d to %d", v.ID, number, when, v.Min, v.Max)
	}
}
