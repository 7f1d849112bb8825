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

// checkKey makes sure, before anything is written, that the keys open what is in the store. An empty store gets the record
// that later processes check.
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
			list, err := r.store.List(ctx, kind, "")
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
// them have the new key. Records that cannot be read stay as they are and are named by the error (ErrUnreadable).
func (m *Manager) Reseal(ctx context.Context) (left int, err error) {
	var errs []error
	for _, kind := range []string{kindInstance, kindOperation, kindClaim, kindCancel, kindStep, kindState, kindVIM, kindVIMDefault, keyCheck.Kind} {
		list, err := m.cfg.Store.List(ctx, kind, "")
		if err != nil {
			return left, err
		}
		for _, stored := range list {
			if m.records.keys.isNewest(stored) {
				continue
			}
			err := m.reseal(ctx, stored)
			if errors.Is(err, errRunning) {
				left++
				continue
			}
			errs = append(errs, err)
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
			if err := m.records.open(now, &held); err == nil && !held.Parked {
				return errRunning
			}
		}
		clear, err := m.records.keys.open(now)
		if err != nil {
			return unreadableRecord(now, err)
		}
		now.Body, err = m.records.keys.seal(now.Kind, now.ID, now.Version+1, clear)
		b.Put = []Record{now}
		return err
	})
}

// Forget removes one record that cannot be read, as the errors of List and Operations name it: kind "instance" with the
// id of a VNF instance, kind "operation" with the id of an operation. What the record described is not touched: the
// resources of a forgotten instance stay in the VIM. ErrState says that the record can be read, ErrNotFound that there is
// none.
func (m *Manager) Forget(ctx context.Context, kind, id string) error {
	return m.records.update(ctx, func(ctx context.Context, b *Batch) error {
		stored, err := m.cfg.Store.Get(ctx, kind, id)
		if err != nil {
			return fmt.Errorf("%s %s: %w", kind, id, err)
		}
		if _, err := m.records.keys.open(stored); err == nil {
			return fmt.Errorf("%w: %s %s can be read", ErrState, kind, id)
		}
		b.Delete = []Record{stored}
		return nil
	})
}

// PurgeOperations removes the operation occurrences that ended before that time, and returns how many it removed. An
// operation in FAILED_TEMP has not ended.
func (m *Manager) PurgeOperations(ctx context.Context, before time.Time) (int, error) {
	return m.purge(ctx, func(occ *VnfLcmOpOcc) bool { return occ.StateEnteredTime.Before(before) })
}

// DeleteWithOperations is Delete, and removes the operation occurrences of the instance too.
func (m *Manager) DeleteWithOperations(ctx context.Context, instanceID string) error {
	if err := m.Delete(ctx, instanceID); err != nil {
		return err
	}
	_, err := m.purge(ctx, func(occ *VnfLcmOpOcc) bool { return occ.VnfInstanceID == instanceID })
	return err
}

// purge removes the ended operations that old selects. Records that cannot be read stay: Forget removes them.
func (m *Manager) purge(ctx context.Context, old func(*VnfLcmOpOcc) bool) (removed int, err error) {
	list, err := m.cfg.Store.List(ctx, kindOperation, "")
	if err != nil {
		return 0, err
	}
	list = slices.DeleteFunc(list, func(stored Record) bool {
		var rec operationRecord
		return m.records.open(stored, &rec) != nil || !rec.Occ.OperationState.Final() || !old(&rec.Occ)
	})
	for batch := range slices.Chunk(list, maxPurged) {
		if err := m.cfg.Store.Apply(ctx, Batch{Delete: batch}); err != nil && !errors.Is(err, ErrConflict) {
			return removed, err
		} else if err == nil {
			removed += len(batch)
		}
	}
	return removed, nil
}

// maxPurged is how many records one batch removes, so that operations under way need not wait long for their turn.
const maxPurged = 500

func unreadableRecord(r Record, err error) error { return fmt.Errorf("%s %s: %w", r.Kind, r.ID, err) }
