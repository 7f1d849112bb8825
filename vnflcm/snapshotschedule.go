package vnflcm

import (
	"context"
	"errors"
	"time"

	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

const (
	// pruneEvery is how often snapshots are removed that the policy does not keep, beside after each snapshot.
	pruneEvery = time.Hour
	// mostScheduled is how often at most a Manager looks for instances of which a snapshot is due.
	mostScheduled = 10 * time.Minute
	// retriesOf is how many times an instance is tried in one interval of the schedule, if its snapshots fail.
	retriesOf = 8
)

// startSnapshots starts to take scheduled snapshots, and to remove those that are not kept.
func (m *Manager) startSnapshots(ctx context.Context) {
	if m.cfg.Snapshots != nil {
		m.keeping.Go(func() { m.watchSnapshots(ctx) })
	}
}

func (m *Manager) watchSnapshots(ctx context.Context) {
	every := m.cfg.SnapshotPolicy.Every
	pause := max(m.renewEvery(), min(every/20, mostScheduled))
	if every == 0 {
		pause = pruneEvery
	}
	for pruned := (time.Time{}); ctx.Err() == nil; _ = retry.Pause(ctx, pause) {
		err := m.Exclusively(ctx, "snapshots", func(ctx context.Context) (err error) {
			if time.Since(pruned) >= pruneEvery {
				err, pruned = m.pruneAll(ctx), time.Now()
			}
			if every > 0 {
				err = errors.Join(err, m.scheduleSnapshots(ctx))
			}
			return err
		})
		if err != nil && ctx.Err() == nil {
			m.cfg.Logger.WarnContext(ctx, "snapshots cannot be scheduled or removed now", "error", err)
		}
	}
}

// scheduleSnapshots starts a snapshot of each instance of which one is due.
func (m *Manager) scheduleSnapshots(ctx context.Context) error {
	instantiated := store.Query{Kind: kindInstance, States: []string{string(Instantiated)}, Limit: lookPage}
	return m.records.EachPage(ctx, instantiated, func(list []store.Record) error {
		for _, inst := range list {
			if !m.scheduled.mayTry(inst.ID) {
				continue
			}
			if err := m.scheduleSnapshot(ctx, inst.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

// scheduleSnapshot starts a snapshot of an instance if one is due. Until it may be due again, the instance is passed over.
func (m *Manager) scheduleSnapshot(ctx context.Context, instanceID string) error {
	every := m.cfg.SnapshotPolicy.Every
	list, err := m.records.snapshotsOf(ctx, instanceID)
	if err != nil {
		return err
	}
	for _, rec := range list {
		if rest := every - time.Since(rec.Snapshot.CreationStartedAt); rec.Cause == SnapshotScheduled && rest > 0 {
			m.scheduled.rest(instanceID, rest)
			return nil
		}
	}
	opID, err := m.beginScheduled(ctx, instanceID)
	switch {
	case err == nil:
		m.scheduled.rest(instanceID, every/retriesOf)
		m.cfg.Logger.InfoContext(ctx, "a scheduled snapshot is taken", "operation", opID, "instance", instanceID)
	case ctx.Err() != nil, errors.Is(err, ErrStore), errors.Is(err, ErrShutdown):
		return err
	case errors.Is(err, ErrConflict), errors.Is(err, ErrNotFound): // another operation has locked the instance, or has removed it
	default: // such as an instance of a driver that is no Snapshotter, or one that is stopped
		m.scheduled.rest(instanceID, every/retriesOf)
		m.cfg.Logger.DebugContext(ctx, "no scheduled snapshot", "instance", instanceID, "error", err)
	}
	return nil
}

// beginScheduled begins a CREATE_SNAPSHOT without a request.
func (m *Manager) beginScheduled(ctx context.Context, instanceID string) (opID string, err error) {
	rec := snapshotRecord{ID: m.cfg.NewID(), Instance: instanceID, Cause: SnapshotScheduled}
	return m.begin(ctx, instanceID, OpCreateSnapshot, CreateVnfSnapshotRequest{VnfSnapshotInfoID: rec.ID}, func(inst *instanceRecord, op *operationRecord) {
		op.Occ.IsAutomaticInvocation = true
		op.accepting = func(b *store.Batch) error {
			rec.Tenant, rec.Operation = inst.Tenant, op.Occ.ID
			record, err := m.records.Seal(kindSnapshot, rec.ID, 0, rec)
			b.Put = append(b.Put, record)
			return err
		}
	})
}

// pruneAll removes the snapshots of all instances that the policy does not keep, also of instances that are terminated or deleted. It leaves
// out instances that an operation has locked.
func (m *Manager) pruneAll(ctx context.Context) error {
	seen := map[string]bool{}
	err := m.records.EachPage(ctx, store.Query{Kind: kindSnapshot, States: []string{snapshotTaken}, Limit: lookPage}, func(list []store.Record) error {
		for _, stored := range list {
			seen[stored.Index.Instance] = true
		}
		return nil
	})
	for instanceID := range seen {
		inst, version, errInst := m.instance(ctx, instanceID)
		switch {
		case errInst == nil && inst.Holder == "", errors.Is(errInst, ErrNotFound):
			instantiated := errInst == nil && inst.Instance.InstantiationState == Instantiated
			err = errors.Join(err, m.snapshotRemover(inst, version).prune(ctx, instanceID, instantiated))
		case errInst != nil:
			err = errors.Join(err, errInst)
		}
	}
	return err
}
