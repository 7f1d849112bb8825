package vnflcm

import (
	"context"
	"fmt"
	"slices"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// snapshotRecord is the stored form of a VnfSnapshotInfo.
type snapshotRecord struct {
	ID     string `json:"id"`
	Tenant string `json:"tenant,omitempty"`
	// Instance and Operation are those of the operation that takes the snapshot, or has taken it. They are empty until the resource is used.
	Instance  string        `json:"instance,omitempty"`
	Operation string        `json:"operation,omitempty"`
	Cause     SnapshotCause `json:"cause,omitempty"`
	// Archive names the archive, from before there is one. Each process that takes the snapshot has another name: one that has lost its claim
	// does not write into the archive of the next one.
	Archive  string       `json:"archive,omitempty"`
	Key      Secret       `json:"key,omitzero"`       // of the archive
	Snapshot *VnfSnapshot `json:"snapshot,omitempty"` // nil until it has passed its test
	Removing bool         `json:"removing,omitempty"` // the archive is being removed, or is removed already
}

// States of snapshots in the index of their records.
const (
	snapshotEmpty = "empty" // not used, or not taken yet
	snapshotTaken = "taken"
)

func (r snapshotRecord) Index() store.Index {
	if r.Snapshot == nil {
		return store.Index{State: snapshotEmpty, Instance: r.Instance}
	}
	return store.Index{State: snapshotTaken, Instance: r.Instance, VNFD: r.Snapshot.VnfdID, Start: r.Snapshot.CreationStartedAt.UnixNano()}
}

func (r *snapshotRecord) place() SnapshotPlace {
	return SnapshotPlace{Tenant: r.Tenant, Instance: r.Instance, ID: r.Archive}
}

// isAutomatic reports whether the snapshot was taken without a request for it.
func (r *snapshotRecord) isAutomatic() bool { return r.Cause != SnapshotRequested }

func (r *snapshotRecord) view(version int64) *VnfSnapshotInfo {
	return &VnfSnapshotInfo{ID: r.ID, VnfSnapshot: r.Snapshot, Tenant: r.Tenant, Version: documentVersion(version, 0)}
}

// snapshot returns a record, ErrNotFound for an unknown id.
func (r *records) snapshot(ctx context.Context, id string) (*snapshotRecord, int64, error) {
	var rec snapshotRecord
	version, err := r.Get(ctx, kindSnapshot, id, &rec)
	if err != nil {
		return nil, 0, fmt.Errorf("VNF snapshot %s: %w", id, err)
	}
	return &rec, version, nil
}

// snapshotsOf returns the snapshots of an instance that have passed their test, the newest first. Records that cannot be read, and those of
// snapshots that are being removed, are left out.
func (r *records) snapshotsOf(ctx context.Context, instanceID string) ([]*snapshotRecord, error) {
	list, err := r.allSnapshotsOf(ctx, instanceID)
	return slices.DeleteFunc(list, func(rec *snapshotRecord) bool { return rec.Removing }), err
}

// allSnapshotsOf is snapshotsOf with snapshots that are being removed.
func (r *records) allSnapshotsOf(ctx context.Context, instanceID string) (out []*snapshotRecord, err error) {
	q := store.Query{Kind: kindSnapshot, Instance: instanceID, States: []string{snapshotTaken}}
	err = r.EachPage(ctx, q, func(list []store.Record) error {
		for _, stored := range list {
			var rec snapshotRecord
			if r.Open(stored, &rec) == nil && rec.Snapshot != nil {
				out = append(out, &rec)
			}
		}
		return nil
	})
	slices.Reverse(out)
	return out, err
}

// keptSnapshots gives drivers the snapshots of a composition.
type keptSnapshots struct {
	Snapshots

	policy SnapshotPolicy
}

// errNoSnapshots says that the composition keeps no snapshots. It is ErrNotSupported.
var errNoSnapshots = fmt.Errorf("%w: the composition keeps no snapshots (Config.Snapshots)", ErrNotSupported)

// KeepsSnapshots reports whether the composition keeps snapshots (Config.Snapshots).
func (op *Operation) KeepsSnapshots() bool { return op.snapshots.Snapshots != nil }

// Snapshots returns the snapshots of the instance that have passed their test, the newest first. Plan, Validate and Preview may call it, too.
func (op *Operation) Snapshots(ctx context.Context) (out []VnfSnapshot, err error) {
	if op.records == nil {
		return nil, errByHand
	}
	list, err := op.records.snapshotsOf(ctx, op.InstanceID)
	for _, rec := range list {
		out = append(out, *rec.Snapshot)
	}
	return out, err
}

// OpenSnapshot opens the archive of a snapshot of the instance, as Snapshotter.TakeSnapshot has written it: read it with package archive/tar,
// and close it. Reading returns an error before it returns data that were changed. ErrNotFound: the instance has no such snapshot, or its
// archive is missing. Plan, Validate and Preview may call it, too.
func (op *Operation) OpenSnapshot(ctx context.Context, id string) (*SnapshotReader, error) {
	if !op.KeepsSnapshots() {
		return nil, errNoSnapshots
	}
	rec, _, err := op.records.snapshot(ctx, id)
	if err == nil && (rec.Instance != op.InstanceID || rec.Snapshot == nil || rec.Removing) {
		err = fmt.Errorf("VNF snapshot %s: %w", id, ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return openSnapshot(ctx, op.snapshots, rec)
}
