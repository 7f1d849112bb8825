package tosca

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/tosca/problem"
)

// Aspect is a scaling aspect: a dimension in which the VNF is scaled in steps.
type Aspect struct {
	// ID is the key of the aspect, which is aspectId in SOL003.
	ID string
	// Name and Description are texts for display.
	Name, Description string
	// MaxLevel is max_scale_level. The lowest level of every aspect is 0.
	MaxLevel int
	// StepDeltas names the delta of each step from one level to the next. If StepDeltas has fewer than MaxLevel elements, its last
	// delta also applies to the remaining steps.
	StepDeltas []string
	// Deltas gives, for each VDU, the number of instances that each delta adds.
	Deltas map[string]map[string]int
	// Pos is the position of the aspect's definition.
	Pos problem.Position
}

// InstantiationLevel is a size in which the VNF can be instantiated.
type InstantiationLevel struct {
	ID, Description string
	// ScaleLevels maps aspects to scale levels. Aspects that are not in ScaleLevels are at level 0.
	ScaleLevels map[string]int
	// Instances maps VDUs to numbers of instances (VduInstantiationLevels). For VDUs that are not in Instances, the number results
	// from the scale levels.
	Instances map[string]int
	// Pos is the position of the level's definition.
	Pos problem.Position
}

// VDU returns the VDU with this id, nil if the flavour does not have it.
func (f *Flavour) VDU(id string) *VDU {
	return find(f.VDUs, id, func(v VDU) string { return v.ID })
}

func (f *Flavour) aspect(id string) *Aspect {
	return find(f.Aspects, id, func(a Aspect) string { return a.ID })
}

func (f *Flavour) level(id string) *InstantiationLevel {
	return find(f.Levels, id, func(l InstantiationLevel) string { return l.ID })
}

// find returns an element of a list that is sorted by id, nil if the list does not contain the id.
func find[T any](list []T, id string, of func(T) string) *T {
	i, ok := slices.BinarySearchFunc(list, id, func(each T, id string) int { return cmp.Compare(of(each), id) })
	if !ok {
		return nil
	}
	return &list[i]
}

// Step returns the numbers of VNFCs, by VDU, that the step of an aspect from fromLevel to the next level adds. The step back
// removes the same numbers. VDUs that the step does not change are omitted. The error wraps ErrUnknown if the aspect or the delta
// of the step does not exist, and ErrScaleLevel if no step starts at fromLevel.
func (f *Flavour) Step(aspectID string, fromLevel int) (map[string]int, error) {
	a := f.aspect(aspectID)
	if a == nil {
		return nil, f.unknownAspect("aspectId", aspectID)
	}
	if fromLevel < 0 || fromLevel >= a.MaxLevel {
		return nil, a.outOfRange("scaleLevel", strconv.Itoa(fromLevel), fromLevel+1)
	}
	before, err := a.upTo(fromLevel)
	if err != nil {
		return nil, err
	}
	after, err := a.upTo(fromLevel + 1)
	if err != nil {
		return nil, err
	}
	added := map[string]int{}
	for vdu, number := range after {
		if number != before[vdu] {
			added[vdu] = number - before[vdu]
		}
	}
	return added, nil
}

// upTo counts the VNFCs that the steps from level 0 to level add to each VDU.
func (a *Aspect) upTo(level int) (map[string]int, error) {
	times := map[string]int{} // number of steps with each delta
	for step, delta := range a.StepDeltas {
		if step >= level {
			break
		}
		times[delta]++
		if step == len(a.StepDeltas)-1 {
			times[delta] += level - step - 1
		}
	}
	numbers, found := map[string]int{}, map[string]bool{}
	for vdu, deltas := range a.Deltas {
		for delta, n := range deltas {
			if times[delta] > 0 {
				numbers[vdu] += times[delta] * n
				found[delta] = true
			}
		}
	}
	for _, delta := range sortedKeys(times) {
		// An aspect without any deltas scales a resource that is not in the model, for example the bitrate of a link.
		if len(a.Deltas) > 0 && !found[delta] {
			return nil, &RequestError{"aspectId", a.ID, fmt.Sprintf("the delta %q of a step is %v", delta, ErrUnknown), ErrUnknown}
		}
	}
	return numbers, nil
}

// levelOrDefault returns an instantiation level. For "" it returns the default level or, without a default level, a level with all
// aspects at 0.
func (f *Flavour) levelOrDefault(id string) (InstantiationLevel, error) {
	if id == "" {
		id = f.DefaultLevel
	}
	if id == "" {
		return InstantiationLevel{}, nil
	}
	if l := f.level(id); l != nil {
		return *l, nil
	}
	return InstantiationLevel{}, &RequestError{"instantiationLevelId", id, fmt.Sprintf("instantiation level is %v (levels of flavour %s: %s)",
		ErrUnknown, f.ID, names(f.Levels, func(l InstantiationLevel) string { return l.ID })), ErrUnknown}
}

// AspectsOf returns the sorted ids of the aspects that scale a VDU.
func (f *Flavour) AspectsOf(vdu string) []string {
	var ids []string
	for _, a := range f.Aspects {
		if _, ok := a.Deltas[vdu]; ok {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// VDUsOf returns the sorted ids of the VDUs that an aspect scales.
func (f *Flavour) VDUsOf(aspectID string) []string {
	a := f.aspect(aspectID)
	if a == nil {
		return nil
	}
	return sortedKeys(a.Deltas)
}

// names returns a list of ids for the text of an error.
func names[T any](list []T, id func(T) string) string {
	ids := make([]string, len(list))
	for i, each := range list {
		ids[i] = id(each)
	}
	return strings.Join(ids, ", ")
}
