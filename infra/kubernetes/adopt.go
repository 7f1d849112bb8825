package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Adopt implements vnflcm.Adopter. It takes over the releases or the manifests of the request, which another program has installed
// in the namespace of the request: Tacker, Helm, kubectl, or Flux. resource is that namespace, or empty. The scale levels are those
// of the pods that run, unless the caller gives the scale status.
//
// Releases must be deployed, from charts with the name and version that the request says; their values may be other ones and stay.
// Of the manifests the objects that exist are adopted, without namespaces and definitions of kinds: a termination leaves these.
// Releases and objects with the mark of another owner are refused (ErrForeignRelease, ErrForeign). Adopt changes nothing on the
// cluster and warns of objects of Flux that may undo the changes of later operations.
func (d *Driver) Adopt(ctx context.Context, op *vnflcm.Operation, resource string) (vnflcm.Adopted, error) {
	design, err := d.readChecked(ctx, op)
	if err != nil {
		return vnflcm.Adopted{}, err
	}
	w, err := d.connect(ctx, op, design)
	if err != nil {
		return vnflcm.Adopted{}, err
	}
	defer w.close()
	if resource != "" && resource != design.namespace {
		return vnflcm.Adopted{}, &vnflcm.ParamError{Path: "resource", Value: resource, Reason: "is not the namespace of the request, " + design.namespace}
	}
	do := w.adoptManifests
	if w.helm != nil {
		do = w.adoptReleases
	}
	refs, err := do(ctx)
	if err != nil {
		return vnflcm.Adopted{}, err
	}
	if w.vdus, err = w.findVDUs(ctx); err != nil {
		return vnflcm.Adopted{}, err
	}
	for _, r := range w.adopted.Managers {
		op.Warn(ctx, fightsBack(r))
	}
	state := map[string]any{adoptedKey: w.adopted, objectsKey: unique(refs)}
	if w.vdus != nil {
		state[vdusKey] = w.vdus
	}
	found, err := w.resources(ctx, refs)
	if err == nil {
		err = w.checkReplicas(ctx, refs, found.VNFCs)
	}
	return vnflcm.Adopted{Resources: found, Levels: shownLevels(op, found.VNFCs), State: state, Owned: w.adopted.owned}, err
}

