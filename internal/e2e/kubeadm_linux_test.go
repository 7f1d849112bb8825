package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// workload is a Deployment with a pod on every worker, of which none may be missing.
const workload = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}
      containers: [{name: web, image: "registry.k8s.io/pause:tests"}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: shop}
spec:
  minAvailable: %[1]d
  selector: {matchLabels: {app: web}}
`

// work lets a cluster run the workload.
func (y *yard) work(id string, replicas int) {
	y.t.Helper()
	y.apply(id, "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n---"+fmt.Sprintf(workload, replicas))
	y.kubectl(id, "rollout", "status", "-n", "shop", "deployment/web", "--timeout=50s")
}

// TestKubeadmLife takes a real cluster of one control-plane node through its life. Its machines let in keys only. The token of its VIM
// entry ends, and is renewed.
func TestKubeadmLife(t *testing.T) {
	var key string
	token := &expiring{}
	y := newYard(t, func(y *yard, spec *vmhost.Spec) {
		key = y.keysOnly(spec)
		y.wrap = func(d *kubeadm.Driver) vnflcm.MgmtDriver {
			token.Driver, token.yard = d, y
			return token
		}
	})
	ctx := t.Context()
	login := map[string]any{"password": nil, "private_key": key}
	params, err := json.Marshal(map[string]any{"k8s_cluster_installation_param": map[string]any{"master_node": login, "worker_node": login,
		"vim_registration": map[string]any{"token": "request", "token_expiration": 600}}})
	must(t, err)
	id, request := y.cluster("simple", string(params))
	y.must(y.Instantiate(ctx, id, request))
	y.wantNodes(id, 1, 1)
	if code, err := y.viaVIM(id, "/api/v1/namespaces/kube-system/secrets"); code != 200 || err != nil {
		t.Errorf("through the VIM entry: %d, %v", code, err)
	}
	token.wantRenewed(id)

	// The name of the first worker is a prefix of the names of the other workers, as worker1 is a prefix of worker10.
	first := y.machines.Host(y.vnfcs(id, workerVDU)[0].ComputeResource.ResourceID).Address.As4()
	first[3] *= 10
	second := first
	second[3]++
	y.machines.Next(netip.AddrFrom4(first), netip.AddrFrom4(second))
	y.must(y.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance", NumberOfSteps: 2}))
	y.wantNodes(id, 1, 3)
	y.work(id, 3)

	op, err := y.Scale(ctx, id, scaleIn(t, ""))
	if err == nil {
		_, err = y.Wait(ctx, op)
	}
	if err == nil || !strings.Contains(err.Error(), "shop/web-") || !strings.Contains(err.Error(), "disruption budget") {
		t.Fatalf("a drain that a disruption budget forbids: %v", err)
	}
	t.Logf("refused: %v", err)
	if err := y.Fail(ctx, op); err != nil {
		t.Fatal(err)
	}
	y.must(y.Scale(ctx, id, scaleIn(t, "Delete")))
	y.wantNodes(id, 1, 2)
	y.must(y.Scale(ctx, id, scaleIn(t, "Continue")))
	y.wantNodes(id, 1, 1)
	y.work(id, 1)

	worker := y.vnfcs(id, workerVDU)[0]
	y.kill(worker)
	y.must(y.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{worker.ID}}))
	y.wantNodes(id, 1, 1)
	y.kubectl(id, "rollout", "status", "-n", "shop", "deployment/web", "--timeout=50s")

	y.must(y.Heal(ctx, id, wholeHeal(t)))
	y.wantNodes(id, 1, 1)
	if code, err := y.viaVIM(id, "/version"); code != 200 || err != nil {
		t.Errorf("through the VIM entry, after the whole heal: %d, %v", code, err)
	}

	y.work(id, 1)
	y.must(y.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful, GracefulTerminationTimeout: 5}))
	y.gone(id)
}

// keysOnly has the machines let in one key and no password, and returns the private key. sudo does not ask.
func (y *yard) keysOnly(spec *vmhost.Spec) (key string) {
	y.t.Helper()
	file := keygen(y.t, y.t.TempDir(), "key", "", "-t", "ed25519")
	auth, err := sshexec.PrivateKey(read(y.t, file))
	must(y.t, err)
	y.auth = auth
	spec.Config, spec.AuthorizedKeys = []string{"PasswordAuthentication no"}, []string{string(read(y.t, file+".pub"))}
	return string(read(y.t, file))
}

// scaleIn takes a worker away, and says what becomes of pods that do not leave it.
func scaleIn(t *testing.T, policy string) vnflcm.ScaleVnfRequest {
	t.Helper()
	r := vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance"}
	if policy != "" {
		var err error
		if r.AdditionalParams, err = vnflcm.ParseParams([]byte(`{"k8s_cluster_installation_param": {"drain_policy": "` + policy + `"}}`)); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// highlyAvailable has the API at an address that the control-plane nodes share, and the pod network that the driver
// brings along.
const highlyAvailable = `{"k8s_cluster_installation_param": {"master_node": {"cluster_cp_name": "vip_CP"}, "cni_manifest_path": null}}`

// TestKubeadmHighlyAvailable has three control-plane nodes behind a virtual address. If one of them dies, the driver heals
// it. If two die, the driver refuses to heal one node; healing all nodes creates the cluster again. All nodes pull from a
// private registry that the request to scale has given, also nodes that later requests without a registry create.
func TestKubeadmHighlyAvailable(t *testing.T) {
	var virtual netip.Addr
	var private *privateRegistry
	y := newYard(t, func(y *yard, _ *vmhost.Spec) {
		virtual = site.network.Reserve()
		y.infra.Shared = map[string]netip.Addr{"vip_CP": virtual}
		private = newRegistry(t, y.parts)
		y.packages = samplePackage(t, map[string][]byte{registryCA: private.ca})
	})
	private.push(t, y.parts.Image("pause"), "team/web", "1")
	private.push(t, y.parts.Image("pause"), "team/probe", "1")
	ctx := t.Context()
	id, request := y.cluster("complex", highlyAvailable)
	y.must(y.Instantiate(ctx, id, request))
	y.wantNodes(id, 3, 1)
	y.wantMembers(id)
	y.must(y.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance",
		AdditionalParams: y.laid(vnflcm.Params{}, private.parameters(t))}))
	y.wantNodes(id, 3, 2)
	y.work(id, 2)
	y.pullsEverywhere(id)

	victim := y.holder(id, virtual.String())
	longest := y.watchAPI(id)
	begin := time.Now()
	y.kill(victim)
	y.must(y.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{victim.ID}}))
	t.Logf("longest gap of the API while its holder was dead and was healed (%s): %s", time.Since(begin).Round(time.Second), longest().Round(10*time.Millisecond))
	y.wantNodes(id, 3, 2)
	y.wantMembers(id)
	y.pullsEverywhere(id)

	masters := y.vnfcs(id, masterVDU)
	before, err := y.machines.Machines(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	y.kill(masters[0])
	y.kill(masters[1])
	op, err := y.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{masters[0].ID}})
	if err == nil {
		_, err = y.Wait(ctx, op)
	}
	if err == nil || !strings.Contains(err.Error(), "quorum") {
		t.Fatalf("two of three control-plane nodes are lost, and one is to be healed: %v", err)
	}
	t.Logf("refused: %v", err)
	if after, err := y.machines.Machines(ctx, id); err != nil || len(after) != len(before) {
		t.Errorf("machines before %v, after %v, %v", before, after, err)
	}
	if op != "" {
		if err := y.Fail(ctx, op); err != nil {
			t.Fatal(err)
		}
	}
	y.must(y.Heal(ctx, id, wholeHeal(t)))
	y.wantNodes(id, 3, 2)
	y.wantMembers(id)
	y.pullsEverywhere(id)
	if code, err := y.viaVIM(id, "/version"); code != 200 || err != nil {
		t.Errorf("through the VIM entry, after the whole heal: %d, %v", code, err)
	}

	y.must(y.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	y.gone(id)
}
