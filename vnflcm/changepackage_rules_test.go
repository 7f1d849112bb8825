package vnflcm_test

import (
	"context"
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
