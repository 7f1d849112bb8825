package vnflcm

import (
	"context"
	"fmt"
	"slices"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// mixture is the second package of an instance of which parts run by it, with the units that do.
type mixture struct {
	To    packageTarget `json:"to"`
	Units []PackageUnit `json:"units,omitempty"`
	// Unsure are units of which the VIM did not report by which package they run. The record of their VNFCs may be wrong, so that each
	// change of the package includes them.
	Unsure []PackageUnit `json:"unsure,omitempty"`
}

// noteVersions sets the VNFD by which each VNFC runs, "" for that of the instance: the one that is recorded, and for pods of a release,
// which change their ids, the one of the release.
func (i *instanceRecord) noteVersions(vnfcs []VNFC) {
	if i == nil {
		return
	}
	recorded := byID(i.Resources.VNFCs)
	for n := range vnfcs {
		v := &vnfcs[n]
		was, known := recorded[v.ID]
		if v.VnfdID = was.VnfdID; !known && i.Mixed != nil && i.Mixed.hasRelease(v.VDU) {
			v.VnfdID = i.Mixed.To.VnfdID
		}
	}
}

// hasRelease reports whether VNFCs of a VDU belong to a unit that is no single VNFC.
func (m *mixture) hasRelease(vdu string) bool {
	return slices.ContainsFunc(m.Units, func(u PackageUnit) bool { return u.Kind != UnitVNFC && slices.Contains(u.VDUs, vdu) })
}

// noteUnits records that units run by one of the two packages of a change from now on. before are the VNFCs before them. New VNFCs of other
// units are pods that were rescheduled.
func (i *instanceRecord) noteUnits(c *packageChange, units []PackageUnit, vnfdID string, before []VNFC, now []VNFC) {
	i.mix(c)
	isOther, known := vnfdID != i.Instance.VnfdID, byID(before)
	for _, u := range units {
		i.Mixed.Units, i.Mixed.Unsure = withoutUnit(i.Mixed.Units, u), withoutUnit(i.Mixed.Unsure, u)
		if isOther && u.Change != VnfcRemoved {
			i.Mixed.Units = append(i.Mixed.Units, u)
		}
	}
	for n := range now {
		v := &now[n]
		_, existed := known[v.ID]
		isNew := !existed && (PackageBatch{Units: units}).adds(*v)
		if isNew || slices.ContainsFunc(units, func(u PackageUnit) bool { return u.has(*v) }) {
			if v.VnfdID = ""; isOther {
				v.VnfdID = vnfdID
			}
		}
	}
}

// mix records the second package of a change.
func (i *instanceRecord) mix(c *packageChange) {
	if i.Mixed == nil {
		i.Mixed = &mixture{To: c.To}
	} else if c.To.VnfdID != i.Instance.VnfdID {
		i.Mixed.To = c.To
	}
}

// noteUnsure records units of which the VIM did not report by which package they run.
func (i *instanceRecord) noteUnsure(c *packageChange, units []PackageUnit) {
	if len(units) == 0 {
		return
	}
	i.mix(c)
	for _, u := range units {
		i.Mixed.Unsure = append(withoutUnit(i.Mixed.Unsure, u), u)
	}
}

// isUnsure reports whether the package by which a VNFC runs is not certain.
func (m *mixture) isUnsure(v VNFC) bool {
	return m != nil && slices.ContainsFunc(m.Unsure, func(u PackageUnit) bool { return u.has(v) })
}

// withoutUnit returns a copy of units without one.
func withoutUnit(units []PackageUnit, u PackageUnit) []PackageUnit {
	return slices.DeleteFunc(slices.Clone(units), func(o PackageUnit) bool { return o.ID == u.ID })
}

// has reports whether a VNFC belongs to the unit.
func (u PackageUnit) has(v VNFC) bool {
	return u.ID == v.ID || u.Kind != UnitVNFC && slices.Contains(u.VDUs, v.VDU)
}

// endMixture removes the mixture when every part of the VNF runs by the package of the instance.
func (i *instanceRecord) endMixture() {
	isOther := func(v VNFC) bool { return v.VnfdID != "" || i.Mixed.isUnsure(v) }
	if i.Mixed != nil && len(i.Mixed.Units) == 0 && !slices.ContainsFunc(i.Resources.VNFCs, isOther) {
		i.Mixed = nil
	}
}

// finishBatch records the resources after an infrastructure phase of a CHANGE_VNFPKG, and by which package its units run.
func (r *run) finishBatch(ctx context.Context, s *session, inst *instanceRecord, p phase, now Resources) error {
	c := r.rec.Package
	if p.batch > 0 {
		before := r.vnfcsBefore(p, inst)
		if !s.op.RollingBack {
			c.Changes[p.batch-1] = s.op.Change.confirm(before, now.VNFCs)
		}
		inst.noteUnits(c, s.op.Batch.Units, s.op.Package.VNFD().ID, before, now.VNFCs)
	}
	r.rec.Change = r.rec.Planned.confirm(r.rec.VNFCs, now.VNFCs)
	r.rec.recordResources(now, r.rec.replaced())
	return r.save(context.WithoutCancel(ctx), func(ctx context.Context, b *store.Batch) error {
		return s.op.changeInstance(ctx, b, func(i *instanceRecord) {
			i.setResources(now)
			i.Mixed = inst.Mixed
		})
	})
}

// checkChanged asks the driver whether the units of the batch are changed.
func (s *session) checkChanged(ctx context.Context) error {
	if s.op.Batch == nil {
		return nil
	}
	var faults []string
	for _, u := range s.op.Batch.Units {
		changed, err := s.unitChanged(ctx, u)
		if err != nil {
			return fmt.Errorf("reading the unit %s: %w", u.label(), err)
		}
		if !changed {
			faults = append(faults, fmt.Sprintf("the unit %s is not as the package %s describes it", u.label(), s.op.Package.VNFD().ID))
		}
	}
	return answerError(faults)
}

func (s *session) unitChanged(ctx context.Context, u PackageUnit) (changed bool, err error) {
	changer, able := s.infra.(PackageChanger)
	if !able {
		return false, fmt.Errorf("%w: the driver cannot change packages", ErrNotSupported)
	}
	err = s.call(ctx, func() (err error) { changed, err = changer.UnitChanged(ctx, s.op, u); return err })
	return changed, err
}

// noteLeftUnits records which units of the batch that was being changed, or changed back, are changed when the operation is given up.
func (r *run) noteLeftUnits(ctx context.Context, s *session, inst *instanceRecord, now []VNFC) {
	units := r.rec.unfinishedUnits()
	if len(units) == 0 {
		return
	}
	s.op.enterBatch(r.rec, r.rec.unfinishedBatch())
	var changed, unchanged, unsure []PackageUnit
	for _, u := range units {
		is, err := s.unitChanged(ctx, u)
		switch {
		case err != nil:
			s.op.Log.WarnContext(ctx, "whether a unit is changed cannot be read: the next change of the package includes it", "unit", u.ID, "error", err)
			unsure = append(unsure, u)
		case is:
			changed = append(changed, u)
		default:
			unchanged = append(unchanged, u)
		}
	}
	known := slices.Concat(inst.Resources.VNFCs, without(now, inst.Resources.VNFCs)) // new VNFCs belong to units by their ids
	inst.noteUnits(r.rec.Package, changed, s.op.Package.VNFD().ID, known, now)
	inst.noteUnits(r.rec.Package, unchanged, s.op.Former.Package.VNFD().ID, known, now)
	inst.noteUnsure(r.rec.Package, unsure)
}

// unfinishedUnits returns the units of the unfinished batch.
func (rec *operationRecord) unfinishedUnits() []PackageUnit {
	if number := rec.unfinishedBatch(); number > 0 {
		return rec.Package.Batches[number-1].Units
	}
	return nil
}

// unfinishedBatch returns the number of the batch whose resources are being changed, or changed back; 0 for none.
func (rec *operationRecord) unfinishedBatch() int {
	if rec.Package == nil || rec.Package.Paused && !rec.Undoing {
		return 0
	}
	phases := rec.packagePhases()
	if rec.Undoing {
		phases = rec.undoPackagePhases()
	}
	for _, p := range phases {
		if p.infra != nil && !slices.Contains(rec.Done, p.name) {
			return p.batch
		}
	}
	return 0
}

// usePackage adds to b that a change of the package uses the package that it leads to, beside that of the instance.
func (m *Manager) usePackage(ctx context.Context, b *store.Batch, inst *instanceRecord, to *packageTarget) error {
	if to.VnfdID == inst.Instance.VnfdID {
		return nil
	}
	used := instanceRecord{Tenant: inst.Tenant, PackageDigest: to.Digest, Instance: VnfInstance{VnfdID: to.VnfdID, VnfPkgID: to.VnfPkgID}}
	if inst.Mixed == nil { // else it is in use already, and may take no new instances
		if err := m.dependOnPackage(ctx, b, &used); err != nil {
			return err
		}
	}
	return m.records.Put(ctx, b, kindPackageUse, inst.Instance.ID, packageUse(used))
}

// packageUse is the record of the second package that an instance uses: only what instanceRecord.needs reads.
type packageUse instanceRecord

func (u packageUse) Index() store.Index { return store.Index{VNFD: u.Instance.VnfdID} }

// modifications are the attributes that the change has changed: the identity of the VNFD, and the attributes that the request names.
func (c *packageChange) modifications(was VNFIdentity, inst *instanceRecord) *ModificationsTriggeredByVnfPkgChange {
	differs := func(before, now string) string {
		if before == now {
			return ""
		}
		return now
	}
	now := inst.identity()
	out := &ModificationsTriggeredByVnfPkgChange{VnfdID: differs(was.VnfdID, now.VnfdID), VnfProvider: differs(was.VnfProvider, now.VnfProvider),
		VnfProductName:     differs(was.VnfProductName, now.VnfProductName),
		VnfSoftwareVersion: differs(was.VnfSoftwareVersion, now.VnfSoftwareVersion), VnfdVersion: differs(was.VnfdVersion, now.VnfdVersion)}
	if request := &c.To.Request; !request.Extensions.IsZero() {
		out.Extensions = inst.Instance.Extensions
	}
	if request := &c.To.Request; !request.VnfConfigurableProperties.IsZero() {
		out.VnfConfigurableProperties = inst.Instance.VnfConfigurableProperties
	}
	return out
}

// takePackage finds what a change of the package makes of the instance.
func (r *run) takePackage(ctx context.Context) error {
	i, _, err := r.claim.instance(ctx, r.rec.Occ.VnfInstanceID)
	if err != nil {
		return err
	}
	changed, err := r.rec.Package.To.apply(i)
	if err != nil {
		return fmt.Errorf("taking over the package: %w", err)
	}
	changed.Links, changed.ManagedLinks = r.rec.links(i)
	changed.Levels, changed.Mixed = r.rec.Levels, nil
	changed.Resources.VNFCs = slices.Clone(i.Resources.VNFCs)
	for n := range changed.Resources.VNFCs {
		changed.Resources.VNFCs[n].VnfdID = ""
	}
	r.changed = changed
	return nil
}
