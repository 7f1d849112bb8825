package kubeadm

import (
	"context"
	"errors"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/nodedrain"
	"github.com/vnfkit/vnfkit/mgmt/internal/plan"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Tasks of a change of the package.
var (
	cordonNode   = task{Name: "cordon", Why: "the node gets no new pods until its machine has been changed", Do: runCordonNode}
	noteChange   = repeated("note-change", "keys and connections of machines that end are not kept, and a rollback knows that the machines may be changed", runNoteChange)
	findKept     = repeated("find-node", "a machine that the change has not reached is a node already", runFindKept)
	uncordonNode = step("uncordon", "the node gets pods again", oneMinute, runUncordonNode)
	endChange    = repeated("end-change", "a rollback knows that the batch is complete", runEndChange)
)

// unlessKept returns the task for a machine that may be a node already.
func unlessKept(t task) task {
	do := t.Do
	t.If = "the machine has a new disk"
	t.Do = func(ctx context.Context, e *environment, n mgmt.Node) error {
		if e.kept.Of(n.ID) {
			return nil
		}
		return do(ctx, e, n)
	}
	return t
}

// runCordonNode cordons a node as the step "cordon", and records that the change has done so, unless the node is cordoned already.
func runCordonNode(ctx context.Context, e *environment, n mgmt.Node) error {
	return n.Do(ctx, e.op, "cordon", oneMinute(e.config.Timeouts), func(ctx context.Context) error {
		node, found, err := e.kube.NodeAt(ctx, n.IP)
		if !found || err != nil || node.Spec.Unschedulable {
			return err
		}
		if err := e.op.State().Put(ctx, cordonedState+n.ID, node.UID); err != nil {
			return err
		}
		return e.kube.SetUnschedulable(ctx, node.Name, true)
	})
}

// runUncordonNode uncordons a node that the change has cordoned, unless it has joined again.
func runUncordonNode(ctx context.Context, e *environment, n mgmt.Node) error {
	return errors.Join(e.leave.Stay(ctx, n), runUncordon(ctx, e, n, ""))
}

// runNoteChange records that the infrastructure driver may change the machines from now on, and forgets the connections and the host keys of
// those whose disks end: a rebuilt machine has another key under the same resource id.
func runNoteChange(ctx context.Context, e *environment, _ mgmt.Node) error {
	var ends []vnflcm.VNFC
	errs := []error{nil}
	all := slices.Concat(e.nodes(), e.storage, e.balancers)
	for _, n := range e.having(all, plan.IsReplaced) {
		ends = append(ends, n.VNFC)
		errs = append(errs, e.op.State().Delete(ctx, joiningState+n.ResourceID))
	}
	for _, n := range e.replaced(all) {
		errs = append(errs, e.op.State().Put(ctx, changingState+n.ID, e.op.ID))
	}
	return errors.Join(append(errs, nodedrain.Forget(ctx, e.op, e.config.Pool, ends))...)
}

// runFindKept finds out whether a machine is a node in its role, and, on a control-plane node, a voting member of etcd.
func runFindKept(ctx context.Context, e *environment, n mgmt.Node) error {
	kept, err := joined(ctx, e, n, e.isControlPlane(n))
	e.kept.Set(n.ID, kept)
	return err
}

// runEndChange deletes what runNoteChange has recorded.
func runEndChange(ctx context.Context, e *environment, _ mgmt.Node) error {
	var errs []error
	for _, n := range e.replaced(slices.Concat(e.nodes(), e.storage, e.balancers)) {
		errs = append(errs, e.op.State().Delete(ctx, changingState+n.ID))
	}
	return errors.Join(errs...)
}
