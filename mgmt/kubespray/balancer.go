package kubespray

import (
	"context"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/vnfbalancer"
)

// balancing returns the operation and the limits with which package vnfbalancer works on the load balancers.
func (d *deployment) balancing() vnfbalancer.Balancing {
	t := d.config.Timeouts
	return vnfbalancer.Balancing{Op: d.op, Parallel: d.config.Parallel,
		Limits: vnfbalancer.BalancingLimits{Install: t.Playbook, Change: t.Boot, Drain: t.Drain}}
}

// installBalancers installs and configures haproxy on these machines.
func (d *deployment) installBalancers(ctx context.Context, machines []mgmt.Node) error {
	if len(machines) == 0 {
		return nil
	}
	proxy := d.p.Proxy.Environment(d.p.Proxy.NodeNetwork(d.masters[0].IP), d.p.Master.PodCIDR, d.p.Master.ClusterCIDR)
	return d.balancing().Install(ctx, machines, d.p.Balancer.ScriptPath, d.leadTo(d.workers), proxy)
}

// leadTo returns the routes of a load balancer: to all control-plane nodes and to these workers.
func (d *deployment) leadTo(workers []mgmt.Node) vnfbalancer.Lead {
	return vnfbalancer.Lead{Masters: d.masters, Workers: workers}
}

// route configures the load balancers with exactly the control-plane nodes and these workers. It is one step, named step.
func (d *deployment) route(ctx context.Context, step string, machines, workers []mgmt.Node) error {
	return d.balancing().Route(ctx, step, machines, d.leadTo(workers))
}

// release removes leaving nodes from the routes of the load balancers. A leaving node that is alive is removed after its
// connections have ended.
func (d *deployment) release(ctx context.Context, machines, alive, staying []mgmt.Node) error {
	return d.balancing().Release(ctx, machines, alive, d.leadTo(staying))
}

// restoreParts gives new load balancers the routes to services of CNFs that the replaced load balancers had.
func (d *deployment) restoreParts(ctx context.Context, machines []mgmt.Node) error {
	return d.balancing().RestoreParts(ctx, d.kube, machines, machines...)
}
