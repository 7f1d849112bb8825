package vnflcm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// CreateSnapshotInfo makes a resource that CreateSnapshot fills (SOL003 v3.3.1 5.4.23.3.1). ErrNotSupported: the composition keeps no
// snapshots.
func (m *Manager) CreateSnapshotInfo(ctx context.Context, req CreateVnfSnapshotInfoRequest) (*VnfSnapshotInfo, error) {
	if m.cfg.Snapshots == nil {
		return nil, errNoSnapshots
	}
	if req.VnfSnapshotPkgID != "" {
		return nil, &ParamError{Path: "vnfSnapshotPkgId", Value: req.VnfSnapshotPkgID, Reason: "is not supported: there are no snapshot packages"}
	}
	rec := snapshotRecord{ID: m.cfg.NewID(), Tenant: req.Tenant, Cause: SnapshotRequested}
	record, err := m.records.Seal(kindSnapshot, rec.ID, 0, rec)
	if err == nil {
		err = m.cfg.Store.Apply(ctx, store.Batch{Put: []store.Record{record}})
	}
	if err != nil {
		return nil, err
	}
	return rec.view(1), nil
}

// CreateSnapshot starts a snapshot of an instantiated VNF (SOL003 v3.3.1 5.4.21). Its occurrence is a CREATE_SNAPSHOT. It changes neither the VNF nor its
// VIM: it asks for no grant, and if it fails or is cancelled it does not stay in FAILED_TEMP but becomes FAILED, so that it keeps no other
// operation from beginning. Then the resource has no snapshot, and can be used again. ErrNotSupported: no driver that the VNFD names is
// a Snapshotter, or the composition keeps no snapshots. Other errors are as for Heal.
func (m *Manager) CreateSnapshot(ctx context.Context, instanceID string, req CreateVnfSnapshotRequest) (string, error) {
	if m.cfg.Snapshots == nil {
		return "", errNoSnapshots
	}
	if req.VnfSnapshotInfoID == "" {
		return "", &ParamError{Path: "vnfSnapshotInfoId", Reason: "is required: a resource that POST /vnf_snapshots (Manager.CreateSnapshotInfo) has made"}
	}
	rec, version, err := m.records.snapshot(ctx, req.VnfSnapshotInfoID)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return "", err
	}
	inst, _, errInst := m.instance(ctx, instanceID)
	switch {
	case errInst != nil:
		return "", errInst
	case err != nil || rec.Tenant != "" && rec.Tenant != inst.Tenant:
		return "", &ParamError{Path: "vnfSnapshotInfoId", Value: req.VnfSnapshotInfoID, Reason: "no such VNF snapshot"}
	case rec.Snapshot != nil || rec.Operation != "":
		return "", fmt.Errorf("%w: VNF snapshot %s is in use: make another one", ErrState, rec.ID)
	}
	return m.begin(ctx, instanceID, OpCreateSnapshot, req, func(inst *instanceRecord, op *operationRecord) {
		op.accepting = func(b *store.Batch) error {
			rec.Tenant, rec.Instance, rec.Operation = inst.Tenant, instanceID, op.Occ.ID
			record, err := m.records.Seal(kindSnapshot, rec.ID, version, rec)
			b.Put = append(b.Put, record)
			return err
		}
	})
}

// createSnapshotPhase is the phase of a CREATE_SNAPSHOT; the name is stored.
const createSnapshotPhase = "create_snapshot"

// planSnapshot finds the faults of a CREATE_SNAPSHOT or a REVERT_TO_SNAPSHOT.
func (m *Manager) planSnapshot(ctx context.Context, inst *instanceRecord, rec *operationRecord) error {
	return m.planInPlace(ctx, inst, rec, func(s *session) error {
		_, name, err := s.snapshotter()
		if err == nil && s.op.RevertToSnapshot != nil {
			err = s.planRevert(ctx, inst, rec)
		}
		if err != nil {
			return err
		}
		return errors.Join(s.checkDeclared(ctx, inst, rec), s.call(ctx, func() error { return m.cfg.Mgmt[name].Validate(ctx, s.op) }))
	})
}

