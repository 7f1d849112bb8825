package e2e_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/snapshots"
)

// later is a Deployment that is made after a snapshot.
const later = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: later, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: later}}
  template:
    metadata: {labels: {app: later}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: later, image: "registry.k8s.io/pause:tests"}]
`

// saved takes a snapshot of a cluster.
func (y *yard) saved(id string) *vnflcm.VnfSnapshot {
	y.t.Helper()
	info, err := y.CreateSnapshotInfo(y.t.Context(), vnflcm.CreateVnfSnapshotInfoRequest{})
	must(y.t, err)
	y.must(y.CreateSnapshot(y.t.Context(), id, vnflcm.CreateVnfSnapshotRequest{VnfSnapshotInfoID: info.ID}))
	info, err = y.Snapshot(y.t.Context(), info.ID)
	must(y.t, err)
	return info.VnfSnapshot
}

// makeLater makes objects and pods that the snapshot of a cluster does not have, and returns the names of the objects.
func (y *yard) makeLater(id string) []string {
	y.t.Helper()
	w := y.write(id)
	y.apply(id, later)
	y.kubectl(id, "rollout", "status", "-n", "shop", "deployment/later", "--timeout=50s")
	w.stop()
	w.ended.Wait()
	return w.acknowledged
}

// wantEarlier checks that a cluster has no object that was made after the snapshot, and that no machine runs one of these pods.
func (y *yard) wantEarlier(id string, gone []string, early *writer) {
	y.t.Helper()
	early.end("the time before the snapshot")
	there, err := early.there()
	must(y.t, err)
	left := 0
	for _, name := range gone {
		if there[name] {
			left++
		}
	}
	if out := y.kubectl(id, "get", "deployments,pods", "-n", "shop", "-l", "app=later", "-o", "name"); out != "" || left > 0 || len(gone) == 0 {
		y.t.Errorf("of %d later objects %d are there, and %q", len(gone), left, out)
	}
	awaitFor(y.t, 2*time.Minute, "the end of the later pods", func() bool {
		return !strings.Contains(y.everywhere(id, "sh", "-c", "ls /var/log/pods 2>/dev/null || true"), "shop_later-")
	})
}

// TestKubeadmRestoreFromSnapshot restores a cluster from a snapshot, while a client asks a Service every 10 ms: on the control-plane node that stays after two
// of three were killed, then on new control-plane nodes after all were killed, with the workers that are alive. Objects from before the snapshot are
// there, later ones and their pods are gone, and a token from before is valid.
func TestKubeadmRestoreFromSnapshot(t *testing.T) {
	y := yardOf(t, needParts(t, "kubeadm-restore"), func(y *yard, _ *vmhost.Spec) {
		y.infra.Shared = map[string]netip.Addr{"vip_CP": site.network.Reserve()}
		kept, err := snapshots.New(snapshots.Directory(t.TempDir()))
		must(t, err)
		y.snapshots = kept
	})
	ctx := t.Context()
	id, request := y.cluster("complex", highlyAvailable)
	withTwoWorkers(&request)
	y.must(y.Instantiate(ctx, id, request))
	y.loaded(id)
	early := y.write(id)
	awaitFor(t, time.Minute, "writes", func() bool { there, err := early.there(); return err == nil && len(there) > 20 })
	early.stop()
	early.ended.Wait()
	client, err := y.newAPIClient(id, time.Minute)
	must(t, err)
	s := y.saved(id)
	t.Logf("the snapshot has %v, and took %s", s.About, s.TestFinishedAt.Sub(s.CreationStartedAt).Round(time.Millisecond))
	workers := y.vnfcs(id, workerVDU)

	for _, c := range []struct {
		name, restore string
		killed        int
	}{
		{"the restore on a survivor", "latest", 2},
		{"the restore on new control-plane nodes", s.ID, 3},
	} {
		gone := y.makeLater(id)
		service := y.asked(id)
		lost := y.vnfcs(id, masterVDU)[:c.killed]
		for _, v := range lost {
			y.kill(v)
		}
		_, err = y.Heal(ctx, id, restoring(t, lost, `{"restore": "`+c.restore+`"}`))
		if err == nil || !strings.Contains(err.Error(), "additionalParams.confirm_loss: must be true: etcd is restored from snapshot "+s.ID) {
			t.Errorf("%s is not confirmed: %v", c.name, err)
		}
		t.Logf("refused: %v", err)
		begin := time.Now()
		op, err := y.Heal(ctx, id, restoring(t, lost, `{"restore": "`+c.restore+`", "confirm_loss": true}`))
		must(t, err)
		occ, err := y.Wait(within(t, 20*time.Minute), op)
		must(t, err)
		t.Logf("%s: the cluster was whole again after %s, with the warnings %q", c.name, time.Since(begin).Round(time.Second), occ.Warnings)
		service.none(c.name)
		y.wantEarlier(id, gone, early)
		y.wantNodes(id, 3, 2)
		y.wantMembers(id)
		y.wantClaimed(id)
		if code, _, err := client.do(ctx, http.MethodGet, "/api/v1/nodes", nil); err != nil || code != http.StatusOK {
			t.Errorf("%s: the API answers the token from before with %d, %v", c.name, code, err)
		}
	}
	for i, v := range y.vnfcs(id, workerVDU) {
		if v.ComputeResource.ResourceID != workers[i].ComputeResource.ResourceID {
			t.Errorf("the worker %s was replaced", v.ID)
		}
	}
	y.must(y.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}))
	y.wantNodes(id, 3, 3)
	y.must(y.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	y.gone(id)
}
