package kubeadm_test

import (
	"slices"
	"strings"
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

var gently = vnflcm.OperateVnfRequest{ChangeStateTo: vnflcm.VnfStopped, StopType: vnflcm.StopGraceful, GracefulStopTimeout: 30}

// TestStopGracefully stops a cluster whose certificates end meanwhile, and starts it again: the nodes were drained, and take pods again. The certificates
// are renewed. A node that the operator has cordoned stays cordoned.
func TestStopGracefully(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{})
	id := l.Instantiated("instantiate_sandbox.json", append(virtual(t), clustertest.Sized("complex", 1))...)
	l.cordon("workerNode-1")
	l.Must(l.Operate(t.Context(), id, gently))
	l.endKubelets("masterNode-0", "workerNode-0")
	l.end("masterNode-0", "masterNode-1", "masterNode-2")
	opID, err := l.Operate(t.Context(), id, vnflcm.OperateVnfRequest{ChangeStateTo: vnflcm.VnfStarted})
	l.Must(opID, err)
	l.WantNodes(3, 2, 1)
	if text := l.warnings(opID); text != "" {
		t.Errorf("warnings of the start: %s", text)
	}
	if !l.answers(id) {
		t.Error("the API does not answer clients of the VIM")
	}
	for _, name := range []string{"masterNode-0", "workerNode-0"} {
		if !l.restarted(name) {
			t.Errorf("the kubelet of %s was not restarted", name)
		}
	}
}

// TestStopDeadCluster stops a cluster whose control plane does not answer: a graceful stop gives up the drain with a warning.
func TestStopDeadCluster(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{})
	id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 0))
	l.stop("masterNode-0")
	soon := gently
	soon.GracefulStopTimeout = 1
	opID, err := l.Operate(t.Context(), id, soon)
	l.Must(opID, err)
	if text := l.warnings(opID); !strings.Contains(text, "is stopped although it was not emptied") {
		t.Errorf("warnings: %s", text)
	}
	l.Must(l.Operate(t.Context(), id, vnflcm.OperateVnfRequest{ChangeStateTo: vnflcm.VnfStarted}))
	l.WantNodes(1, 1, 0)
}
