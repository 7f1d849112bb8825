package kubeadm

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

// Machines returns the machines of the VNF that the driver logs in to, with their logins: control-plane nodes, workers, load balancers and
// the storage server. It connects to none. Programs call it in vnflcm.Manager.Examine, for a shell on a machine.
func (d *Driver) Machines(ctx context.Context, op *vnflcm.Operation) ([]mgmt.Node, error) {
	p, err := read(ctx, op)
	if err != nil {
		return nil, err
	}
	controlPlane, workers, err1 := d.nodesOf(op, p)
	balancers, err2 := d.balancersOf(op, p)
	storage, err3 := d.storageOf(op, p)
	return slices.Concat(controlPlane, workers, balancers, storage), errors.Join(err1, err2, err3)
}

// clusterMachines returns the machines that are nodes of the cluster.
func (d *Driver) clusterMachines(ctx context.Context, op *vnflcm.Operation) (controlPlane, workers []mgmt.Node, err error) {
	p, err := read(ctx, op)
	if err != nil {
		return nil, nil, err
	}
	return d.nodesOf(op, p)
}
