package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// keyCheck is the record by which New knows the format and the keys of a store.
var keyCheck = Record{Kind: "meta", ID: "key"}

// checkKey checks, before anything is written, that the keys can open the records of the store. It writes a record to
// an empty store for the check by later processes.
func (r *records) checkKey(ctx context.Context) error {
	return r.update(ctx, func(ctx context.Context, b *Batch) error {
		stored, err := r.store.Get(ctx, keyCheck.Kind, keyCheck.ID)
		switch {
		case err == nil && r.open(stored, new(string)) != nil:
			return fmt.Errorf("%w: the store is sealed under another key", ErrUnreadable)
		case err == nil || !errors.Is(err, ErrNotFound):
			return err
		}
		for _, kind := range []string{kindInstance, kindOperation, kindVIM} {
			list, err := r.store.List(ctx, Query{Kind: kind})
			if err != nil {
				return err
			}
			if len(list) > 0 {
				return fmt.Errorf("%w: the store has an earlier format, without key ids, that this version cannot convert: begin with a new one", ErrUnreadable)
			}
		}
		return r.put(ctx, b, keyCheck.Kind, keyCheck.ID, "vnfkit")
	})
}

// Reseal seals every record under Config.Key that is still sealed under one of Config.OldKeys. left is how many records
// stay under an old key because they belong to operations that are running: call Reseal again when those have ended. When
// left is 0 the old keys are not needed any more. Reseal may run beside operations and other processes, once all of
// them have the new key. It has one record in memory at a time. Records that cannot be read stay as they are and are named by the
// error (ErrUnreadable).
func (m *Manager) Reseal(ctx context.Context) (left int, err error) {
	var errs []error
	for _, kind := range []string{kindInstance, kindAbandoned, kindAdoption, kindOperation, kindHook, kindHookInitial, kindClaim, kindCancel, kindStep, kindHistory, kindChange, kindState, kindDocument, kindVIM, kindVIMDefault, kindRenewal, keyCheck.Kind} {
		// One at a time: a record may have any size, and several can be more than fits into memory.
		err := m.records.allOf(ctx, Query{Kind: kind, Limit: 1}, func(one []Record) error {
			if m.records.keys.IsNewest(one[0].Body) {
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

func (m *Manager) reseal(ctx context.Context, stored Record) error {
	return m.records.update(ctx, func(ctx context.Context, b *Batch) error {
		now, err := m.cfg.Store.Get(ctx, stored.Kind, stored.ID)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if now.Kind == kindClaim {
			var held claimRecord
			if err := m.records.open(now, &held); err == nil && held.State != claimParked {
				return errRunning
			}
		}
		clear, err := m.records.unsealed(now)
		if err != nil {
			return unreadableRecord(now, err)
		}
		now, err = m.records.resealed(now, clear)
		b.Put = []Record{now}
		return err
	})
}

// Forget removes one record that cannot be read, as the errors of List and Operations name it: kind "instance" with the
// id of a VNF instance, kind "operation" with the id of an operation. The resources of a forgotten instance stay in the
// VIM. ErrState: the record can be read. ErrNotFound: it does not exist.
func (m *Manager) Forget(ctx context.Context, kind, id string) error {
	return m.records.update(ctx, func(ctx context.Context, b *Batch) error {
		stored, err := m.cfg.Store.Get(ctx, kind, id)
		if err != nil {
			return fmt.Errorf("%s %s: %w", kind, id, err)
		}
		if _, err := m.records.unsealed(stored); err == nil {
			return fmt.Errorf("%w: %s %s can be read", ErrState, kind, id)
		}
		b.Delete = []Record{stored}
		return nil
	})
}

// PurgeOperations removes the operation occurrences that ended before that time, with their history, and the changes of
// the feed that are older. It returns how many operations it removed. An operation in FAILED_TEMP has not ended.
func (m *Manager) PurgeOperations(ctx context.Context, before time.Time) (int, error) {
	old := Query{Kind: kindOperation, States: finalStates, Before: instant(before)}
	removed, err := m.purge(ctx, old, func(occ *VnfLcmOpOcc) bool { return occ.StateEnteredTime.Before(before) })
	if err != nil {
		return removed, err
	}
	return removed, m.records.allOf(ctx, Query{Kind: kindChange, Before: instant(before)}, func(changes []Record) error {
		return ignoreConflict(m.cfg.Store.Apply(ctx, Batch{Delete: changes}))
	})
}

// DeleteWithOperations is Delete, and removes the operation occurrences of the instance too.
func (m *Manager) DeleteWithOperations(ctx context.Context, instanceID string) error {
	if err := m.Delete(ctx, instanceID, ""); err != nil {
		return err
	}
	_, err := m.purge(ctx, Query{Kind: kindOperation, States: finalStates, Instance: instanceID}, func(*VnfLcmOpOcc) bool { return true })
	return err
}

var finalStates = []string{string(Completed), string(Failed), string(RolledBack)}

// purge removes the operations that q selects and old confirms. Records that cannot be read stay: Forget removes them.
func (m *Manager) purge(ctx context.Context, q Query, old func(*VnfLcmOpOcc) bool) (removed int, err error) {
	err = m.records.allOf(ctx, q, func(list []Record) error {
		list = slices.DeleteFunc(list, func(stored Record) bool {
			var rec operationRecord
			return m.records.open(stored, &rec) != nil || !old(&rec.Occ)
		})
		b := Batch{Delete: list}
		for _, stored := range list {
			if err := m.records.drop(ctx, &b, kindHistory, stored.ID); err != nil {
				return err
			}
		}
		err := m.cfg.Store.Apply(ctx, b)
		if err == nil {
			removed += len(list)
		}
		return ignoreConflict(err)
	})
	return removed, err
}

// ignoreConflict is for records that another process has removed or changed meanwhile.
func ignoreConflict(err error) error {
	if errors.Is(err, ErrConflict) {
		return nil
	}
	return err
}

func unreadableRecord(r Record, err error) error { return fmt.Errorf("%s %s: %w", r.Kind, r.ID, err) }
