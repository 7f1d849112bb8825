package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// ownVNFD is the VNFD of the instance: while its package changes, the one before the change.
func (w *work) ownVNFD() string { return w.op.Instance().VnfdID }

// runsBy returns the VNFD by which a release, now, runs; "" for the VNFD of the instance. A change of the package that has not finished is
// decided by the release itself.
func (b before) runsBy(now *helmclient.Release) string {
	if b.To != "" && now != nil && now.Revision > b.Revision && now.State == helmclient.Deployed && now.Description != rollbackMark(b.Operation) {
		return b.To
	}
	return b.VNFD
}

// releaseVNFD returns the VNFD by which a release, now, runs.
func (w *work) releaseVNFD(ctx context.Context, now *helmclient.Release) (string, error) {
	if now == nil {
		return "", nil
	}
	was, err := w.was(ctx, now.Release)
	return cmp.Or(was.runsBy(now), w.ownVNFD()), err
}

// appliedKey is the state key of the package whose manifests were applied last.
const appliedKey = "kubernetes/applied"

// appliedManifests is the VNFD by which the objects of manifests run: From until everything is Done.
type appliedManifests struct {
	From string `json:"from"`
	To   string `json:"to"`
	Done bool   `json:"done"`
}

// runsBy returns the VNFD by which the objects run. own is the VNFD of the instance.
func (a appliedManifests) runsBy(own string) string {
	if a.Done {
		return a.To
	}
	return cmp.Or(a.From, own)
}

func (w *work) appliedManifests(ctx context.Context) (a appliedManifests, err error) {
	err = w.op.State().Get(ctx, appliedKey, &a)
	if errors.Is(err, vnflcm.ErrNotFound) {
		err = nil
	}
	return a, err
}

// changedKey is the state key of the last change of the package.
const changedKey = "kubernetes/change"

// lastChange are the packages of a change and what their workloads are. Rolling back does not write it again.
type lastChange struct {
	Operation string                   `json:"operation"`
	VDUs      map[string][]vduWorkload `json:"vdus"` // by VNFD
	Releases  []string                 `json:"releases"`
}

func (w *work) lastChange(ctx context.Context) (c lastChange, err error) {
	err = w.op.State().Get(ctx, changedKey, &c)
	if errors.Is(err, vnflcm.ErrNotFound) {
		err = nil
	}
	return c, err
}

// recordWorkloads stores the workloads of the VDUs in both packages, and the releases of both, before the operation changes anything.
func (w *work) recordWorkloads(ctx context.Context) error {
	c, err := w.lastChange(ctx)
	if err != nil {
		return err
	}
	if c.Operation == w.op.ID {
		w.planned = c.VDUs[w.op.Package.VNFD().ID]
		return nil
	}
	if w.op.RollingBack { // nothing was changed
		w.planned = w.vdus
		return nil
	}
	to, err := w.findVDUs(ctx)
	if err != nil {
		return err
	}
	from := w.vdus
	if from == nil {
		if from, err = w.old.findVDUs(ctx); err != nil {
			return err
		}
	}
	w.planned = to
	c = lastChange{Operation: w.op.ID, Releases: w.bothReleases(),
		VDUs: map[string][]vduWorkload{w.op.Package.VNFD().ID: to, w.old.op.Package.VNFD().ID: from}}
	return w.op.State().Put(ctx, changedKey, c)
}

// noteWorkloads records that these workloads of a release are those that op.Package describes; before are those that it had.
func (w *work) noteWorkloads(ctx context.Context, before []objects.Ref, now objects.Manifest, release string) error {
	planned := w.planned
	if planned == nil { // its chart could not be rendered before
		planned, _, _ = w.design.findVDUs(w.op.Flavour, workloadsOf(release, now.Placed(), "")) // faults are no longer in the way
	}
	isOf := func(refs []objects.Ref) func(vduWorkload) bool {
		return func(v vduWorkload) bool {
			return slices.ContainsFunc(refs, func(r objects.Ref) bool { return sameObject(r, v.Workload) })
		}
	}
	of := slices.DeleteFunc(slices.Clone(w.vdus), isOf(slices.Concat(before, now.Refs)))
	for _, v := range planned {
		if isOf(now.Refs)(v) {
			of = append(of, v)
		}
	}
	return w.storeVDUs(ctx, of)
}

// mix makes the design of a mixed VNF: each release and the manifests as the package describes them that they run by. Releases that only the
// other package has are added, as far as they exist.
func (w *work) mix(ctx context.Context) error {
	c, err := w.lastChange(ctx)
	if err != nil || w.op.ChangeVnfPkg != nil {
		return err
	}
	other, err := w.otherDesign(c)
	if err != nil {
		return err
	}
	if w.helm == nil {
		was, err := w.appliedManifests(ctx)
		if other != nil && was.runsBy(w.ownVNFD()) != w.op.Package.VNFD().ID {
			w.design.files, w.design.pkg = other.files, other.pkg
		}
		return err
	}
	for _, name := range c.Releases {
		if err := w.mixRelease(ctx, name, other); err != nil {
			return err
		}
	}
	return nil
}

// otherDesign returns the design of the second package of a mixed VNF, nil without one.
func (w *work) otherDesign(c lastChange) (*design, error) {
	for _, vnfd := range sortedKeys(c.VDUs) {
		if v := w.op.VersionOf(vnflcm.VNFC{VnfdID: vnfd}); v.Package != w.op.Package {
			of := *w.op
			of.Package, of.Flavour, of.Initial, of.Params = v.Package, v.Flavour, v.Initial, v.Initial.AdditionalParams
			return read(&of)
		}
	}
	return nil, nil //nolint:nilnil // the VNF is not mixed
}

// mixRelease takes a release from the other package if it runs by that.
func (w *work) mixRelease(ctx context.Context, name string, other *design) error {
	own := w.design.release(name)
	if other == nil && (own != nil || w.op.Kind != vnflcm.OpTerminate) {
		return nil
	}
	now, err := w.find(ctx, name)
	if errors.Is(err, ErrForeignRelease) || err == nil && now == nil { // it was removed
		return nil
	}
	if err != nil {
		return err
	}
	vnfd, err := w.releaseVNFD(ctx, now)
	if err != nil {
		return err
	}
	by := &release{name: name} // enough to remove it
	if other != nil {
		by = other.release(name)
	}
	switch {
	case by == nil:
	case own == nil:
		w.design.releases = append(w.design.releases, *by)
	case vnfd != w.op.Package.VNFD().ID:
		*own = *by
	default:
		return nil
	}
	if other == nil {
		return nil
	}
	for id, v := range other.vdus {
		if _, known := w.design.vdus[id]; v.release == name && known {
			w.design.vdus[id] = v
		}
	}
	return nil
}
