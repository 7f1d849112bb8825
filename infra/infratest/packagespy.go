package infratest

import (
	"context"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// packageSpy has the methods of the spy of a vnflcm.PackageChanger.
type packageSpy struct{ driver spy }

func (s packageSpy) changer() vnflcm.PackageChanger {
	return s.driver.InfraDriver.(vnflcm.PackageChanger) //nolint:forcetypeassert // spyOn makes no other packageSpy
}

// PlanPackage implements vnflcm.PackageChanger. It checks that a plan changes nothing and that it can be repeated.
func (s packageSpy) PlanPackage(ctx context.Context, op *vnflcm.Operation) (vnflcm.PackagePlan, error) {
	l := s.driver.l
	before := l.now(ctx)
	plan, err := s.changer().PlanPackage(ctx, op)
	if err != nil {
		return plan, err
	}
	again, err := s.changer().PlanPackage(ctx, op)
	if diff := cmp.Diff(plan, again); diff != "" || err != nil {
		l.t.Errorf("PlanPackage gave another answer when it was repeated: %v\n%s", err, diff)
	}
	if diff := cmp.Diff(before, l.now(ctx)); diff != "" {
		l.t.Errorf("PlanPackage changed the VIM:\n%s", diff)
	}
	if len(plan.Units) == 0 {
		l.t.Error("PlanPackage found no difference between the two packages: choose another Setup.Changed")
	}
	return plan, nil
}

// ChangePackage implements vnflcm.PackageChanger.
func (s packageSpy) ChangePackage(ctx context.Context, op *vnflcm.Operation) error {
	return s.driver.call(ctx, op, "ChangePackage", s.changer().ChangePackage)
}

// UnitChanged implements vnflcm.PackageChanger. It checks that a question changes nothing.
func (s packageSpy) UnitChanged(ctx context.Context, op *vnflcm.Operation, unit vnflcm.PackageUnit) (bool, error) {
	l := s.driver.l
	before := l.now(ctx)
	changed, err := s.changer().UnitChanged(ctx, op, unit)
	if diff := cmp.Diff(before, l.now(ctx)); diff != "" {
		l.t.Errorf("UnitChanged changed the VIM:\n%s", diff)
	}
	return changed, err
}

// CheckHealth implements vnflcm.HealthChecker.
func (s packageSpy) CheckHealth(ctx context.Context, op *vnflcm.Operation) error {
	if checker, able := s.driver.InfraDriver.(vnflcm.HealthChecker); able {
		return checker.CheckHealth(ctx, op)
	}
	return nil
}
