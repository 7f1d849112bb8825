package kubeadm

import (
	"context"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// healStart takes the nodes that will be replaced out of the cluster. They may be dead: only the control
// plane is asked.
func (d *Driver) healStart(ctx context.Context, op *vnflcm.Operation) error {
	dep, err := d.open(op)
	if err != nil {
		return err
	}
	if op.WholeVNF() {
		err = removeVIM(ctx, op)
	} else {
		err = vnflcm.Each(ctx, d.config.Parallel, among(dep.workers, op.Change.Replaced), func(ctx context.Context, n mgmt.Node) error {
			return dep.evict(ctx, n, true)
		})
	}
	if err != nil {
		return err
	}
	return d.forget(ctx, op, op.Change.Replaced)
}

// healEnd makes the new machines what the old ones were.
func (d *Driver) healEnd(ctx context.Context, op *vnflcm.Operation) error {
	dep, err := d.open(op)
	if err != nil {
		return err
	}
	if op.WholeVNF() {
		return dep.build(ctx)
	}
	return dep.addWorkers(ctx, among(dep.workers, op.Change.Replaced))
}
