package kubeadm

import (
	"context"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/internal/nodedrain"
	"github.com/vnfkit/vnfkit/mgmt/internal/vimentry"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// terminateStart takes the cluster out of the VIM registry while it is still there, so that nothing new is
// put on it, and ends the account that the entry had.
func (d *Driver) terminateStart(ctx context.Context, op *vnflcm.Operation) error {
	if err := vimentry.RemoveVIM(ctx, op); err != nil {
		return err
	}
	if op.Terminate.TerminationType == vnflcm.TerminateGraceful {
		if err := d.drainAll(ctx, op); err != nil {
			return err
		}
	}
	return d.removeAccount(ctx, op)
}

// drainAll lets the pods on all workers end as they would like to, for as long as the request allows: none has a
// node left to go to. Then the cluster goes in any case, also when it does not answer.
func (d *Driver) drainAll(ctx context.Context, op *vnflcm.Operation) error {
	dep, err := d.open(ctx, op)
	if err != nil {
		op.Log.WarnContext(ctx, "the cluster is not drained", "error", err)
		return nil
	}
	defer dep.close()
	limit := time.Duration(op.Terminate.GracefulTerminationTimeout) * time.Second
	if limit <= 0 {
		limit = d.config.Timeouts.Drain
	}
	err = vnflcm.Each(ctx, d.config.Parallel, dep.workers, func(ctx context.Context, n mgmt.Node) error {
		return nodedrain.Drain(ctx, op, dep.kube, n, cluster.DrainOptions{Timeout: limit, Force: true, Policy: cluster.DrainContinue})
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		op.Log.WarnContext(ctx, "the cluster is not drained", "error", err)
	}
	return nil
}

// terminateEnd drops what is kept of the machines. The entry in the VIM registry goes here too: a VNFD need
// not name terminate_start.
func (d *Driver) terminateEnd(ctx context.Context, op *vnflcm.Operation) error {
	if err := vimentry.RemoveVIM(ctx, op); err != nil {
		return err
	}
	return d.forget(ctx, op, op.Change.Removed)
}
