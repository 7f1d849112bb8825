package vnflcm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// storeVIMs keeps the registry in the Store, sealed like everything else.
type storeVIMs struct {
	records *records
	log     *slog.Logger

	mu     sync.Mutex
	known  registrants // see registrants
	warned string      // the latest warning about records that cannot be read
}

// vimRecord is the stored form of an entry of the registry.
type vimRecord struct {
	VimConnectionInfo
	// Instance is the VNF instance whose operation has registered the entry, or registeredByAPI; empty: the operator has.
	Instance string `json:"instance,omitempty"`
	Owner    string `json:"tenant,omitempty"`
	// Sharing is nil in records of versions without tenants. If the owner of the entry cannot be found out, it stays nil: only instances
	// without tenant may use the entry then, and "" counts as its owner.
	Sharing *Share `json:"share,omitempty"`
}

// entry returns the entry with its owner.
func (rec vimRecord) entry() VimConnectionInfo {
	out := rec.VimConnectionInfo
	out.FromOperator, out.Tenant, out.Share = rec.Instance == "" && rec.Owner == "", rec.Owner, cmp.Or(rec.Sharing, new(Share))
	return out
}

// holding returns the record with another connection.
func (rec vimRecord) holding(info VimConnectionInfo) vimRecord {
	rec.VimConnectionInfo = info
	return rec
}

// read returns the record of an entry with its owner, and its version.
func (v *storeVIMs) read(ctx context.Context, vimID string) (rec vimRecord, version int64, err error) {
	if version, err = v.records.Get(ctx, kindVIM, vimID, &rec); err == nil {
		rec, err = v.withOwner(ctx, rec, v.registrants)
	}
	if err != nil {
		return vimRecord{}, version, fmt.Errorf("VIM %q: %w", vimID, err)
	}
	return rec, version, nil
}

// withOwner completes a record of a version without tenants. An entry that an operation has registered belongs to the tenant of its
// instance and is not shared. The entries of the operator are shared with all. An entry whose instance cannot be found out because of a
// damaged record is left as it is: see vimRecord.Sharing.
func (v *storeVIMs) withOwner(ctx context.Context, rec vimRecord, find findRegistrants) (vimRecord, error) {
	if rec.Sharing != nil {
		return rec, nil
	}
	instance := rec.Instance
	if instance == "" { // the operator has put the entry, or a version that did not store the instance
		known, err := find(ctx)
		if err != nil {
			return rec, err
		}
		instance = known.instances[rec.VimID]
		if instance == "" && known.unread != nil {
			return rec, nil
		}
	}
	if instance == "" {
		rec.Sharing = &Share{All: true}
		return rec, nil
	}
	owner, err := v.records.tenantOf(ctx, instance)
	if err == nil {
		rec.Instance, rec.Owner, rec.Sharing = instance, owner, &Share{}
	}
	return rec, ignoreUnreadable(err)
}

func ignoreUnreadable(err error) error {
	if errors.Is(err, ErrUnreadable) {
		return nil
	}
	return err
}

// tenantOf returns the tenant of an instance. An instance that is missing has none, unless it was abandoned.
func (r *records) tenantOf(ctx context.Context, instanceID string) (string, error) {
	var inst instanceRecord
	_, err := r.Get(ctx, kindInstance, instanceID, &inst)
	if !errors.Is(err, ErrNotFound) {
		return inst.Tenant, err
	}
	var left AbandonedInstance
	_, err = r.Get(ctx, kindAbandoned, instanceID, &left)
	return left.VNF.Tenant, ignoreNotFound(err)
}

// registrants are the VNF instances that have registered entries.
type registrants struct {
	instances map[string]string // by VIM
	unread    error             // names the records that cannot be read
}

type findRegistrants func(context.Context) (registrants, error)

// registrants finds the instances that have registered entries. From format 2 on every writer stores the instance in the entry, so they are
// searched once. While the store has format 1, processes of the version before may register entries.
func (v *storeVIMs) registrants(ctx context.Context) (found registrants, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.known.instances != nil {
		return v.known, nil
	}
	format, _, err := v.records.ReadFormat(ctx)
	if err = ignoreUnreadable(err); err == nil {
		found, err = v.records.registrants(ctx)
	}
	if err != nil {
		return registrants{}, err
	}
	switch {
	case found.unread == nil && format.Number > 1:
		v.known = found
	case found.unread != nil && found.unread.Error() != v.warned:
		v.warned = found.unread.Error()
		v.log.WarnContext(ctx, "owners of VIMs are not known because of records that cannot be read: the entries without owner can be used without a tenant only", "error", found.unread)
	}
	return found, nil
}

