package kubespray

import (
	"context"

	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/internal/nodedrain"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// healStart empties the workers that will be replaced. They may be dead: only nodes that stay are asked. A whole VNF is removed
// as terminate does it.
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

// healEnd makes the new machines what the old ones were.
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
	if err := dep.registerVIM(ctx); err != nil { // its address may be another one
		return err
	}
	return dep.finish(ctx)
}
