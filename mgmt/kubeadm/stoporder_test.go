package kubeadm_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestStopOrder stops a cluster of three control-plane nodes and two workers and starts it again. The workers are stopped first, and started
// last. All nodes are Ready afterwards. A stopped cluster can be terminated, although its machines do not answer.
func TestStopOrder(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{})
	id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("complex", 1))
	l.WantNodes(3, 2, 0)
	vdus := map[string]string{}
	for _, v := range l.VNFCs(id) {
		vdus[v.ID] = v.VduID
	}
	turned := func(step string) (order []string) {
		for _, e := range l.Events() {
			if e.Kind == vnflcm.StepStarted && e.Name == step {
				order = append(order, vdus[e.On])
			}
		}
		return order
	}
	opID, err := l.Operate(t.Context(), id, vnflcm.OperateVnfRequest{ChangeStateTo: vnflcm.VnfStopped})
	l.Must(opID, err)
	want := []string{"workerNode", "workerNode", "masterNode", "masterNode", "masterNode"}
	if diff := cmp.Diff(want, turned("stop-vm")); diff != "" {
		t.Errorf("stopped:\n%s", diff)
	}
	opID, err = l.Operate(t.Context(), id, vnflcm.OperateVnfRequest{ChangeStateTo: vnflcm.VnfStarted})
	l.Must(opID, err)
	slices.Reverse(want)
	if diff := cmp.Diff(want, turned("start-vm")); diff != "" {
		t.Errorf("started:\n%s", diff)
	}
	l.WantNodes(3, 2, 0)

	opID, err = l.Operate(t.Context(), id, vnflcm.OperateVnfRequest{ChangeStateTo: vnflcm.VnfStopped})
	l.Must(opID, err)
	opID, err = l.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful})
	l.Must(opID, err)
}
