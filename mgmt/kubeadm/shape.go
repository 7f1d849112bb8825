package kubeadm

import (
	"context"
	"net/netip"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt/internal/plan"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// clusterShape is the input of a plan: the machines of the VNF, how the operation changes them, and what the parameters ask for.
type clusterShape struct {
	ControlPlane, Workers, Storage, Balancers []machine
	Removed                                   []machine // all machines that the operation removes: nodes, and machines without a role in the cluster

	Whole         bool // every machine is replaced, or the machine of the only control-plane node: the operation makes a new cluster
	Restores      bool // etcd is restored
	FromSnapshot  bool // from a snapshot, otherwise from a control-plane node that stays
	Rebuilds      bool // no control-plane node stays: the first one gets the data of the snapshot
	Graceful      bool // the pods get time to end before the machines are removed or stopped
	Stopping      bool // the machines are stopped
	RollingBack   bool // a scale-out is undone
	Shrinks       bool // control-plane nodes are removed, or have been
	Script        bool // the package's script sets up the nodes
	Network       bool // the driver sets up the pod network
	Virtual       bool // the control-plane nodes share the address of the API
	Helm          bool // Helm is installed on control-plane nodes
	Volumes       bool // the cluster has persistent volumes of the storage server
	Registries    bool // nodes pull from private registries or mirrors
	NewRegistries bool // the request changes the registries of the cluster
	Snapshots     bool // the composition keeps snapshots
	UserFiles     bool // nodes get patches or files of the request

	Upgrade upgradeShape
}

// nodes returns all nodes, control-plane nodes first.
func (c clusterShape) nodes() []machine { return slices.Concat(c.ControlPlane, c.Workers) }

func (c clusterShape) isControlPlane(m machine) bool { return slices.Contains(c.ControlPlane, m) }

// healsNodes reports whether the operation replaces nodes, or only machines without a role in the cluster.
func (c clusterShape) healsNodes() bool {
	return len(plan.Replaced(c.ControlPlane, c.Workers)) > 0 || len(plan.Replaced(c.Storage, c.Balancers)) == 0
}

// shapeOf returns the cluster of an operation.
func shapeOf(ctx context.Context, op *vnflcm.Operation, params *parameters, r rotation) (clusterShape, error) {
	p := &params.Cluster
	c := clusterShape{
		Whole:    op.WholeVNF(),
		Restores: params.restores(), FromSnapshot: params.fromSnapshot(),
		Graceful: isGraceful(op), Stopping: isStop(op), RollingBack: op.RollingBack,
		Script: p.ScriptPath != "", Network: p.CNIManifestPath != "" || p.usesFlannel(), Helm: p.HelmScript != "",
		Volumes: len(p.Volumes) > 0, Registries: len(p.connections()) > 0, NewRegistries: r.changes, Snapshots: op.KeepsSnapshots(),
		UserFiles: p.hasFiles(),
	}
	c.Virtual = !c.Script && virtualAddress(op, p)
	c.ControlPlane, c.Workers = plan.MachinesAt(op, p.Master.SSHCPName), plan.MachinesAt(op, p.Worker.SSHCPName)
	if p.Storage != nil {
		c.Storage = plan.MachinesAt(op, p.Storage.SSHCPName)
	}
	if p.Balancer != nil {
		c.Balancers = plan.MachinesAt(op, p.Balancer.SSHCPName)
	}
	c.Removed = plan.AllRemoved(op)
	c.Shrinks = slices.ContainsFunc(op.Change.Removed, func(v vnflcm.VNFC) bool { return plan.IsAt(op, v, p.Master.SSHCPName) })
	c.Rebuilds = c.Restores && len(plan.Staying(c.ControlPlane)) == 0
	c.Upgrade = upgradeShapeOf(op, params, c)
	return c, c.findBatch(ctx, op)
}

// virtualAddress reports whether the address of the API is not a fixed address of any machine.
func virtualAddress(op *vnflcm.Operation, p *clusterParam) bool {
	if p.Balancer != nil || p.APIEndpoint != "" {
		return false
	}
	var fixed []netip.Addr // of control-plane nodes
	candidates := slices.Clone(op.ConnectionPoints)
	for i, v := range op.VNFCs {
		if _, isControlPlane := v.CP(p.Master.SSHCPName); !isControlPlane {
			continue
		}
		if fixed == nil {
			candidates = append(candidates, op.VNFCs[i].CPs...)
		}
		for _, cp := range v.CPs {
			fixed = append(fixed, cp.Fixed...)
		}
	}
	i := slices.IndexFunc(candidates, func(cp vnflcm.ConnectionPoint) bool { return cp.CPD == p.Master.ClusterCPName && len(cp.Fixed) > 0 })
	if i < 0 { // the machines have not been created yet
		return op.VDUOf(p.Master.ClusterCPName) != op.VDUOf(p.Master.SSHCPName)
	}
	return !slices.Contains(fixed, candidates[i].Fixed[0])
}
