package kubeadm

import (
	"context"

	"github.com/vnfkit/vnfkit/mgmt/internal/plan"
	"github.com/vnfkit/vnfkit/vnflcm"
)

var _ vnflcm.StopOrderer = (*Driver)(nil)

// StopOrder implements vnflcm.StopOrderer: workers are stopped before control-plane nodes, and load balancers and the storage server after
// both.
func (d *Driver) StopOrder(ctx context.Context, op *vnflcm.Operation) ([][]vnflcm.VNFC, error) {
	p, err := read(ctx, op)
	if err != nil {
		return nil, err
	}
	return plan.StopOrder(op, p.Cluster.Worker.SSHCPName, p.Cluster.Master.SSHCPName), nil
}
