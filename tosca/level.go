package tosca

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"strconv"
)

// TargetLevel is the target of a ScaleVnfToLevelRequest (SOL003 v2.6.1 5.5.2.6). Exactly one of the fields is set.
type TargetLevel struct {
	// InstantiationLevelID is instantiationLevelId.
	InstantiationLevelID string
	// ScaleInfo are scale levels of aspects. SOL003 requires every aspect of the flavour and does not define the meaning of a
	// missing aspect. Here a missing aspect keeps its level.
	ScaleInfo []ScaleInfo
}

// ScaleToLevel returns the scalings of single aspects that bring a VNF from the size from to a target level: first the scale-outs,
// then the scale-ins, both sorted by aspect. An aspect that is at its target has no scaling. If the VNF does not support several
// steps at once, each step is a separate scaling.
//
// The error joins a *RequestError for every fault: a level or aspect that does not exist (ErrUnknown), a scale level
// that the aspect does not have (ErrScaleLevel), a VDU that would leave its profile after one of the scalings
// (ErrVDUProfile), scale levels in a request to a VNF that does not support them, or an instantiation level whose
// numbers of VNFCs the scalings do not reach (ErrNotSupported).
func (f *Flavour) ScaleToLevel(from Size, to TargetLevel) ([]Scaling, error) {
	levels, err := f.targetLevels(from.ScaleStatus, to)
	if err != nil {
		return nil, err
	}
	scalings, err := f.scalings(from.ScaleStatus, levels, to)
	if err != nil {
		return nil, err
	}
	size := Size{ScaleStatus: maps.Clone(from.ScaleStatus), Instances: maps.Clone(from.Instances)}
	for _, s := range scalings {
		if err := f.apply(size, s, to); err != nil {
			return nil, err
		}
	}
	if to.InstantiationLevelID != "" {
		err = f.checkLevelSize(size, to.InstantiationLevelID)
	}
	return scalings, err
}

// targetLevels returns the scale level of every aspect at the target.
func (f *Flavour) targetLevels(now map[string]int, to TargetLevel) (map[string]int, error) {
	faults := f.checkTargetLevel(to)
	levels := map[string]int{}
	maps.Copy(levels, now)
	if to.InstantiationLevelID != "" {
		level, err := f.levelOrDefault(to.InstantiationLevelID)
		faults = append(faults, err)
		for _, a := range f.Aspects {
			levels[a.ID] = level.ScaleLevels[a.ID]
		}
	}
	for i, info := range to.ScaleInfo {
		at := fmt.Sprintf("scaleInfo[%d]", i)
		faults = append(faults, f.checkLevel(info, at+".aspectId", at+".scaleLevel"))
		levels[info.AspectID] = info.ScaleLevel
	}
	return levels, errors.Join(faults...)
}

// checkTargetLevel returns the faults of a request for a level that do not depend on the levels of the VNF.
func (f *Flavour) checkTargetLevel(to TargetLevel) []error {
	const attribute = "scaleInfo"
	faults := namedTwice(attribute, to.ScaleInfo)
	switch {
	case to.InstantiationLevelID == "" && len(to.ScaleInfo) == 0:
		faults = append(faults, &RequestError{Attribute: "instantiationLevelId", Reason: "is required, or scaleInfo"})
	case to.InstantiationLevelID != "" && len(to.ScaleInfo) > 0:
		faults = append(faults, &RequestError{Attribute: attribute, Reason: "excludes instantiationLevelId"})
	}
	if c := f.Operations.ScaleToLevel; c != nil && !c.ArbitraryTargetLevels && len(to.ScaleInfo) > 0 {
		faults = append(faults, &RequestError{attribute, "", "the descriptor says arbitrary_target_levels_supported: false", ErrNotSupported})
	}
	return faults
}

// mostSingleSteps limits the steps of one aspect if each step is a separate scaling.
const mostSingleSteps = 1000

// scalings returns the scalings that lead to the levels of a target.
func (f *Flavour) scalings(from, levels map[string]int, to TargetLevel) ([]Scaling, error) {
	c := f.Operations.Scale
	single := c != nil && !c.ByMoreThanOneStep
	var out, in []Scaling
	for _, a := range f.Aspects { // sorted by id
		steps, atOnce := levels[a.ID]-from[a.ID], math.MaxInt
		if single {
			atOnce = 1
		}
		if single && max(steps, -steps) > mostSingleSteps {
			attribute, value := to.attribute(a.ID)
			return nil, &RequestError{attribute, value, fmt.Sprintf("aspect %s is %d single steps away, at most %d are possible", a.ID, max(steps, -steps), mostSingleSteps), ErrNotSupported}
		}
		for n := steps; n > 0; n -= atOnce {
			out = append(out, Scaling{ScaleOut, a.ID, min(n, atOnce)})
		}
		for n := -steps; n > 0; n -= atOnce {
			in = append(in, Scaling{ScaleIn, a.ID, min(n, atOnce)})
		}
	}
	return append(out, in...), nil
}

// apply changes size by a scaling on the way to a target.
func (f *Flavour) apply(size Size, s Scaling, to TargetLevel) error {
	steps := s.NumberOfSteps
	if s.Type == ScaleIn {
		steps = -steps
	}
	before := maps.Clone(size.Instances)
	if err := f.aspect(s.AspectID).move(size, size.ScaleStatus[s.AspectID]+steps); err != nil {
		return err
	}
	attribute, value := to.attribute(s.AspectID)
	var faults []error
	for _, v := range f.VDUs {
		if n := size.Instances[v.ID]; n != before[v.ID] {
			faults = append(faults, v.within(n, attribute, value))
		}
	}
	return errors.Join(faults...)
}

// attribute returns the name and the value of the request's attribute that determines the level of an aspect.
func (t TargetLevel) attribute(aspectID string) (name, value string) {
	for i, info := range t.ScaleInfo {
		if info.AspectID == aspectID {
			return fmt.Sprintf("scaleInfo[%d].scaleLevel", i), strconv.Itoa(info.ScaleLevel)
		}
	}
	return "instantiationLevelId", t.InstantiationLevelID
}

// checkLevelSize compares a size with the numbers of VNFCs of an instantiation level. VduInstantiationLevels may state other
// numbers than those that result from the scale levels.
func (f *Flavour) checkLevelSize(size Size, levelID string) error {
	want, err := f.InitialSize(TargetSize{InstantiationLevelID: levelID})
	if err != nil {
		return err
	}
	var faults []error
	for _, v := range f.VDUs {
		if n := size.Instances[v.ID]; n != want.Instances[v.ID] {
			faults = append(faults, &RequestError{"instantiationLevelId", levelID, fmt.Sprintf(
				"the level has %d instances of VDU %s, scaling the aspects would give %d", want.Instances[v.ID], v.ID, n), ErrNotSupported})
		}
	}
	return errors.Join(faults...)
}
