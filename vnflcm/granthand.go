package vnflcm

import (
	"context"
	"errors"
	"fmt"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// grantOrder is stored so that the process that has the operation finds it. The batch also writes the operation, unchanged, as for a
// cancelRequest.
type grantOrder struct {
	By string `json:"by"`
}

// GrantByHand lets an operation begin that waits for its grant, whichever process works on it: by says who has decided so and why, for the
// warning in the operation's document and the event GrantPassedOver. It returns when the order is stored. A request to the NFVO that is under
// way then can still grant or reject the operation. It returns ErrState if the operation does not wait for a grant; an operation that the
// NFVO has rejected does not.
func (m *Manager) GrantByHand(ctx context.Context, opID, by string) error {
	if by == "" {
		return &ParamError{Path: "by", Reason: "is required: who has decided it, and why"}
	}
	return m.records.Update(ctx, func(ctx context.Context, b *store.Batch) error {
		rec, version, err := m.operation(ctx, opID)
		if err != nil {
			return err
		}
		if rec.Occ.OperationState != Starting || rec.Asked == nil || rec.Asked.Without != "" {
			return fmt.Errorf("%w: operation %s is %s and does not wait for a grant", ErrState, opID, rec.Occ.OperationState)
		}
		unchanged, err := m.records.Seal(kindOperation, opID, version, rec)
		if err != nil {
			return err
		}
		b.Put, b.Wake = []store.Record{unchanged}, true
		return m.records.Put(ctx, b, kindGrantOrder, opID, grantOrder{By: by})
	})
}

// findOrder begins the operation without a grant if a person has ordered it.
func (a *asking) findOrder(ctx context.Context) error {
	var order grantOrder
	switch _, err := a.m.records.Get(ctx, kindGrantOrder, a.rec.Occ.ID, &order); {
	case errors.Is(err, ErrNotFound):
		return nil
	case errors.Is(err, ErrUnreadable):
		a.s.op.Log.WarnContext(ctx, "the operation still waits for its grant, because the order to begin without one cannot be read: order it again", "error", err)
		return nil
	case err != nil:
		return err
	}
	return a.passOver(ctx, "granted by hand: "+order.By)
}

// dropGrantOrder adds to b that there is no grantOrder any more.
func (r *run) dropGrantOrder(ctx context.Context, b *store.Batch) error {
	return r.m.records.Drop(ctx, b, kindGrantOrder, r.rec.Occ.ID)
}
