package kubeadm

import (
	"slices"

	"github.com/vnfkit/vnfkit/mgmt/internal/plan"
)

// operationPlan has the tasks of all hooks of one operation.
type operationPlan = plan.Plan[*environment]

type (
	task    = plan.Kind[*environment]
	tasks   = plan.Tasks
	machine = plan.Machine
)

// planner builds the plan of an operation on a cluster.
type planner struct {
	operationPlan
	clusterShape
}

// changeRegistries connects the machines that stay to the registries of the request, if it has any. It does so before new
// nodes join, and on one machine first: if that fails the cluster still works, and a wrong password or CA is on one node
// only.
func (p *planner) changeRegistries(after ...tasks) tasks {
	changed := slices.Concat(after...)
	if !p.NewRegistries {
		return changed
	}
	machines := plan.Staying(p.nodes(), p.Storage)
	first := min(1, len(machines))
	for _, some := range [][]machine{machines[:first], machines[first:]} {
		var now tasks
		for _, n := range some {
			hosts := p.On(n, updateHosts, changed)
			if !slices.Contains(p.Storage, n) {
				hosts = p.On(n, changeRegistriesOf, hosts)
			}
			now = append(now, hosts...)
		}
		if len(now) > 0 {
			changed = now
		}
	}
	return p.Once(keepRegistries, p.All())
}

// updateHosts updates the hosts files of machines that stay, unless changeRegistries has done so.
func (p *planner) updateHosts(after ...tasks) {
	if !p.NewRegistries {
		p.Each(plan.Staying(p.nodes(), p.Storage), updateHosts, after...)
	}
}

// balancers sets up machines as load balancers of the VNF.
func (p *planner) balancers(machines []machine, after ...tasks) (routed tasks) {
	for _, n := range machines {
		routed = append(routed, p.Chain(n, []task{reach, installBalancer, routeFirst}, after...)...)
	}
	return routed
}

// healBalancers sets up new load balancers before nodes join through them.
func (p *planner) healBalancers(after ...tasks) {
	machines := plan.Replaced(p.Balancers)
	p.Each(machines, restoreParts, p.balancers(machines, after...))
}

// leaveRoutes removes leaving nodes from the routes of the load balancers that stay.
func (p *planner) leaveRoutes(controlPlane, workers []machine, after tasks) tasks {
	balancers := plan.Staying(p.Balancers)
	if len(balancers) == 0 || len(controlPlane)+len(workers) == 0 {
		return after
	}
	if len(workers) > 0 {
		after = p.Each(balancers, drainRoutes, p.Each(workers, checkAlive, after))
	}
	return p.Each(balancers, routeStaying, after)
}

// exportVolumes sets up a machine as the storage server.
func (p *planner) exportVolumes(n machine, after ...tasks) tasks {
	return p.Chain(n, []task{reach, checkPlatform, writeHosts, exportVolumes}, after...)
}

// healStorage sets up a new storage server.
func (p *planner) healStorage(after ...tasks) {
	var exported tasks
	for _, n := range plan.Replaced(p.Storage) {
		exported = append(exported, p.exportVolumes(n, after...)...)
	}
	if p.Volumes && len(exported) > 0 {
		p.Once(registerVolumes, exported)
	}
}
