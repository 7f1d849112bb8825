package vnflcm

import (
	"context"
	"errors"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm/internal/ledger"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// AbandonedInstance lists what may be left of a VNF instance that Manager.Abandon has given up.
type AbandonedInstance struct {
	Time time.Time   `json:"time"` // of Abandon
	VNF  VNFIdentity `json:"vnf"`
	// VIM names the VIM that the resources are on: only its ids and its type.
	VIM VimConnectionInfo `json:"vim,omitzero"`
	// Resources are the last ones that the VIM reported: servers, ports, networks and volumes with their ids, and in
	// Metadata the values of the InfraDriver, for example the id of the stack. Resources of a failed operation may be
	// missing.
	Resources Resources `json:"resources,omitzero"`
	// RegisteredVIMs are the entries that the instance has in the registry of VIMs. Abandon leaves them there.
	RegisteredVIMs []string `json:"registeredVims,omitempty"`
}

// abandonedRecord is the stored form of an AbandonedInstance.
type abandonedRecord AbandonedInstance

func (a abandonedRecord) Index() store.Index {
	return store.Index{Instance: a.VNF.InstanceID, VNFD: a.VNF.VnfdID, Start: a.Time.UnixNano()}
}

// Abandon removes a VNF instance from the Store and leaves its resources unchanged: for an instance whose VIM no longer
// exists, so that it can be neither terminated nor deleted. It returns the resources that may be left; Abandoned
// returns them later. An operation of the instance in FAILED_TEMP is failed first, as by Fail. Abandon returns
// ErrConflict while a process works on an operation of the instance or is about to take one up, and ErrNotFound if the
// instance does not exist.
func (m *Manager) Abandon(ctx context.Context, instanceID string) (*AbandonedInstance, error) {
	if err := m.failHolder(ctx, instanceID); err != nil {
		return nil, err
	}
	var left AbandonedInstance
	err := m.records.Update(ctx, func(ctx context.Context, b *store.Batch) error {
		inst, version, err := m.instance(ctx, instanceID)
		if err != nil {
			return err
		}
		if err := m.dropLostHolder(ctx, b, inst); err != nil {
			return err
		}
		left = inst.remains()
		b.Delete = append(b.Delete, store.Record{Kind: kindInstance, ID: instanceID, Version: version})
		for _, vimID := range left.RegisteredVIMs {
			if err := m.records.Put(ctx, b, kindRemovedVIM, vimID, removedVIM{Instance: instanceID}); err != nil {
				return err
			}
		}
		return errors.Join(m.records.DropAll(ctx, b, kindState, instanceID+"/"), m.records.dropEvidence(ctx, b, instanceID+"/"), m.records.Drop(ctx, b, kindExpiry, instanceID), m.records.Drop(ctx, b, kindPackageUse, instanceID), m.records.Put(ctx, b, kindAbandoned, instanceID, abandonedRecord(left)),
			m.records.appendChange(b, InstanceDeleted, left.VNF, nil))
	})
	if err != nil {
		return nil, err
	}
	return &left, nil
}

// PlanAbandon returns what Abandon would return now, and changes nothing. Errors are those of Abandon.
func (m *Manager) PlanAbandon(ctx context.Context, instanceID string) (*AbandonedInstance, error) {
	inst, _, err := m.instance(ctx, instanceID)
	if err != nil {
		return nil, err
	}
	if inst.Holder != "" {
		if rec, _, err := m.operation(ctx, inst.Holder); ignoreNotFound(err) != nil || err == nil && rec.Occ.OperationState != FailedTemp {
			return nil, m.heldBy(ctx, inst)
		}
	}
	left := inst.remains()
	return &left, nil
}

// Abandoned returns what may be left of all instances that were given up, the oldest first. Records that cannot be read are
// named by the error (ErrUnreadable).
func (m *Manager) Abandoned(ctx context.Context) ([]*AbandonedInstance, error) {
	page, err := listPage(ctx, m.records, store.Query{Kind: kindAbandoned}, "", 0, func(a *AbandonedInstance, _ int64) (*AbandonedInstance, bool) {
		return a, true
	})
	return page.Items, err
}

// failHolder fails the operation in FAILED_TEMP that holds an instance.
func (m *Manager) failHolder(ctx context.Context, instanceID string) error {
	inst, _, err := m.instance(ctx, instanceID)
	if err != nil || inst.Holder == "" {
		return err
	}
	rec, _, err := m.operation(ctx, inst.Holder)
	if err != nil || rec.Occ.OperationState != FailedTemp {
		return ignoreNotFound(err)
	}
	return m.Fail(ctx, inst.Holder)
}

// dropLostHolder adds to b that no process works on the operation that holds the instance, if its record was removed by
// Forget. An operation that has a record keeps the instance: the error is ErrConflict.
func (m *Manager) dropLostHolder(ctx context.Context, b *store.Batch, inst *instanceRecord) error {
	if inst.Holder == "" {
		return nil
	}
	if _, err := m.cfg.Store.Get(ctx, kindOperation, inst.Holder); err == nil {
		return m.heldBy(ctx, inst)
	} else if !errors.Is(err, ErrNotFound) {
		return err
	}
	return errors.Join(m.records.Drop(ctx, b, ledger.KindClaim, inst.Holder), m.records.Drop(ctx, b, kindSuspect, inst.Holder))
}

// remains lists what the instance may leave.
func (rec *instanceRecord) remains() AbandonedInstance {
	left := AbandonedInstance{Time: time.Now().Round(0), VNF: rec.identity(), Resources: rec.Resources, RegisteredVIMs: rec.RegisteredVIMs}
	if list := rec.Instance.VimConnectionInfo.named(); len(list) > 0 {
		left.VIM = VimConnectionInfo{ID: list[0].ID, VimID: list[0].VimID, VimType: list[0].VimType}
	}
	return left
}

func ignoreNotFound(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
