package kubeadm

import (
	"context"
	"errors"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// scaleStart takes the nodes that will go out of the cluster.
func (d *Driver) scaleStart(ctx context.Context, op *vnflcm.Operation) error {
	if op.Scale.Type != vnflcm.ScaleIn {
		return nil
	}
	dep, err := d.open(op)
	if err != nil {
		return err
	}
	defer dep.close()
	return vnflcm.Each(ctx, d.config.Parallel, among(dep.workers, op.Change.Removed), func(ctx context.Context, n mgmt.Node) error {
		if err := dep.evict(ctx, n, op.RollingBack); err != nil {
			return err
		}
		return dep.do(ctx, "reset", n, time.Minute, func(ctx context.Context) error {
			if err := dep.reset(ctx, n); err != nil {
				op.Log.WarnContext(ctx, "the removed machine could not be reset", "host", n.HostName, "error", err)
			}
			return nil // the machine goes away in any case
		})
	})
}

// evict drains a node and removes it. With force a drain that fails does not keep it from going.
func (d *deployment) evict(ctx context.Context, n mgmt.Node, force bool) error {
	o := cluster.DrainOptions{Timeout: d.config.Timeouts.Drain, Force: force, Policy: d.p.DrainPolicy}
	if force && o.Policy != cluster.DrainDelete {
		o.Policy = cluster.DrainContinue
	}
	if err := d.drain(ctx, n, o); err != nil {
		return err
	}
	return d.do(ctx, "delete-node", n, time.Minute, func(ctx context.Context) error { return d.forgetNode(ctx, n) })
}

// drain empties a node, if the cluster has it.
func (d *deployment) drain(ctx context.Context, n mgmt.Node, o cluster.DrainOptions) error {
	return d.do(ctx, "drain", n, o.Timeout+time.Minute, func(ctx context.Context) error {
		node, found, err := d.kube.NodeAt(ctx, n.IP)
		if !found || err != nil {
			return err
		}
		o.Warn = func(err error) {
			d.op.Log.WarnContext(ctx, "not every pod could be moved", "host", node.Name, "error", err)
		}
		return d.kube.Drain(ctx, node.Name, o)
	})
}

// scaleEnd makes new machines nodes, and tells the others which nodes there are.
func (d *Driver) scaleEnd(ctx context.Context, op *vnflcm.Operation) error {
	dep, err := d.open(op)
	if err != nil {
		return err
	}
	defer dep.close()
	if op.Scale.Type == vnflcm.ScaleIn {
		return errors.Join(d.forget(ctx, op, op.Change.Removed), dep.updateHosts(ctx, dep.nodes()))
	}
	return dep.addWorkers(ctx, among(dep.workers, op.Change.Added))
}

// addWorkers joins new machines to the running cluster.
func (d *deployment) addWorkers(ctx context.Context, added []mgmt.Node) error {
	if err := d.checkScriptNames(); err != nil {
		return err
	}
	b, err := d.existing(ctx)
	if err != nil {
		return err
	}
	tokens := &batch{d: d}
	err = vnflcm.Each(ctx, d.config.Parallel, d.nodes(), func(ctx context.Context, n mgmt.Node) error {
		if len(among(added, []vnflcm.VNFC{n.VNFC})) == 0 {
			return d.updateHosts(ctx, []mgmt.Node{n})
		}
		if err := d.prepare(ctx, n); err != nil {
			return err
		}
		return d.join(ctx, n, b, tokens, false)
	})
	if err = errors.Join(err, d.revokeTokens(ctx)); err != nil {
		return err
	}
	if err := d.awaitReady(ctx, added); err != nil {
		return err
	}
	return d.label(ctx, added)
}

// existing describes the running cluster, as whichever control-plane node answers sees it.
func (d *deployment) existing(ctx context.Context) (bootstrap, error) {
	return vnflcm.Run(ctx, d.op, vnflcm.Step[bootstrap]{Name: "cluster", Do: func(ctx context.Context) (bootstrap, error) {
		leader, err := d.kube.Leader(ctx)
		if err != nil {
			return bootstrap{}, err
		}
		return d.describe(ctx, leader)
	}})
}

// updateHosts tells nodes that stay as they are which nodes there are. One that cannot be reached is passed
// over: it may be dead, and its heal writes the file anew.
func (d *deployment) updateHosts(ctx context.Context, nodes []mgmt.Node) error {
	return vnflcm.Each(ctx, d.config.Parallel, nodes, func(ctx context.Context, n mgmt.Node) error {
		return d.do(ctx, "hosts", n, time.Minute, func(ctx context.Context) error {
			err := d.writeHosts(ctx, n)
			if errors.Is(err, sshexec.ErrConnect) && !errors.Is(err, sshexec.ErrHostKey) && ctx.Err() == nil {
				d.op.Log.WarnContext(ctx, "the hosts file of a node could not be brought up to date", "host", n.HostName, "error", err)
				return nil
			}
			return err
		})
	})
}

// forget drops what is kept of machines that are gone: connections, host keys, and joins that have not ended.
func (d *Driver) forget(ctx context.Context, op *vnflcm.Operation, gone []vnflcm.VNFC) error {
	var errs []error
	for _, v := range gone {
		d.config.Pool.Forget(v.ResourceID)
		errs = append(errs, mgmt.ForgetHostKey(ctx, op, v.ResourceID), op.State().Delete(ctx, joiningState+v.ResourceID))
	}
	return errors.Join(errs...)
}
