package kubeadm

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/internal/nodedrain"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/controlplane"
)

// leaves returns the action of a task on a node that leaves the cluster.
func leaves(do func(*nodedrain.Leaving, context.Context, mgmt.Node) error) action {
	return func(ctx context.Context, e *environment, n mgmt.Node) error { return do(&e.leave, ctx, n) }
}

// forced returns the same for tasks that give up after a time. A node that cannot leave does not stop a heal or a rollback.
func forced(do func(*nodedrain.Leaving, context.Context, mgmt.Node, bool) error) action {
	return func(ctx context.Context, e *environment, n mgmt.Node) error {
		silent := e.op.ChangeVnfPkg != nil && e.leave.Silent(n)
		return do(&e.leave, ctx, n, e.op.Heal != nil || e.op.RollingBack || silent)
	}
}

// runReset stops what kubeadm has started on a machine. The machine is removed even if that fails.
func runReset(ctx context.Context, e *environment, n mgmt.Node) error {
	if err := controlplane.Reset(ctx, n); err != nil {
		e.op.Log.WarnContext(ctx, "the removed machine could not be reset", "host", n.Label(), "error", err)
	}
	return nil
}

// runForget deletes what is stored of machines that are removed or replaced: connections, host keys, unfinished joins, and that an upgrade
// has cordoned their nodes.
func runForget(ctx context.Context, e *environment, _ mgmt.Node) error {
	gone := slices.Concat(e.op.Change.Removed, e.op.Change.Replaced)
	if e.op.ChangeVnfPkg != nil {
		gone = e.op.Change.Removed // runNoteChange forgets machines whose disks end
	}
	errs := []error{nodedrain.Forget(ctx, e.op, e.config.Pool, gone)}
	for _, v := range gone {
		errs = append(errs, e.op.State().Delete(ctx, joiningState+v.ResourceID), e.op.State().Delete(ctx, cordonedState+v.ID))
	}
	return errors.Join(errs...)
}

// runDrainAll gives the pods on a worker time to end, as much as the request allows: no other node could take them. The
// cluster is terminated in any case, also if it does not answer.
func runDrainAll(ctx context.Context, e *environment, n mgmt.Node) error {
	limit := time.Duration(e.op.Terminate.GracefulTerminationTimeout) * time.Second
	if limit <= 0 {
		limit = e.config.Timeouts.Drain
	}
	l := nodedrain.Leaving{Op: e.op, Kube: e.kube, DrainLimit: limit, Policy: cluster.DrainContinue}
	err := l.Drain(ctx, n, true)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		e.op.Log.WarnContext(ctx, "the node is not drained", "host", n.Label(), "error", err)
	}
	return nil
}
