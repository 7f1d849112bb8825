package kubeadm

import (
	"slices"

	"github.com/vnfkit/vnfkit/mgmt/internal/plan"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// This file has the plans of scalings. scalecontrolplane.go has the code of the tasks that only control-plane nodes need.

// scaleOut adds new machines to the running cluster.
func scaleOut(c clusterShape) *operationPlan {
	p := &planner{clusterShape: c}
	controlPlane := plan.Added(c.ControlPlane)
	p.Begin(vnflcm.ScaleStart)
	if len(controlPlane) > 0 {
		p.Once(checkGrowth)
	}

	p.Begin(vnflcm.ScaleEnd)
	changed := p.changeRegistries()
	running := p.Once(readCluster, p.Once(checkEndpoint, changed))
	p.updateHosts(running)
	if len(controlPlane) > 0 {
		running = p.Once(updateNames, running)
	}
	p.joinNodes(controlPlane, plan.Added(c.Workers), running)
	return &p.operationPlan
}

// joinNodes sets up new machines as nodes of the running cluster. etcd accepts one new member at a time: each control-plane node is a
// voting member before the next one joins.
func (p *planner) joinNodes(controlPlane, workers []machine, running tasks) {
	nodes := slices.Concat(controlPlane, workers)
	prepared := p.prepare(nodes, p.announce(controlPlane, running))
	var joined, member tasks
	voters := len(plan.Staying(p.ControlPlane))
	for i, n := range controlPlane {
		voters++
		member = p.On(n, withVoters(awaitMembers, voters), p.joinControlPlane(n, prepared[i], member))
		joined = append(joined, member...)
	}
	for i, n := range workers {
		joined = append(joined, p.join(n, prepared[len(controlPlane)+i])...)
	}
	ready := p.finish(nodes, joined)
	if len(controlPlane) == 0 {
		return
	}
	if p.Helm {
		for _, n := range controlPlane {
			p.Chain(n, []task{installHelm, restoreHelm}, ready)
		}
	}
	p.Once(registerVIM, p.All())
}

// scaleIn removes nodes. They leave the cluster while their machines still run. The Node objects are deleted after the
// machines, because Kubernetes starts the pods of a deleted Node elsewhere.
func scaleIn(c clusterShape) *operationPlan {
	p := &planner{clusterShape: c}
	controlPlane, workers := plan.Removed(c.ControlPlane), plan.Removed(c.Workers)
	p.Begin(vnflcm.ScaleStart)
	p.Once(nameLocalVolumes)
	left := p.leaveRoutes(controlPlane, workers, p.decideScaleIn(controlPlane))
	for _, n := range workers {
		p.On(n, reset, p.leave(n, left))
	}
	p.leaveControlPlane(controlPlane)

	p.Begin(vnflcm.ScaleEnd)
	deleted := p.Each(c.Removed, deleteNode)
	p.Once(forget, deleted)
	changed := p.changeRegistries(deleted)
	p.updateHosts(changed)
	if c.Shrinks {
		p.Once(updateNames, changed)
		p.Once(registerVIM, p.All())
	}
	return &p.operationPlan
}

// decideScaleIn adds the tasks before control-plane nodes leave. A rollback needs no snapshot: the nodes have brought no data.
func (p *planner) decideScaleIn(controlPlane []machine) tasks {
	switch {
	case len(controlPlane) == 0:
		return nil
	case p.RollingBack:
		return p.Once(decideQuorum, p.Once(awaitJoins))
	}
	decided := p.Once(decideQuorum, p.Once(checkStaying))
	if p.Snapshots {
		decided = p.Once(saveBeforeScaleIn, decided)
	}
	return decided
}

// leaveControlPlane removes control-plane nodes from the cluster, one after the other. The member of etcd on a dead node is removed first,
// that of a live one last.
func (p *planner) leaveControlPlane(controlPlane []machine) {
	if len(controlPlane) == 0 {
		return
	}
	left := p.All()
	if p.Virtual {
		left = p.Each(plan.Staying(p.ControlPlane), rebalance, p.Each(controlPlane, releaseAddress, left))
	}
	voters := len(p.ControlPlane)
	for _, n := range controlPlane {
		voters--
		for _, t := range []task{recordNode, withVoters(removeDeadMember, voters), stopMachine, moveLeader, drain, awaitDetached, stopAPIServer, withVoters(removeLiveMember, voters), resetLive} {
			left = p.On(n, inQuorumOrder(t), left)
		}
	}
}

// withVoters returns a task after which etcd has this number of voting members. The description says what two of them mean.
func withVoters(t task, voters int) task {
	if voters == 2 {
		t.Why += "; then etcd has two members, and ends with the loss of either, until the next node follows"
	}
	return t
}

// announce tells the nodes that share the virtual address of new ones.
func (p *planner) announce(controlPlane []machine, running tasks) tasks {
	if !p.Virtual || len(controlPlane) == 0 {
		return running
	}
	return p.Each(plan.Staying(p.ControlPlane), announcePeers, running)
}
