package vnflcm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// VimConnectionInfo says how a VIM is reached (SOL003 v2.6.1 4.4.1.6). An entry of a request has one of three forms: the id of a
// registered VIM, with a region at most; the same with a login for its address; or type, address and login of a VIM. Anything between
// is a *ParamError, because registered secrets are used at the registered address only.
type VimConnectionInfo struct {
	ID            string `json:"id,omitempty"`
	VimID         string `json:"vimId,omitempty"`
	VimType       string `json:"vimType,omitempty"`
	InterfaceInfo Params `json:"interfaceInfo,omitzero"`
	AccessInfo    Params `json:"accessInfo,omitzero"`
	Extra         Params `json:"extra,omitzero"`
	// FromOperator says that the operator has put the address into the registry (VIMs.Put without Tenant): it comes neither from a
	// request nor from an operation that has registered a cluster. The Manager sets it in Operation.VIM. Drivers connect to other addresses
	// as their policy allows: see package outbound.
	FromOperator bool `json:"-"`
	// Tenant owns the entry of the registry. "" owns the entries of the operator, and those that operations on instances without
	// tenant have registered. In Operation.VIM it is the owner of the entry that the connection comes from.
	Tenant string `json:"-"`
	// Share says which other tenants may use the entry of the registry: see VIMs.Put for the default, and VIMs.SetShare. Operation.VIM has none.
	Share *Share `json:"-"`
}

// Share says which tenants may use an entry of the registry of VIMs beside its owner. The zero Share means no other tenant.
type Share struct {
	All     bool     `json:"all,omitempty"`
	Tenants []string `json:"tenants,omitempty"` // "" stands for instances without tenant
}

// UsableBy reports whether instances of a tenant may use the entry of the registry; "" stands for instances without tenant.
func (v VimConnectionInfo) UsableBy(tenant string) bool {
	switch {
	case tenant == v.Tenant:
		return true
	case v.Share == nil:
		return v.Tenant == ""
	}
	return v.Share.All || slices.Contains(v.Share.Tenants, tenant)
}

// VimConnections is a list, as SOL003 v2.6.1 has it; the map of v3.3.1 is read too.
type VimConnections []VimConnectionInfo

// UnmarshalJSON implements json.Unmarshaler.
func (c *VimConnections) UnmarshalJSON(data []byte) error {
	return unmarshalList(data, (*[]VimConnectionInfo)(c), c.asList)
}

func (*VimConnections) asList(tree any) any { return idKeyed(tree, "id") }

// VIMs is the registry of VIMs, by vimId: one vimId means the same VIM for every tenant that may use it. The Manager keeps a registry in
// its Store, unless Config.VIMs has the caller's, which keeps Tenant and Share of each entry. A tenant is the Tenant of a VNF instance
// (CreateVnfRequest.Tenant); "" stands for instances without tenant, and for the operator.
type VIMs interface {
	// Get returns an entry that the tenant may use (VimConnectionInfo.UsableBy). For others it returns ErrNotFound, as for an unknown id.
	Get(ctx context.Context, tenant, vimID string) (VimConnectionInfo, error)
	// List returns the entries of all tenants with their owners, in the order of their ids.
	List(ctx context.Context) ([]VimConnectionInfo, error)
	// Put adds or replaces the entry of info.VimID for info.Tenant. Without info.Share an entry that exists remains shared as it is. A
	// new one is shared with all tenants if it has no Tenant, else with none. ErrConflict: the entry of this id has another owner.
	Put(ctx context.Context, info VimConnectionInfo) error
	// SetShare changes which other tenants may use an entry of the tenant, and nothing else: a Put of what was read before would undo a
	// renewal of the credentials since. ErrNotFound: the tenant has no entry of this id.
	SetShare(ctx context.Context, tenant, vimID string, share Share) error
	// Remove forgets an entry of the tenant. A missing entry, also one that has another owner, is no error. The registry in the Store
	// logs a warning that names the VNF instances on the VIM.
	Remove(ctx context.Context, tenant, vimID string) error
	// Default returns the VIM of that type for requests that name none, or ErrNotFound: the tenant's own default, else that of
	// instances without tenant if the tenant may use it. The names of VIMTypeNames are one type.
	Default(ctx context.Context, tenant, vimType string) (VimConnectionInfo, error)
	// SetDefault makes a registered VIM that the tenant may use the tenant's default of its type.
	SetDefault(ctx context.Context, tenant, vimID string) error
}

// vimLookup finds VIMs for a VNF instance: those that its tenant may use, and the one that the instance is on. The instance keeps that one
// when its owner no longer shares it.
type vimLookup struct {
	vims   VIMs
	tenant string
	used   string  // the id of the registered VIM that the instance is on; "" if its VIM is not registered
	owner  *string // of the used one; nil if the instance was made before owners were stored
}

// lookup returns the vimLookup of an instance.
func (m *Manager) lookup(inst *instanceRecord) vimLookup {
	l := vimLookup{vims: m.vims, tenant: inst.Tenant}
	if inst.usesRegistered() {
		l.used, l.owner = inst.vimID(), inst.VIMOwner
	}
	return l
}

// usesRegistered reports whether the resources of the instance are on a registered VIM.
func (rec *instanceRecord) usesRegistered() bool {
	return rec.VIMForm == vimByName || rec.VIMForm == vimWithLogin || rec.VIMForm == "" && rec.Instance.InstantiationState == Instantiated
}

// ownerOf returns the owner of the registered VIM that a connection comes from, nil if it comes from the request alone.
func ownerOf(vim VimConnectionInfo, form vimForm) *string {
	if form != vimByName && form != vimWithLogin {
		return nil
	}
	return &vim.Tenant
}

