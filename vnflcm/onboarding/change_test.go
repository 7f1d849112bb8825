package onboarding_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/onboarding"
)

// oneMachine is a driver of VNFs with one machine. A change of the package waits for change.
type oneMachine struct {
	vnflcm.InfraDriver // for methods that the tests do not call
	change             chan error
}

func (oneMachine) Plan(context.Context, *vnflcm.Operation) (vnflcm.Change, error) {
	return vnflcm.Change{Added: []vnflcm.VNFC{{ID: "worker-0", VDU: "worker"}}}, nil
}

func (oneMachine) Instantiate(context.Context, *vnflcm.Operation) error { return nil }

func (oneMachine) Resources(context.Context, *vnflcm.Operation) (vnflcm.Resources, error) {
	return vnflcm.Resources{VNFCs: []vnflcm.VNFC{{ID: "worker-0", VDU: "worker", ResourceID: "vm-0"}}}, nil
}

func (oneMachine) PlanPackage(context.Context, *vnflcm.Operation) (vnflcm.PackagePlan, error) {
	return vnflcm.PackagePlan{}, nil
}

func (d oneMachine) ChangePackage(ctx context.Context, _ *vnflcm.Operation) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case err := <-d.change:
		return err
	}
}

func (oneMachine) UnitChanged(context.Context, *vnflcm.Operation, vnflcm.PackageUnit) (bool, error) {
	return true, nil
}

// running creates and instantiates a VNF.
func (p *process) running(t *testing.T, vnfdID, tenant string) string {
	t.Helper()
	instance, err := p.manager.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: vnfdID, Tenant: tenant})
	must(t, err)
	access, err := vnflcm.NewParams(map[string]string{"user": "u"})
	must(t, err)
	op, err := p.manager.Instantiate(t.Context(), instance.ID, vnflcm.InstantiateVnfRequest{FlavourID: "simple", VimConnectionInfo: vnflcm.VimConnections{{VimType: "one", AccessInfo: access}}})
	must(t, err)
	_, err = p.manager.Wait(t.Context(), op)
	must(t, err)
	return instance.ID
}

// wantUse checks the usage of packages by their ids.
func (p *process) wantUse(t *testing.T, when string, want map[string]onboarding.UsageState) {
	t.Helper()
	for id, usage := range want {
		info, err := p.Get(t.Context(), "", id)
		must(t, err)
		if info.UsageState != usage {
			t.Errorf("%s: the package with VNFD %s is %s, want %s", when, info.VnfdID, info.UsageState, usage)
		}
	}
}

// TestChangedPackage changes the package of a VNF. Both packages are in use meanwhile, and one of them afterwards.
func TestChangedPackage(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s site) {
		s.infra = map[string]vnflcm.InfraDriver{"one": oneMachine{change: make(chan error)}}
		p, proceed := s.start(t, nil), s.infra["one"].(oneMachine).change
		from, to := p.onboard(t, "north", csar(t, "from", nil)).ID, p.onboard(t, "north", csar(t, "to", nil)).ID
		p.onboard(t, "south", csar(t, "other", nil))
		id := p.running(t, "from", "north")
		begin := func(vnfdID string) (string, error) {
			return p.manager.ChangeVnfPkg(t.Context(), id, vnflcm.ChangeCurrentVnfPkgRequest{VnfdID: vnfdID})
		}
		_, hidden := begin("other")
		_, unknown := begin("unknown")
		wantError(t, "the package of another tenant", hidden, vnflcm.ErrNoPackage)
		if strings.ReplaceAll(hidden.Error(), "other", "unknown") != unknown.Error() {
			t.Errorf("the package of another tenant: %v\nan unknown one: %v", hidden, unknown)
		}
		for _, c := range []struct {
			result error
			end    func(*vnflcm.Manager, context.Context, string) error
			after  map[string]onboarding.UsageState
		}{
			{errors.New("the cloud fails"), (*vnflcm.Manager).Fail, map[string]onboarding.UsageState{from: onboarding.InUse, to: onboarding.NotInUse}},
			{nil, nil, map[string]onboarding.UsageState{from: onboarding.NotInUse, to: onboarding.InUse}},
		} {
			op, err := begin("to")
			must(t, err)
			p.wantUse(t, "during the change", map[string]onboarding.UsageState{from: onboarding.InUse, to: onboarding.InUse})
			_, err = p.Update(t.Context(), "north", to, onboarding.Modification{OperationalState: onboarding.Disabled})
			must(t, err)
			wantError(t, "the deletion of the package that a VNF changes to", p.Delete(t.Context(), "north", to), vnflcm.ErrState)
			_, err = p.Update(t.Context(), "north", to, onboarding.Modification{OperationalState: onboarding.Enabled})
			must(t, err)
			proceed <- c.result
			_, err = p.manager.Wait(t.Context(), op)
			if (err != nil) != (c.result != nil) {
				t.Errorf("the change: %v", err)
			}
			if c.end != nil {
				p.wantUse(t, "after the failure", map[string]onboarding.UsageState{from: onboarding.InUse, to: onboarding.InUse})
				must(t, c.end(p.manager, t.Context(), op))
			}
			p.wantUse(t, "after the change", c.after)
		}
	})
}

// TestChangeAndDelete begins a change while its package is deleted. Either the change is refused, or the deletion.
func TestChangeAndDelete(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s site) {
		s.infra = map[string]vnflcm.InfraDriver{"one": oneMachine{change: make(chan error)}}
		p, proceed := s.start(t, nil), s.infra["one"].(oneMachine).change
		p.onboard(t, "", csar(t, "from", nil))
		content := csar(t, "to", nil)
		for range 10 {
			id, to := p.running(t, "from", ""), p.onboard(t, "", content).ID
			var op string
			var begun error
			var wg sync.WaitGroup
			wg.Go(func() {
				op, begun = p.manager.ChangeVnfPkg(t.Context(), id, vnflcm.ChangeCurrentVnfPkgRequest{VnfdID: "to"})
			})
			_, err := p.Update(t.Context(), "", to, onboarding.Modification{OperationalState: onboarding.Disabled})
			must(t, err)
			deleted := p.Delete(t.Context(), "", to)
			wg.Wait()
			if (begun == nil) == (deleted == nil) {
				t.Fatalf("the change: %v\nthe deletion of its package: %v", begun, deleted)
			}
			if begun == nil {
				proceed <- nil
				_, err := p.manager.Wait(t.Context(), op)
				must(t, err)
				_, err = p.manager.Abandon(t.Context(), id)
				must(t, err)
				must(t, p.Delete(t.Context(), "", to))
			}
		}
	})
}
