package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestKubeadmUpgradeDead ends a worker while another one is upgraded. In the first upgrade a retry passes the worker over and names it, and
// healing the worker brings it to the version. In the second upgrade the worker is healed before the upgrade continues.
func TestKubeadmUpgradeDead(t *testing.T) {
	t.Parallel()
	u := newUpgradeYard(t, kube135, nil)
	ctx := t.Context()
	id, r := u.cluster("simple", u.source(kube135))
	r.InstantiationLevelID, r.TargetScaleLevelInfo = "", []vnflcm.ScaleInfo{{AspectID: "worker_instance", ScaleLevel: 1}}
	u.must(u.Instantiate(ctx, id, r))
	u.wantNodes(id, 1, 2)

	op, dead := u.workerDies(id, kube136)
	must(t, u.Retry(ctx, op))
	occ, err := u.Wait(within(t, upgradePatience), op)
	must(t, err)
	if !strings.Contains(fmt.Sprint(occ.Warnings), "does not answer and is not upgraded: heal it") {
		t.Errorf("the warnings are %q", occ.Warnings)
	}
	u.must(u.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{dead.ID}}))
	u.wantNodes(id, 1, 2)
	u.wantVersion(id, kube136)

	op, dead = u.workerDies(id, kube137)
	must(t, u.Fail(ctx, op))
	u.must(u.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{dead.ID}}))
	u.upgraded(id, kube137)
	u.wantNodes(id, 1, 2)
	u.must(u.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	u.gone(id)
}

// workerDies upgrades a cluster of two workers, and ends the second one while kubeadm runs on the first one. It returns the operation, which has
// failed, and the worker.
func (u *upgradeYard) workerDies(id, version string) (op string, dead vnflcm.VnfcResourceInfo) {
	u.t.Helper()
	workers := u.vnfcs(id, workerVDU)
	op, err := u.Maintain(u.t.Context(), id, u.to(version))
	must(u.t, err)
	var first string
	awaitFor(u.t, upgradePatience, "the turn of a worker", func() bool {
		u.mu.Lock()
		defer u.mu.Unlock()
		i := slices.IndexFunc(u.events, func(e vnflcm.Event) bool {
			return e.OperationID == op && e.Kind == vnflcm.StepStarted && e.Name == "kubelet-configuration-"+version
		})
		if i >= 0 {
			first = u.events[i].On
		}
		return i >= 0
	})
	dead = workers[slices.IndexFunc(workers, func(w vnflcm.VnfcResourceInfo) bool { return w.ID != first })]
	u.kill(dead)
	_, err = u.Wait(within(u.t, upgradePatience), op)
	if err == nil {
		u.t.Fatal("the upgrade has ended well")
	}
	u.t.Logf("a worker died in the upgrade to %s: %v", version, err)
	return op, dead
}
