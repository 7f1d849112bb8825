package tosca_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca"
)

// requestFaults returns the attributes of all RequestErrors in an error.
func requestFaults(err error) []string {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var list []string
		for _, each := range joined.Unwrap() {
			list = append(list, requestFaults(each)...)
		}
		return list
	}
	var fault *tosca.RequestError
	if errors.As(err, &fault) {
		return []string{fault.Attribute}
	}
	return nil
}

const stepwise = "{ instantiate: { target_scale_levels_supported: false }, scale: { scaling_by_more_than_one_step_supported: false } }"

func TestInstantiateRequestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		target     tosca.TargetSize
		operations string
		attributes []string
		is         []error
	}{
		"unknown level": {target: level("x"), attributes: []string{"instantiationLevelId"}, is: []error{tosca.ErrUnknown}},
		"unknown aspect and a level too high": {
			target:     tosca.TargetSize{TargetScaleLevelInfo: []tosca.ScaleInfo{{AspectID: "x"}, {AspectID: "out", ScaleLevel: 5}}},
			attributes: []string{"targetScaleLevelInfo[0].aspectId", "targetScaleLevelInfo[1].scaleLevel"},
			is:         []error{tosca.ErrUnknown, tosca.ErrScaleLevel},
		},
		"level and scale levels": {
			target:     tosca.TargetSize{InstantiationLevelID: "odd", TargetScaleLevelInfo: []tosca.ScaleInfo{{AspectID: "out"}}},
			attributes: []string{"targetScaleLevelInfo"},
		},
		"an aspect twice": {
			target:     tosca.TargetSize{TargetScaleLevelInfo: []tosca.ScaleInfo{{AspectID: "out"}, {AspectID: "out"}}},
			attributes: []string{"targetScaleLevelInfo[1].aspectId"},
		},
		"below 0":                    {target: to("out", -1), attributes: []string{"targetScaleLevelInfo[0].scaleLevel"}, is: []error{tosca.ErrScaleLevel}},
		"a step without a delta":     {target: to("lost", 2), attributes: []string{"aspectId"}, is: []error{tosca.ErrUnknown}},
		"outside of the profile":     {target: level("crowded"), attributes: []string{"instantiationLevelId"}, is: []error{tosca.ErrVDUProfile}},
		"scale levels not supported": {target: to("out", 1), operations: stepwise, attributes: []string{"targetScaleLevelInfo"}, is: []error{tosca.ErrNotSupported}},
	} {
		t.Run(name, func(t *testing.T) {
			size, err := sized(t, orNone(c.operations)).InitialSize(c.target)
			wantFaults(t, err, c.attributes, c.is)
			if size.Instances != nil {
				t.Errorf("the result of a refused request has the size %v", size)
			}
		})
	}
}

func TestScaleRequestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		scaling    tosca.Scaling
		operations string
		attributes []string
		is         []error
	}{
		"nothing right":          {scaling: tosca.Scaling{Type: "UP", AspectID: "x"}, attributes: []string{"type", "numberOfSteps", "aspectId"}, is: []error{tosca.ErrUnknown}},
		"too high":               {scaling: tosca.Scaling{Type: tosca.ScaleOut, AspectID: "out", NumberOfSteps: 4}, attributes: []string{"numberOfSteps"}, is: []error{tosca.ErrScaleLevel}},
		"too low":                {scaling: tosca.Scaling{Type: tosca.ScaleIn, AspectID: "out", NumberOfSteps: 2}, attributes: []string{"numberOfSteps"}, is: []error{tosca.ErrScaleLevel}},
		"far too many steps":     {scaling: tosca.Scaling{Type: tosca.ScaleOut, AspectID: "out", NumberOfSteps: int(^uint(0) >> 1)}, attributes: []string{"numberOfSteps"}, is: []error{tosca.ErrScaleLevel}},
		"outside of the profile": {scaling: tosca.Scaling{Type: tosca.ScaleIn, AspectID: "out", NumberOfSteps: 1}, attributes: []string{"numberOfSteps"}, is: []error{tosca.ErrVDUProfile}},
		"several steps at once":  {scaling: tosca.Scaling{Type: tosca.ScaleOut, AspectID: "out", NumberOfSteps: 2}, operations: stepwise, attributes: []string{"numberOfSteps"}, is: []error{tosca.ErrNotSupported}},
		"one step at a time":     {scaling: tosca.Scaling{Type: tosca.ScaleOut, AspectID: "out", NumberOfSteps: 1}, operations: stepwise},
	} {
		t.Run(name, func(t *testing.T) {
			f := sized(t, orNone(c.operations))
			from, err := f.InitialSize(level("odd"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.Scale(from, c.scaling)
			wantFaults(t, err, c.attributes, c.is)
		})
	}
}

func TestSizeAtFaults(t *testing.T) {
	f := sized(t, "{}")
	_, err := f.SizeAt(level("x"), map[string]int{"x": 1, "out": 5, "deep": 1})
	wantFaults(t, err, []string{"instantiationLevelId", "scaleStatus.out", "scaleStatus"}, []error{tosca.ErrUnknown, tosca.ErrScaleLevel})
	_, err = f.SizeAt(level("odd"), map[string]int{"out": 0})
	wantFaults(t, err, []string{"scaleStatus"}, []error{tosca.ErrVDUProfile})
}

// orNone returns the configuration of the LCM operations, or an empty mapping for "".
func orNone(operations string) string {
	if operations == "" {
		return "{}"
	}
	return operations
}

func wantFaults(t *testing.T, err error, attributes []string, kinds []error) {
	t.Helper()
	if diff := cmp.Diff(attributes, requestFaults(err)); diff != "" {
		t.Errorf("faults (-want +got):\n%s\n%v", diff, err)
	}
	for _, kind := range kinds {
		if !errors.Is(err, kind) {
			t.Errorf("%v is not %q", err, kind)
		}
	}
}
