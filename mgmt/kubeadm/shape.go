package kubeadm

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt/internal/plan"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// clusterShape is the input of a plan: the machines of the VNF, how the operation changes them, and what the parameters ask for.
type clusterShape struct {
	Masters, Workers, Storage, Balancers []plannedMachine
	Removed                              []plannedMachine // all machines that the operation removes: nodes, and machines without a role in the cluster

	Whole         bool // every machine is replaced
	Graceful      bool // the pods get time to end before the machines are removed
	Script        bool // the package's script sets up the nodes
	Network       bool // the driver sets up the pod network
	Virtual       bool // the control-plane nodes share the address of the API
	Helm          bool // Helm is installed on control-plane nodes
	Volumes       bool // the cluster has persistent volumes of the storage server
	Registries    bool // nodes pull from private registries
	NewRegistries bool // the request changes the registries of the cluster
}

// plannedMachine is a machine of the VNF, and how the operation changes it.
type plannedMachine struct {
	plan.Machine
	Change machineChange
}

type machineChange int

const (
	unchanged machineChange = iota
	isAdded
	isRemoved
	isReplaced
)

func having(change machineChange, groups ...[]plannedMachine) []plannedMachine {
	return slices.DeleteFunc(slices.Concat(groups...), func(m plannedMachine) bool { return m.Change != change })
}

func staying(groups ...[]plannedMachine) []plannedMachine  { return having(unchanged, groups...) }
func added(groups ...[]plannedMachine) []plannedMachine    { return having(isAdded, groups...) }
func removed(groups ...[]plannedMachine) []plannedMachine  { return having(isRemoved, groups...) }
func replaced(groups ...[]plannedMachine) []plannedMachine { return having(isReplaced, groups...) }

// nodes returns all nodes, control-plane nodes first.
func (c clusterShape) nodes() []plannedMachine { return slices.Concat(c.Masters, c.Workers) }

func (c clusterShape) isMaster(m plannedMachine) bool { return slices.Contains(c.Masters, m) }

// healsNodes reports whether the operation replaces nodes, or only machines without a role in the cluster.
func (c clusterShape) healsNodes() bool {
	return len(replaced(c.Masters, c.Workers)) > 0 || len(replaced(c.Storage, c.Balancers)) == 0
}

// shapeOf returns the cluster of an operation. Machines that do not exist yet are grouped by their VDU.
func shapeOf(op *vnflcm.Operation, p *clusterParam, r rotation) clusterShape {
	c := clusterShape{
		Whole:    op.WholeVNF(),
		Graceful: op.Terminate != nil && op.Terminate.TerminationType == vnflcm.TerminateGraceful,
		Script:   p.ScriptPath != "", Network: p.CNIManifestPath != "" || p.usesFlannel(), Helm: p.HelmScript != "",
		Volumes: len(p.Volumes) > 0, Registries: len(p.Registries) > 0, NewRegistries: r.changes,
	}
	c.Virtual = !c.Script && virtualAddress(op, p)
	group := func(cp string) (out []plannedMachine) {
		for _, v := range involved(op) {
			if _, has := v.CP(cp); has || len(v.CPs) == 0 && v.VDU == op.VDUOf(cp) {
				out = append(out, machineOf(op, v))
			}
		}
		return out
	}
	c.Masters, c.Workers = group(p.Master.SSHCPName), group(p.Worker.SSHCPName)
	if p.Storage != nil {
		c.Storage = group(p.Storage.SSHCPName)
	}
	if p.Balancer != nil {
		c.Balancers = group(p.Balancer.SSHCPName)
	}
	for _, v := range op.Change.Removed {
		c.Removed = append(c.Removed, machineOf(op, v))
	}
	return c
}

// involved returns the existing machines and those that the operation adds.
func involved(op *vnflcm.Operation) []vnflcm.VNFC {
	out := slices.Clone(op.VNFCs)
	for _, v := range op.Change.Added {
		if v.ID == "" || !contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

func contains(list []vnflcm.VNFC, v vnflcm.VNFC) bool {
	return slices.ContainsFunc(list, func(other vnflcm.VNFC) bool { return other.ID == v.ID })
}

func machineOf(op *vnflcm.Operation, v vnflcm.VNFC) plannedMachine {
	m := plannedMachine{Machine: plan.Machine{ID: v.ID, Name: cmp.Or(v.Name, "new "+v.VDU)}}
	switch {
	case contains(op.Change.Added, v):
		m.Change = isAdded
	case contains(op.Change.Removed, v):
		m.Change = isRemoved
	case contains(op.Change.Replaced, v):
		m.Change = isReplaced
	}
	return m
}

// virtualAddress reports whether the address of the API is not a fixed address of any machine.
func virtualAddress(op *vnflcm.Operation, p *clusterParam) bool {
	if p.Balancer != nil || p.APIEndpoint != "" {
		return false
	}
	var fixed []netip.Addr // of control-plane nodes
	candidates := slices.Clone(op.ConnectionPoints)
	for i, v := range op.VNFCs {
		if _, isMaster := v.CP(p.Master.SSHCPName); !isMaster {
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
