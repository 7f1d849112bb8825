package tosca

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
)

// ScaleInfo is the scale level of one aspect (SOL003 v2.6.1 5.5.3.4).
type ScaleInfo struct {
	AspectID   string `json:"aspectId"`
	ScaleLevel int    `json:"scaleLevel"`
	// VnfdID is the VNFD that defines the aspect (SOL003 v3.3.1 5.5.3.4). It can differ from the VNFD of the instance only while
	// the VNF package of the instance is being changed.
	VnfdID string `json:"vnfdId,omitempty"`
}

// TargetSize is the size in an InstantiateVnfRequest (SOL003 v3.3.1 5.5.2.4): an instantiation level or scale levels. The zero
// TargetSize is the default level.
type TargetSize struct {
	// InstantiationLevelID is instantiationLevelId. Default: the default level.
	InstantiationLevelID string
	// TargetScaleLevelInfo are scale levels of aspects that replace those of the instantiation level.
	TargetScaleLevelInfo []ScaleInfo
}

// Size is the size of a VNF instance.
type Size struct {
	// ScaleStatus maps every aspect to its current scale level.
	ScaleStatus map[string]int
	// Instances maps every VDU to its number of VNFCs.
	Instances map[string]int
}

// ScaleType is the direction of a Scaling.
type ScaleType string

// The directions of scaling (SOL003 v2.6.1 5.5.2.5).
const (
	ScaleOut ScaleType = "SCALE_OUT"
	ScaleIn  ScaleType = "SCALE_IN"
)

// Scaling is a number of steps along one aspect, as in a ScaleVnfRequest (SOL003 v2.6.1 5.5.2.5).
type Scaling struct {
	Type     ScaleType
	AspectID string
	// NumberOfSteps is at least 1.
	NumberOfSteps int
}

// InitialSize returns the size of a VNF that is instantiated with this target. The numbers of an instantiation level
// (VduInstantiationLevels) override the numbers that result from its scale levels. With TargetScaleLevelInfo they apply only to
// VDUs that no aspect in TargetScaleLevelInfo scales.
//
// The error joins a *RequestError for every fault: a level or aspect that does not exist (ErrUnknown), a scale level
// that the aspect does not have (ErrScaleLevel), a number outside of the profile of its VDU (ErrVDUProfile), scale
// levels in a request to a VNF that does not support them (ErrNotSupported).
func (f *Flavour) InitialSize(t TargetSize) (Size, error) {
	faults := f.checkTarget(t)
	size, err := f.initial(t)
	if err := errors.Join(append(faults, err)...); err != nil {
		return Size{}, err
	}
	attribute := "instantiationLevelId"
	if len(t.TargetScaleLevelInfo) > 0 {
		attribute = "targetScaleLevelInfo"
	}
	for _, v := range f.VDUs {
		faults = append(faults, v.within(size.Instances[v.ID], attribute, t.InstantiationLevelID))
	}
	if err := errors.Join(faults...); err != nil {
		return Size{}, err
	}
	return size, nil
}

