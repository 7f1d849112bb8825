package vnflcm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
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
	// FromOperator says that the operator has put the address into the registry (VIMs.Put): it comes neither from a request nor
	// from an operation that has registered a cluster. The Manager sets it in Operation.VIM. Drivers connect to other addresses
	// as their policy allows: see package outbound.
	FromOperator bool `json:"-"`
}

// VimConnections is a list, as SOL003 v2.6.1 has it; the map of v3.3.1 is read too.
type VimConnections []VimConnectionInfo

// UnmarshalJSON implements json.Unmarshaler.
func (c *VimConnections) UnmarshalJSON(data []byte) error {
	return unmarshalList(data, (*[]VimConnectionInfo)(c), c.asList)
}

func (*VimConnections) asList(tree any) any { return idKeyed(tree, "id") }

// VIMs is the registry of VIMs, by vimId. The Manager keeps one in its Store, unless Config.VIMs has the caller's.
type VIMs interface {
	// Get returns ErrNotFound for an unknown id.
	Get(ctx context.Context, vimID string) (VimConnectionInfo, error)
	// Put adds or replaces the entry of info.VimID.
	Put(ctx context.Context, info VimConnectionInfo) error
	// Remove forgets an entry; a missing entry is no error. The registry in the Store logs a warning that names the VNF
	// instances on the VIM.
	Remove(ctx context.Context, vimID string) error
	// Default returns the VIM of that type for requests that name none, or ErrNotFound.
	Default(ctx context.Context, vimType string) (VimConnectionInfo, error)
	// SetDefault makes a registered VIM the default of its type.
	SetDefault(ctx context.Context, vimID string) error
}

// storeVIMs keeps the registry in the Store, sealed like everything else.
type storeVIMs struct {
	records *records
	log     *slog.Logger
}

// vimRecord is an entry of the registry.
type vimRecord struct {
	VimConnectionInfo
	Instance string `json:"instance,omitempty"` // whose operation has registered the entry; empty: the operator has
}

func (v *storeVIMs) Get(ctx context.Context, vimID string) (VimConnectionInfo, error) {
	var rec vimRecord
	if _, err := v.records.get(ctx, kindVIM, vimID, &rec); err != nil {
		return rec.VimConnectionInfo, fmt.Errorf("VIM %q: %w", vimID, err)
	}
	rec.FromOperator = rec.Instance == ""
	return rec.VimConnectionInfo, nil
}

func (v *storeVIMs) Put(ctx context.Context, info VimConnectionInfo) error {
	return v.records.update(ctx, func(ctx context.Context, b *Batch) error { return v.put(ctx, b, info, "") })
}

