package kubeadm

import (
	"context"
	"errors"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/internal/nodedrain"
	"github.com/vnfkit/vnfkit/mgmt/internal/vimentry"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// healStart empties the nodes that will be replaced. They may be dead: only nodes that stay are asked.
func (d *Driver) healStart(ctx context.Context, op *vnflcm.Operation) error {
	dep, err := d.open(ctx, op)
	if err != nil {
		return err
	}
	defer dep.close()
	if op.WholeVNF() {
		err = vimentry.RemoveVIM(ctx, op)
	} else {
		err = dep.withdraw(ctx)
	}
	if err != nil {
		return err
	}
	return d.forget(ctx, op, op.Change.Replaced)
}

// withdraw empties single nodes, and removes the etcd members of control-plane nodes.
func (d *deployment) withdraw(ctx context.Context) error {
	masters, workers := clusternodes.Among(d.masters, d.op.Change.Replaced), clusternodes.Among(d.workers, d.op.Change.Replaced)
	d.ask(clusternodes.Without(d.masters, masters))
	if len(d.up) == 0 {
		return errors.New("kubeadm: no control-plane node would be left: heal the whole VNF")
	}
	masters, err := d.decide(ctx, masters)
	if err != nil {
		return err
	}
	if err := d.releaseVolumes(ctx); err != nil {
		return err
	}
	if err := d.unroute(ctx, slices.Concat(masters, workers)); err != nil {
		return err
	}
	err = vnflcm.Each(ctx, d.config.Parallel, workers, func(ctx context.Context, n mgmt.Node) error { return d.evict(ctx, n, true) })
	if err != nil {
		return err
	}
	return d.release(ctx, masters)
}

// deleteReplaced deletes the Node objects of the machines that are gone. The new machines are not asked.
func (d *deployment) deleteReplaced(ctx context.Context) error {
	replaced := slices.Concat(clusternodes.Among(d.masters, d.op.Change.Replaced), clusternodes.Among(d.workers, d.op.Change.Replaced))
	d.ask(clusternodes.Without(d.masters, replaced))
	return nodedrain.DeleteNodes(ctx, d.op, d.kube, d.config.Parallel, clusternodes.VNFCs(replaced))
}

// healEnd makes the new machines what the old ones were.
func (d *Driver) healEnd(ctx context.Context, op *vnflcm.Operation) error {
	dep, err := d.open(ctx, op)
	if err != nil {
		return err
	}
	defer dep.close()
	if !op.WholeVNF() {
		if err := dep.deleteReplaced(ctx); err != nil {
			return err
		}
	}
	if err := dep.changeRegistries(ctx, dep.staying()); err != nil {
		return err
	}
	masters, workers := clusternodes.Among(dep.masters, op.Change.Replaced), clusternodes.Among(dep.workers, op.Change.Replaced)
	storage, balancers := clusternodes.Among(dep.storage, op.Change.Replaced), clusternodes.Among(dep.balancers, op.Change.Replaced)
	if op.WholeVNF() {
		return dep.build(ctx)
	}
	if err := dep.healBalancers(ctx, balancers); err != nil {
		return err
	}
	switch {
	case len(masters) > 0:
		err = dep.replace(ctx, masters, workers)
	case len(workers) > 0 || len(storage)+len(balancers) == 0:
		err = dep.addWorkers(ctx, workers)
	}
	if err != nil {
		return err
	}
	if len(balancers) > 0 && len(masters) == 0 { // its floating address may be another one
		if err := dep.registerVIM(ctx); err != nil {
			return err
		}
	}
	return dep.healStorage(ctx, storage)
}
