package admin

import (
	"context"
	"fmt"
	"strings"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// grant lets an operation begin that waits for the grant of the NFVO.
func (v *VNFM) grant(ctx context.Context, words []string) error {
	id, reason := words[0], strings.TrimSpace(strings.Join(words[1:], " "))
	op, err := v.Operation(ctx, id)
	if err != nil {
		return err
	}
	if op.OperationState != vnflcm.Starting {
		return fmt.Errorf("%w: operation %s is %s and does not wait for a grant", vnflcm.ErrState, id, op.OperationState)
	}
	plan := fmt.Sprintf("The operation %s (%s of VNF instance %s) begins without a grant of the NFVO. The NFVO does not learn of it.\n", id, op.Operation, op.VnfInstanceID)
	return v.destroy(ctx, "grant "+id, plan, func() error { return v.GrantByHand(ctx, id, v.User+": "+reason) })
}
