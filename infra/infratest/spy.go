package infratest

import (
	"context"
	"maps"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// spy is a driver whose calls a lab sees and can change.
type spy struct {
	vnflcm.InfraDriver
	l *lab
}

// connectingSpy is the spy of a driver that is a vnflcm.ConnectivityChanger.
type connectingSpy struct{ spy }

// spyOn returns the spy of a driver.
func (l *lab) spyOn(d vnflcm.InfraDriver) vnflcm.InfraDriver {
	s := spy{d, l}
	_, connects := d.(vnflcm.ConnectivityChanger)
	_, changes := d.(vnflcm.PackageChanger)
	switch {
	case connects && changes:
		return struct {
			connectingSpy
			packageSpy
		}{connectingSpy{s}, packageSpy{s}}
	case connects:
		return connectingSpy{s}
	case changes:
		return struct {
			spy
			packageSpy
		}{s, packageSpy{s}}
	}
	return s
}

// call calls a method that changes the world, or what the test has put in its place.
func (s spy) call(ctx context.Context, op *vnflcm.Operation, method string, do func(context.Context, *vnflcm.Operation) error) error {
	if instead := s.l.instead; instead != nil {
		return instead(ctx, method, func(ctx context.Context) error { return do(ctx, op) })
	}
	return do(ctx, op)
}

// Instantiate implements vnflcm.InfraDriver.
func (s spy) Instantiate(ctx context.Context, op *vnflcm.Operation) error {
	return s.call(ctx, op, "Instantiate", s.InfraDriver.Instantiate)
}

// Scale implements vnflcm.InfraDriver.
func (s spy) Scale(ctx context.Context, op *vnflcm.Operation) error {
	return s.call(ctx, op, "Scale", s.InfraDriver.Scale)
}

// Heal implements vnflcm.InfraDriver.
func (s spy) Heal(ctx context.Context, op *vnflcm.Operation) error {
	return s.call(ctx, op, "Heal", s.InfraDriver.Heal)
}

// Terminate implements vnflcm.InfraDriver.
func (s spy) Terminate(ctx context.Context, op *vnflcm.Operation) error {
	return s.call(ctx, op, "Terminate", s.InfraDriver.Terminate)
}

// ChangeExtConn implements vnflcm.ConnectivityChanger.
func (s connectingSpy) ChangeExtConn(ctx context.Context, op *vnflcm.Operation) error {
	return s.call(ctx, op, "ChangeExtConn", s.InfraDriver.(vnflcm.ConnectivityChanger).ChangeExtConn)
}

// Operate implements vnflcm.Operator. It is called only for drivers that are Operators.
func (s spy) Operate(ctx context.Context, op *vnflcm.Operation, vnfcs []vnflcm.VNFC) error {
	return s.call(ctx, op, "Operate", func(ctx context.Context, op *vnflcm.Operation) error {
		return s.InfraDriver.(vnflcm.Operator).Operate(ctx, op, vnfcs)
	})
}

// ConnectionPoints implements vnflcm.ConnectionPointNamer.
func (s spy) ConnectionPoints(op *vnflcm.Operation) (map[string]string, error) {
	if namer, able := s.InfraDriver.(vnflcm.ConnectionPointNamer); able {
		return namer.ConnectionPoints(op)
	}
	return nil, nil
}

// ElasticVDUs implements vnflcm.ElasticVDUs.
func (s spy) ElasticVDUs(ctx context.Context, op *vnflcm.Operation) ([]string, error) {
	if elastic, able := s.InfraDriver.(vnflcm.ElasticVDUs); able {
		return elastic.ElasticVDUs(ctx, op)
	}
	return nil, nil
}

// Plan implements vnflcm.InfraDriver. It checks that a plan changes nothing, that it can be repeated, and that it leads to the numbers of
// the scale levels.
func (s spy) Plan(ctx context.Context, op *vnflcm.Operation) (vnflcm.Change, error) {
	before := s.l.now(ctx)
	planned, err := s.InfraDriver.Plan(ctx, op)
	if err != nil {
		return planned, err
	}
	again, err := s.InfraDriver.Plan(ctx, op)
	if diff := cmp.Diff(planned, again, vnfcs); diff != "" || err != nil {
		s.l.t.Errorf("%s: Plan gave another answer when it was repeated: %v\n%s", op.Kind, err, diff)
	}
	if diff := cmp.Diff(before, s.l.now(ctx)); diff != "" && !s.l.busy {
		s.l.t.Errorf("%s: Plan changed the VIM:\n%s", op.Kind, diff)
	}
	s.checkPlan(op, planned)
	return planned, nil
}

// checkPlan compares a plan with the VNFCs that there are, and with the scale levels.
func (s spy) checkPlan(op *vnflcm.Operation, planned vnflcm.Change) {
	numbers := map[string]int{}
	for _, v := range op.VNFCs {
		numbers[v.VDU]++
	}
	for _, v := range planned.Added {
		numbers[v.VDU]++
	}
	for _, v := range planned.Removed {
		numbers[v.VDU]--
	}
	for _, v := range slices.Concat(planned.Removed, planned.Replaced) {
		if !slices.ContainsFunc(op.VNFCs, func(known vnflcm.VNFC) bool { return known.ID == v.ID }) {
			s.l.t.Errorf("%s: Plan removes or replaces the VNFC %q, which the VNF does not have", op.Kind, v.ID)
		}
	}
	if op.Kind == vnflcm.OpHeal && len(planned.Replaced) != len(op.HealTargets()) {
		s.l.t.Errorf("%s: Plan replaces %d VNFCs, and the request names %d", op.Kind, len(planned.Replaced), len(op.HealTargets()))
	}
	want, err := op.Instances()
	if op.Kind == vnflcm.OpTerminate {
		want = map[string]int{}
	}
	maps.DeleteFunc(want, func(_ string, n int) bool { return n == 0 })
	maps.DeleteFunc(numbers, func(_ string, n int) bool { return n == 0 })
	if diff := cmp.Diff(want, numbers); diff != "" || err != nil {
		s.l.t.Errorf("%s: the VNFCs of the plan are not those of the scale levels: %v\n%s", op.Kind, err, diff)
	}
}

// Resources implements vnflcm.InfraDriver. It notes the answer, and checks that it can be repeated and stored.
func (s spy) Resources(ctx context.Context, op *vnflcm.Operation) (vnflcm.Resources, error) {
	now, err := s.InfraDriver.Resources(ctx, op)
	if err != nil {
		return now, err
	}
	again, err := s.InfraDriver.Resources(ctx, op)
	if diff := cmp.Diff(identities(now), identities(again)); diff != "" || err != nil {
		s.l.t.Errorf("%s: Resources gave another answer when it was repeated: %v\n%s", op.Kind, err, diff)
	}
	for _, v := range now.VNFCs {
		if v.ResourceID == "" {
			s.l.t.Errorf("%s: the VNFC %q has no ResourceID", op.Kind, v.ID)
		}
		if most := 255; len(v.ID) > most || len(v.ResourceID) > most {
			s.l.t.Errorf("%s: the VNFC %.20q... has an ID of %d and a ResourceID of %d bytes: more than %d", op.Kind, v.ID, len(v.ID), len(v.ResourceID), most)
		}
	}
	s.l.note(op, now)
	return now, nil
}

// identities are the VNFCs of an answer: their ids by resource.
func identities(r vnflcm.Resources) map[string]string {
	out := map[string]string{}
	for _, v := range r.VNFCs {
		out[resourceOf(v)] = v.ID
	}
	return out
}
