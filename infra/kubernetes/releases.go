package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// find returns the newest revision of a release, nil if it does not exist, ErrForeignRelease if it does not belong to
// the VNF. The label decides that, because every client can filter by it. An adopted release gets the label with its first upgrade.
func (w *work) find(ctx context.Context, name string) (*helmclient.Release, error) {
	n := w.named(name)
	r, err := w.helm.Status(ctx, n)
	if errors.Is(err, helmclient.ErrNotFound) {
		return nil, nil
	}
	if err != nil || r.Labels[objects.Label] == w.op.InstanceID {
		return r, err
	}
	if ours, err := w.isAdopted(ctx, r); err != nil || ours {
		return r, err
	}
	ours, err := w.helm.List(ctx, helmclient.Filter{Namespace: n.Namespace, Labels: map[string]string{objects.Label: w.op.InstanceID}})
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(ours, func(r helmclient.Release) bool { return r.Release == name }) {
		return nil, fmt.Errorf("%w: %s", ErrForeignRelease, n)
	}
	return r, nil
}

func (w *work) named(name string) helmclient.Name {
	return helmclient.Name{Namespace: w.design.namespace, Release: name}
}

// mark is the description of the revisions that a phase of an operation creates. It distinguishes them from earlier
// revisions. A SCALE_TO_LEVEL has several phases that change releases.
func (w *work) mark() string { return "vnfkit operation " + w.op.ID + ", " + w.op.Phase() }

// done reports whether the phase has already changed the release.
func (w *work) done(r *helmclient.Release) bool {
	return r != nil && r.State == helmclient.Deployed && r.Description == w.mark()
}

// install is the step that installs all releases, in their order: a chart may need objects of an earlier one. If one
// cannot be installed, the releases that this operation installed are uninstalled; a retry installs them again. If the
// objects of one do not become ready, everything stays.
func (w *work) install(ctx context.Context) error {
	return vnflcm.Do(ctx, w.op, "install-releases", "", func(ctx context.Context) error {
		var made []string
		var all []objects.Ref
		var found []workload
		for i, r := range w.design.releases {
			w.op.Report(ctx, fmt.Sprintf("release %s, %d of %d", r.name, i+1, len(w.design.releases)))
			made = append(made, r.name)
			err := w.installOne(ctx, r)
			var m objects.Manifest
			if err == nil {
				m, err = w.manifestOf(ctx, w.named(r.name), 0)
			}
			if err != nil {
				return w.undo(ctx, fmt.Errorf("release %s: %w", r.name, err), made)
			}
			all, found = append(all, m.Refs...), append(found, workloadsOf(r.name, m.Placed(), "")...)
			if r.wait && i < len(w.design.releases)-1 {
				if err := w.awaitRelease(ctx, m.Refs); err != nil {
					return fmt.Errorf("release %s: %w", r.name, err)
				}
			}
		}
		if err := w.keepVDUs(ctx, found); err != nil {
			return err
		}
		return w.op.State().Put(ctx, objectsKey, unique(all))
	})
}

// awaitRelease waits until the objects of a release are ready. It stores them first, because they stay if they do not become
// ready.
func (w *work) awaitRelease(ctx context.Context, refs []objects.Ref) error {
	if err := w.storeObjects(ctx, refs); err != nil {
		return err
	}
	return within(ctx, w.cfg.Ready, func(ctx context.Context) error { return w.objects.Await(ctx, refs, w.tell(ctx)) })
}

// continuesElsewhere reports whether another process will continue the operation with the current state.
func continuesElsewhere(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, vnflcm.ErrShutdown) || errors.Is(cause, vnflcm.ErrLeased)
}

// installOne installs one release, or finishes the installation of an earlier process.
func (w *work) installOne(ctx context.Context, r release) error {
	now, err := w.find(ctx, r.name)
	if err != nil || w.done(now) {
		return err
	}
	request, err := w.request(ctx, r, now)
	if err == nil {
		request.Stale, err = w.recordPreviousRevision(ctx, r.name, now)
	}
	if err != nil {
		return err
	}
	if now == nil {
		if _, err := w.helm.Install(ctx, request); !errors.Is(err, helmclient.ErrBusy) {
			return err
		}
		// The connection to the machine that ran Helm was lost, or another client was faster.
		if now, err = w.find(ctx, r.name); err != nil || w.done(now) {
			return err
		}
	}
	return w.upgradeOne(ctx, r, request, now, true)
}

// ensureRepository adds or updates the chart repository.
func (w *work) ensureRepository(ctx context.Context, r release) error {
	if r.chart.repository == nil {
		return nil
	}
	return w.helm.AddRepository(ctx, *r.chart.repository)
}

// takeUp repeats a call while Helm of an earlier process still runs: that process is dead, since this process has its
// lease, but its helm program on another machine may run for a while.
func (w *work) takeUp(ctx context.Context, call func() error) error {
	busy := func(err error) bool { return errors.Is(err, helmclient.ErrBusy) }
	var last error
	err := within(ctx, w.cfg.StaleAfter, func(ctx context.Context) error {
		return w.cluster.Retry(ctx, busy, func(context.Context) error { // a call that has begun may take longer than ctx
			last = call()
			return last
		})
	})
	if !busy(last) {
		return last
	}
	return err
}

