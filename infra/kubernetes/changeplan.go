package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// PlanPackage implements vnflcm.PackageChanger. The units are the releases that differ, those of op.Package in its order and then those that
// it does not have, the last one first; or all manifests. Helm renders each release with its new values, which the schema of the chart must
// accept, and the API server is asked by dry runs whether it accepts manifests.
func (d *Driver) PlanPackage(ctx context.Context, op *vnflcm.Operation) (plan vnflcm.PackagePlan, err error) {
	w, err := d.beginChange(ctx, op, func() (*design, error) {
		design, err := d.readChecked(ctx, op)
		if err != nil {
			return nil, err
		}
		return design, nil
	})
	if err != nil {
		return plan, err
	}
	defer w.close()
	p := &packagePlan{work: w}
	w.planning = true
	if w.planned, err = w.findVDUs(ctx); err != nil {
		return plan, err
	}
	err = p.compare(ctx)
	return p.PackagePlan, err
}

// packagePlan compares the two packages.
type packagePlan struct {
	*work
	vnflcm.PackagePlan
}

// compare adds the units.
func (p *packagePlan) compare(ctx context.Context) error {
	if p.helm == nil {
		return p.compareManifests(ctx)
	}
	var faults []error
	for _, r := range p.design.releases {
		if err := p.compareRelease(ctx, r); err != nil {
			faults = append(faults, p.releaseFaultOf(r, err))
		}
	}
	for _, r := range slices.Backward(p.old.design.releases) {
		if p.design.has(r.name) {
			continue
		}
		if err := p.compareRemoved(ctx, r); err != nil {
			faults = append(faults, fmt.Errorf("release %s: %w", r.name, err))
		}
	}
	return errors.Join(faults...)
}

// releaseFaultOf makes a fault of the request of what Helm says about a chart and its values.
func (p *packagePlan) releaseFaultOf(r release, err error) error {
	if errors.Is(err, helmclient.ErrInvalid) || errors.Is(err, helmclient.ErrInvalidChart) || errors.Is(err, helmclient.ErrRefused) || errors.Is(err, ErrForeignRelease) {
		return errors.Join(p.releaseFault(r, "cannot become what the package describes"), err)
	}
	return fmt.Errorf("release %s: %w", r.name, err)
}

// compareRelease adds a release of op.Package if it differs from the one on the cluster.
func (p *packagePlan) compareRelease(ctx context.Context, r release) error {
	now, err := p.find(ctx, r.name)
	if err != nil {
		return err
	}
	vnfd, err := p.releaseVNFD(ctx, now)
	if err != nil || now != nil && now.State == helmclient.Deployed && vnfd == p.op.Package.VNFD().ID {
		return err
	}
	var had, after objects.Manifest
	u, err := p.packageUpgrade(ctx, r, now, before{}, func(_ context.Context, from, to objects.Manifest) error {
		had, after = from, to
		return nil
	})
	if err != nil {
		return err
	}
	u.DryRun = true
	var out *helmclient.Release
	event := "upgrade"
	if now == nil {
		event = "install"
		out, err = p.helm.Install(ctx, u.Install)
	} else {
		out, err = p.helm.Upgrade(ctx, u)
	}
	if err == nil {
		err = p.rehearseFixed(ctx, had, after)
	}
	if err != nil {
		return err
	}
	unit := vnflcm.PackageUnit{ID: r.name, Kind: vnflcm.UnitRelease, Name: r.name, Change: vnflcm.VnfcModified, VDUs: p.vdusOf(p.planned, after.Refs)}
	was := helmclient.ChartInfo{}
	if now == nil || now.State == helmclient.Uninstalled {
		unit.Change = vnflcm.VnfcAdded
	} else {
		was = now.Chart
	}
	unit.Details = slices.Concat(textDetail("chart", shownChart(was), shownChart(out.Chart)), p.valueDetails(ctx, r, now), objectDetails(had, after))
	if len(unit.Details) == 0 {
		return nil
	}
	p.Units = append(p.Units, unit)
	p.noteIrreversible("release "+r.name, out.Hooks, event, had, after)
	if unit.Change == vnflcm.VnfcAdded {
		if err := p.noteDefinitions(ctx, r, u.Chart); err != nil {
			return err
		}
	}
	return p.noteLosses(ctx, without(had.Refs, after.Refs))
}

