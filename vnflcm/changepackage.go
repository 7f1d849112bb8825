package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// ChangeVnfPkg starts the change of the VNF package of an instantiated VNF (SOL003 v3.3.1 5.4.11a) and returns the id of the operation.
//
// The InfraDriver compares the two packages and plans units: VNFCs, or releases of a cluster. The Manager divides the units into batches of
// at most max_unavailable units (PackageChangeOptions), and journals them. Each batch is prepared by the management drivers, changed on the
// VIM, and taken back by the management drivers; then the VNF must be healthy within health_timeout. The first batch that is not puts the
// operation into FAILED_TEMP. Retry continues there, and Rollback changes the batches that have begun back, the last one first. If the
// operation is given up by Fail, the VNF is mixed: each VNFC shows the VNFD by which it runs and is healed by it, and a change to either of
// the two packages ends the mixture.
//
// At the end the instance has the new package, the flavour and the component mappings of its policy VnfPackageChange, and the same scale
// levels. additionalParams of the request are merged over those of the instantiation, external links replace those with the same connection
// points, managed links those of the same descriptor, and vimConnectionInfo, extensions and vnfConfigurableProperties are merged as Modify
// does it: later operations find the result.
//
// Faults are reported before anything is touched, as for Instantiate. Among them are: another provider or product (allow_other_product), a
// package whose policies do not name the current one (allow_other_source), and data that would end (DataLoss) without the consent of the
// request. ErrNotSupported: the driver of the VIM is no PackageChanger. ErrState: the VNF is stopped, or the store has format 1.
func (m *Manager) ChangeVnfPkg(ctx context.Context, instanceID string, req ChangeCurrentVnfPkgRequest) (string, error) {
	return m.begin(ctx, instanceID, OpChangeVnfPkg, req, nil)
}

// packageChange is the part of an operationRecord that only a CHANGE_VNFPKG has.
type packageChange struct {
	To      packageTarget  `json:"to"`
	Plan    PackagePlan    `json:"plan"`
	Batches []PackageBatch `json:"batches,omitempty"`
	// Changes are what the batches do to the VNFCs: as planned, until the resources of the batch have been changed.
	Changes    []Change `json:"changes,omitempty"`
	PauseAfter int      `json:"pauseAfter,omitempty"` // number of the batch, 0 for none
	Paused     bool     `json:"paused,omitempty"`     // from the pause until Retry: the next batch has not begun
}

// planPackage finds the faults of a change of the package, and records what it does.
func (m *Manager) planPackage(ctx context.Context, inst *instanceRecord, rec *operationRecord) error {
	request, err := rec.packageRequest()
	if err != nil {
		return err
	}
	rec.Package = &packageChange{To: packageTarget{VnfdID: request.VnfdID, Request: request}}
	_, faults := request.options()
	if err := errors.Join(faults, m.choosePackage(ctx, inst, rec), m.checkPackageRequest(ctx, inst, rec)); err != nil {
		return err
	}
	opened, err := m.openBoth(ctx, inst, rec)
	if err != nil {
		return err
	}
	defer opened.close()
	rec.Levels = rec.Package.To.Levels
	s, err := m.session(ctx, opened, inst, rec, "plan")
	if err != nil {
		return err
	}
	s.op.GrantPending = m.cfg.Granter != nil
	rec.Drivers, rec.VIMType, rec.Began.VIM = s.batchDriverNames(), s.op.VIM.VimType, inst.vimConnection()
	err = s.planUnits(ctx, rec)
	rec.accepting = func(b *store.Batch) error { return m.usePackage(ctx, b, inst, &rec.Package.To) }
	return s.masked(s.afterOverdue(ctx, err))
}

