package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm/internal/ledger"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// Reseal seals every record under Config.Key that is still sealed under one of Config.OldKeys. left is how many records
// stay under an old key because they belong to operations that are running: call Reseal again when those have ended. When
// left is 0 the old keys are not needed any more. Reseal may run beside operations and other processes, once all of
// them have the new key. It has one record in memory at a time. Records that cannot be read stay as they are and are named by the
// error (ErrUnreadable).
func (m *Manager) Reseal(ctx context.Context) (left int, err error) {
	var errs []error
	for _, kind := range lastingKinds {
		// One at a time: a record may have any size, and several can be more than fits into memory.
		err := m.records.EachPage(ctx, store.Query{Kind: kind.name, Limit: 1}, func(one []store.Record) error {
			if m.records.IsNewest(one[0]) {
				return nil
			}
			err := m.reseal(ctx, one[0])
			if errors.Is(err, errRunning) {
				left++
				return nil
			}
			errs = append(errs, err)
			return ctx.Err()
		})
		if err != nil {
			return left, errors.Join(append(errs, err)...)
		}
	}
	return left, errors.Join(errs...)
}

var errRunning = errors.New("the version of an active claim is the epoch of a running operation")

func (m *Manager) reseal(ctx context.Context, stored store.Record) error {
	return m.records.Update(ctx, func(ctx context.Context, b *store.Batch) error {
		now, err := m.cfg.Store.Get(ctx, stored.Kind, stored.ID)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if now.Kind == ledger.KindClaim {
			var held ledger.ClaimRecord
			if err := m.records.Open(now, &held); err == nil && held.State != ledger.Parked {
				return errRunning
			}
		}
		now, err = m.records.Reseal(now)
		b.Put = []store.Record{now}
		return err
	})
}

// Forget gives one record up that cannot be read, as errors name it (ErrUnreadable): kind "instance" with the id of a VNF instance,
// kind "operation" with the id of an operation. The resources of a forgotten instance stay in the VIM. A forgotten operation ends as by
// Fail, but without an occurrence: its instance can be changed again, and counts as INSTANTIATED after an instantiation. For kind
// "claim" the operation can be taken up again: no process may work on it. Of other kinds only the record is removed. ErrState: the record
// can be read. ErrNotFound: it does not exist.
func (m *Manager) Forget(ctx context.Context, kind, id string) error {
	return m.records.Update(ctx, func(ctx context.Context, b *store.Batch) error {
		stored, err := m.unreadable(ctx, kind, id)
		if err != nil {
			return err
		}
		switch kind {
		case ledger.KindClaim:
			return m.freeClaim(ctx, b, stored)
		case kindOperation:
			err = m.endForgotten(ctx, b, stored)
		}
		b.Delete = append(b.Delete, stored)
		return err
	})
}

// PlanForget returns the error that Forget would return now, and changes nothing.
func (m *Manager) PlanForget(ctx context.Context, kind, id string) error {
	_, err := m.unreadable(ctx, kind, id)
	return err
}

// unreadable returns a record that cannot be read.
func (m *Manager) unreadable(ctx context.Context, kind, id string) (store.Record, error) {
	stored, err := m.cfg.Store.Get(ctx, kind, id)
	if err != nil {
		return store.Record{}, fmt.Errorf("%s %s: %w", kind, id, err)
	}
	if m.records.Open(stored, contentOf(kind)) == nil {
		return store.Record{}, fmt.Errorf("%w: %s %s can be read", ErrState, kind, id)
	}
	return stored, nil
}

// freeClaim adds to b that any process may take up the operation of a claim. The record stays, so that its version grows: a process
// that had the claim has lost it.
func (m *Manager) freeClaim(ctx context.Context, b *store.Batch, claim store.Record) error {
	freed := ledger.ClaimRecord{State: ledger.Free, Accepted: claim.Index.Start, Run: m.process.Run()}
	rec, _, err := m.operation(ctx, claim.ID)
	switch {
	case errors.Is(err, ErrNotFound): // of a hook, or of an operation that was forgotten
		b.Delete = append(b.Delete, claim)
		return nil
	case err != nil:
		return err
	case !rec.Occ.OperationState.active():
		freed.State = ledger.Parked
	}
	record, err := m.records.Seal(ledger.KindClaim, claim.ID, claim.Version, freed)
	b.Put, b.Wake = append(b.Put, record), true
	return err
}

