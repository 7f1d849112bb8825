package vnflcm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// VnfInfoModificationRequest changes attributes of a VNF instance (SOL003 v2.6.1 5.5.2.12). Attributes that are not given
// stay as they are.
type VnfInfoModificationRequest struct {
	VnfInstanceName        *string `json:"vnfInstanceName,omitempty"`
	VnfInstanceDescription *string `json:"vnfInstanceDescription,omitempty"`
	// VnfdID cannot be changed in this way: a value other than that of the instance is refused. ChangeVnfPkg changes it.
	VnfdID string `json:"vnfdId,omitempty"`
	// These three are merge patches (RFC 7396): null removes an attribute.
	VnfConfigurableProperties Params        `json:"vnfConfigurableProperties,omitzero"`
	Extensions                Params        `json:"extensions,omitzero"`
	Metadata                  KeyValuePairs `json:"metadata,omitempty"`
	// VimConnectionInfo has new connections, and changes of those with the same id. interfaceInfo, accessInfo and extra are merge
	// patches for a connection that came with a request; they replace those of a VIM that an operation has registered.
	VimConnectionInfo VimConnections `json:"vimConnectionInfo,omitempty"`
	// VimConnectionInfoDeleteList has the ids of connections to remove. The first connection stays: the VNF is on it.
	VimConnectionInfoDeleteList []string `json:"vimConnectionInfoDeleteList,omitempty"`
	// VnfcInfoModifications changes VNFCs of an instantiated VNF (SOL002 v2.6.1 5.5.2.12).
	VnfcInfoModifications []VnfcInfoModification `json:"vnfcInfoModifications,omitempty"`
	// VnfcInfoModificationsDeleteIDs is refused unless it is empty: a VNFC ends with its machine.
	VnfcInfoModificationsDeleteIDs []string `json:"vnfcInfoModificationsDeleteIds,omitempty"`
}

// Modify starts the change of attributes of a VNF instance (SOL003 v2.6.1 5.4.3.3.4), whether it is instantiated or
// not: for example of credentials that have expired. ifMatch is the Version that the instance must still have
// (ErrPrecondition), "" for any. For an instantiated VNF the hooks modify_information_start and _end run, if the VNFD names
// drivers for them. If vnfConfigurableProperties has a property of a Configurer, Modify starts the maintenance task of this driver, as Maintain
// does, and the properties change at its end; the request then changes nothing else. Other errors are as for Instantiate.
func (m *Manager) Modify(ctx context.Context, instanceID string, req VnfInfoModificationRequest, ifMatch string) (string, error) {
	maintenance, err := m.configuring(ctx, instanceID, req)
	if err != nil {
		return "", err
	}
	if maintenance != nil {
		return m.beginAt(ctx, instanceID, ifMatch, OpModifyInfo, maintenance, nil)
	}
	return m.beginAt(ctx, instanceID, ifMatch, OpModifyInfo, req, nil)
}

// modifyPhase changes the record of the instance; the name is stored.
const modifyPhase = "modify_information"

// planModify finds the faults of a modification.
func (m *Manager) planModify(ctx context.Context, inst *instanceRecord, rec *operationRecord) error {
	req, err := rec.modification()
	if err != nil {
		return err
	}
	before, err := inst.Instance.extent()
	after, errAfter := inst.Instance.extentAfter(req)
	properties, errProperties := inst.modifiedVNFCs(req)
	before.attributes, after.attributes = before.attributes+sizeOf(inst.VNFCProperties), after.attributes+sizeOf(properties)
	if err := errors.Join(err, errAfter, errProperties, after.check(before), inst.checkModification(req), inst.checkStopped(req)); err != nil {
		return err
	}
	if rec.VIMForm, rec.Owner, err = m.modifiedForm(ctx, inst, req); err != nil || inst.Instance.InstantiationState != Instantiated || inst.Stopped {
		return err
	}
	return m.planInPlace(ctx, inst, rec, (*session).checkHooks)
}

