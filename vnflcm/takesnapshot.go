package vnflcm

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// TakeSnapshot saves the data of the instance before a driver changes what cannot be changed back. It takes the snapshot with by, tests it, and
// then removes snapshots that SnapshotPolicy does not keep. A step of the driver calls it. name tells the snapshots of one operation apart:
// if the operation has taken this one, TakeSnapshot returns its id. The cause is SnapshotBefore. ErrNotSupported: the composition
// keeps no snapshots, see KeepsSnapshots.
func (op *Operation) TakeSnapshot(ctx context.Context, name string, by Snapshotter) (id string, err error) {
	if op.claim == nil {
		return "", errReadOnly
	}
	rec := &snapshotRecord{ID: uuid.NewSHA1(uuid.Nil, []byte(op.ID+"/"+name)).String(), Cause: SnapshotBefore}
	known, _, err := op.records.snapshot(ctx, rec.ID)
	switch {
	case err == nil && known.Snapshot != nil:
		return known.ID, nil
	case err == nil:
		rec = known
	case !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrUnreadable):
		return "", err
	}
	if err := op.takeSnapshot(ctx, rec, nil, by); err != nil {
		return "", errors.Join(err, op.dropSnapshot(context.WithoutCancel(ctx), rec))
	}
	return rec.ID, nil
}

// takeSnapshot fills the record of a snapshot. After an error there is no archive.
func (op *Operation) takeSnapshot(ctx context.Context, rec *snapshotRecord, data KeyValuePairs, by Snapshotter) (err error) {
	if !op.KeepsSnapshots() {
		return errNoSnapshots
	}
	if rec.Archive != "" { // of an attempt that was cut
		if err := op.snapshots.Remove(ctx, rec.place()); err != nil {
			return err
		}
	}
	rec.Tenant, rec.Instance, rec.Operation = op.instance.Tenant, op.InstanceID, op.ID
	rec.Archive = fmt.Sprintf("%s-%d", rec.ID, op.claim.Epoch())
	defer func() {
		if err != nil {
			err = errors.Join(err, op.snapshots.Remove(context.WithoutCancel(ctx), rec.place()))
		}
	}()
	instance := op.Instance()
	instance.VimConnectionInfo = nil // its credentials have an end
	taken := &VnfSnapshot{ID: rec.ID, VnfInstanceID: op.InstanceID, VnfdID: instance.VnfdID, VnfInstance: instance, VnfcSnapshots: []struct{}{},
		UserDefinedData: data, Cause: rec.Cause, VnfLcmOpOccID: op.ID, CreationStartedAt: time.Now().Round(0), About: map[string]string{}}
	if err := op.writeSnapshot(ctx, rec, taken, by); err != nil {
		return fmt.Errorf("taking the snapshot: %w", err)
	}
	taken.CreationFinishedAt = time.Now().Round(0)
	op.Report(ctx, "testing the snapshot")
	if err := op.testSnapshot(ctx, rec, taken, by); err != nil {
		return fmt.Errorf("testing the snapshot: %w", err)
	}
	taken.TestFinishedAt = time.Now().Round(0)
	done := *rec
	done.Snapshot = taken
	if err := op.putSnapshot(ctx, &done); err != nil {
		return err
	}
	remover := snapshotRemover{records: op.records, keeper: op.snapshots, apply: op.update}
	if op.RevertToSnapshot != nil {
		remover.inUse = op.RevertToSnapshot.VnfSnapshotInfoID
	}
	if err := remover.prune(ctx, op.InstanceID, true); err != nil {
		op.Log.WarnContext(ctx, "snapshots that are not needed any more could not be removed", "error", err)
	}
	return nil
}

// writeSnapshot streams the archive into the storage.
func (op *Operation) writeSnapshot(ctx context.Context, rec *snapshotRecord, taken *VnfSnapshot, by Snapshotter) error {
	archive, err := op.snapshots.Create(ctx, rec.place())
	if err != nil {
		return err
	}
	defer archive.Abort()
	rec.Key = archive.Key()
	if err := op.putSnapshot(ctx, rec); err != nil { // before there is an archive: the record leads to it
		return err
	}
	files := tar.NewWriter(archive)
	about, err := by.TakeSnapshot(ctx, op, files)
	if err == nil {
		err = files.Close()
	}
	if err != nil {
		return err
	}
	maps.Copy(taken.About, about)
	sum, err := archive.Commit()
	taken.VnfStateSnapshotInfo = VnfStateSnapshotInfo{Checksum: Checksum{Algorithm: "SHA-256", Hash: sum.SHA256}, IsEncrypted: true, Metadata: KeyValuePairs{"size": sum.Size}}
	return err
}

// testSnapshot reads the archive from the storage, to its end.
func (op *Operation) testSnapshot(ctx context.Context, rec *snapshotRecord, taken *VnfSnapshot, by Snapshotter) (err error) {
	from, err := openSnapshot(ctx, op.snapshots, rec)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	about, err := by.TestSnapshot(ctx, op, from.Reader)
	if err != nil {
		return err
	}
	maps.Copy(taken.About, about)
	return from.Finish()
}

func (op *Operation) putSnapshot(ctx context.Context, rec *snapshotRecord) error {
	return op.update(ctx, func(ctx context.Context, b *store.Batch) error {
		return op.records.Put(ctx, b, kindSnapshot, rec.ID, rec)
	})
}

// dropSnapshot removes the record of a snapshot that could not be taken.
func (op *Operation) dropSnapshot(ctx context.Context, rec *snapshotRecord) error {
	return op.update(ctx, func(ctx context.Context, b *store.Batch) error {
		return op.records.Drop(ctx, b, kindSnapshot, rec.ID)
	})
}
