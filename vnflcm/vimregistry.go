package vnflcm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// VIM is an entry of the registry of VIMs as clients of an API manage it.
type VIM struct {
	VimConnectionInfo
	// Name is what a client has given, else the vim_name of the operation that has made the cluster, else the vimId. Names that clients give
	// are unique for the tenant that owns the entry.
	Name        string
	Description string
	IsDefault   bool      // for the type, of the tenant that asks; of the owner if all tenants are asked for
	CreatedAt   time.Time // zero: not registered by Register
	UpdatedAt   time.Time // by Change; zero if not changed
	Source      string    // of KnownVIMs, if they have the entry; see Config.KnownVIMsSource
	Cluster     string    // the VNF instance whose operation has registered the entry; "" for the entries of the program and of Register
}

// VIMRegistry manages the registry of VIMs in the Store for clients of an API. A tenant sees the entries that it may use, and changes its
// own. The tenant "" stands for a client that sees and changes all entries. With a registry of the caller (Config.VIMs) its methods return
// ErrNotSupported.
//
// An entry that Register or Change has written is not the operator's (VimConnectionInfo.FromOperator): drivers connect to its addresses as
// their policy allows. An operator's entry whose login alone is changed remains one.
type VIMRegistry struct{ m *Manager }

// VIMRegistry returns the registry for clients of an API.
func (m *Manager) VIMRegistry() VIMRegistry { return VIMRegistry{m} }

// The limits of an entry that a client registers.
const (
	maxVIMs           = 200 // of an owner, registered or named by clients
	maxVIMName        = 255 // bytes
	maxVIMDescription = 1024
)

// registeredByAPI is vimRecord.Instance of an entry that Register or Change has written. No instance has this id. Earlier versions take it for
// the id of one, and keep it.
const registeredByAPI = "/vims"

func (r VIMRegistry) stored() (*storeVIMs, error) {
	own, stored := r.m.vims.(*storeVIMs)
	if !stored {
		return nil, fmt.Errorf("%w: the registry of VIMs is the program's own", ErrNotSupported)
	}
	return own, nil
}

// List returns the entries that a tenant may use, in the order of their ids; all entries for "". An ErrUnreadable comes with the entries that
// can be read.
func (r VIMRegistry) List(ctx context.Context, tenant string) ([]*VIM, error) {
	v, err := r.stored()
	if err != nil {
		return nil, err
	}
	list, err := v.all(ctx)
	if err != nil && !errors.Is(err, ErrUnreadable) {
		return nil, err
	}
	noted, errNotes := v.allNotes(ctx)
	out := []*VIM{}
	for _, rec := range list {
		if tenant != "" && !rec.entry().UsableBy(tenant) {
			continue
		}
		shown := rec.shown(noted[notesID(rec.Owner)][rec.VimID])
		var errDefault error
		if shown.IsDefault, errDefault = v.isDefault(ctx, tenant, rec); errDefault != nil {
			return nil, errDefault
		}
		out = append(out, shown)
	}
	if errNotes != nil && !errors.Is(errNotes, ErrUnreadable) {
		return nil, errNotes
	}
	return out, errors.Join(err, errNotes)
}

// InUse counts the VNF instances on entries that a tenant sees, by vimId. On the entries of other owners it counts those of the tenant alone.
func (r VIMRegistry) InUse(ctx context.Context, tenant string, list []*VIM) (map[string]int, error) {
	out, seen := map[string]int{}, map[string]*VIM{}
	for _, vim := range list {
		seen[vim.VimID] = vim
	}
	err := r.m.records.EachPage(ctx, store.Query{Kind: kindInstance}, func(page []store.Record) error {
		for _, stored := range page {
			inst := new(instanceRecord)
			if r.m.records.Open(stored, inst) != nil {
				continue // as in usersOf
			}
			vim := seen[inst.vimID()]
			if vim != nil && inst.isOnEntryOf(vim.Tenant) && (tenant == "" || tenant == vim.Tenant || tenant == inst.Tenant) {
				out[vim.VimID]++
			}
		}
		return nil
	})
	return out, err
}

// isDefault reports whether an entry is the default of a tenant for its type; of its owner for "".
func (v *storeVIMs) isDefault(ctx context.Context, tenant string, rec vimRecord) (bool, error) {
	vimID, err := v.defaultIDOf(ctx, cmp.Or(tenant, rec.Owner), rec.VimType)
	return vimID == rec.VimID, ignoreUnreadable(ignoreNotFound(err))
}

// Get returns an entry that a tenant may use, any entry for "". For others it returns ErrNotFound, as for an unknown id.
func (r VIMRegistry) Get(ctx context.Context, tenant, vimID string) (*VIM, error) {
	v, err := r.stored()
	if err != nil {
		return nil, err
	}
	rec, _, err := v.visible(ctx, tenant, vimID)
	if err != nil {
		return nil, err
	}
	return v.shown(ctx, tenant, rec)
}

// visible reads an entry that a tenant may use.
func (v *storeVIMs) visible(ctx context.Context, tenant, vimID string) (vimRecord, int64, error) {
	rec, version, err := v.read(ctx, vimID)
	if err == nil && tenant != "" && !rec.entry().UsableBy(tenant) {
		err = fmt.Errorf("VIM %q: %w", vimID, ErrNotFound)
	}
	return rec, version, err
}

