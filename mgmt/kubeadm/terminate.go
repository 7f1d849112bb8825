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

// runDrainAll lets the pods on a worker end as they would like to, for as long as the request allows: none has a
// node left to go to. Then the cluster goes in any case, also when it does not answer.
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