// compareRemoved adds a release that op.Package does not have.
func (p *packagePlan) compareRemoved(ctx context.Context, r release) error {
	now, err := p.find(ctx, r.name)
	if err != nil || now == nil || now.State == helmclient.Uninstalled {
		return err
	}
	m, err := p.manifestOf(ctx, now.Name, 0)
	if err != nil {
		return err
	}
	details := slices.Concat(textDetail("chart", shownChart(now.Chart), ""), objectDetails(m, objects.Manifest{}))
	p.Units = append(p.Units, vnflcm.PackageUnit{ID: r.name, Kind: vnflcm.UnitRelease, Name: r.name, Change: vnflcm.VnfcRemoved, VDUs: p.vdusOf(p.vdus, m.Refs), Details: details})
	p.Irreversible = append(p.Irreversible, "release "+r.name+": hooks of the uninstallation; values that the chart generates are those of Helm's history until the last batch, and new ones then")
	return p.noteLosses(ctx, m.Refs)
}

// compareManifests adds the manifests.
func (p *packagePlan) compareManifests(ctx context.Context) error {
	was, err := p.appliedManifests(ctx)
	if err != nil || was.runsBy(p.ownVNFD()) == p.op.Package.VNFD().ID {
		return err
	}
	c, err := p.manifestChange(ctx)
	if err != nil {
		return &vnflcm.ParamError{Path: "additionalParams.lcm-kubernetes-def-files", Reason: err.Error()}
	}
	had := c.had
	had.Refs, had.Objects = slices.Clone(had.Refs), slices.Clone(had.Objects)
	for _, r := range without(c.gone, had.Refs) {
		had.Refs, had.Objects = append(had.Refs, r), append(had.Objects, &objects.Object{})
	}
	details := objectDetails(had, c.after)
	if len(details) == 0 {
		return nil
	}
	p.Units = append(p.Units, vnflcm.PackageUnit{ID: manifestsUnit, Kind: vnflcm.UnitManifests, Change: vnflcm.VnfcModified, VDUs: p.vdusOf(p.planned, c.after.Refs), Details: details})
	p.noteIrreversible(manifestsUnit, nil, "", c.had, c.after)
	return errors.Join(p.rehearse(ctx, c), p.noteLosses(ctx, c.gone))
}

// rehearse asks the API server whether it accepts the objects.
func (p *packagePlan) rehearse(ctx context.Context, c manifestChange) error {
	findings, err := p.objects.RehearseApply(ctx, c.after.Placed(), p.owner())
	if err != nil {
		return err
	}
	var faults []error
	for _, f := range findings {
		faults = append(faults, errors.Join(&vnflcm.ParamError{Path: "additionalParams.lcm-kubernetes-def-files", Value: f.String(), Reason: "would be refused by the cluster"}, f.Reason))
	}
	return errors.Join(faults...)
}

// rehearseFixed refuses changes of fields that cannot be changed: Helm would fail in the middle of the upgrade.
func (p *packagePlan) rehearseFixed(ctx context.Context, had, after objects.Manifest) error {
	var changed []*objects.Object
	for i, o := range after.Placed() {
		if was := had.Object(after.Refs[i]); was != nil && !reflect.DeepEqual(was.Object, after.Objects[i].Object) {
			changed = append(changed, o)
		}
	}
	findings, err := p.objects.RehearseFixed(ctx, changed)
	if err != nil {
		return err
	}
	var faults []error
	for _, f := range findings {
		faults = append(faults, fmt.Errorf("%w: %s: %w: delete the object before, or let the new chart give it another name", helmclient.ErrRefused, f, f.Reason))
	}
	return errors.Join(faults...)
}

func (p *packagePlan) noteLosses(ctx context.Context, gone []objects.Ref) error {
	list, err := p.losses(ctx, gone)
	for _, l := range list {
		p.Losses = append(p.Losses, l.DataLoss)
	}
	return err
}

