package vnflcm_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// lossy is a driver whose plan ends data once there is a grant.
type lossy struct{ *cloud }

func (l lossy) PlanPackage(ctx context.Context, op *vnflcm.Operation) (vnflcm.PackagePlan, error) {
	plan, err := l.cloud.PlanPackage(ctx, op)
	if op.Grant != nil {
		plan.Losses = append(plan.Losses, vnflcm.DataLoss{Resource: "the volume of master-0", Consent: vnflcm.AllowDataLoss, Name: "master"})
	}
	return plan, err
}

// TestLossByGrant refuses the end of data that follows from the grant as one that follows from the request.
func TestLossByGrant(t *testing.T) {
	t.Parallel()
	for allowed, want := range map[string]vnflcm.OperationState{"[]": vnflcm.RolledBack, `["master"]`: vnflcm.Completed} {
		x := newToys(t, func(cfg *vnflcm.Config) {
			bothVersions(cfg)
			cfg.Infra["toy"] = lossy{cfg.Infra["toy"].(*cloud)}
			cfg.Granter = granter(func(context.Context, vnflcm.GrantRequest) (*vnflcm.Grant, error) { return &vnflcm.Grant{ID: "g"}, nil })
		})
		id := x.instantiated("plain")
		opID, err := x.ChangeVnfPkg(t.Context(), id, toNew(t, `{"allow_data_loss": `+allowed+`}`))
		_, err = x.wait(opID, err, want)
		if want == vnflcm.RolledBack && !strings.Contains(err.Error(), "must name master: the change ends the volume of master-0") {
			t.Errorf("error %v", err)
		}
	}
}

// careful is a management driver that finds data on a machine which ends, and shows its tasks.
type careful struct{ *cluster }

func (c careful) ArrangeUnits(ctx context.Context, op *vnflcm.Operation, plan vnflcm.PackagePlan) (vnflcm.PackagePlan, error) {
	plan, err := c.cluster.ArrangeUnits(ctx, op, plan)
	plan.Losses = append(plan.Losses, vnflcm.DataLoss{Resource: "the local volume of worker-0", Consent: vnflcm.AllowDataLoss, Name: "worker"})
	return plan, err
}

func (c careful) Preview(_ context.Context, op *vnflcm.Operation) ([]vnflcm.PlannedTask, error) {
	if op.Batch == nil {
		return nil, nil
	}
	return []vnflcm.PlannedTask{
		{Phase: string(vnflcm.BeforeBatchPhase), Name: "drain", On: op.Batch.Units[0].ID},
		{Phase: string(vnflcm.AfterBatchPhase), Name: "join", On: op.Batch.Units[0].ID},
		{Phase: string(vnflcm.AfterBatchPhase), Name: "ready", After: []int{1}},
	}, nil
}

// TestManagementDriverLoss refuses the end of data that only a management driver can see, and shows the tasks of this driver for each batch.
func TestManagementDriverLoss(t *testing.T) {
	t.Parallel()
	x := newToys(t, func(cfg *vnflcm.Config) {
		bothVersions(cfg)
		cfg.Mgmt["cluster"] = careful{cfg.Mgmt["cluster"].(*cluster)}
	})
	id := x.instantiated("plain")
	_, err := x.ChangeVnfPkg(t.Context(), id, toNew(t, "{}"))
	if err == nil || !strings.Contains(err.Error(), "must name worker: the change ends the local volume of worker-0") {
		t.Fatalf("error %v", err)
	}
	preview, err := x.Preview(t.Context(), id, toNew(t, `{"allow_data_loss": ["worker"]}`))
	must(t, err)
	if len(preview.Package.Losses) != 1 {
		t.Errorf("losses %+v", preview.Package.Losses)
	}
	for _, want := range []string{"change_package_before.1:cluster drain", "change_package_after.1:cluster join", "change_package_after.2:cluster ready"} {
		i := slices.IndexFunc(preview.Tasks, func(task vnflcm.PlannedTask) bool { return task.Phase+" "+task.Name == want })
		if i < 0 {
			t.Errorf("no task %s in %+v", want, preview.Tasks)
		} else if strings.HasSuffix(want, "ready") && !slices.Equal(preview.Tasks[i].After, []int{i - 1}) {
			t.Errorf("task %+v does not follow the one before", preview.Tasks[i])
		}
	}
}

// looker is a management driver that tells by which package the VNFCs run that a batch is said to replace.
type looker struct {
	*cluster
	saw *[]string
}

func (l looker) note(hook string, op *vnflcm.Operation) {
	for _, v := range op.Change.Replaced {
		*l.saw = append(*l.saw, fmt.Sprintf("%s %s %s, VersionOf %s", hook, v.ID, ranBy(v), op.VersionOf(v).Package.VNFD().ID))
	}
}

func (l looker) BeforeBatch(ctx context.Context, op *vnflcm.Operation) error {
	l.note("before", op)
	return l.cluster.BeforeBatch(ctx, op)
}

