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

// runRecordNode records the Node object of a leaving machine, and whether the node is not Ready.
func runRecordNode(ctx context.Context, e *environment, n mgmt.Node) error {
	silent, err := nodedrain.RecordNode(ctx, e.op, e.kube, n)
	e.silent.Set(n.ID, silent)
	return err
}

func runStopMachine(ctx context.Context, e *environment, n mgmt.Node) error {
	if !e.silent.Of(n.ID) {
		return nil
	}
	off, err := nodedrain.StopMachine(ctx, e.op, n)
	e.off.Set(n.ID, off)
	return err
}

// runDrain drains a node whose machine will be removed. A failed drain does not stop a heal or a rollback.
func runDrain(ctx context.Context, e *environment, n mgmt.Node) error {
	return nodedrain.Drain(ctx, e.op, e.kube, n, e.leaveWithin(e.config.Timeouts.Drain))
}

// runAwaitDetached waits for the volumes of a node, unless its machine is known to be off. Volumes that stay attached do not stop a
// heal or a rollback.
func runAwaitDetached(ctx context.Context, e *environment, n mgmt.Node) error {
	if e.off.Of(n.ID) {
		return nil
	}
	return nodedrain.AwaitDetached(ctx, e.op, e.kube, n, e.leaveWithin(e.config.Timeouts.Detach))
}

// leaveWithin returns the options for a node that leaves the cluster.
func (e *environment) leaveWithin(limit time.Duration) cluster.DrainOptions {
	return cluster.DrainOptions{Timeout: limit, Force: e.op.Heal != nil || e.op.RollingBack, Policy: e.p.DrainPolicy}
}

// runReset stops what kubeadm has started on a machine. The machine is removed even if that fails.
func runReset(ctx context.Context, e *environment, n mgmt.Node) error {
	if err := controlplane.Reset(ctx, n); err != nil {
		e.op.Log.WarnContext(ctx, "the removed machine could not be reset", "host", n.HostName, "error", err)
	}
	return nil
}

func runDeleteNode(ctx context.Context, e *environment, n mgmt.Node) error {
	return nodedrain.DeleteNode(ctx, e.op, e.kube, n.VNFC)
}

// runForget deletes the connections, host keys and unfinished joins of machines that are removed or replaced.
func runForget(ctx context.Context, e *environment, _ mgmt.Node) error {
	var errs []error
	for _, v := range slices.Concat(e.op.Change.Removed, e.op.Change.Replaced) {
		e.config.Pool.Forget(v.ResourceID)
		errs = append(errs, mgmt.ForgetHostKey(ctx, e.op, v.ResourceID), e.op.State().Delete(ctx, joiningState+v.ResourceID))
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
	err := nodedrain.Drain(ctx, e.op, e.kube, n, cluster.DrainOptions{Timeout: limit, Force: true, Policy: cluster.DrainContinue})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		e.op.Log.WarnContext(ctx, "the node is not drained", "host", n.HostName, "error", err)
	}
	return nil
}
