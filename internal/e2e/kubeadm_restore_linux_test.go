package e2e_test

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// restoring returns a request to heal machines and to restore etcd.
func restoring(t *testing.T, lost []vnflcm.VnfcResourceInfo, attributes string) (request vnflcm.HealVnfRequest) {
	t.Helper()
	var err error
	request.AdditionalParams, err = vnflcm.ParseParams([]byte(attributes))
	must(t, err)
	for _, v := range lost {
		request.VnfcInstanceID = append(request.VnfcInstanceID, v.ID)
	}
	return request
}

// TestKubeadmRestoreFromSurvivor kills two of three control-plane nodes for good, and restores etcd from the third. The Service answers every request of
// a client that asks every 10 ms, from before the loss until after the restore, and no object is lost that was stored before the loss.
func TestKubeadmRestoreFromSurvivor(t *testing.T) {
	y := yardOf(t, needParts(t, "kubeadm-restore"), func(y *yard, _ *vmhost.Spec) {
		y.infra.Shared = map[string]netip.Addr{"vip_CP": site.network.Reserve()}
	})
	ctx := t.Context()
	id, request := y.cluster("complex", highlyAvailable)
	withTwoWorkers(&request)
	y.must(y.Instantiate(ctx, id, request))
	y.loaded(id)
	writes := y.write(id)
	awaitFor(t, time.Minute, "writes", func() bool { there, err := writes.there(); return err == nil && len(there) > 20 })
	service := y.asked(id)

	// The virtual address is lost with its node.
	holder := y.holder(id, y.infra.Shared["vip_CP"].String())
	masters := y.vnfcs(id, masterVDU)
	slices.SortStableFunc(masters, func(a, b vnflcm.VnfcResourceInfo) int {
		switch {
		case a.ID == holder.ID:
			return -1
		case b.ID == holder.ID:
			return 1
		}
		return 0
	})
	lost, survivor := masters[:2], masters[2]
	writes.stop()
	writes.ended.Wait()
	for _, v := range lost {
		y.kill(v)
	}
	_, err := y.Heal(ctx, id, restoring(t, lost, `{"restore": "survivor"}`))
	if err == nil || !strings.Contains(err.Error(), "additionalParams.confirm_loss: must be true: etcd is restored from the data of masterNode-"+survivor.ID[:8]) {
		t.Errorf("a restore that is not confirmed: %v", err)
	}
	t.Logf("refused: %v", err)
	if _, err := y.Heal(ctx, id, vnflcm.HealVnfRequest{}); err == nil || !strings.Contains(err.Error(), "additionalParams.restore: is required") {
		t.Errorf("a heal of the whole VNF: %v", err)
	}
	begin := time.Now()
	op, err := y.Heal(ctx, id, restoring(t, lost, `{"restore": "survivor", "confirm_loss": true}`))
	must(t, err)
	occ, err := y.Wait(within(t, 20*time.Minute), op)
	must(t, err)
	t.Logf("the cluster was whole again after %s, with the warnings %q", time.Since(begin).Round(time.Second), occ.Warnings)
	service.none("the restore")
	writes.end("the restore")
	y.wantNodes(id, 3, 2)
	y.wantMembers(id)
	y.wantClaimed(id)
	if code, err := y.viaVIM(id, "/readyz"); err != nil || code != http.StatusOK {
		t.Errorf("the API answers clients of the VIM with %d, %v", code, err)
	}
	if kept, err := y.on(survivor, "sh", "-c", "ls -d /var/lib/etcd/before-restore-*/member"); err != nil {
		t.Errorf("the data before the restore: %q, %v", kept, err)
	}
	y.must(y.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}))
	y.wantNodes(id, 3, 3)
	y.must(y.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	y.gone(id)
}
