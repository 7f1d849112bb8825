package vnflcm

import (
	"context"
	"errors"
	"slices"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// RegisterVIM puts an entry into the VIM registry and into the instance's vimConnectionInfo: a cluster that
// the VNF has become, for other VNFs to be instantiated on. The entry belongs to the tenant of the instance. A new entry is not shared;
// VIMs.SetShare can share it, and it remains shared when it is registered again. ErrConflict: the entry of this id has another owner. With a registry of the caller's own (Config.VIMs) the two
// are not written at once: that this process still works on the operation is checked just before the registry is called.
func (op *Operation) RegisterVIM(ctx context.Context, info VimConnectionInfo) error {
	return op.RegisterVIMUntil(ctx, info, Validity{})
}

// RegisterVIMUntil is RegisterVIM for an entry whose credentials expire. The Manager calls the driver, which must be a
// VIMRenewer, to renew the entry when half of the validity is over, or when the Manager runs again after that. In a
// hook that package hookrun runs, nothing renews the entry.
func (op *Operation) RegisterVIMUntil(ctx context.Context, info VimConnectionInfo, v Validity) error {
	own, stored := op.vims.(*storeVIMs)
	info.Tenant, info.Share = op.tenant(), nil
	if !stored {
		if err := op.mayCall(ctx); err != nil {
			return err
		}
		if err := putRegistered(ctx, op.vims, info); err != nil {
			return err
		}
	}
	return op.update(ctx, func(ctx context.Context, b *store.Batch) error {
		if stored {
			if err := own.put(ctx, b, info, &Share{}, op.InstanceID); err != nil {
				return err
			}
		}
		if err := errors.Join(op.planRenewal(ctx, b, info.VimID, v), op.records.Drop(ctx, b, kindRemovedVIM, info.VimID)); err != nil {
			return err
		}
		return op.changeInstance(ctx, b, func(i *instanceRecord) { i.register(info) })
	})
}

// putRegistered puts an entry that an operation has registered into a registry of the caller. Only its tenant may use a new entry.
func putRegistered(ctx context.Context, vims VIMs, info VimConnectionInfo) error {
	known, err := vims.Get(ctx, info.Tenant, info.VimID)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	if info.Share = known.Share; info.Share == nil || known.Tenant != info.Tenant {
		info.Share = &Share{}
	}
	return vims.Put(ctx, info)
}

// tenant returns the tenant of the instance, "" in hookrun.
func (op *Operation) tenant() string {
	if op.instance == nil {
		return ""
	}
	return op.instance.Tenant
}

// planRenewal adds to b when the entry of a VIM is to be renewed, or that it is not.
func (op *Operation) planRenewal(ctx context.Context, b *store.Batch, vimID string, v Validity) error {
	switch {
	case op.claim.Guards() == kindHook:
		if v != (Validity{}) {
			op.Log.WarnContext(ctx, "the credentials of the VIM end, and without a Manager nothing renews them", "vim", vimID, "until", v.Until)
		}
		return nil
	case v == Validity{}:
		return op.records.Drop(ctx, b, kindRenewal, vimID)
	}
	return op.records.Put(ctx, b, kindRenewal, vimID, renewal{Instance: op.InstanceID, Driver: op.driver, Params: op.Params, Validity: v})
}

// register notes that the instance has become a VIM.
func (rec *instanceRecord) register(info VimConnectionInfo) {
	rec.Instance.VimConnectionInfo = append(withoutVIM(rec.Instance.VimConnectionInfo, info.VimID), info)
	rec.RegisteredVIMs = append(withoutID(rec.RegisteredVIMs, info.VimID), info.VimID)
}

// RemoveVIM removes the entry from the VIM registry and from the instance's vimConnectionInfo, under the conditions of
// RegisterVIM. A warning in the log names the VNF instances that are on the VIM. Without the entry they cannot be changed; they
// can be terminated when the VNF of the operation is no longer instantiated. The Manager removes the remaining entries of a VNF when its
// machines have been removed.
func (op *Operation) RemoveVIM(ctx context.Context, vimID string) error {
	if op.claim == nil {
		return errReadOnly
	}
	if _, stored := op.vims.(*storeVIMs); !stored {
		if err := op.mayCall(ctx); err != nil {
			return err
		}
		if err := op.vims.Remove(ctx, op.tenant(), vimID); err != nil {
			return err
		}
	}
	err := op.update(ctx, func(ctx context.Context, b *store.Batch) error {
		if err := op.dropEntry(ctx, b, vimID); err != nil {
			return err
		}
		var registered bool
		err := op.changeInstance(ctx, b, func(i *instanceRecord) {
			registered = slices.Contains(i.RegisteredVIMs, vimID)
			i.Instance.VimConnectionInfo = withoutVIM(i.Instance.VimConnectionInfo, vimID)
			i.RegisteredVIMs = withoutID(i.RegisteredVIMs, vimID)
		})
		if err != nil || !registered || op.claim.Guards() == kindHook {
			return err
		}
		return op.records.Put(ctx, b, kindRemovedVIM, vimID, removedVIM{Instance: op.InstanceID})
	})
	if err != nil {
		return err
	}
	return op.records.warnOfUsers(ctx, op.Log, op.tenant(), vimID) // now that no instantiation on the VIM is accepted any more
}

// dropEntry adds to b that an entry is removed from the registry in the Store, and is not renewed. An entry of another tenant stays.
func (op *Operation) dropEntry(ctx context.Context, b *store.Batch, vimID string) error {
	if own, stored := op.vims.(*storeVIMs); stored {
		if owned, err := own.drop(ctx, b, op.tenant(), vimID); err != nil || !owned {
			return err
		}
	}
	return op.planRenewal(ctx, b, vimID, Validity{})
}

// removeVIMs removes the entries that drivers have left in the registry.
func (op *Operation) removeVIMs(ctx context.Context, inst *instanceRecord) error {
	for _, vimID := range inst.RegisteredVIMs {
		if err := op.RemoveVIM(ctx, vimID); err != nil {
			return err
		}
	}
	return nil
}

func withoutVIM(list VimConnections, vimID string) VimConnections {
	var out VimConnections
	for _, v := range list {
		if v.VimID != vimID {
			out = append(out, v)
		}
	}
	return out
}

func withoutID(list []string, id string) []string {
	return slices.DeleteFunc(list, func(other string) bool { return other == id })
}
