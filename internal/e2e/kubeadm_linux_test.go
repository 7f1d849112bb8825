package e2e_test

import (
	"testing"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// workload is a Deployment that must keep two of its pods while a node is drained.
const workload = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: web, image: "registry.k8s.io/pause:3.10.1"}]
`

// TestKubeadmLife takes a real cluster of one control-plane node through its life.
func TestKubeadmLife(t *testing.T) {
	y := newYard(t, nil)
	ctx := t.Context()
	id, request := y.cluster("simple")
	y.must(y.Instantiate(ctx, id, request))
	y.wantNodes(id, 1, 1)
	if code, err := y.viaVIM(id, "/api/v1/namespaces/kube-system/secrets"); code != 200 || err != nil {
		t.Errorf("through the VIM entry: %d, %v", code, err)
	}
	y.apply(id, workload)
	y.kubectl(id, "rollout", "status", "deployment/web", "--timeout=50s")

	y.must(y.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance", NumberOfSteps: 2}))
	y.wantNodes(id, 1, 3)
	y.must(y.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance", NumberOfSteps: 2}))
	y.wantNodes(id, 1, 1)

	worker := y.vnfcs(id, workerVDU)[0]
	y.kill(worker)
	y.must(y.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{worker.ID}}))
	y.wantNodes(id, 1, 1)
	y.kubectl(id, "rollout", "status", "deployment/web", "--timeout=50s")

	y.must(y.Heal(ctx, id, vnflcm.HealVnfRequest{}))
	y.wantNodes(id, 1, 1)
	if code, err := y.viaVIM(id, "/version"); code != 200 || err != nil {
		t.Errorf("through the VIM entry, after the whole heal: %d, %v", code, err)
	}

	y.must(y.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	y.gone(id)
}
