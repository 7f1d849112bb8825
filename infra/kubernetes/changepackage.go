package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/vnflcm"
)

var (
	_ vnflcm.PackageChanger = (*Driver)(nil)
	_ vnflcm.HealthChecker  = (*Driver)(nil)
)

// manifestsUnit is the id of the unit of a VNF that consists of manifests.
const manifestsUnit = "manifests"

// formerOperation returns the operation as the package sees it that the VNF changes from.
func formerOperation(op *vnflcm.Operation) *vnflcm.Operation {
	of := *op
	of.Package, of.Flavour, of.Initial = op.Former.Package, op.Former.Flavour, op.Former.Initial
	of.Params, of.Levels, of.Before = op.Former.Initial.AdditionalParams, op.Before, op.Levels
	return &of
}

// beginChange reads both packages and connects. The caller closes the work.
func (d *Driver) beginChange(ctx context.Context, op *vnflcm.Operation, readNew func() (*design, error)) (*work, error) {
	to, err := readNew()
	if err != nil {
		return nil, err
	}
	before := formerOperation(op)
	from, err := read(before)
	if err != nil {
		return nil, err
	}
	w, err := d.connect(ctx, op, to)
	if err != nil {
		return nil, err
	}
	if from.namespace == "" {
		from.namespace = cmp.Or(w.cluster.DefaultNamespace, "default")
	}
	old := *w
	old.op, old.design = before, from
	w.old = &old
	if err := w.checkComparable(); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// checkComparable refuses what no change of the package does: another namespace, and charts instead of manifests.
func (w *work) checkComparable() error {
	var faults []error
	if was := w.old.design.namespace; was != w.design.namespace {
		faults = append(faults, &vnflcm.ParamError{Path: "additionalParams.namespace", Value: w.design.namespace, Reason: "must stay " + was + ": a change of the package moves no objects"})
	}
	if was := len(w.old.design.files) > 0; was != (len(w.design.files) > 0) {
		faults = append(faults, &vnflcm.ParamError{Path: "vnfdId", Value: w.op.Package.VNFD().ID,
			Reason: "leads from manifests to charts, or from charts to manifests: a VNF consists of the same kind before and after"})
	}
	return errors.Join(faults...)
}

// ChangePackage implements vnflcm.PackageChanger. Each release of the batch is upgraded to its chart in op.Package; added charts are
// installed and removed ones uninstalled. Manifests are applied as a whole, and objects that only op.Former has are deleted when the
// objects of op.Package are ready. ChangePackage returns when the objects of the batch are ready. Rolling back, releases return to their recorded
// revisions, and what is not ready then is a warning.
func (d *Driver) ChangePackage(ctx context.Context, op *vnflcm.Operation) error {
	w, err := d.beginChange(ctx, op, func() (*design, error) { return read(op) })
	if err != nil {
		return err
	}
	defer w.close()
	if err := w.warnOfManagers(ctx); err != nil {
		return err
	}
	if op.Batch == nil {
		return w.finishChange(ctx)
	}
	if err := w.readyStep(ctx, "record-workloads", w.recordWorkloads); err != nil {
		return err
	}
	for _, u := range op.Batch.Units {
		op.Declare(u.ID)
		err := vnflcm.Do(ctx, op, "change-unit", u.ID, func(ctx context.Context) error { return w.changeUnit(ctx, u) })
		if err != nil {
			return err
		}
	}
	return vnflcm.Do(ctx, op, "await-units", "", func(ctx context.Context) error { return w.awaitUnits(ctx, op.Batch.Units) })
}

func (w *work) changeUnit(ctx context.Context, u vnflcm.PackageUnit) error {
	switch {
	case u.Kind == vnflcm.UnitManifests:
		return w.changeManifests(ctx)
	case u.Change == vnflcm.VnfcRemoved:
		return w.removeRelease(ctx, u.ID)
	}
	r := w.design.release(u.ID)
	if r == nil {
		return fmt.Errorf("%w: the package has no release %s", vnflcm.ErrProgramming, u.ID)
	}
	if err := w.changeRelease(ctx, *r); err != nil {
		return fmt.Errorf("release %s: %w", u.ID, err)
	}
	return w.noteObjects(ctx)
}

// awaitUnits waits until the objects of units are ready. Rolling back, the VNF may have been not ready before: that is a warning.
func (w *work) awaitUnits(ctx context.Context, units []vnflcm.PackageUnit) error {
	refs, err := w.unitObjects(ctx, units)
	if err != nil {
		return err
	}
	err = within(ctx, w.cfg.Ready, func(ctx context.Context) error { return w.objects.Await(ctx, refs, w.tell(ctx)) })
	if w.op.RollingBack && errors.Is(err, helmclient.ErrNotReady) && ctx.Err() == nil {
		w.op.Warn(ctx, err.Error())
		return nil
	}
	return err
}

// unitObjects returns the objects of units that are not removed, as op.Package describes them.
func (w *work) unitObjects(ctx context.Context, units []vnflcm.PackageUnit) (refs []objects.Ref, err error) {
	for _, u := range units {
		switch {
		case u.Kind == vnflcm.UnitManifests:
			all, err := w.manifests(ctx)
			if err != nil {
				return nil, err
			}
			refs = append(refs, objects.Refs(all)...)
		case u.Change != vnflcm.VnfcRemoved:
			of, err := w.refsOf(ctx, u.ID)
			if err != nil {
				return nil, err
			}
			refs = append(refs, of...)
		}
	}
	return refs, nil
}

// finishChange is the part of a change that belongs to no unit: the driver removes the history of removed releases, and waits until everything is ready.
// Rolling back there is nothing to do before the batches.
func (w *work) finishChange(ctx context.Context) error {
	if w.op.RollingBack {
		return nil
	}
	if err := vnflcm.Do(ctx, w.op, "forget-removed", "", w.forgetRemoved); err != nil {
		return err
	}
	return w.await(ctx)
}

// UnitChanged implements vnflcm.PackageChanger.
func (d *Driver) UnitChanged(ctx context.Context, op *vnflcm.Operation, u vnflcm.PackageUnit) (bool, error) {
	w, err := d.beginChange(ctx, op, func() (*design, error) { return read(op) })
	if err != nil {
		return false, err
	}
	defer w.close()
	if u.Kind == vnflcm.UnitManifests {
		was, err := w.appliedManifests(ctx)
		return was.runsBy(w.ownVNFD()) == op.Package.VNFD().ID, err
	}
	now, err := w.find(ctx, u.ID)
	if err != nil {
		return false, err
	}
	if u.Change == vnflcm.VnfcRemoved {
		return now == nil || now.State == helmclient.Uninstalled, nil
	}
	vnfd, err := w.releaseVNFD(ctx, now)
	return now != nil && now.State == helmclient.Deployed && vnfd == op.Package.VNFD().ID, err
}

// CheckHealth implements vnflcm.HealthChecker: the objects of the batch are ready, by the rules of kstatus.
func (d *Driver) CheckHealth(ctx context.Context, op *vnflcm.Operation) error {
	w, err := d.beginChange(ctx, op, func() (*design, error) { return read(op) })
	if err != nil {
		return err
	}
	defer w.close()
	refs, err := w.unitObjects(ctx, op.Batch.Units)
	if err != nil {
		return err
	}
	return w.objects.CheckReady(ctx, refs)
}

// noteObjects stores the objects of all releases that exist, of either package.
func (w *work) noteObjects(ctx context.Context) error {
	var refs []objects.Ref
	for _, name := range w.bothReleases() {
		now, err := w.find(ctx, name)
		if err != nil {
			return err
		}
		if now == nil || now.State == helmclient.Uninstalled {
			continue
		}
		of, err := w.refsOf(ctx, name)
		if err != nil {
			return err
		}
		refs = append(refs, of...)
	}
	return w.op.State().Put(ctx, objectsKey, unique(refs))
}

// bothReleases returns the names of the releases of both packages.
func (w *work) bothReleases() (names []string) {
	for _, of := range []*work{w, w.old} {
		for _, r := range of.design.releases {
			if !slices.Contains(names, r.name) {
				names = append(names, r.name)
			}
		}
	}
	return names
}
