package tosca_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca"
)

func toLevel(id string) tosca.TargetLevel { return tosca.TargetLevel{InstantiationLevelID: id} }

func toScale(list ...tosca.ScaleInfo) tosca.TargetLevel { return tosca.TargetLevel{ScaleInfo: list} }

func TestScaleToLevel(t *testing.T) {
	for name, c := range map[string]struct {
		from       tosca.TargetSize
		to         tosca.TargetLevel
		operations string
		want       []tosca.Scaling
	}{
		"out before in": {tosca.TargetSize{}, toScale(tosca.ScaleInfo{AspectID: "out"}, tosca.ScaleInfo{AspectID: "deep", ScaleLevel: 2}), "{}",
			[]tosca.Scaling{{Type: tosca.ScaleOut, AspectID: "deep", NumberOfSteps: 2}, {Type: tosca.ScaleIn, AspectID: "out", NumberOfSteps: 1}}},
		"by aspect": {tosca.TargetSize{}, toScale(tosca.ScaleInfo{AspectID: "out", ScaleLevel: 3}, tosca.ScaleInfo{AspectID: "deep", ScaleLevel: 1}), "{}",
			[]tosca.Scaling{{Type: tosca.ScaleOut, AspectID: "deep", NumberOfSteps: 1}, {Type: tosca.ScaleOut, AspectID: "out", NumberOfSteps: 2}}},
		"single steps": {tosca.TargetSize{}, toScale(tosca.ScaleInfo{AspectID: "out", ScaleLevel: 3}), stepwise,
			[]tosca.Scaling{{Type: tosca.ScaleOut, AspectID: "out", NumberOfSteps: 1}, {Type: tosca.ScaleOut, AspectID: "out", NumberOfSteps: 1}}},
		"an instantiation level": {to("deep", 2), toLevel("plain"), "{ scale_to_level: { arbitrary_target_levels_supported: false } }",
			[]tosca.Scaling{{Type: tosca.ScaleIn, AspectID: "deep", NumberOfSteps: 2}}},
		"the present levels": {tosca.TargetSize{}, toScale(tosca.ScaleInfo{AspectID: "out", ScaleLevel: 1}), "{}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := sized(t, c.operations)
			from, err := f.InitialSize(c.from)
			if err != nil {
				t.Fatal(err)
			}
			got, err := f.ScaleToLevel(from, c.to)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestScaleToLevelFaults(t *testing.T) {
	for name, c := range map[string]struct {
		from       tosca.TargetSize
		to         tosca.TargetLevel
		operations string
		attributes []string
		is         []error
	}{
		"nothing": {attributes: []string{"instantiationLevelId"}},
		"both, an aspect twice, not supported, too high, unknown": {
			to: tosca.TargetLevel{InstantiationLevelID: "x", ScaleInfo: []tosca.ScaleInfo{
				{AspectID: "out", ScaleLevel: 5}, {AspectID: "out", ScaleLevel: -1}, {AspectID: "y"}}},
			operations: "{ scale_to_level: { arbitrary_target_levels_supported: false } }",
			attributes: []string{"scaleInfo[1].aspectId", "scaleInfo", "scaleInfo", "instantiationLevelId", "scaleInfo[0].scaleLevel", "scaleInfo[1].scaleLevel", "scaleInfo[2].aspectId"},
			is:         []error{tosca.ErrNotSupported, tosca.ErrUnknown, tosca.ErrScaleLevel}},
		"outside of the profile": {from: level("odd"), to: toScale(tosca.ScaleInfo{AspectID: "out"}),
			attributes: []string{"scaleInfo[0].scaleLevel"}, is: []error{tosca.ErrVDUProfile}},
		"a step without a delta":        {to: toScale(tosca.ScaleInfo{AspectID: "lost", ScaleLevel: 2}), attributes: []string{"aspectId"}, is: []error{tosca.ErrUnknown}},
		"numbers that no scaling gives": {to: toLevel("odd"), attributes: []string{"instantiationLevelId", "instantiationLevelId"}, is: []error{tosca.ErrNotSupported}},
	} {
		t.Run(name, func(t *testing.T) {
			f := sized(t, orNone(c.operations))
			from, err := f.InitialSize(c.from)
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.ScaleToLevel(from, c.to)
			wantFaults(t, err, c.attributes, c.is)
		})
	}
}
