package e2e_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/e2e/kube"
	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestKubeadmLifeDebian13 takes a cluster of three control-plane nodes at a virtual address through its life, on machines with Debian 13
// that cloud-init sets up. containerd, haproxy and keepalived are those of Debian 13; every package comes from a signed repository.
func TestKubeadmLifeDebian13(t *testing.T) {
	needPart(t, "kubeadm-full")
	parts, err := kube.BuildDebian13(t.Context())
	must(t, err)
	var virtual netip.Addr
	y, repositories := bareYardOf(t, parts, func(y *yard, _ *vmhost.Spec, _ string) {
		virtual = site.network.Reserve()
		y.infra.Shared = map[string]netip.Addr{"vip_CP": virtual}
	})
	ctx := t.Context()
	id, request := y.cluster("complex", highlyAvailable, fromRepository(t, repositories+"/kubernetes/", "Files/repository.asc"),
		`{"k8s_cluster_installation_param": {"packages": {"containerd_version": "1.7.*"}}}`)
	y.must(y.Instantiate(ctx, id, request))
	y.wantNodes(id, 3, 1)
	y.wantMembers(id)
	y.must(y.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}))
	y.wantNodes(id, 3, 2)
	y.wantDebian13(id, 5)
	y.work(id, 2) // needs the pod network on both workers

	victim := y.holder(id, virtual.String())
	worker := y.vnfcs(id, workerVDU)[0]
	y.kill(victim)
	y.kill(worker)
	y.must(y.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{victim.ID, worker.ID}}))
	y.wantNodes(id, 3, 2)
	y.wantMembers(id)
	y.wantDebian13(id, 5)
	y.kubectl(id, "rollout", "status", "-n", "shop", "deployment/web", "--timeout=50s")

	y.must(y.Scale(ctx, id, scaleIn(t, "Delete"))) // the budget of the workload forbids to evict its pod
	y.wantNodes(id, 3, 1)
	y.must(y.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	y.gone(id)
}

// wantDebian13 checks the system of each node, and that its container runtime is the one of Debian 13.
func (y *yard) wantDebian13(id string, nodes int) {
	y.t.Helper()
	got := y.kubectl(id, "get", "nodes", "-o", `jsonpath={range .items[*]}{.status.nodeInfo.osImage}, {.status.nodeInfo.containerRuntimeVersion}{"\n"}{end}`)
	for line := range strings.Lines(got) {
		system, runtime, _ := strings.Cut(strings.TrimSpace(line), ", ")
		if system != "Debian GNU/Linux 13 (trixie)" || !strings.HasPrefix(runtime, "containerd://1.7.") {
			y.t.Errorf("a node has %s and %s", system, runtime)
		}
	}
	if diff := cmp.Diff(nodes, strings.Count(got, "\n")); diff != "" {
		y.t.Errorf("nodes:\n%s", diff)
	}
}
