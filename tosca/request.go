package tosca

import (
	"errors"
	"fmt"
	"strconv"
)

// RequestError is a fault of a request that contradicts the descriptor. Use errors.Is to find the kind of fault:
// ErrUnknown, ErrScaleLevel, ErrVDUProfile, ErrNotSupported.
type RequestError struct {
	// Attribute is the attribute of the request in the names of SOL003, for example "targetScaleLevelInfo[0].aspectId".
	Attribute string
	// Value is the value of the attribute, "" if the attribute is missing.
	Value string
	// Reason describes the fault.
	Reason string
	kind   error
}

// Error returns a text with attribute, value and reason.
func (e *RequestError) Error() string {
	if e.Value == "" {
		return "tosca: " + e.Attribute + ": " + e.Reason
	}
	return fmt.Sprintf("tosca: %s: %q: %s", e.Attribute, e.Value, e.Reason)
}

// Unwrap returns the kind of the fault.
func (e *RequestError) Unwrap() error { return e.kind }

// checkTarget returns the faults of a request for a size that do not depend on the levels of the VNF.
func (f *Flavour) checkTarget(t TargetSize) (faults []error) {
	if len(t.TargetScaleLevelInfo) == 0 {
		return nil
	}
	const attribute = "targetScaleLevelInfo"
	if t.InstantiationLevelID != "" {
		faults = append(faults, &RequestError{Attribute: attribute, Reason: "excludes instantiationLevelId"})
	}
	if c := f.Operations.Instantiate; c != nil && !c.TargetScaleLevels {
		faults = append(faults, &RequestError{attribute, "", "the descriptor says target_scale_levels_supported: false", ErrNotSupported})
	}
	return append(faults, namedTwice(attribute, t.TargetScaleLevelInfo)...)
}

// namedTwice returns a fault for each aspect that a list of scale levels repeats.
func namedTwice(attribute string, list []ScaleInfo) (faults []error) {
	seen := map[string]bool{}
	for i, info := range list {
		if seen[info.AspectID] {
			faults = append(faults, &RequestError{Attribute: fmt.Sprintf("%s[%d].aspectId", attribute, i), Value: info.AspectID, Reason: "is named twice"})
		}
		seen[info.AspectID] = true
	}
	return faults
}

// checkScaling returns the faults of a scaling that do not depend on the current size.
func (f *Flavour) checkScaling(s Scaling) error {
	var faults []error
	if s.Type != ScaleOut && s.Type != ScaleIn {
		faults = append(faults, &RequestError{Attribute: "type", Value: string(s.Type), Reason: "must be SCALE_OUT or SCALE_IN"})
	}
	steps := strconv.Itoa(s.NumberOfSteps)
	if s.NumberOfSteps < 1 {
		faults = append(faults, &RequestError{Attribute: "numberOfSteps", Value: steps, Reason: "must be at least 1"})
	}
	if c := f.Operations.Scale; c != nil && !c.ByMoreThanOneStep && s.NumberOfSteps > 1 {
		faults = append(faults, &RequestError{"numberOfSteps", steps, "the descriptor says scaling_by_more_than_one_step_supported: false", ErrNotSupported})
	}
	if f.aspect(s.AspectID) == nil {
		faults = append(faults, f.unknownAspect("aspectId", s.AspectID))
	}
	return errors.Join(faults...)
}

// checkLevel returns an error if the aspect or its level does not exist.
func (f *Flavour) checkLevel(to ScaleInfo, aspectAttribute, levelAttribute string) error {
	a := f.aspect(to.AspectID)
	if a == nil {
		return f.unknownAspect(aspectAttribute, to.AspectID)
	}
	if to.ScaleLevel < 0 || to.ScaleLevel > a.MaxLevel {
		return a.outOfRange(levelAttribute, strconv.Itoa(to.ScaleLevel), to.ScaleLevel)
	}
	return nil
}

func (f *Flavour) unknownAspect(attribute, id string) error {
	return &RequestError{attribute, id, fmt.Sprintf("scaling aspect is %v (aspects of flavour %s: %s)", ErrUnknown, f.ID, names(f.Aspects, func(a Aspect) string { return a.ID })), ErrUnknown}
}

func (a *Aspect) outOfRange(attribute, value string, level int) error {
	return &RequestError{attribute, value, fmt.Sprintf("aspect %s at level %d: %v (0 to %d)", a.ID, level, ErrScaleLevel, a.MaxLevel), ErrScaleLevel}
}

// within returns an error if a number of VNFCs is outside the VDU profile.
func (v *VDU) within(number int, attribute, value string) error {
	switch {
	case v.Max < 0 && number < v.Min:
		return &RequestError{attribute, value, fmt.Sprintf("would give VDU %s %d instances: %v, which has at least %d", v.ID, number, ErrVDUProfile, v.Min), ErrVDUProfile}
	case number < v.Min || v.Max >= 0 && number > v.Max:
		return &RequestError{attribute, value, fmt.Sprintf("would give VDU %s %d instances: %v, which has %d to %d", v.ID, number, ErrVDUProfile, v.Min, v.Max), ErrVDUProfile}
	}
	return nil
}
