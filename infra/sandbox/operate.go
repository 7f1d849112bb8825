package sandbox

import (
	"context"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Operate implements vnflcm.Operator: a machine that is stopped keeps its disk and its addresses, and its services begin again with it.
func (w *World) Operate(ctx context.Context, op *vnflcm.Operation, vnfcs []vnflcm.VNFC) error {
	step, off := "start-vm", op.Operate.ChangeStateTo == vnflcm.VnfStopped
	if off {
		step = "stop-vm"
	}
	return vnflcm.Each(ctx, 0, vnfcs, func(ctx context.Context, v vnflcm.VNFC) error {
		return vnflcm.Do(ctx, op, step, v.ID, func(context.Context) error {
			return w.silence(v.ResourceID, off, func(id string) { w.kube.SetDown(id, off) })
		})
	})
}