// planInPlace records the drivers and the VIM of an operation that changes no resources, and finds its faults.
func (m *Manager) planInPlace(ctx context.Context, inst *instanceRecord, rec *operationRecord, check func(*session) error) error {
	opened, err := m.openPackages(ctx, inst, rec)
	if err != nil {
		return err
	}
	defer opened.close()
	s, err := m.session(ctx, opened, inst, rec, "plan")
	if err != nil {
		return err
	}
	rec.Drivers, rec.VIMType, rec.Began.VIM, rec.Levels = s.driverNames(), s.op.VIM.VimType, inst.vimConnection(), inst.Levels
	return s.masked(check(s))
}

func (rec *operationRecord) modification() (req VnfInfoModificationRequest, err error) {
	if _, is := rec.maintenance(); is {
		return VnfInfoModificationRequest{VnfConfigurableProperties: rec.configuration()}, nil
	}
	err = json.Unmarshal(rec.Occ.OperationParams.Reveal(), &req)
	return req, err
}

// checkModification finds the parts of the request that the instance does not allow.
func (rec *instanceRecord) checkModification(req VnfInfoModificationRequest) error {
	var faults []error
	refuse := func(path, value, reason string) {
		faults = append(faults, &ParamError{Path: path, Value: value, Reason: reason})
	}
	if req.VnfdID != "" && req.VnfdID != rec.Instance.VnfdID {
		reason := "cannot be changed: make another instance"
		if rec.Instance.InstantiationState == Instantiated {
			reason = "is changed by the task change_vnfpkg of version 2 (Manager.ChangeVnfPkg), which changes the resources too"
		}
		refuse("vnfdId", req.VnfdID, reason)
	}
	known := rec.Instance.VimConnectionInfo.named()
	for i, v := range req.VimConnectionInfo {
		path := fmt.Sprintf("vimConnectionInfo[%d]", i)
		n := known.find(v.connection())
		switch {
		case n < 0 && v.VimType == "":
			refuse(path+".vimType", "", "is required for a new connection")
		case n >= 0 && v.VimType != "" && !sameVIMType(v.VimType, known[n].VimType):
			refuse(path+".vimType", v.VimType, "cannot be changed: the connection is of type "+known[n].VimType)
		case n >= 0 && v.VimID != "" && known[n].VimID != "" && v.VimID != known[n].VimID:
			refuse(path+".vimId", v.VimID, "cannot be changed: the connection is to "+known[n].VimID)
		}
	}
	for i, id := range req.VimConnectionInfoDeleteList {
		path := fmt.Sprintf("vimConnectionInfoDeleteList[%d]", i)
		switch n := known.find(id); {
		case n < 0:
			refuse(path, id, "no such connection")
		case n == 0 && rec.Instance.InstantiationState == Instantiated:
			refuse(path, id, "cannot be removed: the resources of the VNF are on it")
		}
	}
	return errors.Join(append(faults, rec.checkVNFCs(req)...)...)
}

// modifiedForm returns the form of the first connection after a modification of connections, and the owner of the registered VIM that it
// uses; the form is "" if the request changes none. An entry that mixes an address of the request with a registered login is a fault.
func (m *Manager) modifiedForm(ctx context.Context, inst *instanceRecord, req VnfInfoModificationRequest) (form vimForm, owner *string, err error) {
	if !req.changesConnections() {
		return "", nil, nil
	}
	list, err := inst.modifiedConnections(req)
	if err != nil {
		return "", nil, err
	}
	var faults []error
	lookup := m.lookup(inst)
	for i, v := range list {
		if slices.Contains(inst.RegisteredVIMs, v.VimID) && req.VimConnectionInfo.named().find(v.ID) < 0 {
			continue // the entry that an operation has registered, whole
		}
		path := fmt.Sprintf("vimConnectionInfo[%d]", i)
		if i == 0 && inst.Instance.InstantiationState == Instantiated {
			var vim VimConnectionInfo
			vim, form, err = resolveEntry(ctx, lookup, path, v)
			owner = ownerOf(vim, form)
		} else {
			_, err = checkFurther(ctx, lookup, path, v)
		}
		faults = append(faults, err)
	}
	return form, owner, errors.Join(faults...)
}

