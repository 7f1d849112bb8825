package vnflcm_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// releases is a driver of a VNF of two releases, app with the workers and db with the master. Pods get other ids when their release changes.
type releases struct{ *cloud }

func (releases) PlanPackage(context.Context, *vnflcm.Operation) (plan vnflcm.PackagePlan, err error) {
	for name, vdu := range map[string]string{"app": "worker", "db": "master"} {
		plan.Units = append(plan.Units, vnflcm.PackageUnit{ID: name, Kind: vnflcm.UnitRelease, VDUs: []string{vdu}, Change: vnflcm.VnfcModified})
	}
	slices.SortFunc(plan.Units, func(a, b vnflcm.PackageUnit) int { return strings.Compare(a.ID, b.ID) })
	return plan, nil
}

// ChangePackage replaces the pods of the releases in the batch. A pod of the other release is rescheduled meanwhile.
func (r releases) ChangePackage(_ context.Context, op *vnflcm.Operation) error {
	if op.Batch == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.machines[op.InstanceID] {
		pod := &r.machines[op.InstanceID][i]
		if pod.ID += "+"; slices.Contains(op.Batch.Units[0].VDUs, pod.VDU) {
			pod.Metadata = map[string]string{"by": op.Package.VNFD().ID}
		}
	}
	return nil
}

func (r releases) UnitChanged(_ context.Context, op *vnflcm.Operation, u vnflcm.PackageUnit) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !slices.ContainsFunc(r.machines[op.InstanceID], func(v vnflcm.VNFC) bool {
		return slices.Contains(u.VDUs, v.VDU) && ranBy(v) != op.Package.VNFD().ID
	}), nil
}

func (releases) ElasticVDUs(context.Context, *vnflcm.Operation) ([]string, error) {
	return []string{"worker", "master"}, nil
}

func (releases) CheckHealth(context.Context, *vnflcm.Operation) error { return nil }

// TestChangedReleases pauses and fails between two releases: pods name the VNFD of their release, also those that were rescheduled.
func TestChangedReleases(t *testing.T) {
	t.Parallel()
	x := newToys(t, func(cfg *vnflcm.Config) {
		bothVersions(cfg)
		cfg.Infra["toy"] = releases{cfg.Infra["toy"].(*cloud)}
	})
	id := x.instantiated("plain")
	opID, err := x.ChangeVnfPkg(t.Context(), id, toNew(t, `{"pause_after": 1}`))
	_, err = x.wait(opID, err, vnflcm.FailedTemp)
	wantIs(t, err, vnflcm.ErrPaused)
	want := map[string]string{"worker-0+": newVNFD, "worker-1+": newVNFD, "master-0+": ""}
	if diff := cmp.Diff(want, x.versions(id)); diff != "" {
		t.Error(diff)
	}
	must(t, x.Fail(t.Context(), opID))
	if diff := cmp.Diff(want, x.versions(id)); diff != "" {
		t.Errorf("after Fail:\n%s", diff)
	}
	opID, err = x.ChangeVnfPkg(t.Context(), id, toNew(t, "{}"))
	x.wait(opID, err, vnflcm.Completed)
	for pod, vnfd := range x.versions(id) {
		if vnfd != "" {
			t.Errorf("%s runs by %s", pod, vnfd)
		}
	}
}