// shown completes an entry for a tenant.
func (v *storeVIMs) shown(ctx context.Context, tenant string, rec vimRecord) (*VIM, error) {
	notes, _, err := v.notes(ctx, rec.Owner)
	if err != nil {
		return nil, err
	}
	out := rec.shown(notes[rec.VimID])
	out.IsDefault, err = v.isDefault(ctx, tenant, rec)
	return out, err
}

func (rec vimRecord) shown(note vimNote) *VIM {
	out := &VIM{VimConnectionInfo: rec.entry(), Name: rec.name(note), Description: note.Description,
		CreatedAt: note.Created, UpdatedAt: note.Updated, Source: note.Source}
	if rec.Instance != registeredByAPI {
		out.Cluster = rec.Instance
	}
	return out
}

// VIMRequest is what a client gives of an entry. Of Change, what is nil or zero stays as it is.
type VIMRequest struct {
	Name        *string
	Description *string
	IsDefault   *bool
	Share       *Share
	// Connection has the type and the attributes. Of Change, an attribute replaces that of the entry, null removes it, and the type must be
	// the entry's. If an attribute other than the login changes, the login must be given, and nothing of the former login is used.
	Connection VimConnectionInfo
	// Unchecked skips the check by the driver of a new or changed connection (VIMChecker).
	Unchecked bool
}

// Register adds an entry for an owner, whose id is chosen. Without Share it is shared as VIMs.Put says. ErrConflict: the owner has a VIM of
// this name, or another default of this type. ErrState: the owner has 200 VIMs. *ParamError for each fault of the attributes, also if the driver
// of the type finds that the VIM does not answer or refuses the login. ErrBusy: the drivers check many VIMs at the moment.
func (r VIMRegistry) Register(ctx context.Context, owner string, req VIMRequest) (*VIM, error) {
	v, err := r.stored()
	if err != nil {
		return nil, err
	}
	info := req.Connection
	info.ID, info.VimID, info.Tenant, info.FromOperator, info.Share = r.m.cfg.NewID(), "", owner, false, cmp.Or(req.Share, &Share{All: owner == ""})
	info.VimID = info.ID
	if info.VimType == "" {
		return nil, &ParamError{Path: "vimType", Reason: "is required"}
	}
	if err := errors.Join(req.check(), info.checkEntry()); err != nil {
		return nil, err
	}
	if err := r.check(ctx, info, req.Unchecked); err != nil {
		return nil, err
	}
	rec := vimRecord{info, registeredByAPI, owner, info.Share}
	err = v.records.Update(ctx, func(ctx context.Context, b *store.Batch) error {
		record, err := v.records.Seal(kindVIM, info.VimID, 0, rec)
		b.Put = append(b.Put, record)
		return errors.Join(err, v.note(ctx, b, rec, req, true), v.noteDefault(ctx, b, owner, rec, req.IsDefault))
	})
	if err != nil {
		return nil, err
	}
	return v.shown(ctx, owner, rec)
}

// check finds the faults of the names.
func (req VIMRequest) check() error {
	return errors.Join(checkLength("name", req.Name, maxVIMName), checkLength("description", req.Description, maxVIMDescription))
}

func checkLength(path string, text *string, most int) error {
	if text == nil || len(*text) <= most {
		return nil
	}
	return &ParamError{Path: path, Reason: fmt.Sprintf("is longer than %d bytes", most)}
}

// note adds to b the names of an entry, and that it is new or was changed.
func (v *storeVIMs) note(ctx context.Context, b *store.Batch, rec vimRecord, req VIMRequest, isNew bool) error {
	notes, version, err := v.notes(ctx, rec.Owner)
	if err != nil {
		return err
	}
	note, noted := notes[rec.VimID]
	if !noted && len(notes) >= maxVIMs {
		if err := v.removeUnused(ctx, rec.Owner, notes); err != nil {
			return err
		}
	}
	if !noted && len(notes) >= maxVIMs {
		return fmt.Errorf("%w: there are %d VIMs: delete some first", ErrState, len(notes))
	}
	if req.Name != nil && *req.Name != "" {
		taken, err := v.withName(ctx, rec.Owner, *req.Name, notes)
		if err != nil {
			return err
		}
		if taken != "" && taken != rec.VimID {
			return fmt.Errorf("%w: the VIM %s has the name %q", ErrConflict, taken, *req.Name)
		}
	}
	if req.Name != nil {
		note.Name = *req.Name
	}
	if req.Description != nil {
		note.Description = *req.Description
	}
	if now := time.Now().UTC().Truncate(time.Second); isNew {
		note.Created = now
	} else {
		note.Updated = now
	}
	notes[rec.VimID] = note
	return v.putNotes(b, rec.Owner, version, notes)
}

// noteDefault adds to b that an entry is, or is not, the default of a tenant for its type. Another default stays: ErrConflict.
func (v *storeVIMs) noteDefault(ctx context.Context, b *store.Batch, tenant string, rec vimRecord, isDefault *bool) error {
	if isDefault == nil {
		return nil
	}
	now, err := v.defaultIDOf(ctx, tenant, rec.VimType)
	switch {
	case err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrUnreadable):
		return err
	case *isDefault && now == rec.VimID, !*isDefault && now != rec.VimID:
		return nil
	case !*isDefault:
		return v.dropDefault(ctx, b, tenant, rec.VimType, "")
	}
	if _, _, err = v.visible(ctx, tenant, now); err == nil {
		return fmt.Errorf("%w: the VIM %s is the default of the type %s: make it no default first", ErrConflict, now, rec.VimType)
	}
	if !errors.Is(err, ErrNotFound) {
		return err
	}
	return v.putDefault(ctx, b, tenant, rec.VimConnectionInfo)
}
