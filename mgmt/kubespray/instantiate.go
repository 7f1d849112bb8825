package kubespray

import (
	"context"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusterparam"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func (d *Driver) instantiateEnd(ctx context.Context, op *vnflcm.Operation) error {
	dep, err := d.open(ctx, op)
	if err != nil {
		return err
	}
	defer dep.close()
	return dep.build(ctx)
}

// build sets up the cluster and, at the same time, its load balancer.
func (d *deployment) build(ctx context.Context) error {
	settings := clusterparam.Settings{PodCIDR: d.p.Master.PodCIDR, ClusterCIDR: d.p.Master.ClusterCIDR}
	if err := settings.Record(ctx, d.op); err != nil {
		return err
	}
	if err := d.prepare(ctx); err != nil {
		return err
	}
	if err := d.reach(ctx, slices.Concat(d.members(), d.balancers)); err != nil {
		return err
	}
	err := vnflcm.Each(ctx, 0, []func(context.Context) error{
		d.makeCluster,
		func(ctx context.Context) error { return d.installBalancers(ctx, d.balancers) },
	}, func(ctx context.Context, do func(context.Context) error) error { return do(ctx) })
	if err != nil {
		return err
	}
	if err := d.route(ctx, "routes", d.balancers, d.workers); err != nil {
		return err
	}
	if err := clusternodes.AwaitReady(ctx, d.op, d.kube, d.members(), d.config.Timeouts.Ready); err != nil {
		return err
	}
	if err := d.registerVIM(ctx); err != nil {
		return err
	}
	return d.finish(ctx)
}

func (d *deployment) makeCluster(ctx context.Context) error {
	if err := d.measure(ctx, true); err != nil {
		return err
	}
	if err := d.writeInventory(ctx, "inventory", d.workers); err != nil {
		return err
	}
	return d.run(ctx, play{step: "cluster", playbook: d.p.Ansible.Root + "/" + clusterPlaybook})
}