func (r *records) registrants(ctx context.Context) (registrants, error) {
	found := registrants{instances: map[string]string{}}
	for _, kind := range []string{kindHook, kindAbandoned, kindInstance} {
		err := r.EachPage(ctx, store.Query{Kind: kind}, func(list []store.Record) error {
			for _, stored := range list {
				instance, vims, err := r.vimsOf(stored)
				found.unread = errors.Join(found.unread, err)
				for _, vimID := range vims {
					found.instances[vimID] = instance
				}
			}
			return nil
		})
		if err != nil {
			return registrants{}, err
		}
	}
	return found, nil
}

// entry returns an entry of any owner.
func (v *storeVIMs) entry(ctx context.Context, vimID string) (VimConnectionInfo, error) {
	rec, _, err := v.read(ctx, vimID)
	return rec.entry(), err
}

func (v *storeVIMs) Get(ctx context.Context, tenant, vimID string) (VimConnectionInfo, error) {
	info, err := v.entry(ctx, vimID)
	if err == nil && !info.UsableBy(tenant) {
		err = fmt.Errorf("VIM %q: %w", vimID, ErrNotFound)
	}
	if err != nil {
		return VimConnectionInfo{}, err
	}
	return info, nil
}

// List returns the readable entries and an ErrUnreadable that names the other ones.
func (v *storeVIMs) List(ctx context.Context) (out []VimConnectionInfo, err error) {
	list, err := v.all(ctx)
	for _, rec := range list {
		out = append(out, rec.entry())
	}
	return out, err
}

// all returns the records of the readable entries with their owners, and an ErrUnreadable that names the other ones.
func (v *storeVIMs) all(ctx context.Context) (out []vimRecord, err error) {
	var faults []error
	once := sync.OnceValues(func() (registrants, error) { return v.registrants(ctx) })
	find := func(context.Context) (registrants, error) { return once() }
	err = v.records.EachPage(ctx, store.Query{Kind: kindVIM}, func(list []store.Record) error {
		for _, stored := range list {
			var rec vimRecord
			err := v.records.Open(stored, &rec)
			if err != nil {
				faults = append(faults, err)
				continue
			}
			if rec, err = v.withOwner(ctx, rec, find); err != nil {
				return err
			}
			out = append(out, rec)
		}
		return nil
	})
	return out, errors.Join(append(faults, err)...)
}

func (v *storeVIMs) Put(ctx context.Context, info VimConnectionInfo) error {
	share := info.Share
	if share == nil {
		share = &Share{All: info.Tenant == ""}
	}
	return v.records.Update(ctx, func(ctx context.Context, b *store.Batch) error { return v.put(ctx, b, info, share, "") })
}

// put adds to b that the entry is added or replaced, by an operation of an instance unless that is empty. A new entry is shared as by
// share.
func (v *storeVIMs) put(ctx context.Context, b *store.Batch, info VimConnectionInfo, share *Share, instance string) error {
	if err := info.checkEntry(); err != nil {
		return err
	}
	was, version, err := v.read(ctx, info.VimID)
	switch {
	case errors.Is(err, ErrNotFound) && instance == "":
		if err := v.records.Drop(ctx, b, kindRenewal, info.VimID); err != nil { // versions before left it when the entry was removed
			return err
		}
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrUnreadable):
	case err != nil:
		return err
	case was.Owner != info.Tenant:
		return fmt.Errorf("%w: the VIM %q has another owner", ErrConflict, info.VimID)
	case info.Share == nil:
		share = was.Sharing
	}
	if instance == "" && info.equal(was.VimConnectionInfo) { // only the sharing changes
		instance = was.Instance
	}
	record, err := v.records.Seal(kindVIM, info.VimID, version, vimRecord{info, instance, info.Tenant, share})
	b.Put = append(b.Put, record)
	return err
}

// checkEntry returns the reason why the registry cannot store the entry.
func (v VimConnectionInfo) checkEntry() error {
	if v.VimID == "" || v.VimType == "" {
		return errors.New("vnflcm: a VIM needs a vimId and a vimType")
	}
	entry, err := NewParams(v)
	return errors.Join(err, checkUnmasked(entry))
}

// replace adds to b that the entry is replaced, if it is still was; errEntryChanged otherwise.
func (v *storeVIMs) replace(ctx context.Context, b *store.Batch, was, info VimConnectionInfo) error {
	now, version, err := v.read(ctx, was.VimID)
	if errors.Is(err, ErrNotFound) || err == nil && !now.equal(was) {
		return errEntryChanged
	}
	if err != nil {
		return err
	}
	record, err := v.records.Seal(kindVIM, was.VimID, version, now.holding(info))
	b.Put = append(b.Put, record)
	return errors.Join(err, info.checkEntry())
}

