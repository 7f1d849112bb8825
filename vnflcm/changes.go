package vnflcm

import "slices"

// beginning is the state of an instance when an operation began, beside its VNFCs and its scale levels. The changes of
// the operation are the difference from it.
type beginning struct {
	VirtualLinks []VirtualLink        `json:"virtualLinks,omitempty"`
	Storages     []Storage            `json:"storages,omitempty"`
	Links        []ExtVirtualLinkData `json:"links,omitempty"`
	Info         VnfInfoModifications `json:"info,omitzero"`
	// VIM is the connection of the VIM that the resources are on.
	VIM string `json:"vim,omitempty"`
}

func (rec *instanceRecord) beginning() beginning {
	return beginning{VirtualLinks: rec.Resources.VirtualLinks, Storages: rec.Resources.Storages, Links: rec.Links,
		Info: VnfInfoModifications{VimConnectionInfo: rec.Instance.VimConnectionInfo, Extensions: rec.Instance.Extensions}}
}

// recordResources puts into the occurrence which resources the operation has changed so far (SOL003 v2.6.1 5.5.2.13).
// replaced are the VNFCs that it has made again, which may have the same names on the VIM as before.
func (rec *operationRecord) recordResources(now Resources, replaced []VNFC) {
	began, changes := rec.Began, ResourceChanges{}
	handle := func(id string) ResourceHandle { return ResourceHandle{VimConnectionID: began.VIM, ResourceID: id} }
	compare(rec.VNFCs, now.VNFCs, func(v VNFC) string { return v.ID }, func(before, after VNFC) bool {
		return before.ResourceID == after.ResourceID && !slices.ContainsFunc(replaced, func(r VNFC) bool { return r.ID == after.ID })
	}, func(v VNFC, change ChangeType) {
		changes.AffectedVnfcs = append(changes.AffectedVnfcs, AffectedVnfc{ID: v.ID, VduID: v.VDU, ChangeType: change, ComputeResource: handle(v.ResourceID)})
	})
	compare(began.VirtualLinks, now.VirtualLinks, func(l VirtualLink) string { return l.ID }, equal, func(l VirtualLink, change ChangeType) {
		changes.AffectedVirtualLinks = append(changes.AffectedVirtualLinks, AffectedVirtualLink{ID: l.ID, VirtualLinkDescID: l.VLD, ChangeType: change,
			NetworkResource: handle(l.ResourceID)})
	})
	compare(began.Storages, now.Storages, func(s Storage) string { return s.ID }, equal, func(s Storage, change ChangeType) {
		changes.AffectedVirtualStorages = append(changes.AffectedVirtualStorages, AffectedVirtualStorage{ID: s.ID, VirtualStorageDescID: s.Descriptor,
			ChangeType: change, StorageResource: handle(s.ResourceID)})
	})
	rec.Occ.ResourceChanges = &changes
}

func equal[E comparable](a, b E) bool { return a == b }

// compare reports what is in now only, then what is in before only, then what is in both and not the same.
func compare[E any](before, now []E, id func(E) string, same func(before, now E) bool, report func(E, ChangeType)) {
	known := map[string]E{}
	for _, e := range before {
		known[id(e)] = e
	}
	var modified []E
	remaining := map[string]bool{}
	for _, e := range now {
		remaining[id(e)] = true
		switch was, found := known[id(e)]; {
		case !found:
			report(e, VnfcAdded)
		case !same(was, e):
			modified = append(modified, e)
		}
	}
	for _, e := range before {
		if !remaining[id(e)] {
			report(e, VnfcRemoved)
		}
	}
	for _, e := range modified {
		report(e, VnfcModified)
	}
}

// recordInstance adds to the occurrence what an operation that has ended changed in its instance. It adds nothing if
// the instance is no longer instantiated.
func (rec *operationRecord) recordInstance(inst *instanceRecord) {
	rec.Occ.ChangedExtConnectivity, rec.Occ.ChangedInfo = nil, nil
	if _, is := rec.maintenance(); rec.Occ.Operation == OpModifyInfo && (!is || !rec.configuration().IsZero()) {
		if req, err := rec.modification(); err == nil && rec.Occ.OperationState == Completed {
			rec.Occ.ChangedInfo = req.changedInfo()
		}
		return
	}
	if inst.Instance.InstantiationState != Instantiated {
		return
	}
	if rec.Package != nil && rec.Occ.OperationState == Completed {
		rec.Occ.ModificationsTriggeredByVnfPkgChange = rec.Package.modifications(rec.VNF, inst)
	}
	for _, link := range inst.Links {
		if !slices.ContainsFunc(rec.Began.Links, func(was ExtVirtualLinkData) bool { return sameLink(was, link) }) {
			rec.Occ.ChangedExtConnectivity = append(rec.Occ.ChangedExtConnectivity, link.info(inst.vimConnection()))
		}
	}
	if rec.Package != nil {
		return
	}
	var info VnfInfoModifications
	was := rec.Began.Info.VimConnectionInfo.named()
	for _, vim := range inst.Instance.VimConnectionInfo.named() {
		if !slices.ContainsFunc(was, vim.equal) {
			info.VimConnectionInfo = append(info.VimConnectionInfo, vim)
		}
	}
	if !inst.Instance.Extensions.Equal(rec.Began.Info.Extensions) {
		info.Extensions = inst.Instance.Extensions
	}
	if len(info.VimConnectionInfo) > 0 || !info.Extensions.IsZero() {
		rec.Occ.ChangedInfo = &info
	}
}

func (v VimConnectionInfo) equal(o VimConnectionInfo) bool {
	return v.ID == o.ID && v.VimID == o.VimID && v.VimType == o.VimType && v.InterfaceInfo.Equal(o.InterfaceInfo) &&
		v.AccessInfo.Equal(o.AccessInfo) && v.Extra.Equal(o.Extra)
}

// replaced returns the VNFCs that a heal or a change of the package has changed; none before the resources have been changed.
func (rec *operationRecord) replaced() (out []VNFC) {
	if rec.Package != nil {
		for i, c := range rec.Package.Changes {
			if slices.Contains(rec.Done, phaseName(packageInfra, i)) && !slices.Contains(rec.Done, phaseName(packageInfra+packageRollback, i)) {
				out = append(out, c.Replaced...)
			}
		}
		return out
	}
	if rec.Occ.Operation == OpHeal && slices.Contains(rec.Done, healPhase) {
		return rec.Change.Replaced
	}
	return nil
}
