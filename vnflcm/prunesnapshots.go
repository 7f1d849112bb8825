package vnflcm

import (
	"cmp"
	"context"
	"errors"
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

// superfluous returns the automatic snapshots of an instance that the policy does not keep. list has all snapshots that passed their test, the
// newest first. The newest one is kept while the instance is instantiated.
func (p SnapshotPolicy) superfluous(list []*snapshotRecord, instantiated bool, now time.Time) (out []*snapshotRecord) {
	scheduled := 0
	for i, rec := range list {
		old := now.Sub(rec.Snapshot.CreationFinishedAt) > cmp.Or(p.KeepBefore, defaultKeepBefore)
		if rec.Cause == SnapshotScheduled && instantiated {
			scheduled++
			old = scheduled > cmp.Or(p.KeepScheduled, defaultScheduled)
		}
		if old && rec.isAutomatic() && (i > 0 || !instantiated) {
			out = append(out, rec)
		}
	}
	return out
}

// pruneSnapshots removes the snapshots of an instance that the policy does not keep.
func (r *records) pruneSnapshots(ctx context.Context, keeper keptSnapshots, instanceID string, instantiated bool) error {
	list, err := r.snapshotsOf(ctx, instanceID)
	if err != nil {
		return err
	}
	var errs []error
	for _, rec := range keeper.policy.superfluous(list, instantiated, time.Now()) {
		errs = append(errs, r.removeSnapshot(ctx, keeper, rec))
	}
	return errors.Join(errs...)
}

// removeSnapshot removes the archive of a snapshot, then its record. If the process ends in between, the record leads to what is left.
func (r *records) removeSnapshot(ctx context.Context, keeper Snapshots, rec *snapshotRecord) error {
	if err := keeper.Remove(ctx, rec.place()); err != nil {
		return err
	}
	return r.Update(ctx, func(ctx context.Context, b *store.Batch) error { return r.Drop(ctx, b, kindSnapshot, rec.ID) })
}
