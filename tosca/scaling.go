package tosca

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/tosca/problem"
)

// Aspect is a scaling aspect: a dimension in which the VNF is scaled in steps.
type Aspect struct {
	// ID is the key of the aspect: what SOL003 calls aspectId.
	ID string
	// Name and Description are the texts for people.
	Name, Description string
	// MaxLevel is max_scale_level; 0 is the lowest level of every aspect.
	MaxLevel int
	// StepDeltas names the delta of each step from one level to the next. When
	// there are fewer than MaxLevel, the last one stands for the steps after it.
	StepDeltas []string
	// Deltas tells for each VDU how many instances each delta adds.
	Deltas map[string]map[string]int
	// Pos is the aspect's definition.
	Pos problem.Position
}

// InstantiationLevel is a size in which the VNF can be instantiated.
type InstantiationLevel struct {
	ID, Description string
	// ScaleLevels maps aspects to scale levels; aspects not named are at 0.
	ScaleLevels map[string]int
	// Instances maps VDUs to numbers of instances (VduInstantiationLevels). VDUs
	// not named have the number their scale levels give.
	Instances map[string]int
	// Pos is the level's definition.
	Pos problem.Position
}

// VDU returns the VDU with that id, nil when there is none.
func (f *Flavour) VDU(id string) *VDU {
	for i := range f.VDUs {
		if f.VDUs[i].ID == id {
			return &f.VDUs[i]
		}
	}
	return nil
}

// aspect returns the aspect with that id, nil when there is none.
func (f *Flavour) aspect(id string) *Aspect {
	for i := range f.Aspects {
		if f.Aspects[i].ID == id {
			return &f.Aspects[i]
		}
	}
	return nil
}

// level returns the instantiation level with that id, nil when there is none.
func (f *Flavour) level(id string) *InstantiationLevel {
	for i := range f.Levels {
		if f.Levels[i].ID == id {
			return &f.Levels[i]
		}
	}
	return nil
}

// Instances tells how many instances each VDU has at the given scale levels.
// Aspects not named are at level 0. The error joins a fault for every aspect
// that is unknown (errors.Is ErrUnknown), whose level is negative or above its
// maximum (errors.Is ErrScaleLevel), or one of whose steps names a delta that
// does not exist (errors.Is ErrUnknown).
func (f *Flavour) Instances(levels map[string]int) (map[string]int, error) {
	numbers := make(map[string]int, len(f.VDUs))
	for _, v := range f.VDUs {
		numbers[v.ID] = v.Initial
	}
	var faults []error
	for _, id := range slices.Sorted(maps.Keys(levels)) {
		a, level := f.aspect(id), levels[id]
		switch {
		case a == nil:
			faults = append(faults, fmt.Errorf("tosca: scaling aspect %q is %w (aspects of flavour %s: %s)", id, ErrUnknown, f.ID, f.aspectNames()))
		case level < 0 || level > a.MaxLevel:
			faults = append(faults, fmt.Errorf("tosca: aspect %s at level %d: %w (0 to %d)", id, level, ErrScaleLevel, a.MaxLevel))
		default:
			faults = append(faults, a.addSteps(level, numbers))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return numbers, nil
}

// addSteps adds the instances of the steps from level 0 to level.
func (a *Aspect) addSteps(level int, numbers map[string]int) error {
	for step, delta := range a.StepDeltas {
		if step >= level {
			break
		}
		if !a.hasDelta(delta) {
			return fmt.Errorf("tosca: aspect %s: delta %q is %w", a.ID, delta, ErrUnknown)
		}
		times := 1
		if step == len(a.StepDeltas)-1 {
			times = level - step
		}
		for vdu, deltas := range a.Deltas {
			numbers[vdu] += times * deltas[delta]
		}
	}
	return nil
}

// hasDelta reports whether a VDU has the delta. An aspect without any deltas
// scales something that is not in the model, such as the bitrate of a link, and
// has all.
func (a *Aspect) hasDelta(name string) bool {
	if len(a.Deltas) == 0 {
		return true
	}
	for _, deltas := range a.Deltas {
		if _, ok := deltas[name]; ok {
			return true
		}
	}
	return false
}

// LevelsOf gives the scale level of every aspect at an instantiation level; ""
// means the default level. Without a default level all aspects are at 0. An unknown level is an error (errors.Is ErrUnknown) that names
// those there are.
func (f *Flavour) LevelsOf(instantiationLevel string) (map[string]int, error) {
	levels := make(map[string]int, len(f.Aspects))
	for _, a := range f.Aspects {
		levels[a.ID] = 0
	}
	if instantiationLevel == "" {
		instantiationLevel = f.DefaultLevel
	}
	if instantiationLevel == "" {
		return levels, nil
	}
	l := f.level(instantiationLevel)
	if l == nil {
		ids := make([]string, len(f.Levels))
		for i, known := range f.Levels {
			ids[i] = known.ID
		}
		return nil, fmt.Errorf("tosca: instantiation level %q is %w (levels of flavour %s: %s)",
			instantiationLevel, ErrUnknown, f.ID, strings.Join(ids, ", "))
	}
	maps.Copy(levels, l.ScaleLevels)
	return levels, nil
}

// AspectsOf lists, sorted, the aspects that scale a VDU.
func (f *Flavour) AspectsOf(vdu string) []string {
	var ids []string
	for _, a := range f.Aspects {
		if _, ok := a.Deltas[vdu]; ok {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

func (f *Flavour) aspectNames() string {
	ids := make([]string, len(f.Aspects))
	for i, a := range f.Aspects {
		ids[i] = a.ID
	}
	return strings.Join(ids, ", ")
}
