package kubeadm

import (
	"context"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt/internal/plan"
)

// operationPlan has the tasks of all hooks of one operation.
type operationPlan = plan.Plan[*environment]

type tasks = plan.Tasks

// planner builds the plan of an operation on a cluster.
type planner struct {
	operationPlan
	clusterShape
}

// on adds a task on a machine.
func (p *planner) on(n plannedMachine, t task, after ...tasks) tasks {
	return p.Add(plan.Task[*environment]{Name: t.name, On: n.Machine, Why: t.why, If: t.when, Repeats: t.repeats, Cleanup: t.cleanup, Alone: t.alone,
		Do: func(ctx context.Context, e *environment, on plan.Machine) error { return t.do(ctx, e, e.node(on)) }}, after...)
}

// once adds a task for the cluster as a whole.
func (p *planner) once(t task, after ...tasks) tasks { return p.on(plannedMachine{}, t, after...) }

// each adds a task on each of the machines, to run concurrently.
func (p *planner) each(machines []plannedMachine, t task, after ...tasks) (all tasks) {
	for _, n := range machines {
		all = append(all, p.on(n, t, after...)...)
	}
	return all
}

// chain adds tasks on one machine, to run one after the other, and returns the last one.
func (p *planner) chain(n plannedMachine, list []task, after ...tasks) tasks {
	last := slices.Concat(after...)
	for _, t := range list {
		last = p.on(n, t, last)
	}
	return last
}

// changeRegistries connects the machines that stay to the registries of the request, if it has any. It does so before new
// nodes join, and on one machine first: if that fails the cluster still works, and a wrong password or CA is on one node
// only.
func (p *planner) changeRegistries(after ...tasks) tasks {
	changed := slices.Concat(after...)
	if !p.NewRegistries {
		return changed
	}
	machines := staying(p.nodes(), p.Storage)
	first := min(1, len(machines))
	for _, some := range [][]plannedMachine{machines[:first], machines[first:]} {
		var now tasks
		for _, n := range some {
			hosts := p.on(n, updateHosts, changed)
			if !slices.Contains(p.Storage, n) {
				hosts = p.on(n, changeRegistriesOf, hosts)
			}
			now = append(now, hosts...)
		}
		if len(now) > 0 {
			changed = now
		}
	}
	return p.once(keepRegistries, p.All())
}

// updateHosts updates the hosts files of machines that stay, unless changeRegistries has done so.
func (p *planner) updateHosts(after ...tasks) {
	if !p.NewRegistries {
		p.each(staying(p.nodes(), p.Storage), updateHosts, after...)
	}
}

// balancers sets up machines as load balancers of the VNF.
func (p *planner) balancers(machines []plannedMachine, after ...tasks) (routed tasks) {
	for _, n := range machines {
		routed = append(routed, p.chain(n, []task{reach, installBalancer, routeFirst}, after...)...)
	}
	return routed
}

// healBalancers sets up new load balancers before nodes join through them.
func (p *planner) healBalancers(after ...tasks) {
	machines := replaced(p.Balancers)
	p.each(machines, restoreParts, p.balancers(machines, after...))
}

// leaveRoutes removes leaving nodes from the routes of the load balancers that stay.
func (p *planner) leaveRoutes(masters, workers []plannedMachine, after tasks) tasks {
	balancers := staying(p.Balancers)
	if len(balancers) == 0 || len(masters)+len(workers) == 0 {
		return after
	}
	if len(workers) > 0 {
		after = p.each(balancers, drainRoutes, p.each(workers, checkAlive, after))
	}
	return p.each(balancers, routeStaying, after)
}

// exportVolumes sets up a machine as the storage server.
func (p *planner) exportVolumes(n plannedMachine, after ...tasks) tasks {
	return p.chain(n, []task{reach, checkPlatform, writeHosts, exportVolumes}, after...)
}

// healStorage sets up a new storage server.
func (p *planner) healStorage(after ...tasks) {
	var exported tasks
	for _, n := range replaced(p.Storage) {
		exported = append(exported, p.exportVolumes(n, after...)...)
	}
	if p.Volumes && len(exported) > 0 {
		p.once(registerVolumes, exported)
	}
}