// SizeAt returns the size of a VNF that was instantiated with this target and has been scaled to scaleStatus. Each step between
// the initial level of an aspect and its current level adds or removes the delta of the step. Aspects that are not in scaleStatus
// are at their initial level.
//
// The error joins a *RequestError for every aspect that does not exist (ErrUnknown) or is at a level that it does not
// have (ErrScaleLevel), and for every VDU that would have fewer than zero VNFCs (ErrVDUProfile).
func (f *Flavour) SizeAt(t TargetSize, scaleStatus map[string]int) (Size, error) {
	size, err := f.initial(t)
	faults := []error{err}
	for _, id := range sortedKeys(scaleStatus) {
		level := scaleStatus[id]
		if err := f.checkLevel(ScaleInfo{AspectID: id, ScaleLevel: level}, "scaleStatus", "scaleStatus."+id); err != nil {
			faults = append(faults, err)
			continue
		}
		faults = append(faults, f.aspect(id).move(size, level))
	}
	for _, v := range f.VDUs {
		if n := size.Instances[v.ID]; n < 0 {
			faults = append(faults, v.within(n, "scaleStatus", ""))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return Size{}, err
	}
	return size, nil
}

// Scale returns the size after a scaling. A step adds or removes its delta, whatever the current number of VNFCs is.
//
// The error joins a *RequestError for every fault: an unknown direction, fewer than one step, an aspect that does not
// exist (ErrUnknown), a scale level that it does not have (ErrScaleLevel), a VDU that would leave its profile
// (ErrVDUProfile), several steps at once if the VNF does not support them (ErrNotSupported).
func (f *Flavour) Scale(from Size, s Scaling) (Size, error) {
	if err := f.checkScaling(s); err != nil {
		return Size{}, err
	}
	level := from.ScaleStatus[s.AspectID] + s.NumberOfSteps
	if s.Type == ScaleIn {
		level = from.ScaleStatus[s.AspectID] - s.NumberOfSteps
	}
	a, steps := f.aspect(s.AspectID), strconv.Itoa(s.NumberOfSteps)
	if level < 0 || level > a.MaxLevel {
		return Size{}, a.outOfRange("numberOfSteps", steps, level)
	}
	size := Size{ScaleStatus: map[string]int{}, Instances: map[string]int{}}
	maps.Copy(size.ScaleStatus, from.ScaleStatus)
	maps.Copy(size.Instances, from.Instances)
	if err := a.move(size, level); err != nil {
		return Size{}, err
	}
	var faults []error
	for _, v := range f.VDUs {
		if n := size.Instances[v.ID]; n != from.Instances[v.ID] {
			faults = append(faults, v.within(n, "numberOfSteps", steps))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return Size{}, err
	}
	return size, nil
}

// initial is InitialSize without the checks of the request.
func (f *Flavour) initial(t TargetSize) (Size, error) {
	level, err := f.levelOrDefault(t.InstantiationLevelID)
	faults := []error{err}
	levels, moved := maps.Clone(level.ScaleLevels), map[string]bool{}
	if levels == nil {
		levels = map[string]int{}
	}
	for i, info := range t.TargetScaleLevelInfo {
		at := fmt.Sprintf("targetScaleLevelInfo[%d]", i)
		if err := f.checkLevel(info, at+".aspectId", at+".scaleLevel"); err != nil {
			faults = append(faults, err)
			continue
		}
		levels[info.AspectID] = info.ScaleLevel
		for vdu := range f.aspect(info.AspectID).Deltas {
			moved[vdu] = true
		}
	}
	size, err := f.atScaleLevels(levels)
	for vdu, number := range level.Instances {
		if !moved[vdu] {
			size.Instances[vdu] = number
		}
	}
	return size, errors.Join(append(faults, err)...)
}

// atScaleLevels returns the size that results from scale levels alone. Aspects that are not in levels are at level 0.
func (f *Flavour) atScaleLevels(levels map[string]int) (Size, error) {
	size := Size{ScaleStatus: map[string]int{}, Instances: map[string]int{}}
	for _, v := range f.VDUs {
		size.Instances[v.ID] = v.Initial
	}
	var faults []error
	for _, a := range f.Aspects {
		size.ScaleStatus[a.ID] = 0
		if level := levels[a.ID]; level != 0 {
			faults = append(faults, a.move(size, level))
		}
	}
	return size, errors.Join(faults...)
}

// move changes a size to another level of the aspect.
func (a *Aspect) move(size Size, level int) error {
	after, err := a.upTo(level)
	if err != nil {
		return err
	}
	before, err := a.upTo(size.ScaleStatus[a.ID])
	if err != nil {
		return err
	}
	for vdu := range a.Deltas {
		size.Instances[vdu] += after[vdu] - before[vdu]
	}
	size.ScaleStatus[a.ID] = level
	return nil
}