func (v *storeVIMs) SetShare(ctx context.Context, tenant, vimID string, share Share) error {
	return v.records.Update(ctx, func(ctx context.Context, b *store.Batch) error {
		rec, version, err := v.read(ctx, vimID)
		if err == nil && rec.Owner != tenant {
			err = fmt.Errorf("VIM %q: %w", vimID, ErrNotFound)
		}
		if err != nil {
			return err
		}
		rec.Sharing = &share
		record, err := v.records.Seal(kindVIM, vimID, version, rec)
		b.Put = append(b.Put, record)
		return err
	})
}

func (v *storeVIMs) Remove(ctx context.Context, tenant, vimID string) error {
	if err := v.records.warnOfUsers(ctx, v.log, tenant, vimID); err != nil {
		return err
	}
	return v.records.Update(ctx, func(ctx context.Context, b *store.Batch) error {
		owned, err := v.drop(ctx, b, tenant, vimID)
		if err != nil || !owned {
			return err
		}
		return v.records.Drop(ctx, b, kindRenewal, vimID)
	})
}

// drop adds to b that an entry of the tenant is removed, or stays missing. It returns false if another tenant has the entry. An entry that
// cannot be read is removed, too.
func (v *storeVIMs) drop(ctx context.Context, b *store.Batch, tenant, vimID string) (owned bool, err error) {
	rec, _, err := v.read(ctx, vimID)
	switch {
	case err == nil && rec.Owner != tenant:
		return false, nil
	case err == nil, errors.Is(err, ErrNotFound), errors.Is(err, ErrUnreadable):
		return true, v.records.Drop(ctx, b, kindVIM, vimID)
	}
	return false, err
}

func (v *storeVIMs) Default(ctx context.Context, tenant, vimType string) (VimConnectionInfo, error) {
	info, err := v.defaultOf(ctx, tenant, tenant, vimType)
	if tenant != "" && errors.Is(err, ErrNotFound) {
		info, err = v.defaultOf(ctx, "", tenant, vimType)
	}
	return info, err
}

// defaultOf returns the default VIM of owner if the tenant may use it.
func (v *storeVIMs) defaultOf(ctx context.Context, owner, tenant, vimType string) (VimConnectionInfo, error) {
	vimID, err := v.defaultIDOf(ctx, owner, vimType)
	if err != nil {
		return VimConnectionInfo{}, fmt.Errorf("default VIM of type %q: %w", vimType, err)
	}
	return v.Get(ctx, tenant, vimID)
}

// defaultIDOf returns the id of the default VIM of owner. Versions that did not know that a type has several names may have stored one
// default for each name: the default of the given name counts, then those of the other names.
func (v *storeVIMs) defaultIDOf(ctx context.Context, owner, vimType string) (vimID string, err error) {
	for _, name := range append([]string{vimType}, VIMTypeNames(vimType)...) {
		if _, err = v.records.Get(ctx, kindVIMDefault, defaultID(owner, name), &vimID); !errors.Is(err, ErrNotFound) {
			return vimID, err
		}
	}
	return "", err
}

// defaultID returns the id of the record that has the default VIM of a tenant. Versions without tenants know those of "".
func defaultID(tenant, vimType string) string {
	if tenant == "" {
		return vimType
	}
	return url.PathEscape(tenant) + "/" + vimType
}

func (v *storeVIMs) SetDefault(ctx context.Context, tenant, vimID string) error {
	info, err := v.Get(ctx, tenant, vimID)
	if err != nil {
		return err
	}
	return v.records.Update(ctx, func(ctx context.Context, b *store.Batch) error { return v.putDefault(ctx, b, tenant, info) })
}

// putDefault adds to b that a VIM is the default of the tenant, under all names of its type.
func (v *storeVIMs) putDefault(ctx context.Context, b *store.Batch, tenant string, info VimConnectionInfo) error {
	if err := v.dropDefault(ctx, b, tenant, info.VimType, info.VimType); err != nil {
		return err
	}
	return v.records.Put(ctx, b, kindVIMDefault, defaultID(tenant, info.VimType), info.VimID)
}

// dropDefault adds to b that the tenant has no default VIM of a type, except for one under the name except.
func (v *storeVIMs) dropDefault(ctx context.Context, b *store.Batch, tenant, vimType, except string) error {
	for _, name := range VIMTypeNames(vimType) {
		if name == except {
			continue
		}
		if err := v.records.Drop(ctx, b, kindVIMDefault, defaultID(tenant, name)); err != nil {
			return err
		}
	}
	return nil
}
