package kubespray

import (
	"context"

	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/internal/nodedrain"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// healStart drains the workers that will be replaced. These workers may be dead, so the driver asks only nodes that remain.
// Healing the whole VNF first removes the cluster as terminating does.
func (d *Driver) healStart(ctx context.Context, op *vnflcm.Operation) error {
	if op.WholeVNF() {
		return d.terminateEnd(ctx, op)
	}
	dep, err := d.open(ctx, op)
	if err != nil {
		return err
	}
	defer dep.close()
	replaced := op.Change.Replaced
	err = dep.withdraw(ctx, clusternodes.Among(dep.workers, replaced), clusternodes.Without(dep.balancers, clusternodes.Among(dep.balancers, replaced)))
	if err != nil {
		return err
	}
	return d.forget(ctx, op, replaced)
}

// healEnd sets up the new machines in the roles of the replaced ones.
func (d *Driver) healEnd(ctx context.Context, op *vnflcm.Operation) error {
	dep, err := d.open(ctx, op)
	if err != nil {
		return err
	}
	defer dep.close()
	if op.WholeVNF() {
		return dep.build(ctx)
	}
	balancers, workers := clusternodes.Among(dep.balancers, op.Change.Replaced), clusternodes.Among(dep.workers, op.Change.Replaced)
	if len(workers) > 0 {
		if err := nodedrain.DeleteNodes(ctx, op, dep.kube, d.config.Parallel, clusternodes.VNFCs(workers)); err != nil {
			return err
		}
		if err := dep.prepare(ctx); err != nil {
			return err
		}
		if err := dep.addWorkers(ctx, workers); err != nil {
			return err
		}
	}
	if err := dep.reach(ctx, balancers); err != nil {
		return err
	}
	if err := dep.installBalancers(ctx, balancers); err != nil {
		return err
	}
	if err := dep.route(ctx, "routes", dep.balancers, dep.workers); err != nil {
		return err
	}
	if len(balancers) == 0 {
		return dep.finish(ctx)
	}
	if err := dep.restoreParts(ctx, balancers); err != nil {
		return err
	}
	if err := dep.registerVIM(ctx); err != nil { // a replaced load balancer may have another address
		return err
	}
	return dep.finish(ctx)
}