// choosePackage finds the package with the VNFD of the request.
func (m *Manager) choosePackage(ctx context.Context, inst *instanceRecord, rec *operationRecord) error {
	to, isOwn := &rec.Package.To, rec.Package.To.VnfdID == inst.Instance.VnfdID
	switch {
	case to.VnfdID == "":
		return &ParamError{Path: "vnfdId", Reason: "is required"}
	case isOwn && inst.Mixed == nil:
		return vnfdFault(to.VnfdID, "is the VNFD of the instance")
	case isOwn:
		to.VnfPkgID, to.Digest = inst.Instance.VnfPkgID, inst.PackageDigest
		return nil
	case inst.Mixed != nil && inst.Mixed.To.VnfdID != to.VnfdID:
		return vnfdFault(to.VnfdID, "the VNF is mixed: change it to %s or %s first", inst.Mixed.To.VnfdID, inst.Instance.VnfdID)
	case inst.Mixed != nil:
		return to.proceed(&inst.Mixed.To)
	}
	made := instanceRecord{Tenant: inst.Tenant, Instance: VnfInstance{VnfdID: to.VnfdID}}
	if err := m.assignPackage(ctx, &made); err != nil {
		return err
	}
	to.VnfPkgID = made.Instance.VnfPkgID
	return nil
}

// proceed takes over what the changed VNFCs of a mixed VNF run by.
func (t *packageTarget) proceed(before *packageTarget) error {
	given, err := before.Request.driverParams()
	t.VnfPkgID, t.Digest, t.Earlier = before.VnfPkgID, before.Digest, append(slices.Clone(before.Earlier), given)
	return err
}

// checkPackageRequest finds the faults that need neither a package nor a driver, and records the form of the VIM connection.
func (m *Manager) checkPackageRequest(ctx context.Context, inst *instanceRecord, rec *operationRecord) error {
	to := &rec.Package.To
	change := to.Request.modification()
	before, err := inst.Instance.extent()
	after, errAfter := inst.Instance.extentAfter(change)
	err = errors.Join(err, errAfter, after.check(before), inst.checkModification(change))
	if err != nil {
		return err
	}
	to.VIMForm, to.VIMOwner, err = m.modifiedForm(ctx, inst, change)
	return err
}

// openBoth opens the two packages, and completes the target.
func (m *Manager) openBoth(ctx context.Context, inst *instanceRecord, rec *operationRecord) (p openPackages, err error) {
	to := &rec.Package.To
	if p.own, err = m.openPackage(ctx, inst); err != nil {
		return p, err
	}
	p.target = inst.second(rec)
	next := &instanceRecord{Tenant: inst.Tenant, PackageDigest: p.target.Digest, Instance: VnfInstance{VnfdID: p.target.VnfdID, VnfPkgID: p.target.VnfPkgID}}
	p.other, err = m.openPackage(ctx, next)
	if err != nil {
		p.close()
		return p, err
	}
	p.target.Digest = next.PackageDigest
	vnfds := []*tosca.VNFD{p.own.VNFD(), p.other.VNFD()}
	if to.VnfdID == inst.Instance.VnfdID { // the instance is described by the same package before and after
		vnfds[1] = vnfds[0]
	}
	if vnfds[0] == vnfds[1] {
		err = to.keepTarget(inst, vnfds[0])
	} else {
		err = to.findTarget(inst, vnfds[0], vnfds[1])
	}
	if err != nil {
		p.close()
	}
	return p, err
}

// planUnits asks the drivers for the units that change, and divides them into batches.
func (s *session) planUnits(ctx context.Context, rec *operationRecord) error {
	faults := []error{s.checkHooks(), s.checkDriver(), checkRequest(s.op)}
	changer, able := s.infra.(PackageChanger)
	if !able {
		return errors.Join(faults...)
	}
	options, _ := rec.Package.To.Request.options() // checked before
	faults = append(faults, s.op.checkVDUParams(options.VDUParams), s.checkCoordination(ctx, options))
	plan, err := s.planPackage(ctx, changer)
	if err != nil {
		return errors.Join(append(faults, err)...)
	}
	s.op.PackagePlan = plan
	s.op.Change = changeOf(plan.Units, s.op.VNFCs)
	faults = append(faults, s.op.checkPlan(s.op.Change), s.validate(ctx, s.op))
	if plan, err = s.arrange(ctx, plan); err != nil {
		return errors.Join(append(faults, checkLosses(plan.Losses, options), err)...)
	}
	faults = append(faults, checkLosses(plan.Losses, options))
	rec.Planned = changeOf(plan.Units, s.op.VNFCs) // in the order of the batches
	rec.Package.Plan, rec.Change = plan, rec.Planned
	rec.Package.divide(options)
	for _, b := range rec.Package.Batches {
		rec.Package.Changes = append(rec.Package.Changes, changeOf(b.Units, s.op.VNFCs))
	}
	return errors.Join(faults...)
}

