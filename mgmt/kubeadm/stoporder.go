package kubeadm

import (
	"context"

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
	var workers, controlPlane []vnflcm.VNFC
	for _, v := range op.VNFCs {
		if _, isWorker := v.CP(p.Cluster.Worker.SSHCPName); isWorker {
			workers = append(workers, v)
		} else if _, isControlPlane := v.CP(p.Cluster.Master.SSHCPName); isControlPlane {
			controlPlane = append(controlPlane, v)
		}
	}
	return [][]vnflcm.VNFC{workers, controlPlane}, nil
}
