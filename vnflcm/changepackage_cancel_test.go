package vnflcm_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestCancelledChange cancels a change in both modes, while a machine changes and while the health is awaited. The operation stops and does
// not roll back by itself; Retry completes it.
func TestCancelledChange(t *testing.T) {
	t.Parallel()
	for _, mode := range []vnflcm.CancelMode{vnflcm.CancelGraceful, vnflcm.CancelForceful} {
		for name, at := range map[string]string{"change": "change_package.2/change/worker-1", "health": "change_package_after.2:cluster/join/worker-1"} {
			t.Run(string(mode)+" "+name, func(t *testing.T) {
				t.Parallel()
				x := newToys(t, bothVersions)
				id := x.instantiated("plain")
				if name == "health" {
					x.world.sick["worker-1"] = "answers 503"
				}
				x.world.after = func(ctx context.Context, key string) error {
					if key != at {
						return nil
					}
					opID := lastOperation(x, id) //nolint:contextcheck // it uses the context of the test
					return x.Cancel(context.WithoutCancel(ctx), opID, mode)
				}
				opID, err := x.ChangeVnfPkg(t.Context(), id, toNew(t, `{"rollback_on_failure": true}`))
				_, err = x.wait(opID, err, vnflcm.FailedTemp)
				wantIs(t, err, vnflcm.ErrCancelled)
				if diff := cmp.Diff(map[string]string{"master-0": "", "worker-0": newVNFD, "worker-1": newVNFD}, x.versions(id)); name == "health" && diff != "" {
					t.Error(diff)
				}
				x.world.after = nil
				delete(x.world.sick, "worker-1")
				x.wait(opID, x.Retry(t.Context(), opID), vnflcm.Completed)
			})
		}
	}
}