// get returns an entry, ErrNotFound if the instance may not use it.
func (l vimLookup) get(ctx context.Context, vimID string) (VimConnectionInfo, error) {
	tenant := l.tenant
	if vimID == l.used && vimID != "" {
		own, stored := l.vims.(*storeVIMs)
		if l.owner == nil && stored {
			return own.entry(ctx, vimID)
		}
		if l.owner != nil {
			tenant = *l.owner
		}
	}
	known, err := l.vims.Get(ctx, tenant, vimID)
	if err == nil && known.Tenant != tenant { // the owner's entry was replaced by one that is shared with the owner, perhaps not with the instance
		tenant = l.tenant
	}
	return l.usable(known, tenant, err)
}

// byDefault returns the default VIM of a type.
func (l vimLookup) byDefault(ctx context.Context, vimType string) (VimConnectionInfo, error) {
	known, err := l.vims.Default(ctx, l.tenant, vimType)
	return l.usable(known, l.tenant, err)
}

// usable checks an answer of the registry: a registry of the caller may know no tenants.
func (l vimLookup) usable(known VimConnectionInfo, tenant string, err error) (VimConnectionInfo, error) {
	switch _, stored := l.vims.(*storeVIMs); {
	case err != nil:
		return VimConnectionInfo{}, err
	case !known.UsableBy(tenant):
		return VimConnectionInfo{}, fmt.Errorf("VIM %q: %w", known.VimID, ErrNotFound)
	case !stored:
		known.FromOperator = true // a registry of the caller is the operator's
	}
	return known, nil
}

// resolveVIM completes the VIM of a request.
func resolveVIM(ctx context.Context, vims vimLookup, named VimConnections, types []string) (VimConnectionInfo, vimForm, error) {
	if len(named) == 0 {
		vim, err := defaultVIM(ctx, vims, types)
		return vim, vimByName, err
	}
	return resolveEntry(ctx, vims, "vimConnectionInfo[0]", named[0]) // SOL003 lets a VNF span VIMs; Tacker uses the first too
}

// resolveEntry completes one entry of a request. Its faults begin with path.
func resolveEntry(ctx context.Context, vims vimLookup, path string, given VimConnectionInfo) (VimConnectionInfo, vimForm, error) {
	given.FromOperator, given.Tenant, given.Share = false, "", nil
	isWhole := given.VimType != "" && !given.AccessInfo.IsZero()
	if given.VimID == "" {
		if !isWhole {
			return given, "", &ParamError{Path: path + ".vimId", Reason: "is required unless vimType and accessInfo are given"}
		}
		return given, vimComplete, nil
	}
	known, err := vims.get(ctx, given.VimID)
	switch {
	case errors.Is(err, ErrNotFound) && isWhole:
		return given, vimComplete, nil
	case errors.Is(err, ErrNotFound):
		return given, "", &ParamError{Path: path + ".vimId", Value: given.VimID,
			Reason: "is no registered VIM: register it, or give vimType, interfaceInfo and accessInfo in the request"}
	case err != nil:
		return given, "", err
	}
	known, fits := known.as(given.VimType)
	known.Share = nil
	vim, form, err := combineVIM(path, known, given)
	if err == nil && form != vimComplete && !fits {
		err = &ParamError{Path: path + ".vimType", Value: given.VimType,
			Reason: fmt.Sprintf("the VIM %s is registered as %s", given.VimID, known.VimType)}
	}
	return vim, form, err
}

// checkFurther returns the type of an entry beyond the first, which no driver uses yet. Its faults begin with path.
func checkFurther(ctx context.Context, vims vimLookup, path string, given VimConnectionInfo) (vimType string, err error) {
	known, err := vims.get(ctx, given.VimID)
	switch {
	case errors.Is(err, ErrNotFound) && given.VimType == "":
		return "", &ParamError{Path: path + ".vimType", Reason: "is required for a VIM that is not registered"}
	case errors.Is(err, ErrNotFound):
		return given.VimType, nil
	case err != nil:
		return "", err
	}
	_, _, err = combineVIM(path, known, given)
	return cmp.Or(given.VimType, known.VimType), err
}

// overlayVIM returns known with the attributes of given, as a merge patch. Both must come from the same sender.
func overlayVIM(known, given VimConnectionInfo) (VimConnectionInfo, error) {
	var errs [3]error
	if given.ID != "" {
		known.ID = given.ID
	}
	known.FromOperator, known.Share = false, nil
	known.InterfaceInfo, errs[0] = known.InterfaceInfo.Merge(given.InterfaceInfo)
	known.AccessInfo, errs[1] = known.AccessInfo.Merge(given.AccessInfo)
	known.Extra, errs[2] = known.Extra.Merge(given.Extra)
	return known, errors.Join(errs[:]...)
}

func defaultVIM(ctx context.Context, vims vimLookup, types []string) (VimConnectionInfo, error) {
	var found []VimConnectionInfo
	for _, vimType := range types {
		info, err := vims.byDefault(ctx, vimType)
		info.Share = nil
		switch {
		case err == nil && !slices.ContainsFunc(found, func(other VimConnectionInfo) bool { return other.VimID == info.VimID }): // one type has several names
			found = append(found, info)
		case err == nil:
		case !errors.Is(err, ErrNotFound):
			return VimConnectionInfo{}, err
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return VimConnectionInfo{}, &ParamError{Path: "vimConnectionInfo",
		Reason: fmt.Sprintf("is required: %d of the VIM types %v have a default VIM, one would do", len(found), types)}
}

var _ json.Unmarshaler = (*VimConnections)(nil)
