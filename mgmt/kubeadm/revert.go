package kubeadm

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/vnflcm"
)

var _ vnflcm.SnapshotReverter = (*Driver)(nil)

// RevertToSnapshot implements vnflcm.SnapshotReverter. Etcd on all control-plane nodes gets the data of the snapshot. No machine is replaced, and
// the files of the snapshot are not used.
func (d *Driver) RevertToSnapshot(ctx context.Context, op *vnflcm.Operation) error {
	return operations.RunPhase(ctx, op, vnflcm.RevertPhase, d.config.Parallel, d.shaped)
}

// revert gives etcd the data of a snapshot on every control-plane node.
func revert(c clusterShape) *operationPlan {
	p := &planner{clusterShape: c}
	p.Begin(vnflcm.RevertPhase)
	p.registerNodes(p.Once(deleteLostNodes, p.restoreMembers(p.Once(chooseSource))))
	p.Once(registerVIM, p.All())
	p.Once(forgetSource, p.Once(compareUsers, p.All()))
	return &p.operationPlan
}

var restoreMarks = step("labels", "a node that has joined after the snapshot has its role, labels and taints", twoMinutes, runRestoreMarks)

// registerLimit bounds how long a kubelet that was restarted may take to register its node.
const registerLimit = time.Minute

// runRestoreMarks sets what a kubelet may not set on its Node object. The kubelet registers a node that the snapshot does not have; only
// kubeadm join would set the role of a control-plane node.
func runRestoreMarks(ctx context.Context, e *environment, n mgmt.Node) error {
	node, err := e.awaitNode(ctx, n)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		e.op.Warn(ctx, fmt.Sprintf("after the restore %s is no node of the cluster: heal the machine, or restart its kubelet: %v", n.Name, err))
		return nil
	}
	labels, taints := e.nodeLabels(n), e.taintsAfterScript(n)
	if e.isControlPlane(n) && !node.ControlPlane {
		labels[controlPlaneMark] = ""
		if taints = e.marks(n).apiTaints(); e.marks(n).Taints == nil {
			taints = []corev1.Taint{{Key: controlPlaneMark, Effect: corev1.TaintEffectNoSchedule}}
		}
	}
	if err := e.kube.SetTaints(ctx, node.Name, taints); err != nil {
		return err
	}
	return e.kube.SetLabels(ctx, node.Name, labels)
}

// awaitNode waits until a machine is a node, for at most registerLimit.
func (e *environment) awaitNode(ctx context.Context, n mgmt.Node) (node cluster.Node, err error) {
	err = mgmt.Within(ctx, registerLimit, func(ctx context.Context) error {
		return retry.Policy{First: 100 * time.Millisecond, Most: time.Second}.Do(ctx, func() error {
			at, found, err := e.kube.NodeAt(ctx, n.IP)
			if err == nil && !found {
				err = fmt.Errorf("kubeadm: no node has the address %s", n.IP)
			}
			node = at
			return err
		})
	})
	return node, err
}
