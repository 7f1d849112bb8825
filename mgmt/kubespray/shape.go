package kubespray

import (
	"github.com/vnfkit/vnfkit/mgmt/internal/plan"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// clusterShape is the input of a plan: the machines of the VNF, and how the operation changes them.
type clusterShape struct {
	ControlPlane, Workers, Balancers []machine
	Removed                          []machine // all machines that the operation removes: nodes, and machines without a role in the cluster

	Whole       bool // every machine is replaced
	RollingBack bool // the machines that leave may not have joined the cluster
}

// shapeOf returns the cluster of an operation.
func shapeOf(op *vnflcm.Operation, p *clusterParam) clusterShape {
	c := clusterShape{Whole: op.WholeVNF(), RollingBack: op.RollingBack, Removed: plan.AllRemoved(op),
		ControlPlane: plan.MachinesAt(op, p.Master.SSHCPName), Workers: plan.MachinesAt(op, p.Worker.SSHCPName)}
	if p.Balancer != nil {
		c.Balancers = plan.MachinesAt(op, p.Balancer.SSHCPName)
	}
	return c
}

// resets reports whether remove-node.yml resets the workers that leave. Healing replaces the machines and rolling back
// deletes them, so kubespray does not log in to them.
func (c clusterShape) resets() bool { return len(plan.Removed(c.Workers)) > 0 && !c.RollingBack }
