package kubeadm

import (
	"context"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/internal/nodedrain"
	"github.com/vnfkit/vnfkit/mgmt/internal/vimentry"
)

func runRemoveVIM(ctx context.Context, e *environment, _ mgmt.Node) error {
	return vimentry.RemoveVIM(ctx, e.op)
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
