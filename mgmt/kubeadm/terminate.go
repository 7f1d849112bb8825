package kubeadm

import (
	"context"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// terminateStart takes the cluster out of the VIM registry while it is still there, so that nothing new is
// put on it, and ends the account that the entry had.
func (d *Driver) terminateStart(ctx context.Context, op *vnflcm.Operation) error {
	if err := removeVIM(ctx, op); err != nil {
		return err
	}
	return d.removeAccount(ctx, op)
}

// terminateEnd drops what is kept of the machines. The entry in the VIM registry goes here too: a VNFD need
// not name terminate_start.
func (d *Driver) terminateEnd(ctx context.Context, op *vnflcm.Operation) error {
	if err := removeVIM(ctx, op); err != nil {
		return err
	}
	return d.forget(ctx, op, op.Change.Removed)
}