// noteIrreversible adds what rolling back does not undo: the work of hooks, and objects that are stored in the versions of new definitions.
func (p *packagePlan) noteIrreversible(of string, hooks []helmclient.Hook, event string, had, after objects.Manifest) {
	for _, h := range hooks {
		var when []string
		for _, e := range h.Events {
			if e == "pre-"+event || e == "post-"+event {
				when = append(when, e)
			}
		}
		if list, err := objects.Rendered("hook", []byte(h.Manifest)); err == nil && len(when) > 0 {
			for _, o := range list {
				p.Irreversible = append(p.Irreversible, fmt.Sprintf("%s: the hook %s (%s)", of, objects.RefOf(o), strings.Join(when, ", ")))
			}
		}
	}
	for _, d := range objectDetails(had, after) {
		if strings.HasPrefix(d.Name, "CustomResourceDefinition ") && d.Change != vnflcm.VnfcRemoved {
			p.Irreversible = append(p.Irreversible, fmt.Sprintf("%s: objects that are stored in versions of the new %s", of, d.Name))
		}
	}
}

// vdusOf returns the VDUs of the workloads among objects, sorted.
func (p *packagePlan) vdusOf(known []vduWorkload, refs []objects.Ref) (out []string) {
	for _, v := range known {
		if v.VDU != "" && slices.ContainsFunc(refs, func(r objects.Ref) bool { return sameObject(r, v.Workload) }) {
			out = append(out, v.VDU)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// valueDetails returns the names of the values that the change gives a release. Values may be secret.
func (p *packagePlan) valueDetails(ctx context.Context, r release, now *helmclient.Release) (out []vnflcm.UnitDetail) {
	from := p.old.design.release(r.name)
	if now == nil || now.State == helmclient.Uninstalled || from == nil {
		return nil
	}
	v, err := p.packageValues(ctx, r, *from, now.Revision)
	if err != nil {
		return nil // packageUpgrade has reported it
	}
	for _, name := range differences("", v.before, v.after) {
		out = append(out, vnflcm.UnitDetail{Name: "values." + name, Change: vnflcm.VnfcModified})
	}
	return out
}

func shownChart(c helmclient.ChartInfo) string { return strings.TrimSpace(c.Name + " " + c.Version) }

// textDetail returns a difference, none for equal texts.
func textDetail(name, from, to string) []vnflcm.UnitDetail {
	change := vnflcm.VnfcModified
	switch {
	case from == to:
		return nil
	case from == "":
		change = vnflcm.VnfcAdded
	case to == "":
		change = vnflcm.VnfcRemoved
	}
	return []vnflcm.UnitDetail{{Name: name, Change: change, From: from, To: to}}
}

// objectDetails returns the objects that are added, changed and removed, and the images of containers that differ.
func objectDetails(had, after objects.Manifest) (out []vnflcm.UnitDetail) {
	for i, r := range after.Refs {
		was := had.Object(r)
		switch {
		case was == nil:
			out = append(out, vnflcm.UnitDetail{Name: r.String(), Change: vnflcm.VnfcAdded})
		case !reflect.DeepEqual(was.Object, after.Objects[i].Object):
			out = append(out, vnflcm.UnitDetail{Name: r.String(), Change: vnflcm.VnfcModified})
			out = append(out, imageDetails(r, was, after.Objects[i])...)
		}
	}
	for _, r := range without(had.Refs, after.Refs) {
		out = append(out, vnflcm.UnitDetail{Name: r.String(), Change: vnflcm.VnfcRemoved})
	}
	slices.SortFunc(out, func(a, b vnflcm.UnitDetail) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// imageDetails returns the containers of a workload whose images differ.
func imageDetails(r objects.Ref, was, now *objects.Object) (out []vnflcm.UnitDetail) {
	before, after := objects.Images(was), objects.Images(now)
	for _, name := range sortedKeys(after) {
		if from, known := before[name]; known && from != after[name] {
			out = append(out, vnflcm.UnitDetail{Name: r.String() + " image of " + name, Change: vnflcm.VnfcModified, From: from, To: after[name]})
		}
	}
	return out
}