// checkVDUParams refuses parameters for VDUs that the VNF does not have.
func (op *Operation) checkVDUParams(list []PackageVDUParams) error {
	var faults []error
	for i, p := range list {
		if !slices.ContainsFunc(op.VNFCs, func(v VNFC) bool { return v.VDU == p.VduID }) {
			faults = append(faults, &ParamError{Path: fmt.Sprintf("additionalParams.vdu_params[%d].vdu_id", i), Value: p.VduID, Reason: "no VNFC has this VDU"})
		}
	}
	return errors.Join(faults...)
}

// planPackage asks the InfraDriver for its plan and checks the answer.
func (s *session) planPackage(ctx context.Context, changer PackageChanger) (plan PackagePlan, err error) {
	err = s.call(ctx, func() (err error) { plan, err = changer.PlanPackage(ctx, s.op); return err })
	if err != nil {
		return plan, err
	}
	if err := s.op.checkUnits(plan.Units); err != nil {
		return plan, err
	}
	for _, u := range plan.Units {
		if u.Kind != UnitVNFC || u.Change != VnfcRemoved {
			continue
		}
		for _, vdu := range u.VDUs {
			plan.Losses = append(plan.Losses, DataLoss{Resource: "the VNFC " + u.label() + " of VDU " + vdu, Consent: AllowDataLoss, Name: vdu})
		}
	}
	plan.Losses = append(plan.Losses, s.op.vanished(plan.Units)...)
	return plan, nil
}

// vanished returns the VDUs that have VNFCs and that the new package lacks, other than VNFCs of units that are removed.
func (op *Operation) vanished(units []PackageUnit) (out []DataLoss) {
	for _, v := range op.VNFCs {
		vdu := v.VDU
		if op.VersionOf(v).Package != op.Package {
			vdu = op.Successor(tosca.MappedVDU, vdu)
		}
		isRemoved := slices.ContainsFunc(units, func(u PackageUnit) bool { return u.Kind == UnitVNFC && u.ID == v.ID && u.Change == VnfcRemoved })
		if isRemoved || op.Flavour.VDU(vdu) != nil {
			continue
		}
		i := slices.IndexFunc(out, func(l DataLoss) bool { return l.Name == v.VDU })
		if i < 0 {
			i, out = len(out), append(out, DataLoss{Resource: "the VDU " + v.VDU, Consent: AllowDataLoss, Name: v.VDU})
		}
		out[i].With = append(out[i].With, "the VNFC "+v.Label())
	}
	return out
}

// checkUnits refuses units that cannot be told apart, and changes of VNFCs that do not exist.
func (op *Operation) checkUnits(units []PackageUnit) error {
	var faults []string
	seen := map[string]bool{}
	known := byID(op.VNFCs)
	for i, u := range units {
		_, exists := known[u.ID]
		switch {
		case u.ID == "":
			faults = append(faults, fmt.Sprintf("PlanPackage announced unit %d without an id", i))
		case seen[u.ID]:
			faults = append(faults, fmt.Sprintf("PlanPackage announced two units with the id %s", u.ID))
		case !slices.Contains([]ChangeType{VnfcAdded, VnfcRemoved, VnfcModified}, u.Change):
			faults = append(faults, fmt.Sprintf("PlanPackage announced the unit %s with the change %q", u.ID, u.Change))
		case u.Kind == UnitVNFC && len(u.VDUs) != 1:
			faults = append(faults, fmt.Sprintf("PlanPackage announced the VNFC %s with %d VDUs", u.ID, len(u.VDUs)))
		case u.Kind == UnitVNFC && exists == (u.Change == VnfcAdded):
			faults = append(faults, fmt.Sprintf("PlanPackage announced the VNFC %s as %s, which exists: %t", u.ID, u.Change, exists))
		}
		seen[u.ID] = true
	}
	return answerError(faults)
}

