package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/vnflcm"
)

var (
	_ vnflcm.PackageBatcher = (*Driver)(nil)
	_ vnflcm.HealthChecker  = (*Driver)(nil)
)

// BeforeBatch implements vnflcm.PackageBatcher: nodes whose machines restart or end leave the routes of load balancers and are drained.
// Control-plane nodes leave etcd too if their disks end.
func (d *Driver) BeforeBatch(ctx context.Context, op *vnflcm.Operation) error {
	return operations.RunPhase(ctx, op, vnflcm.BeforeBatchPhase, d.config.Parallel, d.shaped)
}

// AfterBatch implements vnflcm.PackageBatcher: nodes join, and load balancers lead to them. It returns when they are Ready and every member of
// etcd is healthy.
func (d *Driver) AfterBatch(ctx context.Context, op *vnflcm.Operation) error {
	return operations.RunPhase(ctx, op, vnflcm.AfterBatchPhase, d.config.Parallel, d.shaped)
}

// healthLimit bounds how long the cluster may take to answer CheckHealth.
const healthLimit = time.Minute

// CheckHealth implements vnflcm.HealthChecker: the nodes of the batch are Ready, and if one of them is a control-plane node, every member of
// etcd is healthy.
func (d *Driver) CheckHealth(ctx context.Context, op *vnflcm.Operation) error {
	e, err := d.open(ctx, op)
	if err != nil {
		return err
	}
	defer e.Close()
	return mgmt.Within(ctx, healthLimit, func(ctx context.Context) error {
		nodes, err := e.kube.Nodes(ctx)
		if err != nil {
			return err
		}
		changed := clusternodes.Among(e.nodes(), slices.Concat(op.Change.Added, op.Change.Replaced))
		var faults []error
		for _, n := range changed {
			if !slices.ContainsFunc(nodes, func(node cluster.Node) bool { return node.Address == n.IP && node.Ready }) {
				faults = append(faults, fmt.Errorf("kubeadm: the node of %s is not Ready", n.Label()))
			}
		}
		if slices.ContainsFunc(changed, e.isControlPlane) {
			faults = append(faults, e.etcd().Check(ctx, e.controlPlane))
		}
		return errors.Join(faults...)
	})
}
