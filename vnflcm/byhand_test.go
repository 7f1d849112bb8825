package vnflcm_test

import (
	"context"
	"errors"
	"testing"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestOperationByHand checks that the methods of an Operation without a Manager return errors and do not panic.
func TestOperationByHand(t *testing.T) {
	t.Parallel()
	ctx, op := t.Context(), &vnflcm.Operation{}
	_, sizeErr := op.Instances()
	_, keysErr := op.State().Keys(ctx, "")
	for name, err := range map[string]error{
		"Check": op.Check(), "Check of nil": (*vnflcm.Operation)(nil).Check(), "Instances": sizeErr, "State.Keys": keysErr,
		"State.Get": op.State().Get(ctx, "k", new(string)), "State.Put": op.State().Put(ctx, "k", "v"), "State.Delete": op.State().Delete(ctx, "k"),
		"RegisterVIM": op.RegisterVIM(ctx, vnflcm.VimConnectionInfo{}), "RemoveVIM": op.RemoveVIM(ctx, "v"), "StopMachine": op.StopMachine(ctx, vnflcm.VNFC{}),
		"Publish": op.Publish(ctx, vnflcm.VNFC{}, nil),
		"Do":      vnflcm.Do(ctx, op, "step", "", func(context.Context) error { return nil }),
	} {
		if !errors.Is(err, vnflcm.ErrProgramming) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	op.Report(ctx, "halfway")
	if got := op.VDUOf("cp") + op.Mask("text"); got != "text" {
		t.Errorf("%q", got)
	}
}
