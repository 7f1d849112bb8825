package kubespray

import (
	"context"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/vnfbalancer"
)

// balancing is how the load balancers are worked on.
func (d *deployment) balancing() vnfbalancer.Balancing {
	t := d.config.Timeouts
	return vnfbalancer.Balancing{Op: d.op, Parallel: d.config.Parallel,
		Limits: vnfbalancer.BalancingLimits{Install: t.Playbook, Change: t.Boot, Drain: t.Drain}}
}

// installBalancers makes machines load balancers.
func (d *deployment) installBalancers(ctx context.Context, machines []mgmt.Node) error {
	if len(machines) == 0 {
		return nil
	}
	proxy := d.p.Proxy.Environment(d.p.Proxy.NodeNetwork(d.masters[0].IP), d.p.Master.PodCIDR, d.p.Master.ClusterCIDR)
	return d.balancing().Install(ctx, machines, d.p.Balancer.ScriptPath, d.leadTo(d.workers), proxy)
}

// leadTo are the control plane and these workers.
func (d *deployment) leadTo(workers []mgmt.Node) vnfbalancer.Lead {
	return vnfbalancer.Lead{Masters: d.masters, Workers: workers}
}

// route has the load balancers lead to the control plane and these workers, and to nobody else: the step of that name.
func (d *deployment) route(ctx context.Context, step string, machines, workers []mgmt.Node) error {
	return d.balancing().Route(ctx, step, machines, d.leadTo(workers))
}

// release takes nodes that will go out of the load balancers' routes: of those that are alive, once their connections
// have ended.
func (d *deployment) release(ctx context.Context, machines, alive, staying []mgmt.Node) error {
	return d.balancing().Release(ctx, machines, alive, d.leadTo(staying))
}

// restoreParts gives new load balancers what CNFs have had on the old ones.
func (d *deployment) restoreParts(ctx context.Context, machines []mgmt.Node) error {
	return d.balancing().RestoreParts(ctx, d.kube, machines, machines...)
}
