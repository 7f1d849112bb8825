package kubernetes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/internal/kubeaccess"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// find returns the newest revision of a release, nil when there is none, ErrForeignRelease when it is not ours. Whose it is
// follows from the label, which every client can filter by.
func (w *work) find(ctx context.Context, name string) (*helmclient.Release, error) {
	n := w.named(name)
	r, err := w.helm.Status(ctx, n)
	if errors.Is(err, helmclient.ErrNotFound) {
		return nil, nil
	}
	if err != nil || r.Labels[objects.Label] == w.op.InstanceID {
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

// mark is the description of the revisions that a phase of an operation makes: it tells them from those before. A
// SCALE_TO_LEVEL has several phases that change releases.
func (w *work) mark() string { return "vnfkit operation " + w.op.ID + ", " + w.op.Phase() }

// done reports whether the phase has brought a release where it is to be.
func (w *work) done(r *helmclient.Release) bool {
	return r != nil && r.State == helmclient.Deployed && r.Description == w.mark()
}

// install is the step that makes all releases, in their order: a chart may need what the one before it made. When one
// fails, those that the operation has made go again; what they were is made anew by a retry.
func (w *work) install(ctx context.Context) error {
	return vnflcm.Do(ctx, w.op, "install-releases", "", func(ctx context.Context) error {
		var made []string
		for i, r := range w.design.releases {
			w.op.Report(ctx, fmt.Sprintf("release %s, %d of %d", r.name, i+1, len(w.design.releases)))
			made = append(made, r.name)
			err := w.installOne(ctx, r)
			if err == nil && r.wait && i < len(w.design.releases)-1 {
				err = w.awaitRelease(ctx, r.name)
			}
			if err != nil {
				err = fmt.Errorf("release %s: %w", r.name, err)
				if goesOn(ctx) {
					return err
				}
				return errors.Join(err, w.undo(ctx, made))
			}
		}
		return w.keepReleases(ctx)
	})
}

// awaitRelease waits until all objects of a release are ready.
func (w *work) awaitRelease(ctx context.Context, name string) error {
	refs, err := w.refsOf(ctx, name)
	if err != nil {
		return err
	}
	return w.awaitObjects(ctx, refs)
}

// goesOn reports whether the operation will go on in another process, which takes what is there.
func goesOn(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, vnflcm.ErrShutdown) || errors.Is(cause, vnflcm.ErrLeased)
}

// undoTime is how long the removal of one release may take that was made in vain.
const undoTime = time.Minute

// undo removes releases, the last first. It has its own time: that of the operation may be over.
func (w *work) undo(ctx context.Context, names []string) error {
	var errs []error
	for _, name := range slices.Backward(names) {
		bounded, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), undoTime, errOverdue)
		if err := w.uninstallOne(bounded, name, false); err != nil && !errors.Is(err, ErrForeignRelease) {
			errs = append(errs, fmt.Errorf("and release %s is left behind: %w", name, err))
		}
		cancel()
	}
	return errors.Join(errs...)
}

// installOne makes one release, or finishes what an earlier process began.
func (w *work) installOne(ctx context.Context, r release) error {
	now, err := w.find(ctx, r.name)
	if err != nil || w.done(now) {
		return err
	}
	if err := w.ready(ctx, r); err != nil {
		return err
	}
	request, err := w.request(r)
	if err == nil {
		request.Stale, err = w.begins(ctx, r.name, now)
	}
	if err != nil {
		return err
	}
	if now == nil {
		if _, err := w.helm.Install(ctx, request); !errors.Is(err, helmclient.ErrBusy) {
			return err
		}
		// The machine that ran Helm was lost in the middle, or somebody else was quicker.
		if now, err = w.find(ctx, r.name); err != nil || w.done(now) {
			return err
		}
	}
	return w.takeUp(ctx, func() error {
		_, err := w.helm.Upgrade(ctx, helmclient.Upgrade{Install: request, Reuse: helmclient.ReuseReset, OrInstall: true, MaxHistory: keptRevisions})
		return err
	})
}

// ready makes the repository of a chart known.
func (w *work) ready(ctx context.Context, r release) error {
	if r.chart.repository == nil {
		return nil
	}
	return w.helm.AddRepository(ctx, *r.chart.repository)
}

// takeUp repeats a call while Helm of an earlier process is at work: the process is dead, since this one holds its
// lease, but a helm program on another machine may outlive it for a while.
func (w *work) takeUp(ctx context.Context, call func() error) error {
	until := time.Now().Add(w.cfg.StaleAfter) // a call that has begun may take longer
	return kubeaccess.Retry(ctx, func(err error) bool { return errors.Is(err, helmclient.ErrBusy) && time.Now().Before(until) },
		func(context.Context) error { return call() })
}

// ownStale is for how long a pending revision of ours must be quiet: whoever made it has lost the lease.
const ownStale = time.Nanosecond

