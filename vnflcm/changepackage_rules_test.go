package vnflcm_test

import (
	"context"
	"errors"
	"strings"
	"testing"

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
