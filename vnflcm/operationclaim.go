package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/vnfkit/vnfkit/vnflcm/internal/ledger"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// operationClaim is the claim of this process on an operation, or on a hook of RunHook. It guards the record of the instance that the
// operation has locked, or the record of the hook.
type operationClaim struct {
	*ledger.Claim
	records *records
	clear   func()      // called once the operation is not suspected any more
	watched atomic.Bool // the run is suspected, and has made no progress yet
}

// changeInstance adds to b that change is made to the instance which the operation has locked.
func (c *operationClaim) changeInstance(ctx context.Context, b *store.Batch, instanceID string, change func(*instanceRecord)) error {
	inst, version, err := c.instance(ctx, instanceID)
	if err != nil {
		return err
	}
	if inst.Holder != c.ID() || inst.Epoch > c.Epoch() {
		return c.Lose(fmt.Errorf("%w: VNF instance %s is locked by operation %q", ErrLeased, instanceID, inst.Holder))
	}
	change(inst)
	inst.Epoch = c.Epoch()
	record, err := c.records.Seal(c.Guards(), instanceID, version, inst)
	b.Put = append(b.Put, record)
	return err
}

// instance returns a copy of the record of the instance that the operation has locked, and its version.
func (c *operationClaim) instance(ctx context.Context, id string) (*instanceRecord, int64, error) {
	var inst instanceRecord
	stored, err := c.Read(ctx, id)
	if err == nil {
		err = c.records.Open(stored, &inst)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("VNF instance %s: %w", id, err)
	}
	return &inst, stored.Version, nil
}

// progressed notes a new entry of the journal, or another write of the operation.
func (c *operationClaim) progressed() {
	if c.watched.Swap(false) {
		c.clear()
	}
}

// noteStep stores that a step of a suspected operation begins, so that the step is known if the process ends in it.
func (c *operationClaim) noteStep(ctx context.Context, info StepInfo) error {
	if !c.watched.Load() {
		return nil
	}
	return c.Update(ctx, func(ctx context.Context, b *store.Batch) error {
		var s suspectRecord
		version, err := c.records.Get(ctx, kindSuspect, c.ID(), &s)
		if errors.Is(err, ErrNotFound) || errors.Is(err, ErrUnreadable) { // all processes were only stopped, or damage
			return nil
		}
		s.Steps = append(s.Steps, begunStep{Phase: info.Phase, Step: info.Name, On: info.On, Host: info.Host})
		record, errSealed := c.records.Seal(kindSuspect, c.ID(), version, s)
		b.Put = append(b.Put, record)
		return errors.Join(err, errSealed)
	})
}
