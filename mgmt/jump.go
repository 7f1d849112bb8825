package mgmt

import (
	"context"

	"github.com/vnfkit/vnfkit/internal/hostkeys"
	"github.com/vnfkit/vnfkit/internal/jumphost"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// CheckJumpHost reports every fault of extra.jump_host of the operation's VIM (*vnflcm.ParamError, joined),
// and warns of attributes that are not known. That there is no jump host is no fault. Drivers that use
// Access call it in Validate.
func CheckJumpHost(ctx context.Context, op *vnflcm.Operation) error {
	_, unknown, err := jumphost.Target(op.VIM, hostkeys.Of(op))
	for _, name := range unknown {
		op.Log.WarnContext(ctx, "unknown attribute has no effect", "attribute", jumphost.Path+"."+name)
	}
	return err
}