// ownStale is the age at which a pending revision of this VNF counts as dead: the process that created it has lost the
// lease.
const ownStale = time.Nanosecond

// revisionKey is the state key of the revision that a release had before the last operation that changed it.
func revisionKey(name string) string { return "kubernetes/revision/" + name }

// before is the state of a release before an operation: a revision, or 0.
type before struct {
	Operation string `json:"operation"`
	Revision  int    `json:"revision"`
	// VNFD is the one by which the revision runs, "" for that of the instance; To is the one of the package that the operation changes to.
	VNFD string `json:"vnfd,omitempty"`
	To   string `json:"to,omitempty"`
}

// keptRevisions is how many revisions of a release Helm keeps, since each one is a Secret in etcd.
const keptRevisions = 10

// historyFrom returns how many revisions an upgrade keeps. The revision for rolling back must be among them, also if
// the operation upgrades the release several times.
func (b before) historyFrom(now *helmclient.Release) int {
	return max(keptRevisions, now.Revision-b.Revision+2)
}

// recordPreviousRevision stores the revision that a release has before the operation, for rolling back. It returns the
// age at which a pending revision counts as dead; a pending revision of an earlier process of this operation is dead at
// any age.
func (w *work) recordPreviousRevision(ctx context.Context, name string, now *helmclient.Release) (stale time.Duration, err error) {
	was, err := w.was(ctx, name)
	if err != nil || was.Operation == w.op.ID {
		return ownStale, err
	}
	was = before{Operation: w.op.ID, VNFD: was.runsBy(now)}
	if w.old != nil {
		was.VNFD, was.To = cmp.Or(was.VNFD, w.ownVNFD()), w.op.Package.VNFD().ID
	}
	if now != nil {
		was.Revision = now.Revision
	}
	return w.cfg.StaleAfter, w.op.State().Put(ctx, revisionKey(name), was)
}

func (w *work) was(ctx context.Context, name string) (before, error) {
	var was before
	err := w.op.State().Get(ctx, revisionKey(name), &was)
	if errors.Is(err, vnflcm.ErrNotFound) {
		err = nil
	}
	return was, err
}

// request returns Helm's request to install the release. now is its newest revision, nil if it does not exist.
func (w *work) request(ctx context.Context, r release, now *helmclient.Release) (helmclient.Install, error) {
	chart, err := w.chart(ctx, r, now)
	if err != nil {
		return helmclient.Install{}, err
	}
	values, err := w.sources(r)
	if err != nil {
		return helmclient.Install{}, err
	}
	request := helmclient.Install{Name: w.named(r.name), Chart: chart, Values: values,
		Wait: helmclient.Wait{Timeout: w.cfg.Hooks}, Labels: map[string]string{objects.Label: w.op.InstanceID},
		Description: w.mark()}
	if slices.ContainsFunc(w.op.Flavour.VDUs, func(v tosca.VDU) bool { return w.resizes(v.ID) }) {
		request.PostRender = w.overlay
	}
	return request, nil
}

// keepReleases stores the objects that the releases created.
func (w *work) keepReleases(ctx context.Context) error {
	var refs []objects.Ref
	for _, r := range w.design.releases {
		of, err := w.refsOf(ctx, r.name)
		if err != nil {
			return err
		}
		refs = append(refs, of...)
	}
	return w.op.State().Put(ctx, objectsKey, unique(refs))
}

// keepUnfinished stores the objects of releases that were never finished, as far as the releases list them.
func (w *work) keepUnfinished(ctx context.Context) {
	for _, r := range w.design.releases {
		now, err := w.find(ctx, r.name)
		if err != nil || now == nil {
			continue
		}
		refs, err := w.refsOf(ctx, r.name)
		if err == nil {
			err = w.storeObjects(ctx, refs)
		}
		if err != nil {
			w.op.Log.WarnContext(ctx, "the objects of an unfinished release are unknown", "release", r.name, "error", err)
		}
	}
}

// refsOf returns the objects of the newest revision of a release, without those whose names the API server has generated.
func (w *work) refsOf(ctx context.Context, name string) ([]objects.Ref, error) {
	m, err := w.manifestOf(ctx, w.named(name), 0)
	if err != nil {
		return nil, fmt.Errorf("release %s: %w", name, err)
	}
	return slices.DeleteFunc(m.Refs, func(r objects.Ref) bool { return r.Name == "" }), nil
}

// uninstallOne uninstalls a release; how says what it keeps, and whether to wait. It succeeds if the release does not exist.
func (w *work) uninstallOne(ctx context.Context, name string, how helmclient.Uninstall) error {
	now, err := w.find(ctx, name)
	if err != nil || now == nil {
		return err
	}
	how.Name, how.Description, how.Timeout = w.named(name), w.mark(), w.cfg.Gone
	err = w.takeUp(ctx, func() error { return w.helm.Uninstall(ctx, how) })
	if errors.Is(err, helmclient.ErrNotFound) {
		return nil
	}
	return err
}
