package vnflcm

import (
	"context"
	"errors"
	"fmt"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// RevertToSnapshot starts to bring an instantiated VNF back to one of its snapshots (SOL003 v3.3.1 5.4.22). Its occurrence is a
// REVERT_TO_SNAPSHOT. It changes no resources of the VIM, and asks for no grant; Preview returns what the VNF loses. It can be retried,
// cancelled and failed, but not rolled back: a part of the VNF may be as in the snapshot already. The snapshot cannot be deleted before the
// operation has ended. ErrNotSupported: the first Snapshotter that the VNFD names is no SnapshotReverter, or the composition keeps no snapshots.
// ErrState: the snapshot has not been taken. Other errors are as for Heal.
func (m *Manager) RevertToSnapshot(ctx context.Context, instanceID string, req RevertToVnfSnapshotRequest) (string, error) {
	return m.begin(ctx, instanceID, OpRevertToSnapshot, req, nil)
}

// check finds the faults of the request alone.
func (r *RevertToVnfSnapshotRequest) check() error {
	var faults []error
	if r.VnfSnapshotInfoID == "" {
		faults = append(faults, &ParamError{Path: "vnfSnapshotInfoId", Reason: "is required: a snapshot of GET /vnf_snapshots (Manager.Snapshots)"})
	}
	for _, of := range []struct{ path, value string }{{"vnfcInstanceId", r.VnfcInstanceID}, {"vnfcSnapshotInfoId", r.VnfcSnapshotInfoID}} {
		if of.value != "" {
			faults = append(faults, &ParamError{Path: of.path, Value: of.value, Reason: "is not supported: VNFCs have no snapshots, the whole VNF is brought back"})
		}
	}
	return errors.Join(faults...)
}

// planRevert finds the faults of a REVERT_TO_SNAPSHOT that its driver does not find. The operation is accepted only if the snapshot is not
// removed meanwhile.
func (s *session) planRevert(ctx context.Context, inst *instanceRecord, rec *operationRecord) error {
	if !s.op.KeepsSnapshots() {
		return errNoSnapshots
	}
	if _, err := s.reverter(); err != nil {
		return err
	}
	request := s.op.RevertToSnapshot
	if err := request.check(); err != nil {
		return err
	}
	snapshot, version, err := s.m.records.snapshot(ctx, request.VnfSnapshotInfoID)
	if err == nil {
		err = snapshot.revertible(inst)
	}
	if errors.Is(err, ErrNotFound) {
		err = &ParamError{Path: "vnfSnapshotInfoId", Value: request.VnfSnapshotInfoID, Reason: "no such VNF snapshot"}
	}
	rec.accepting = func(b *store.Batch) error {
		b.Assert = append(b.Assert, store.Record{Kind: kindSnapshot, ID: request.VnfSnapshotInfoID, Version: version})
		return nil
	}
	return err
}

// revertible returns why an instance cannot be brought back to the snapshot. ErrNotFound: the tenant of the instance has no such snapshot.
func (r *snapshotRecord) revertible(inst *instanceRecord) error {
	refuse := func(format string, args ...any) error {
		return &ParamError{Path: "vnfSnapshotInfoId", Value: r.ID, Reason: fmt.Sprintf(format, args...)}
	}
	switch {
	case r.Tenant != inst.Tenant || r.Removing:
		return ErrNotFound
	case r.Snapshot == nil:
		return fmt.Errorf("%w: VNF snapshot %s has not been taken", ErrState, r.ID)
	case r.Instance != inst.Instance.ID:
		return refuse("is a snapshot of VNF instance %s", r.Instance)
	case r.Snapshot.VnfdID != inst.Instance.VnfdID:
		return refuse("was taken with VNFD %s, and the VNF instance has VNFD %s: change its package back before", r.Snapshot.VnfdID, inst.Instance.VnfdID)
	}
	return nil
}

// reverter returns the driver that brings the VNF back to a snapshot: the one that takes the snapshots.
func (s *session) reverter() (SnapshotReverter, error) {
	by, name, err := s.snapshotter()
	if err != nil {
		return nil, err
	}
	driver, able := by.(SnapshotReverter)
	if !able {
		return nil, fmt.Errorf("%w: the management driver %s takes snapshots, and cannot bring a VNF back to one", ErrNotSupported, name)
	}
	return driver, nil
}

// revertToSnapshot is the phase of a REVERT_TO_SNAPSHOT.
func (s *session) revertToSnapshot(ctx context.Context) error {
	driver, err := s.reverter() // a process with other drivers may have accepted the operation
	if err != nil {
		return err
	}
	return driver.RevertToSnapshot(ctx, s.op)
}