// revisionKey is where it is kept what a release was before the operation that changed it last.
func revisionKey(name string) string { return "kubernetes/revision/" + name }

// before is what a release was before an operation: a revision, or 0.
type before struct {
	Operation string `json:"operation"`
	Revision  int    `json:"revision"`
}

// keptRevisions is how many revisions of a release Helm keeps, since each one is a Secret in etcd.
const keptRevisions = 10

// historyFrom returns how many revisions an upgrade keeps: one is the revision that rolling back returns to, also when the
// operation upgrades the release many times.
func (b before) historyFrom(now *helmclient.Release) int {
	return max(keptRevisions, now.Revision-b.Revision+2)
}

// begins writes down what a release is before the operation first changes it, and says for how long a pending revision
// must be quiet to count as dead: what an earlier process of this operation has left is, whatever its age.
func (w *work) begins(ctx context.Context, name string, now *helmclient.Release) (stale time.Duration, err error) {
	was, err := w.was(ctx, name)
	if err != nil || was.Operation == w.op.ID {
		return ownStale, err
	}
	was = before{Operation: w.op.ID}
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

// request is what Helm is asked to install.
func (w *work) request(r release) (helmclient.Install, error) {
	values, err := w.values(r)
	if err != nil {
		return helmclient.Install{}, err
	}
	request := helmclient.Install{Name: w.named(r.name), Chart: w.chart(r.chart), Values: values,
		Wait: helmclient.Wait{Timeout: w.cfg.Hooks}, Labels: map[string]string{objects.Label: w.op.InstanceID},
		Description: w.mark()}
	if slices.ContainsFunc(w.op.Flavour.VDUs, func(v tosca.VDU) bool { return w.resizes(v.ID) }) {
		request.PostRender = w.overlay
	}
	return request, nil
}

func (w *work) chart(s source) helmclient.Chart {
	if s.file == "" {
		return helmclient.Chart{Ref: s.ref, Version: s.version, Access: s.access}
	}
	return helmclient.Chart{Archive: func() (io.ReadCloser, error) { return packaged(w.op.Package, s.file) }}
}

// values are those of the request, with the numbers of pods laid over them.
func (w *work) values(r release) (helmclient.Values, error) {
	counts, err := w.counts(r.name)
	if err != nil {
		return helmclient.Values{}, err
	}
	v := helmclient.Values{Set: slices.Concat(r.set, counts), SetJSON: r.setJSON}
	for _, name := range r.valueFiles {
		v.Files = append(v.Files, func() (io.ReadCloser, error) {
			data, err := fs.ReadFile(w.op.Package, name)
			return io.NopCloser(bytes.NewReader(data)), err
		})
	}
	return v, nil
}

// counts are the values of a release that count pods, at the scale levels that the operation leads to.
func (w *work) counts(name string) ([]string, error) {
	want, err := w.op.Instances()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, id := range sortedKeys(w.design.vdus) {
		if v := w.design.vdus[id]; v.value != "" && v.release == name {
			out = append(out, fmt.Sprintf("%s=%d", v.value, want[id]))
		}
	}
	return slices.Compact(out), nil
}

// keepReleases writes down which objects the releases have made.
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

// keepUnfinished writes down what releases have made that were never finished, as far as they say.
func (w *work) keepUnfinished(ctx context.Context) {
	for _, r := range w.design.releases {
		now, err := w.find(ctx, r.name)
		if err != nil || now == nil {
			continue
		}
		refs, err := w.refsOf(ctx, r.name)
		if err == nil {
			err = w.keep(ctx, refs)
		}
		if err != nil {
			w.op.Log.WarnContext(ctx, "it is not known what a release has made", "release", r.name, "error", err)
		}
	}
}

// refsOf are the objects of the newest revision of a release.
func (w *work) refsOf(ctx context.Context, name string) ([]objects.Ref, error) {
	text, err := w.helm.Manifest(ctx, w.named(name), 0)
	if err != nil {
		return nil, fmt.Errorf("release %s: %w", name, err)
	}
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	list, err := objects.Parse("manifest of release "+name, []byte(text))
	if err == nil {
		err = w.objects.Place(ctx, list, w.design.namespace)
	}
	if err != nil {
		return nil, err
	}
	return objects.Refs(list), nil
}

// uninstallOne removes a release. One that is not there is removed already.
func (w *work) uninstallOne(ctx context.Context, name string, wait bool) error {
	now, err := w.find(ctx, name)
	if err != nil || now == nil {
		return err
	}
	err = w.takeUp(ctx, func() error {
		return w.helm.Uninstall(ctx, helmclient.Uninstall{Name: w.named(name), Description: w.mark(),
			Wait: helmclient.Wait{Ready: wait, Timeout: w.cfg.Gone}})
	})
	if errors.Is(err, helmclient.ErrNotFound) {
		return nil
	}
	return err
}