// endForgotten adds to b the end of an operation whose record cannot be read. What is known of the operation is its index.
func (m *Manager) endForgotten(ctx context.Context, b *store.Batch, operation store.Record) error {
	for _, kind := range []string{ledger.KindClaim, kindSuspect, kindCancel, kindGrantOrder, kindHistory, kindCount} {
		if err := m.records.Drop(ctx, b, kind, operation.ID); err != nil {
			return err
		}
	}
	if err := m.records.DropAll(ctx, b, kindStep, operation.ID+"/"); err != nil {
		return err
	}
	inst, version, err := m.instance(ctx, operation.Index.Instance)
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrUnreadable) || err == nil && inst.Holder != operation.ID {
		return nil
	}
	if err != nil {
		return err
	}
	inst.Holder = ""
	if operation.Index.Operation == string(OpInstantiate) {
		inst.Instance.InstantiationState = Instantiated // so that it can be terminated: something of it may be there
	}
	unlocked, err := m.records.Seal(kindInstance, inst.Instance.ID, version, inst)
	b.Put = append(b.Put, unlocked)
	return errors.Join(err, m.records.appendChange(b, InstanceChanged, inst.identity(), nil))
}

// PurgeOperations removes the operation occurrences that ended before that time, with their history, and the changes of
// the feed that are older. It returns how many operations it removed. An operation in FAILED_TEMP has not ended.
func (m *Manager) PurgeOperations(ctx context.Context, before time.Time) (int, error) {
	old := store.Query{Kind: kindOperation, States: finalStates, Before: instant(before)}
	removed, err := m.purge(ctx, old, m.removeOperations, func(occ *VnfLcmOpOcc) bool { return occ.StateEnteredTime.Before(before) })
	if err != nil {
		return removed, err
	}
	return removed, m.records.EachPage(ctx, store.Query{Kind: kindChange, Before: instant(before)}, func(changes []store.Record) error {
		return ignoreConflict(m.cfg.Store.Apply(ctx, store.Batch{Delete: changes}))
	})
}

// DeleteWithOperations is Delete, and removes the operation occurrences of the instance too.
func (m *Manager) DeleteWithOperations(ctx context.Context, instanceID string) error {
	if err := m.Delete(ctx, instanceID, ""); err != nil {
		return err
	}
	_, err := m.purge(ctx, store.Query{Kind: kindOperation, States: finalStates, Instance: instanceID}, m.removeOperations, func(*VnfLcmOpOcc) bool { return true })
	return err
}

var finalStates = []string{string(Completed), string(Failed), string(RolledBack)}

// purge removes the operations that q selects and old confirms. Records that cannot be read stay: Forget removes them.
func (m *Manager) purge(ctx context.Context, q store.Query, remove remover, old func(*VnfLcmOpOcc) bool) (removed int, err error) {
	err = m.records.EachPage(ctx, q, func(list []store.Record) error {
		list = slices.DeleteFunc(list, func(stored store.Record) bool {
			var rec operationRecord
			return m.records.Open(stored, &rec) != nil || !old(&rec.Occ)
		})
		err := remove(ctx, list)
		if err == nil {
			removed += len(list)
		}
		return ignoreConflict(err)
	})
	return removed, err
}

// removeOperations removes operations that have ended, with their history and evidence.
func (m *Manager) removeOperations(ctx context.Context, list []store.Record) error {
	suspects, err := m.cfg.Store.List(ctx, store.Query{Kind: kindSuspect}) // an earlier version of vnfkit leaves them
	if err != nil {
		return err
	}
	suspects = slices.DeleteFunc(suspects, func(s store.Record) bool {
		return !slices.ContainsFunc(list, func(op store.Record) bool { return op.ID == s.ID })
	})
	b := store.Batch{Delete: slices.Concat(list, suspects)}
	for _, stored := range list {
		err := errors.Join(m.records.Drop(ctx, &b, kindHistory, stored.ID), m.records.dropEvidence(ctx, &b, evidencePrefix(stored.Index.Instance, stored.ID)))
		if err != nil {
			return err
		}
	}
	return m.cfg.Store.Apply(ctx, b)
}

// ignoreConflict is for records that another process has removed or changed meanwhile.
func ignoreConflict(err error) error {
	if errors.Is(err, ErrConflict) {
		return nil
	}
	return err
}