// checkReplicas refuses VDUs whose workload has other replicas than the VDU has VNFCs: operations would set the replicas to the number
// of VNFCs.
func (w *work) checkReplicas(ctx context.Context, refs []objects.Ref, vnfcs []vnflcm.VNFC) error {
	have := numbers(vnfcs)
	var faults []error
	of := w.workloads(refs)
	for _, id := range sortedKeys(of) {
		if len(w.op.Flavour.AspectsOf(id)) == 0 {
			continue
		}
		n, err := w.objects.Replicas(ctx, of[id])
		if err == nil && n != have[id] {
			err = &vnflcm.ParamError{Path: "additionalParams.vdu_mapping." + id, Reason: fmt.Sprintf(
				"%s has %d replicas, and the VDU has %d pods: an operation would set the replicas to this number (%s)", of[id], n, have[id], w.knownAs(id))}
		}
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// numbers returns the number of VNFCs of each VDU.
func numbers(vnfcs []vnflcm.VNFC) map[string]int {
	have := map[string]int{}
	for _, v := range vnfcs {
		have[v.VDU]++
	}
	return have
}

// adoptReleases returns the objects of the releases.
func (w *work) adoptReleases(ctx context.Context) (all []objects.Ref, err error) {
	w.adopted = adopted{Releases: map[string]adoptedRelease{}}
	var faults []error
	for _, r := range w.design.releases {
		refs, err := w.adoptRelease(ctx, r)
		all, faults = append(all, refs...), append(faults, err)
	}
	return all, errors.Join(faults...)
}

// adoptRelease checks a release, and returns its objects.
func (w *work) adoptRelease(ctx context.Context, r release) ([]objects.Ref, error) {
	now, err := w.helm.Status(ctx, w.named(r.name))
	if errors.Is(err, helmclient.ErrNotFound) {
		return nil, w.releaseFault(r, "is no release in the namespace "+w.design.namespace)
	}
	if err != nil {
		return nil, err
	}
	if of := now.Labels[objects.Label]; of != "" && of != w.op.InstanceID {
		return nil, errors.Join(w.releaseFault(r, "belongs to the VNF instance "+of), fmt.Errorf("%w: %s", ErrForeignRelease, now.Name))
	}
	if now.State != helmclient.Deployed {
		return nil, w.releaseFault(r, fmt.Sprintf("is %s: it must be deployed", now.State))
	}
	if err := w.checkAdoptedChart(r, now.Chart); err != nil {
		return nil, err
	}
	refs, err := w.refsOf(ctx, r.name)
	if err != nil {
		return nil, err
	}
	w.adopted.Releases[r.name] = adoptedRelease{now.Revision, now.Updated}
	for _, o := range refs {
		if o.HoldsOthers() && o.Name == w.design.namespace {
			return nil, w.releaseFault(r, "has the namespace "+o.Name+" among its objects: uninstalling the release would remove everything in it")
		}
	}
	_, err = w.readAdopted(ctx, refs, now.Namespace+"/"+r.name)
	return refs, err
}

func (w *work) releaseFault(r release, reason string) error {
	return &vnflcm.ParamError{Path: w.design.namePath(r), Value: r.name, Reason: reason}
}

// exactVersion matches versions that are no ranges.
var exactVersion = regexp.MustCompile(`^v?\d+\.\d+\.\d+[0-9A-Za-z.+-]*$`)

// checkAdoptedChart compares the chart that a release was installed from with the chart of the request. A range of versions is not
// compared.
func (w *work) checkAdoptedChart(r release, of helmclient.ChartInfo) error {
	want := chartMeta{Name: path.Base(r.chart.ref), Version: r.chart.version}
	if r.chart.file != "" {
		var err error
		if want, err = inspect(w.op.Package, r.chart.file); err != nil {
			return err
		}
	} else if !exactVersion.MatchString(want.Version) {
		want.Version = of.Version
	}
	if want.Name == of.Name && want.Version == of.Version {
		return nil
	}
	return w.releaseFault(r, fmt.Sprintf("was installed from the chart %s %s, not from %s %s", of.Name, of.Version, want.Name, want.Version))
}

// adoptManifests returns the objects of the manifests that exist.
func (w *work) adoptManifests(ctx context.Context) (refs []objects.Ref, err error) {
	all, err := w.manifests(ctx)
	if err != nil {
		return nil, err
	}
	w.adopted = adopted{}
	found, err := w.readAdopted(ctx, objects.Refs(all), "")
	if err != nil {
		return nil, err
	}
	for _, o := range found {
		r := objects.RefOf(o)
		w.adopted.Objects = append(w.adopted.Objects, r)
		if r.UID = ""; !r.HoldsOthers() {
			refs = append(refs, r)
		}
	}
	if len(refs) == 0 {
		return nil, &vnflcm.ParamError{Path: "additionalParams.lcm-kubernetes-def-files", Reason: "has no object that exists in the namespace " + w.design.namespace}
	}
	return refs, nil
}

// readAdopted returns the objects that exist, and refuses those of other owners.
func (w *work) readAdopted(ctx context.Context, refs []objects.Ref, release string) ([]*objects.Object, error) {
	found, missing, err := w.objects.Adopt(ctx, refs, w.owner(), release)
	if errors.Is(err, ErrForeign) {
		err = errors.Join(&vnflcm.ParamError{Path: "additionalParams", Reason: "names objects that belong to other owners"}, err)
	}
	if err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		w.op.Warn(ctx, fmt.Sprintf("%d objects do not exist, such as %s: they are not adopted", len(missing), missing[0]))
	}
	for _, o := range found {
		if r := objects.RefOf(o); !r.HoldsOthers() {
			w.adopted.owned = append(w.adopted.owned, string(r.UID))
		}
	}
	w.adopted.Managers = unique(append(w.adopted.Managers, objects.ManagersOf(found)...))
	return found, nil
}

// shownLevels returns the scale levels at which the VDUs have these numbers of VNFCs, for the aspects with such a level. An aspect
// whose VDUs another aspect scales too is left out.
func shownLevels(op *vnflcm.Operation, vnfcs []vnflcm.VNFC) map[string]int {
	have, out := numbers(vnfcs), map[string]int{}
	for _, a := range op.Flavour.Aspects {
		if level, found := shownLevel(op, a.ID, min(a.MaxLevel, len(vnfcs)), have); found { // a step adds a VNFC
			out[a.ID] = level
		}
	}
	return out
}

func shownLevel(op *vnflcm.Operation, aspect string, most int, have map[string]int) (level int, found bool) {
	vdus := op.Flavour.VDUsOf(aspect)
	for _, id := range vdus {
		if len(op.Flavour.AspectsOf(id)) > 1 {
			return 0, false
		}
	}
	at := *op
	at.Levels = maps.Clone(op.Levels)
	for level = range most + 1 {
		at.Levels[aspect] = level
		want, err := at.Instances()
		if err != nil {
			return 0, false
		}
		more := false
		found = len(vdus) > 0
		for _, id := range vdus {
			found = found && want[id] == have[id]
			more = more || want[id] > have[id]
		}
		if found || more {
			break
		}
	}
	return level, found
}