func (req VnfInfoModificationRequest) changesConnections() bool {
	return len(req.VimConnectionInfo)+len(req.VimConnectionInfoDeleteList) > 0
}

// modifiedConnections returns the connections after a modification. A change is merged into an entry of an earlier request. An entry that
// an operation has registered holds secrets of the VNF, so a change replaces it whole.
func (rec *instanceRecord) modifiedConnections(req VnfInfoModificationRequest) (VimConnections, error) {
	list := rec.Instance.VimConnectionInfo.named()
	for _, v := range req.VimConnectionInfo {
		n := list.find(v.connection())
		switch {
		case n < 0:
			list = append(list, v)
		case slices.Contains(rec.RegisteredVIMs, list[n].VimID):
			v.ID, v.VimID, v.VimType = list[n].ID, list[n].VimID, list[n].VimType
			list[n] = v
		default:
			var err error
			if list[n], err = overlayVIM(list[n], v); err != nil {
				return nil, err
			}
		}
	}
	return slices.DeleteFunc(list, func(v VimConnectionInfo) bool { return slices.Contains(req.VimConnectionInfoDeleteList, v.ID) }), nil
}

// find returns the place of a connection in a list that is named; -1 if it is not there.
func (c VimConnections) find(id string) int {
	return slices.IndexFunc(c, func(v VimConnectionInfo) bool { return v.ID == id })
}

// modify makes the changes that checkModification allows. form and owner are the results of modifiedForm.
func (rec *instanceRecord) modify(req VnfInfoModificationRequest, form vimForm, owner *string) error {
	inst := &rec.Instance
	if req.VnfInstanceName != nil {
		inst.VnfInstanceName = *req.VnfInstanceName
	}
	if req.VnfInstanceDescription != nil {
		inst.VnfInstanceDescription = *req.VnfInstanceDescription
	}
	inst.Metadata = KeyValuePairs(mergePatch(maps.Clone(nonNil(inst.Metadata)), req.Metadata))
	var err error
	if inst.Extensions, err = inst.Extensions.Merge(req.Extensions); err != nil {
		return err
	}
	if inst.VnfConfigurableProperties, err = inst.VnfConfigurableProperties.Merge(req.VnfConfigurableProperties); err != nil {
		return err
	}
	if rec.VNFCProperties, err = rec.modifiedVNFCs(req); err != nil {
		return err
	}
	rec.Initial.Extensions = inst.Extensions
	if !req.changesConnections() {
		return nil
	}
	list, err := rec.modifiedConnections(req)
	if err != nil {
		return err
	}
	// The next operations resolve the VIM from the initial request.
	inst.VimConnectionInfo = list
	if inst.InstantiationState == Instantiated {
		rec.Initial.VimConnectionInfo, rec.VIMForm, rec.VIMOwner = list, form, owner
	}
	return nil
}

func nonNil(pairs KeyValuePairs) map[string]any {
	if pairs == nil {
		return map[string]any{}
	}
	return pairs
}

// changedInfo returns the changes of a modification for the occurrence (SOL003 v2.6.1 5.5.2.12a).
func (req VnfInfoModificationRequest) changedInfo() *VnfInfoModifications {
	info := VnfInfoModifications{VnfConfigurableProperties: req.VnfConfigurableProperties, Metadata: req.Metadata,
		VimConnectionInfo: req.VimConnectionInfo.named(), Extensions: req.Extensions, VnfcInfoModifications: req.VnfcInfoModifications}
	if req.VnfInstanceName != nil {
		info.VnfInstanceName = *req.VnfInstanceName
	}
	if req.VnfInstanceDescription != nil {
		info.VnfInstanceDescription = *req.VnfInstanceDescription
	}
	return &info
}
