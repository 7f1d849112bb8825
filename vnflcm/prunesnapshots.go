package vnflcm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

const (
	defaultScheduled  = 7
	defaultKeepBefore = 30 * 24 * time.Hour
)

// check finds the faults of a policy.
func (p SnapshotPolicy) check() error {
	if p.Every < 0 || p.KeepScheduled < 0 || p.KeepBefore < 0 {
		return errors.New("vnflcm: Config.SnapshotPolicy: a time or a number is negative")
	}
	return nil
}

// superfluous returns the automatic snapshots of an instance that the policy does not keep, and those whose removal was cut. list has all
// snapshots that passed their test, the newest first. The newest one is kept while the instance is instantiated.
func (p SnapshotPolicy) superfluous(list []*snapshotRecord, instantiated bool, now time.Time) (out []*snapshotRecord) {
	scheduled, keepsNewest := 0, instantiated
	for _, rec := range list {
		if rec.Removing {
			out = append(out, rec)
			continue
		}
		old := now.Sub(rec.Snapshot.CreationFinishedAt) > cmp.Or(p.KeepBefore, defaultKeepBefore)
		if rec.Cause == SnapshotScheduled && instantiated {
			scheduled++
			old = scheduled > cmp.Or(p.KeepScheduled, defaultScheduled)
		}
		if old && rec.isAutomatic() && !keepsNewest {
			out = append(out, rec)
		}
		keepsNewest = false
	}
	return out
}

// snapshotRemover removes snapshots.
type snapshotRemover struct {
	*records

	keeper keptSnapshots
	// apply writes a batch, unless an operation may have begun that reads the archives of the instance.
	apply func(ctx context.Context, build func(context.Context, *store.Batch) error) error
	inUse string // id of a snapshot that the operation of the remover reads
}

// prune removes the snapshots of an instance that the policy does not keep.
func (r snapshotRemover) prune(ctx context.Context, instanceID string, instantiated bool) error {
	list, err := r.allSnapshotsOf(ctx, instanceID)
	if err != nil {
		return err
	}
	var errs []error
	for _, rec := range r.keeper.policy.superfluous(list, instantiated, time.Now()) {
		if rec.ID != r.inUse {
			errs = append(errs, ignoreConflict(r.remove(ctx, rec)))
		}
	}
	return errors.Join(errs...)
}

// remove removes the archive of a snapshot, then its record. The record says before that the archive is being removed: no operation is
// accepted that reads it. If the process ends in between, the record leads to what is left.
func (r snapshotRemover) remove(ctx context.Context, rec *snapshotRecord) error {
	err := r.apply(ctx, func(ctx context.Context, b *store.Batch) error {
		marked, version, err := r.snapshot(ctx, rec.ID)
		if err != nil {
			return err
		}
		marked.Removing = true
		record, err := r.Seal(kindSnapshot, rec.ID, version, marked)
		b.Put = append(b.Put, record)
		return err
	})
	if err != nil {
		return ignoreNotFound(err)
	}
	if err := r.keeper.Remove(ctx, rec.place()); err != nil {
		return err
	}
	return r.Update(ctx, func(ctx context.Context, b *store.Batch) error { return r.Drop(ctx, b, kindSnapshot, rec.ID) })
}

// snapshotRemover returns what removes the snapshots of an instance that no operation has locked, as long as the instance has this version. inst is
// nil for an instance that has been deleted. Each removal gives the instance another version: of two removals at the same time, which would each
// leave the snapshot that the other one removes, one is refused.
func (m *Manager) snapshotRemover(inst *instanceRecord, version int64) snapshotRemover {
	return snapshotRemover{records: m.records, keeper: keptSnapshots{m.cfg.Snapshots, m.cfg.SnapshotPolicy}, apply: func(ctx context.Context, build func(context.Context, *store.Batch) error) error {
		var b store.Batch
		if inst != nil {
			record, err := m.records.Seal(kindInstance, inst.Instance.ID, version, inst)
			if err != nil {
				return err
			}
			b.Put = append(b.Put, record)
		}
		if err := build(ctx, &b); err != nil {
			return err
		}
		err := m.cfg.Store.Apply(ctx, b)
		if errors.Is(err, ErrConflict) {
			return errInstanceChanged
		}
		version++
		return err
	}}
}

// DeleteSnapshot removes a snapshot and its archive (SOL003 v3.3.1 5.4.24.3.5). ErrConflict: an operation takes it, or works on its instance, or
// another snapshot of the instance is being removed.
// ErrState: it is the last snapshot of an instantiated VNF. Take another one before, or terminate the VNF.
func (m *Manager) DeleteSnapshot(ctx context.Context, id string) error {
	rec, version, err := m.records.snapshot(ctx, id)
	if err != nil {
		return err
	}
	if rec.Instance == "" {
		return m.cfg.Store.Apply(ctx, store.Batch{Delete: []store.Record{{Kind: kindSnapshot, ID: id, Version: version}}})
	}
	if m.cfg.Snapshots == nil {
		return errNoSnapshots
	}
	inst, version, err := m.instance(ctx, rec.Instance)
	if ignoreNotFound(err) != nil {
		return err
	}
	if err == nil {
		if err := cmp.Or(m.heldBy(ctx, inst), m.checkLast(ctx, inst, rec)); err != nil {
			return err
		}
	}
	return m.snapshotRemover(inst, version).remove(ctx, rec)
}

// checkLast returns ErrState for the only snapshot of an instantiated VNF that has passed its test.
func (m *Manager) checkLast(ctx context.Context, inst *instanceRecord, rec *snapshotRecord) error {
	list, err := m.records.snapshotsOf(ctx, rec.Instance)
	if err != nil || inst.Instance.InstantiationState != Instantiated || rec.Snapshot == nil || rec.Removing || len(list) > 1 {
		return err
	}
	return fmt.Errorf("%w: VNF snapshot %s is the last one of VNF instance %s: take another one first", ErrState, rec.ID, rec.Instance)
}
