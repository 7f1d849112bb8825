package kubeadm

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt/internal/plan"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// changingState is the prefix of the state keys, by VNFC id, of machines that the infrastructure driver may have changed since BeforeBatch has
// prepared them. The value is the id of the operation.
const changingState = "changing/"

// isBeforeBatch reports whether the machines of a batch have not been changed yet.
func isBeforeBatch(op *vnflcm.Operation) bool {
	return strings.HasPrefix(op.Phase(), string(vnflcm.BeforeBatchPhase))
}

// findBatch completes the shape of a change of the package. Before a batch it leaves out machines that run by the package already and that
// nothing has changed: an operation that is rolled back may not have reached them.
func (c *clusterShape) findBatch(ctx context.Context, op *vnflcm.Operation) error {
	if op.Batch == nil {
		return nil
	}
	c.Whole = len(c.ControlPlane) == 1 && len(plan.Replaced(c.ControlPlane)) == 1
	if !isBeforeBatch(op) {
		return nil
	}
	for _, group := range [][]machine{c.ControlPlane, c.Workers, c.Storage, c.Balancers} {
		for i, m := range group {
			changes, err := changes(ctx, op, m)
			if err != nil {
				return err
			}
			if !changes {
				group[i].Change = plan.Unchanged
			}
		}
	}
	c.Whole = c.Whole && len(plan.Replaced(c.ControlPlane)) == 1
	return nil
}

// changes reports whether the infrastructure driver will change a machine of the batch, or may have changed it.
func changes(ctx context.Context, op *vnflcm.Operation, m machine) (bool, error) {
	if m.Change != plan.IsReplaced && m.Change != plan.IsRestarted {
		return m.Change != plan.Unchanged, nil
	}
	i := slices.IndexFunc(op.VNFCs, func(v vnflcm.VNFC) bool { return v.ID == m.ID })
	if i < 0 || op.VersionOf(op.VNFCs[i]).Package != op.Package {
		return true, nil
	}
	var by string
	err := op.State().Get(ctx, changingState+m.ID, &by)
	if errors.Is(err, vnflcm.ErrNotFound) {
		return false, nil
	}
	return by == op.ID, err
}

// changePackage prepares the nodes of one batch for the change of their machines, and takes them back afterwards. Machines whose disks end
// leave the cluster and join again. The machine of the only control-plane node has the data of the cluster, so it makes a new one.
func changePackage(c clusterShape) *operationPlan {
	p := &planner{clusterShape: c}
	p.Begin(vnflcm.BeforeBatchPhase)
	if c.Whole {
		p.Once(noteChange, p.Once(removeVIM, p.saveBeforeChange(nil)))
	} else {
		p.leaveForChange()
	}
	p.Begin(vnflcm.AfterBatchPhase)
	if c.Whole {
		p.makeCluster()
	} else {
		p.returnFromChange()
	}
	p.Once(endChange, p.All())
	return &p.operationPlan
}

// leaveForChange takes the nodes of a batch out of service.
func (p *planner) leaveForChange() {
	controlPlane := slices.Concat(plan.Replaced(p.ControlPlane), plan.Restarted(p.ControlPlane))
	if len(p.ControlPlane) == 1 {
		controlPlane = nil // it restarts: no other node can serve the API
	}
	removed := plan.Removed(p.Workers)
	workers := slices.Concat(plan.Replaced(p.Workers), plan.Restarted(p.Workers), removed)
	var decided tasks
	if len(controlPlane) > 0 {
		decided = p.saveBeforeChange(p.Once(decideQuorum))
	}
	left := p.leaveRoutes(controlPlane, workers, decided)
	for _, n := range workers {
		drained := p.Chain(n, []task{recordNode, cordonNode, drain, awaitDetached}, left)
		if slices.Contains(removed, n) {
			p.On(n, reset, drained)
		}
	}
	if len(controlPlane) > 0 {
		left = p.All()
		if p.Virtual {
			left = p.Each(plan.Staying(p.ControlPlane), rebalance, left)
		}
	}
	for _, n := range controlPlane {
		steps := []task{recordNode, removeDeadMember, moveLeader, cordonNode, drain, awaitDetached, removeLiveMember}
		if n.Change == plan.IsRestarted {
			steps = []task{recordNode, moveLeader, cordonNode, drain, awaitDetached}
		}
		for _, t := range steps {
			left = p.On(n, inQuorumOrder(t), left)
		}
	}
	p.Once(noteChange, p.All())
}

// saveBeforeChange takes a snapshot before members of etcd are removed or their data end.
func (p *planner) saveBeforeChange(after tasks) tasks {
	if !p.Snapshots || len(plan.Replaced(p.ControlPlane)) == 0 {
		return after
	}
	return p.Once(saveBeforeChange, after)
}

// returnFromChange takes the nodes of a batch into service, and sets up new machines.
func (p *planner) returnFromChange() {
	if len(p.Removed) > 0 {
		p.Once(forget, p.Each(p.Removed, deleteNode))
	}
	p.healBalancers(p.Once(checkEndpoint))
	running := p.Once(readCluster, p.All())
	p.updateHosts(running)
	running = p.announce(plan.Replaced(p.ControlPlane), running)

	joining := slices.Concat(plan.Added(p.Workers), plan.Replaced(p.nodes()))
	restarted := plan.Restarted(p.nodes())
	var joined tasks
	for _, n := range joining {
		joined = append(joined, p.rejoin(n, running)...)
	}
	joined = append(joined, p.Each(restarted, reach, running)...)
	for _, n := range slices.Concat(plan.Replaced(p.ControlPlane), plan.Restarted(p.ControlPlane)) {
		joined = p.On(n, awaitMembers, joined)
	}
	if len(joined) > 0 {
		p.Each(slices.Concat(joining, restarted), uncordonNode, p.finish(joining, joined))
	}
	p.healStorage(running)
	p.followControlPlane()
}

// rejoin joins a machine of the batch, unless it is a node already: the machine of an operation that is rolled back may never have been changed.
func (p *planner) rejoin(n machine, after ...tasks) tasks {
	ready := p.Chain(n, []task{reach, findKept, unlessKept(deleteNode)}, after...)
	for _, t := range slices.Concat(p.checks(), p.preparation(n)) {
		ready = p.On(n, unlessKept(t), ready)
	}
	if p.isControlPlane(n) {
		return p.joinControlPlane(n, ready)
	}
	return p.join(n, ready)
}

// followControlPlane brings Helm and the VIM entry up to date with the control-plane nodes and the load balancer.
func (p *planner) followControlPlane() {
	controlPlane := plan.Replaced(p.ControlPlane)
	if len(controlPlane)+len(plan.Replaced(p.Balancers)) == 0 {
		return
	}
	if p.Helm {
		ready := p.All()
		for _, n := range controlPlane {
			p.Chain(n, []task{installHelm, restoreHelm}, ready)
		}
	}
	p.Once(registerVIM, p.All())
}
