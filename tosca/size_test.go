package tosca_test

import (
	"context"
	"errors"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca"
)

func large(t *testing.T) *tosca.Flavour {
	t.Helper()
	f, err := open(t, "testdata/everything").VNFD().Flavour("large")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// sized returns a flavour in which instantiation levels and scale levels lead to different numbers, two aspects scale the same VDU,
// and one VDU has no aspect.
func sized(t *testing.T, operations string) *tosca.Flavour {
	t.Helper()
	p, err := tosca.OpenFS(context.Background(), fstest.MapFS{"v.yaml": file(`tosca_definitions_version: tosca_simple_yaml_1_3
imports: [ etsi_nfv_sol001_vnfd_types.yaml ]
topology_template:
  node_templates:
    VNF:
      type: tosca.nodes.nfv.VNF
      properties:
        { descriptor_id: i, provider: p, product_name: n, software_version: '1', descriptor_version: '1', lcm_operations_configuration: ` + operations + ` }
    app: { type: tosca.nodes.nfv.Vdu.Compute, properties: { vdu_profile: { min_number_of_instances: 1, max_number_of_instances: 9 } } }
    db: { type: tosca.nodes.nfv.Vdu.Compute, properties: { vdu_profile: { min_number_of_instances: 1, max_number_of_instances: 5 } } }
    oam: { type: tosca.nodes.nfv.Vdu.Compute, properties: { vdu_profile: { min_number_of_instances: 1, max_number_of_instances: 2 } } }
  policies:
    - aspects:
        type: tosca.policies.nfv.ScalingAspects
        properties:
          aspects:
            out: { name: o, description: o, max_scale_level: 4, step_deltas: [ two, one ] }
            deep: { name: d, description: d, max_scale_level: 2, step_deltas: [ one ] }
            lost: { name: l, description: l, max_scale_level: 2, step_deltas: [ one, gone ] }
    - out_app: { type: tosca.policies.nfv.VduScalingAspectDeltas, properties: { aspect: out, deltas: { two: { number_of_instances: 2 }, one: { number_of_instances: 1 } } }, targets: [ app ] }
    - deep_both: { type: tosca.policies.nfv.VduScalingAspectDeltas, properties: { aspect: deep, deltas: { one: { number_of_instances: 1 } } }, targets: [ app, db ] }
    - lost_db: { type: tosca.policies.nfv.VduScalingAspectDeltas, properties: { aspect: lost, deltas: { one: { number_of_instances: 1 } } }, targets: [ db ] }
    - levels:
        type: tosca.policies.nfv.InstantiationLevels
        properties:
          default_level: plain
          levels:
            plain: { description: d, scale_info: { out: { scale_level: 1 } } }
            odd: { description: o, scale_info: { out: { scale_level: 1 }, deep: { scale_level: 1 } } }
            crowded: { description: c }
    - app_levels: { type: tosca.policies.nfv.VduInstantiationLevels, properties: { levels: { odd: { number_of_instances: 1 } } }, targets: [ app ] }
    - oam_levels: { type: tosca.policies.nfv.VduInstantiationLevels, properties: { levels: { plain: { number_of_instances: 2 }, crowded: { number_of_instances: 7 } } }, targets: [ oam ] }
`)})
	if err != nil {
		t.Fatal(err)
	}
	return &p.VNFD().Flavours[0]
}

func level(id string) tosca.TargetSize { return tosca.TargetSize{InstantiationLevelID: id} }

func to(aspect string, level int) tosca.TargetSize {
	return tosca.TargetSize{TargetScaleLevelInfo: []tosca.ScaleInfo{{AspectID: aspect, ScaleLevel: level}}}
}

// numbers returns a map with the numbers of the three VDUs of sized.
func numbers(app, db, oam int) map[string]int {
	return map[string]int{"app": app, "db": db, "oam": oam}
}

func levels(out, deep int) map[string]int { return map[string]int{"out": out, "deep": deep, "lost": 0} }

func TestInitialSize(t *testing.T) {
	f := sized(t, "{}")
	for name, c := range map[string]struct {
		target tosca.TargetSize
		want   tosca.Size
	}{
		"the default level":                       {tosca.TargetSize{}, tosca.Size{ScaleStatus: levels(1, 0), Instances: numbers(3, 1, 2)}},
		"a level that contradicts its scale info": {level("odd"), tosca.Size{ScaleStatus: levels(1, 1), Instances: numbers(1, 2, 1)}},
		"one aspect, the others by default":       {to("deep", 2), tosca.Size{ScaleStatus: levels(1, 2), Instances: numbers(5, 3, 2)}},
		"an aspect at the bottom":                 {to("out", 0), tosca.Size{ScaleStatus: levels(0, 0), Instances: numbers(1, 1, 2)}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := f.InitialSize(c.target)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestSizeAt(t *testing.T) {
	f := sized(t, "{}")
	for name, c := range map[string]struct {
		target tosca.TargetSize
		status map[string]int
		want   map[string]int
	}{
		"as instantiated":                    {level("odd"), nil, numbers(1, 2, 1)},
		"a step adds to what the level gave": {level("odd"), map[string]int{"out": 2}, numbers(2, 2, 1)},
		"two steps":                          {level("odd"), map[string]int{"out": 3}, numbers(3, 2, 1)},
		"a step back and another aspect":     {level("plain"), map[string]int{"out": 0, "deep": 1}, numbers(2, 2, 2)},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := f.SizeAt(c.target, c.status)
			if diff := cmp.Diff(c.want, got.Instances); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestSizeAtIsWhatScalingGives checks that SizeAt returns, from the target at instantiation and the scale status, the size that the
// scalings lead to.
func TestSizeAtIsWhatScalingGives(t *testing.T) {
	f := sized(t, "{}")
	size, err := f.InitialSize(level("odd"))
	for _, s := range []tosca.Scaling{{tosca.ScaleOut, "out", 2}, {tosca.ScaleIn, "deep", 1}, {tosca.ScaleOut, "deep", 2}, {tosca.ScaleIn, "out", 1}} {
		if err == nil {
			size, err = f.Scale(size, s)
		}
		if err != nil {
			t.Fatalf("%v: %v", s, err)
		}
		again, err := f.SizeAt(level("odd"), size.ScaleStatus)
		if diff := cmp.Diff(size, again); diff != "" || err != nil {
			t.Errorf("after %v: %v\n%s", s, err, diff)
		}
	}
}

func TestScale(t *testing.T) {
	f := sized(t, "{}")
	from, err := f.InitialSize(level("odd"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Scale(from, tosca.Scaling{Type: tosca.ScaleOut, AspectID: "deep", NumberOfSteps: 1})
	if diff := cmp.Diff(tosca.Size{ScaleStatus: levels(1, 2), Instances: numbers(2, 3, 1)}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff(numbers(1, 2, 1), from.Instances); diff != "" {
		t.Errorf("Scale has changed its argument:\n%s", diff)
	}
}

// TestScaleFromNothing scales a zero Size, which is at level 0 of all aspects.
func TestScaleFromNothing(t *testing.T) {
	got, err := sized(t, "{}").Scale(tosca.Size{}, tosca.Scaling{Type: tosca.ScaleOut, AspectID: "out", NumberOfSteps: 1})
	want := tosca.Size{ScaleStatus: map[string]int{"out": 1}, Instances: map[string]int{"app": 2}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestStep(t *testing.T) {
	f := sized(t, "{}")
	for _, c := range []struct {
		aspect string
		level  int
		want   map[string]int
		err    error
	}{
		{aspect: "out", level: 0, want: map[string]int{"app": 2}},
		{aspect: "out", level: 1, want: map[string]int{"app": 1}},
		{aspect: "out", level: 3, want: map[string]int{"app": 1}},
		{aspect: "deep", level: 1, want: map[string]int{"app": 1, "db": 1}},
		{aspect: "out", level: 4, err: tosca.ErrScaleLevel},
		{aspect: "out", level: -1, err: tosca.ErrScaleLevel},
		{aspect: "lost", level: 1, err: tosca.ErrUnknown},
		{aspect: "in", level: 0, err: tosca.ErrUnknown},
	} {
		got, err := f.Step(c.aspect, c.level)
		if diff := cmp.Diff(c.want, got); diff != "" || !errors.Is(err, c.err) {
			t.Errorf("Step(%s, %d): %v, want %v\n%s", c.aspect, c.level, err, c.err, diff)
		}
	}
}

func TestWhoScalesWhom(t *testing.T) {
	f := sized(t, "{}")
	for aspect, want := range map[string][]string{"out": {"app"}, "deep": {"app", "db"}, "in": nil} {
		if diff := cmp.Diff(want, f.VDUsOf(aspect)); diff != "" {
			t.Errorf("VDUsOf(%s):\n%s", aspect, diff)
		}
	}
	for vdu, want := range map[string][]string{"app": {"deep", "out"}, "oam": nil, "nothing": nil} {
		if diff := cmp.Diff(want, f.AspectsOf(vdu)); diff != "" {
			t.Errorf("AspectsOf(%s):\n%s", vdu, diff)
		}
	}
}

// TestInstancesOfSteps checks that the last delta applies to all remaining steps.
func TestInstancesOfSteps(t *testing.T) {
	f := large(t)
	for level, want := range []map[string]int{
		{"api": 3, "db": 1},
		{"api": 5, "db": 1}, // the first step adds 2 api
		{"api": 6, "db": 3}, // each further one 1 api and 2 db
		{"api": 7, "db": 5},
	} {
		got, err := f.SizeAt(tosca.TargetSize{}, map[string]int{"out": level})
		if diff := cmp.Diff(want, got.Instances); diff != "" || err != nil {
			t.Errorf("level %d: %v (-want +got):\n%s", level, err, diff)
		}
	}
}
