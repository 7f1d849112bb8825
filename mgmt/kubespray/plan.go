package kubespray

import (
	"slices"

	"github.com/vnfkit/vnfkit/mgmt/internal/plan"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// This file defines the tasks of each operation, their machines and their order. Each operation is one function from the shape
// of the cluster, which has no connection to any machine, to a plan. tasks.go says what each task is for and which code runs it.

// operationPlan has the tasks of all hooks of one operation.
type operationPlan = plan.Plan[*deployment]

type (
	task    = plan.Kind[*deployment]
	tasks   = plan.Tasks
	machine = plan.Machine
)

// planner builds the plan of an operation on a cluster.
type planner struct {
	operationPlan
	clusterShape
}

var operations = plan.Operations[clusterShape, *deployment]{Instantiate: instantiate, ScaleOut: scaleOut, ScaleIn: scaleIn, Heal: heal, Terminate: terminate}

// instantiate creates a cluster of new machines.
func instantiate(c clusterShape) *operationPlan {
	p := &planner{clusterShape: c}
	p.Begin(vnflcm.InstantiateEnd)
	p.makeCluster()
	return &p.operationPlan
}

// scaleOut adds new machines to the running cluster as workers.
func scaleOut(c clusterShape) *operationPlan {
	p := &planner{clusterShape: c}
	p.Begin(vnflcm.ScaleEnd)
	p.addWorkers(plan.Added(c.Workers), p.findServer())
	p.Each(c.Balancers, route, p.All())
	p.Once(forgetRuns, p.All())
	return &p.operationPlan
}

// scaleIn removes workers. They leave the cluster while their machines still run. The Node object of a machine that does not
// run is deleted after the machine, because Kubernetes starts the pods of a deleted Node elsewhere.
func scaleIn(c clusterShape) *operationPlan {
	p := &planner{clusterShape: c}
	p.Begin(vnflcm.ScaleStart)
	p.withdraw(plan.Removed(c.Workers), c.Balancers)

	p.Begin(vnflcm.ScaleEnd)
	p.Once(forget, p.Each(c.Removed, deleteNode))
	return &p.operationPlan
}

// heal replaces workers and load balancers. In heal_start the old machines may be dead; in heal_end new machines run in their
// place. If the request names no machines, heal replaces all of them and creates a new cluster.
func heal(c clusterShape) *operationPlan {
	p := &planner{clusterShape: c}
	workers, balancers := plan.Replaced(c.Workers), plan.Replaced(c.Balancers)
	p.Begin(vnflcm.HealStart)
	if c.Whole {
		p.clear()
		p.Begin(vnflcm.HealEnd)
		p.makeCluster()
		return &p.operationPlan
	}
	p.withdraw(workers, plan.Staying(c.Balancers))
	p.Once(forget, p.All())

	p.Begin(vnflcm.HealEnd)
	if len(workers) > 0 {
		p.addWorkers(workers, p.findServer(p.Each(workers, deleteNode)))
	}
	p.setUpBalancers(balancers)
	routed := p.Each(c.Balancers, route, p.All())
	if len(balancers) > 0 {
		p.Once(registerVIM, p.Each(balancers, restoreParts, routed)) // a replaced load balancer may have another address
	}
	p.Once(forgetRuns, p.All())
	return &p.operationPlan
}

// terminate removes the cluster from the VIM registry while it still exists, so that no new CNFs are created on it.
func terminate(c clusterShape) *operationPlan {
	p := &planner{clusterShape: c}
	p.Begin(vnflcm.TerminateStart)
	p.Once(removeAccount, p.Once(removeVIM))

	p.Begin(vnflcm.TerminateEnd) // a VNFD may leave out terminate_start
	p.clear()
	return &p.operationPlan
}

// makeCluster creates the cluster and, at the same time, its load balancer.
func (p *planner) makeCluster() {
	found := p.findServer(p.Once(recordSettings))
	reached := p.Each(slices.Concat(p.ControlPlane, p.Workers), reach, found)
	p.Chain(machine{}, []task{measureMTU, writeInventory, createCluster}, reached)
	p.setUpBalancers(p.Balancers, found)
	p.Each(p.Balancers, route, p.All())
	p.Chain(machine{}, []task{awaitReady, registerVIM, forgetRuns}, p.All())
}

// findServer checks the Ansible server before anything is changed.
func (p *planner) findServer(after ...tasks) tasks {
	return p.Chain(machine{}, []task{checkServer, claimDirectory}, after...)
}

// addWorkers joins new machines to the running cluster.
func (p *planner) addWorkers(workers []machine, after tasks) {
	if len(workers) == 0 {
		return
	}
	reached := slices.Concat(p.Each(workers, reach, after), p.Once(findDown, after))
	p.Chain(machine{}, []task{measureMTUOnce, writeInventory, findFacts, gatherFacts, joinWorkers, awaitReady}, reached)
}

func (p *planner) setUpBalancers(machines []machine, after ...tasks) {
	for _, n := range machines {
		p.Chain(n, []task{reach, installBalancer}, after...)
	}
}

// withdraw removes workers from the cluster: it ends new connections through these load balancers, drains the pods, then
// removes the node. A worker that remove-node.yml does not reset remains a node until its machine has been deleted.
func (p *planner) withdraw(workers, balancers []machine) {
	if len(workers) == 0 {
		return
	}
	left := p.Each(workers, checkAlive, p.Once(findMembers), p.Once(findDown))
	if len(balancers) > 0 {
		left = p.Each(balancers, routeStaying, p.Each(balancers, drainRoutes, left))
	}
	for _, n := range workers {
		p.Chain(n, []task{recordNode, stopMachine, drain, awaitDetached}, left)
	}
	steps := []task{checkServer, claimDirectory, measureMTUOnce}
	if p.resets() {
		steps = append(steps, writeAll, removeNodes)
	}
	steps = append(steps, writeStaying)
	if p.RollingBack {
		for i := range steps {
			steps[i] = ifJoined(steps[i])
		}
	}
	p.Once(forgetRuns, p.Chain(machine{}, steps, p.All()))
}

// clear removes what the driver has created outside of the machines, and the records of them.
func (p *planner) clear() {
	p.Chain(machine{}, []task{removeVIM, removeDirectory, forget})
}