func (l looker) AfterBatch(ctx context.Context, op *vnflcm.Operation) error {
	l.note("after", op)
	return l.cluster.AfterBatch(ctx, op)
}

// TestReplacedOfBatch: drivers see the machines of a batch as they are, there and back.
func TestReplacedOfBatch(t *testing.T) {
	t.Parallel()
	var saw []string
	x := newToys(t, func(cfg *vnflcm.Config) {
		bothVersions(cfg)
		cfg.Mgmt["cluster"] = looker{cfg.Mgmt["cluster"].(*cluster), &saw}
	})
	id := x.instantiated("plain")
	opID, err := x.ChangeVnfPkg(t.Context(), id, toNew(t, `{"pause_after": 1}`))
	x.wait(opID, err, vnflcm.FailedTemp)
	x.wait(opID, x.Rollback(t.Context(), opID), vnflcm.RolledBack)
	isOld, isNew := " worker-0 "+toyVNFD+", VersionOf "+toyVNFD, " worker-0 "+newVNFD+", VersionOf "+newVNFD
	if diff := cmp.Diff([]string{"before" + isOld, "after" + isNew, "before" + isNew, "after" + isOld}, saw); diff != "" {
		t.Error(diff)
	}
}

// TestSecretsOfMixedVNF: a heal by the second package hides the secrets of the change that led to it.
func TestSecretsOfMixedVNF(t *testing.T) {
	t.Parallel()
	x := newToys(t, bothVersions)
	id := x.instantiated("plain")
	x.world.failAt("change_package_after.2:cluster/join/worker-1", errCut)
	opID, err := x.ChangeVnfPkg(t.Context(), id, toNew(t, `{"password": "canary-second"}`))
	x.wait(opID, err, vnflcm.FailedTemp)
	must(t, x.Fail(t.Context(), opID))
	x.world.failAt("heal/replace/worker-0", errors.New("the cloud refuses canary-second"))
	opID, err = x.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{"worker-0"}})
	occ, err := x.wait(opID, err, vnflcm.FailedTemp)
	if text := occ.Error.Detail + err.Error(); strings.Contains(text, "canary") || !strings.Contains(text, "the cloud refuses") {
		t.Errorf("error %s", text)
	}
}

// TestPauseBetweenBatches: a pause may follow the last unit, and rolling back from a pause leaves the machines alone that come after it.
func TestPauseBetweenBatches(t *testing.T) {
	t.Parallel()
	for after, touched := range map[string]bool{"2": false, "4": true} {
		x := newToys(t, bothVersions)
		id := x.instantiated("plain")
		opID, err := x.ChangeVnfPkg(t.Context(), id, toNew(t, `{"max_unavailable": 2, "pause_after": `+after+`}`))
		_, err = x.wait(opID, err, vnflcm.FailedTemp)
		wantIs(t, err, vnflcm.ErrPaused)
		x.wait(opID, x.Rollback(t.Context(), opID), vnflcm.RolledBack)
		got := false
		for step := range x.world.done {
			got = got || strings.HasPrefix(step, "change_package_before_rollback.") && strings.HasSuffix(step, ":cluster/leave/master-0")
		}
		if got != touched {
			t.Errorf("pause after %s: rolling back has drained master-0: %t", after, got)
		}
	}
}

// forgetful is a driver that plans nothing for the VNFCs of a VDU that vanishes, as one whose releases stay.
type forgetful struct{ *cloud }

func (f forgetful) PlanPackage(ctx context.Context, op *vnflcm.Operation) (plan vnflcm.PackagePlan, err error) {
	all, err := f.cloud.PlanPackage(ctx, op)
	for _, u := range all.Units {
		if u.Change != vnflcm.VnfcRemoved {
			plan.Units = append(plan.Units, u)
		}
	}
	return plan, err
}

// TestVanishedVDU refuses a change to a package that lacks a VDU with VNFCs, also if no unit is for them.
func TestVanishedVDU(t *testing.T) {
	t.Parallel()
	x := newToys(t, func(cfg *vnflcm.Config) {
		changed := newToyFS("    worker:\n", "    other:\n", "[virtual_binding: worker]", "[virtual_binding: other]", "targets: [worker]", "targets: [other]")
		cfg.Packages = twoPackages(toyFS("cluster", "plain"), changed)
		cfg.Infra["toy"] = forgetful{cfg.Infra["toy"].(*cloud)}
	})
	id := x.instantiated("plain")
	_, err := x.ChangeVnfPkg(t.Context(), id, toNew(t, "{}"))
	if err == nil || !strings.Contains(err.Error(), "must name worker: the change ends the VDU worker, with the VNFC worker0, the VNFC worker1") {
		t.Errorf("error %v", err)
	}
	preview, err := x.Preview(t.Context(), id, toNew(t, `{"allow_data_loss": ["worker"]}`))
	if err != nil || len(preview.Package.Losses) != 1 {
		t.Errorf("preview %v, %v", preview, err)
	}
}