// put adds to b that the entry is added or replaced, by an operation of an instance unless that is empty.
func (v *storeVIMs) put(ctx context.Context, b *Batch, info VimConnectionInfo, instance string) error {
	if err := info.checkEntry(); err != nil {
		return err
	}
	return v.records.put(ctx, b, kindVIM, info.VimID, vimRecord{info, instance})
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
func (v *storeVIMs) replace(ctx context.Context, b *Batch, was, info VimConnectionInfo) error {
	var now vimRecord
	version, err := v.records.get(ctx, kindVIM, was.VimID, &now)
	if errors.Is(err, ErrNotFound) || err == nil && !now.equal(was) {
		return errEntryChanged
	}
	if err != nil {
		return err
	}
	record, err := v.records.sealed(kindVIM, was.VimID, version, vimRecord{info, now.Instance})
	b.Put = append(b.Put, record)
	return errors.Join(err, info.checkEntry())
}

func (v *storeVIMs) Remove(ctx context.Context, vimID string) error {
	if err := v.records.warnOfUsers(ctx, v.log, vimID); err != nil {
		return err
	}
	return v.records.update(ctx, func(ctx context.Context, b *Batch) error {
		return v.records.drop(ctx, b, kindVIM, vimID)
	})
}

func (v *storeVIMs) Default(ctx context.Context, vimType string) (VimConnectionInfo, error) {
	var vimID string
	if _, err := v.records.get(ctx, kindVIMDefault, vimType, &vimID); err != nil {
		return VimConnectionInfo{}, fmt.Errorf("default VIM of type %q: %w", vimType, err)
	}
	return v.Get(ctx, vimID)
}

func (v *storeVIMs) SetDefault(ctx context.Context, vimID string) error {
	info, err := v.Get(ctx, vimID)
	if err != nil {
		return err
	}
	return v.records.update(ctx, func(ctx context.Context, b *Batch) error {
		return v.records.put(ctx, b, kindVIMDefault, info.VimType, vimID)
	})
}

// resolveVIM completes the VIM of a request.
func resolveVIM(ctx context.Context, vims VIMs, named VimConnections, types []string) (VimConnectionInfo, vimForm, error) {
	if len(named) == 0 {
		vim, err := defaultVIM(ctx, vims, types)
		return vim, vimByName, err
	}
	return resolveEntry(ctx, vims, "vimConnectionInfo[0]", named[0]) // SOL003 lets a VNF span VIMs; Tacker uses the first too
}

// resolveEntry completes one entry of a request. Its faults begin with path.
func resolveEntry(ctx context.Context, vims VIMs, path string, given VimConnectionInfo) (VimConnectionInfo, vimForm, error) {
	given.FromOperator = false
	isWhole := given.VimType != "" && !given.AccessInfo.IsZero()
	if given.VimID == "" {
		if !isWhole {
			return given, "", &ParamError{Path: path + ".vimId", Reason: "is required unless vimType and accessInfo are given"}
		}
		return given, vimComplete, nil
	}
	known, err := vims.Get(ctx, given.VimID)
	switch {
	case errors.Is(err, ErrNotFound) && isWhole:
		return given, vimComplete, nil
	case errors.Is(err, ErrNotFound):
		return given, "", &ParamError{Path: path + ".vimId", Value: given.VimID,
			Reason: "is no registered VIM: register it, or give vimType, interfaceInfo and accessInfo in the request"}
	case err != nil:
		return given, "", err
	case given.VimType == vimTypeHelm && known.forCharts():
		known.VimType = vimTypeHelm
	}
	known.FromOperator = fromOperator(vims, known)
	vim, form, err := combineVIM(path, known, given)
	if err == nil && form != vimComplete && given.VimType != "" && given.VimType != known.VimType {
		err = &ParamError{Path: path + ".vimType", Value: given.VimType,
			Reason: fmt.Sprintf("the VIM %s is registered as %s", given.VimID, known.VimType)}
	}
	return vim, form, err
}

// fromOperator reports whether the operator has put an entry into the registry. A registry of the caller is the operator's.
func fromOperator(vims VIMs, known VimConnectionInfo) bool {
	_, stored := vims.(*storeVIMs)
	return !stored || known.FromOperator
}

// checkFurther returns the type of an entry beyond the first, which no driver uses yet. Its faults begin with path.
func checkFurther(ctx context.Context, vims VIMs, path string, given VimConnectionInfo) (vimType string, err error) {
	known, err := vims.Get(ctx, given.VimID)
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

// vimTypeHelm is the type of a VIM in requests for charts (version 2 of Tacker's API).
const vimTypeHelm = "ETSINFV.HELM.V_3"

// forCharts reports whether an entry of the type kubernetes is a VIM for charts. Tacker's registry has no type for them: it
// marks the entry.
func (v VimConnectionInfo) forCharts() bool {
	var extra struct {
		UseHelm bool `json:"use_helm"`
	}
	_, err := v.Extra.Decode(&extra)
	return err == nil && extra.UseHelm && v.VimType == "kubernetes"
}

// overlayVIM returns known with the attributes of given, as a merge patch. Both must come from the same sender.
func overlayVIM(known, given VimConnectionInfo) (VimConnectionInfo, error) {
	var errs [3]error
	if given.ID != "" {
		known.ID = given.ID
	}
	known.FromOperator = false
	known.InterfaceInfo, errs[0] = known.InterfaceInfo.Merge(given.InterfaceInfo)
	known.AccessInfo, errs[1] = known.AccessInfo.Merge(given.AccessInfo)
	known.Extra, errs[2] = known.Extra.Merge(given.Extra)
	return known, errors.Join(errs[:]...)
}

func defaultVIM(ctx context.Context, vims VIMs, types []string) (VimConnectionInfo, error) {
	var found []VimConnectionInfo
	for _, vimType := range types {
		info, err := vims.Default(ctx, vimType)
		info.FromOperator = fromOperator(vims, info)
		switch {
		case err == nil:
			found = append(found, info)
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
