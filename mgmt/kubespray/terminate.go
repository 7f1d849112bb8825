package kubespray

import (
	"context"
	"errors"
	"io/fs"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/internal/vimentry"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func runRemoveVIM(ctx context.Context, d *deployment, _ mgmt.Node) error {
	return vimentry.RemoveVIM(ctx, d.op)
}

// runRemoveAccount deletes the account that the entry in the VIM registry used.
func runRemoveAccount(ctx context.Context, d *deployment, _ mgmt.Node) error {
	return vimentry.RemoveAccount(ctx, d.op, func(context.Context) (*clusternodes.Cluster, vimentry.VIMParam, error) {
		return d.kube, d.p.VIM, d.broken
	})
}

// runRemoveDirectory removes what the driver has created on the Ansible server, and the records of it. The recorded host key
// of the server is kept if the VNF is healed.
func runRemoveDirectory(ctx context.Context, d *deployment, _ mgmt.Node) error {
	if err := d.clear(ctx, d.op); err != nil {
		return err
	}
	err := d.op.State().Delete(ctx, mtuState)
	if p, errRead := d.read(ctx, d.op); d.op.Heal == nil && errRead == nil {
		err = errors.Join(err, d.forgetServer(ctx, d.op, p.Cluster.Ansible))
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
