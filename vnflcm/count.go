package vnflcm

import (
	"context"
	"fmt"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// MachineCount says how far a maintenance is that works on one machine after the other.
type MachineCount struct {
	Done int `json:"done"` // machines that are as the request asks
	Left int `json:"left"`
}

// Count records in the document of a maintenance (VnfLcmOpOcc.Machines) how many machines it is done with. The last count stays in the document
// of an operation that has ended or failed. Outside of a phase, and for other operations, Count returns ErrProgramming.
func (op *Operation) Count(ctx context.Context, c MachineCount) error {
	if op.Maintain == nil || op.claim == nil {
		return fmt.Errorf("%w: only a Maintainer counts machines", ErrProgramming)
	}
	return op.update(ctx, func(ctx context.Context, b *store.Batch) error { return op.records.Put(ctx, b, kindCount, op.ID, c) })
}

// counted returns the last count of an operation, nil without one, and the version of its record. The record is separate, because only the
// code between phases writes the record of the operation.
func (m *Manager) counted(ctx context.Context, rec *operationRecord) (c *MachineCount, version int64) {
	if _, is := rec.maintenance(); !is {
		return nil, 0
	}
	c = &MachineCount{}
	version, err := m.records.Get(ctx, kindCount, rec.Occ.ID, c)
	if err != nil {
		return nil, 0
	}
	return c, version
}

// recordCount copies the last count to the document of the operation.
func (r *run) recordCount(ctx context.Context) {
	if c, _ := r.m.counted(ctx, r.rec); c != nil {
		r.rec.Occ.Machines = c
	}
}

// dropCount adds to b that the count of an operation that ends is only in its document.
func (r *run) dropCount(ctx context.Context, b *store.Batch) error {
	if _, is := r.rec.maintenance(); !is {
		return nil
	}
	return r.m.records.Drop(ctx, b, kindCount, r.rec.Occ.ID)
}
