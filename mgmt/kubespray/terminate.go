package kubespray

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/internal/vimentry"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// terminateStart removes the cluster from the VIM registry while the cluster still exists, so that no new CNFs are created
// on it, and deletes the account that the entry used.
func (d *Driver) terminateStart(ctx context.Context, op *vnflcm.Operation) error {
	if err := vimentry.RemoveVIM(ctx, op); err != nil {
		return err
	}
	return vimentry.RemoveAccount(ctx, op, func(context.Context) (*clusternodes.Cluster, vimentry.VIMParam, error) {
		dep, err := d.open(ctx, op)
		if err != nil {
			return nil, vimentry.VIMParam{}, err
		}
		return dep.kube, dep.p.VIM, nil
	})
}

// terminateEnd removes what the driver has created outside of the machines, and the records of them. It removes the entry
// in the VIM registry too, because a VNFD may leave out terminate_start.
func (d *Driver) terminateEnd(ctx context.Context, op *vnflcm.Operation) error {
	if err := vimentry.RemoveVIM(ctx, op); err != nil {
		return err
	}
	if err := d.clear(ctx, op); err != nil {
		return err
	}
	err := errors.Join(op.State().Delete(ctx, mtuState), d.forget(ctx, op, slices.Concat(op.Change.Removed, op.Change.Replaced)))
	if p, errRead := d.read(ctx, op); op.Heal == nil && errRead == nil {
		err = errors.Join(err, d.forgetServer(ctx, op, p.Cluster.Ansible))
	}
	return err
}

// removeTaken removes the directory that the instance has claimed, if the instance still owns it.
func (d *Driver) removeTaken(ctx context.Context, op *vnflcm.Operation, t taken) error {
	p, err := d.read(ctx, op)
	if err != nil {
		return err
	}
	dep := &deployment{Driver: d, op: op, p: &p.Cluster}
	if name := dep.serverName(); name != t.Server {
		return errors.New("kubespray: the request names another Ansible server, " + name)
	}
	server, err := d.ansibleServer(op, p.Cluster.Ansible)
	if err != nil {
		return err
	}
	if err := dep.forgetRuns(ctx, server); err != nil {
		return err
	}
	home, err := home(ctx, server.Host)
	if err != nil {
		return err
	}
	w := &directory{host: server.Host, instance: op.InstanceID, path: t.Path, control: controlDir(home, op.InstanceID)}
	if err := w.unshare(ctx); err != nil {
		return err
	}
	w.mark, err = w.readMark(ctx)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return w.removeEmpty(ctx)
	case err != nil:
		return err
	case w.mark.Instance != w.instance:
		return nil // another instance has claimed the directory since
	}
	return w.remove(ctx)
}

func ignoring(err, harmless error) error {
	if errors.Is(err, harmless) {
		return nil
	}
	return err
}
