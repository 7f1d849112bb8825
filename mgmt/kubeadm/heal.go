package kubeadm

import (
	"context"
	"errors"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// healStart takes the nodes that will be replaced out of the cluster. They may be dead: only those that stay are
// asked.
func (d *Driver) healStart(ctx context.Context, op *vnflcm.Operation) error {
	dep, err := d.open(op)
	if err != nil {
		return err
	}
	defer dep.close()
	if op.WholeVNF() {
		err = removeVIM(ctx, op)
	} else {
		err = dep.withdraw(ctx)
	}
	if err != nil {
		return err
	}
	return d.forget(ctx, op, op.Change.Replaced)
}

// withdraw takes single nodes out of the cluster.
func (d *deployment) withdraw(ctx context.Context) error {
	masters, workers := among(d.masters, d.op.Change.Replaced), among(d.workers, d.op.Change.Replaced)
	d.ask(without(d.masters, masters))
	if len(d.up) == 0 {
		return errors.New("kubeadm: no control-plane node would be left: heal the whole VNF")
	}
	masters, err := d.decide(ctx, masters)
	if err != nil {
		return err
	}
	err = vnflcm.Each(ctx, d.config.Parallel, workers, func(ctx context.Context, n mgmt.Node) error { return d.evict(ctx, n, true) })
	if err != nil {
		return err
	}
	return d.release(ctx, masters)
}

// healEnd makes the new machines what the old ones were.
func (d *Driver) healEnd(ctx context.Context, op *vnflcm.Operation) error {
	dep, err := d.open(op)
	if err != nil {
		return err
	}
	defer dep.close()
	masters, workers := among(dep.masters, op.Change.Replaced), among(dep.workers, op.Change.Replaced)
	switch {
	case op.WholeVNF():
		return dep.build(ctx)
	case len(masters) == 0:
		return dep.addWorkers(ctx, workers)
	default:
		return dep.replace(ctx, masters, workers)
	}
}