// snapshotter returns the driver that takes snapshots of the VNF, and its name.
func (s *session) snapshotter() (Snapshotter, string, error) {
	names := s.driverNames()
	i := slices.IndexFunc(names, func(name string) bool { _, able := s.m.cfg.Mgmt[name].(Snapshotter); return able })
	if i < 0 {
		return nil, "", fmt.Errorf("%w: no management driver that the VNFD names takes snapshots", ErrNotSupported)
	}
	return s.m.cfg.Mgmt[names[i]].(Snapshotter), names[i], nil //nolint:forcetypeassert // see able
}

// doingSnapshot is the phase of a CREATE_SNAPSHOT or a REVERT_TO_SNAPSHOT.
func (s *session) doingSnapshot(ctx context.Context) error {
	by, name, err := s.snapshotter()
	if err != nil {
		return err
	}
	s.op.driver = name
	if s.op.RevertToSnapshot != nil {
		return s.revertToSnapshot(ctx)
	}
	return Do(ctx, s.op, "snapshot", "", func(ctx context.Context) error {
		rec, _, err := s.m.records.snapshot(ctx, s.op.CreateSnapshot.VnfSnapshotInfoID)
		if err != nil || rec.Snapshot != nil {
			return err
		}
		return s.op.takeSnapshot(ctx, rec, s.op.CreateSnapshot.UserDefinedData, by)
	})
}

// isSnapshot reports whether the operation is a CREATE_SNAPSHOT.
func (rec *operationRecord) isSnapshot() bool { return rec.Occ.Operation == OpCreateSnapshot }

// snapshotInfoID returns the snapshot that the operation takes or reverts to, "" for other operations.
func (rec *operationRecord) snapshotInfoID() string {
	var request struct {
		ID string `json:"vnfSnapshotInfoId"`
	}
	if !rec.Occ.Operation.isOfSnapshot() || json.Unmarshal(rec.Occ.OperationParams.Reveal(), &request) != nil { // it was read before
		return ""
	}
	return request.ID
}

// failSnapshot ends a CREATE_SNAPSHOT that has failed. The feed has its FAILED_TEMP before its FAILED, as after a request to fail it.
func (r *run) failSnapshot(ctx context.Context) error {
	failed := *r.rec
	failed.Occ.OperationState, failed.Occ.StateEnteredTime = FailedTemp, time.Now().Round(0)
	return r.finish(ctx, Failed, func(*instanceRecord) {}, func(_ context.Context, b *store.Batch) error {
		return r.m.records.appendChange(b, OperationEntered, r.rec.VNF, &failed)
	})
}

// releaseSnapshot adds to b that the resource of a CREATE_SNAPSHOT that did not succeed can be used again, or is removed if no request has made it.
func (r *run) releaseSnapshot(ctx context.Context, b *store.Batch) error {
	if !r.rec.isSnapshot() {
		return nil
	}
	rec, version, err := r.m.records.snapshot(ctx, r.rec.snapshotInfoID())
	if err != nil || rec.Operation != r.rec.Occ.ID || rec.Snapshot != nil {
		return ignoreNotFound(err)
	}
	if rec.isAutomatic() {
		return r.m.records.Drop(ctx, b, kindSnapshot, rec.ID)
	}
	record, err := r.m.records.Seal(kindSnapshot, rec.ID, version, snapshotRecord{ID: rec.ID, Tenant: rec.Tenant, Cause: rec.Cause})
	b.Put = append(b.Put, record)
	return err
}

// Snapshot returns a snapshot, or a resource for one (SOL003 v3.3.1 5.4.24.3.2). ErrNotFound for an unknown id.
func (m *Manager) Snapshot(ctx context.Context, id string) (*VnfSnapshotInfo, error) {
	rec, version, err := m.records.snapshot(ctx, id)
	if err != nil {
		return nil, err
	}
	return rec.view(version), nil
}

// Snapshots returns snapshots and resources for them, those without a snapshot first, then the oldest snapshot first; errors are as for
// Instances.
func (m *Manager) Snapshots(ctx context.Context, q SnapshotQuery) (Page[*VnfSnapshotInfo], error) {
	return listPage(ctx, m.records, store.Query{Kind: kindSnapshot, Instance: q.InstanceID}, q.After, q.Limit, func(rec *snapshotRecord, version int64) (*VnfSnapshotInfo, bool) {
		info := rec.view(version)
		return info, q.Match == nil || q.Match(info)
	})
}
