package kubespray

import (
	"context"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/vnfbalancer"
)

// balancing returns the operation and the limits with which package vnfbalancer works on the load balancers.
func (d *deployment) balancing() vnfbalancer.Balancing {
	t := d.config.Timeouts
	return vnfbalancer.Balancing{Op: d.op, Limits: vnfbalancer.BalancingLimits{Install: t.Playbook, Change: t.Boot, Drain: t.Drain}}
}

// runInstallBalancer installs haproxy on a machine.
func runInstallBalancer(ctx context.Context, d *deployment, n mgmt.Node) error {
	proxy := d.p.Proxy.Environment(d.p.Proxy.NodeNetwork(d.controlPlane[0].IP), d.p.Master.PodCIDR, d.p.Master.ClusterCIDR)
	return d.balancing().Install(ctx, n, d.p.Balancer.ScriptPath, d.leadTo(d.workers), proxy)
}

// leadTo returns the routes of a load balancer: to all control-plane nodes and to these workers.
func (d *deployment) leadTo(workers []mgmt.Node) vnfbalancer.Lead {
	return vnfbalancer.Lead{ControlPlane: d.controlPlane, Workers: workers}
}

// runRoute configures a load balancer with exactly the nodes of the cluster.
func runRoute(ctx context.Context, d *deployment, n mgmt.Node) error {
	return d.balancing().Route(ctx, "routes", n, d.leadTo(d.workers))
}

// runRouteStaying removes leaving workers from the routes of a load balancer.
func runRouteStaying(ctx context.Context, d *deployment, n mgmt.Node) error {
	return d.balancing().Route(ctx, "routes", n, d.leadTo(d.staying()))
}

// runDrainRoutes waits until the connections of leaving workers that are alive have ended.
func runDrainRoutes(ctx context.Context, d *deployment, n mgmt.Node) error {
	alive := slices.DeleteFunc(d.leaving(), func(w mgmt.Node) bool { return !d.alive.Of(w.ID) })
	if len(alive) == 0 {
		return nil
	}
	return d.balancing().DrainRoutes(ctx, n, alive)
}

// runRestoreParts gives a new load balancer the routes to services of CNFs that the replaced one had.
func runRestoreParts(ctx context.Context, d *deployment, n mgmt.Node) error {
	return d.balancing().RestoreParts(ctx, d.kube, n, d.balancers)
}