// label names a unit for readers.
func (u PackageUnit) label() string {
	if u.Name != "" && u.Name != u.ID {
		return u.Name + " (" + u.ID + ")"
	}
	return u.ID
}

// checkLosses refuses the end of data that the request does not allow.
func checkLosses(losses []DataLoss, options PackageChangeOptions) error {
	var faults []error
	for _, l := range losses {
		if options.allows(l) {
			continue
		}
		with := ""
		if len(l.With) > 0 {
			with = ", with " + enumerate(l.With, ", ")
		}
		faults = append(faults, &ParamError{Path: "additionalParams." + string(l.Consent), Reason: fmt.Sprintf("must name %s: the change ends %s%s", l.Name, l.Resource, with)})
	}
	return joinDistinct(faults...)
}

// arrange returns the plan with the units in the order of the management drivers, and with the losses that these drivers have found.
func (s *session) arrange(ctx context.Context, plan PackagePlan) (PackagePlan, error) {
	before := unitIDs(plan.Units)
	for _, name := range s.batchers() {
		driver := s.m.cfg.Mgmt[name].(PackageBatcher) //nolint:forcetypeassert // batchers returns no other drivers
		arranged := plan
		err := s.call(ctx, func() (err error) { arranged, err = driver.ArrangeUnits(ctx, s.op, plan); return err })
		if err != nil {
			return plan, err
		}
		if !slices.Equal(before, unitIDs(arranged.Units)) {
			return plan, answerError([]string{fmt.Sprintf("ArrangeUnits of driver %s returned other units than it got", name)})
		}
		plan = arranged
	}
	return plan, nil
}

// unitIDs returns the ids of units in the order of the texts.
func unitIDs(units []PackageUnit) (ids []string) {
	for _, u := range units {
		ids = append(ids, u.ID)
	}
	slices.Sort(ids)
	return ids
}

// divide divides the units into batches: neighbours with the same VDUs, at most max_unavailable of them. A batch ends where the operation is
// to pause.
func (c *packageChange) divide(options PackageChangeOptions) {
	n := 0
	for i, u := range c.Plan.Units {
		last := len(c.Batches) - 1
		pauses := i > 0 && i == options.PauseAfter
		if pauses {
			c.PauseAfter = len(c.Batches)
		}
		if last < 0 || pauses || n == options.maxUnavailable() || !c.Batches[last].takes(u) {
			c.Batches = append(c.Batches, PackageBatch{Number: last + 2})
			last, n = last+1, 0
		}
		c.Batches[last].Units = append(c.Batches[last].Units, u)
		n++
	}
	if options.PauseAfter == len(c.Plan.Units) {
		c.PauseAfter = len(c.Batches)
	}
	for i := range c.Batches {
		c.Batches[i].Of = len(c.Batches)
	}
}

// takes reports whether a unit may change together with those of the batch.
func (b PackageBatch) takes(u PackageUnit) bool {
	first := b.Units[0]
	return !u.Alone && !first.Alone && u.Kind == first.Kind && slices.Equal(u.VDUs, first.VDUs)
}

// changeOf returns what units do to VNFCs.
func changeOf(units []PackageUnit, vnfcs []VNFC) (c Change) {
	known := byID(vnfcs)
	for _, u := range units {
		if u.Kind != UnitVNFC {
			continue
		}
		v, exists := known[u.ID]
		switch {
		case u.Change == VnfcAdded:
			c.Added = append(c.Added, VNFC{ID: u.ID, VDU: u.VDUs[0], Name: u.Name})
		case !exists: // removed by an earlier attempt
		case u.Change == VnfcRemoved:
			c.Removed = append(c.Removed, v)
		default:
			c.Replaced = append(c.Replaced, v)
		}
	}
	return c
}
