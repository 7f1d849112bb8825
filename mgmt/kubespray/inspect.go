package kubespray

import (
	"context"
	"errors"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/vnflcm"
)

var _ vnflcm.Inspector = (*Driver)(nil)

// Inspect implements vnflcm.Inspector: it compares the nodes of the cluster with the machines of the VNF.
func (d *Driver) Inspect(ctx context.Context, op *vnflcm.Operation) ([]vnflcm.Finding, error) {
	controlPlane, workers, err := d.clusterMachines(ctx, op)
	if err != nil {
		return nil, err
	}
	return clusternodes.Inspect(ctx, op, controlPlane, workers)
}

// Machines returns the machines of the VNF that the driver logs in to, with their logins: control-plane nodes, workers and load balancers.
// The Ansible server is no machine of the VNF. It connects to none. Programs call it in vnflcm.Manager.Examine, for a shell on a machine.
func (d *Driver) Machines(ctx context.Context, op *vnflcm.Operation) ([]mgmt.Node, error) {
	p, err := d.read(ctx, op)
	if err != nil {
		return nil, err
	}
	controlPlane, workers, err1 := d.clusterMachines(ctx, op)
	balancers, err2 := p.Cluster.Balancer.Balancers(op, d.config.Pool, mgmt.Access{LoginGrace: d.config.Timeouts.Login})
	return slices.Concat(controlPlane, workers, balancers), errors.Join(err1, err2)
}

// clusterMachines returns the machines that are nodes of the cluster.
func (d *Driver) clusterMachines(ctx context.Context, op *vnflcm.Operation) (controlPlane, workers []mgmt.Node, err error) {
	p, err := d.read(ctx, op)
	if err != nil {
		return nil, nil, err
	}
	controlPlane, err1 := d.nodes(op, p.Cluster.Master.nodeParam, "master")
	workers, err2 := d.nodes(op, p.Cluster.Worker, "worker")
	return controlPlane, workers, errors.Join(err1, err2)
}
