package kubernetes

import (
	"context"
	"fmt"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
)

// rollbackMark is the description of the revisions that rolling an operation back creates.
func rollbackMark(operation string) string { return "vnfkit rollback of operation " + operation }

// changeRelease makes a release what op.Package describes.
func (w *work) changeRelease(ctx context.Context, r release) error {
	now, err := w.find(ctx, r.name)
	if err != nil {
		return err
	}
	was, err := w.was(ctx, r.name)
	if err != nil {
		return err
	}
	if w.op.RollingBack {
		if was.Operation != w.op.ID { // the release was not changed
			return nil
		}
		if err := w.returnRelease(ctx, r, now, was); err != nil {
			return err
		}
		if err := w.noteRelease(ctx, r, was.Revision); err != nil {
			return err
		}
		was.To = "" // revisions of other clients that follow do not run by op.Former
		return w.op.State().Put(ctx, revisionKey(r.name), was)
	}
	before, err := w.upgradeRelease(ctx, r, now)
	if err != nil {
		return err
	}
	return w.noteRelease(ctx, r, before)
}

// upgradeRelease upgrades a release to the chart of op.Package, or installs it. It returns the revision before the operation.
func (w *work) upgradeRelease(ctx context.Context, r release, now *helmclient.Release) (int, error) {
	stale, err := w.recordPreviousRevision(ctx, r.name, now)
	if err != nil {
		return 0, err
	}
	was, err := w.was(ctx, r.name)
	if err != nil || w.done(now) {
		return was.Revision, err
	}
	u, err := w.packageUpgrade(ctx, r, now, was, w.checkGone)
	if err != nil {
		return 0, err
	}
	u.Stale = stale
	return was.Revision, w.takeUp(ctx, func() error {
		_, err := w.helm.Upgrade(ctx, u)
		return err
	})
}

// packageUpgrade returns Helm's request to upgrade a release, now, to the chart of op.Package: with the values that the release has, those
// that the request changes, and the numbers of pods, over the values of the new chart. compare gets the objects before and after it, and can
// refuse the difference. now is nil, or uninstalled, for a release that is to be installed.
func (w *work) packageUpgrade(ctx context.Context, r release, now *helmclient.Release, was before, compare func(ctx context.Context, had, after objects.Manifest) error) (helmclient.Upgrade, error) {
	request, err := w.request(ctx, r, nil)
	if err != nil {
		return helmclient.Upgrade{}, err
	}
	u := helmclient.Upgrade{Install: request, Reuse: helmclient.ReuseReset, OrInstall: true}
	from := w.old.design.release(r.name)
	revision := was.Revision
	if was.Operation != w.op.ID && now != nil {
		revision = now.Revision
	}
	if now == nil || now.State == helmclient.Uninstalled || from == nil || revision == 0 {
		return w.comparedInstall(u, compare), nil
	}
	u.MaxHistory = before{Revision: revision}.historyFrom(now)
	values, err := w.packageValues(ctx, r, *from, revision)
	if err != nil {
		return u, err
	}
	u.Values = helmclient.Values{Map: values.after}
	if w.reusesValues() {
		u.Reuse = helmclient.ReuseValues
	}
	plain := u
	u.PostRender = func(ctx context.Context, rendered []byte) ([]byte, error) {
		had, err := w.manifestOf(ctx, u.Name, revision)
		if err == nil {
			had, err = w.objects.Refresh(ctx, had)
		}
		if err != nil {
			return nil, err
		}
		after, err := w.parse(ctx, string(rendered))
		if err != nil {
			return nil, err
		}
		again, err := w.render(ctx, plain, values.after)
		if err != nil {
			return nil, err
		}
		rendering := objects.Change{Before: w.renderFormer(ctx, *from, now, revision, values.before), After: after, Again: again}
		out := rendering.Apply(had)
		if err := w.sizeChanged(ctx, out.Objects, out.Refs); err != nil {
			return nil, err
		}
		if err := compare(ctx, had, out); err != nil {
			return nil, err
		}
		return writeManifest(out.Objects)
	}
	return u, nil
}

// comparedInstall has compare see the objects of a release that is installed.
func (w *work) comparedInstall(u helmclient.Upgrade, compare func(ctx context.Context, had, after objects.Manifest) error) helmclient.Upgrade {
	u.PostRender = func(ctx context.Context, rendered []byte) ([]byte, error) {
		after, err := w.parse(ctx, string(rendered))
		if err == nil {
			err = w.sizeChanged(ctx, after.Objects, after.Refs)
		}
		if err == nil {
			err = compare(ctx, objects.Manifest{}, after)
		}
		if err != nil {
			return nil, err
		}
		return writeManifest(after.Objects)
	}
	return u
}

// renderFormer renders a release by the chart and the values that it has. A chart that cannot be had is replaced by the objects that Helm
// has recorded: fields that an earlier operation has kept for other clients are reset then.
func (w *work) renderFormer(ctx context.Context, r release, now *helmclient.Release, revision int, values map[string]any) objects.Manifest {
	request, err := w.old.request(ctx, r, nil)
	var m objects.Manifest
	if err == nil {
		m, err = w.old.render(ctx, helmclient.Upgrade{Install: request, Reuse: helmclient.ReuseReset}, values)
	}
	if err == nil {
		return m
	}
	w.op.Log.WarnContext(ctx, "the chart before the change cannot be rendered: its recorded objects are compared", "release", r.name, "error", err)
	if m, err = w.manifestOf(ctx, now.Name, revision); err != nil {
		w.op.Log.WarnContext(ctx, "the recorded objects cannot be read", "release", r.name, "error", err)
	}
	return m
}

// noteRelease records the workloads of a release that was changed, and deletes objects that Helm keeps and the request allows to delete.
func (w *work) noteRelease(ctx context.Context, r release, before int) error {
	now, err := w.manifestOf(ctx, w.named(r.name), 0)
	if err != nil {
		return err
	}
	var had objects.Manifest
	if before > 0 {
		if had, err = w.manifestOf(ctx, w.named(r.name), before); err != nil {
			return err
		}
	}
	if err := w.noteWorkloads(ctx, had.Refs, now, r.name); err != nil || w.op.RollingBack {
		return err
	}
	return w.prune(ctx, without(had.Refs, now.Refs), r.name)
}

// returnRelease rolls a release back to its recorded revision, once. A release that the operation has uninstalled is restored from Helm's
// history, or installed again.
func (w *work) returnRelease(ctx context.Context, r release, now *helmclient.Release, was before) error {
	isDeployed := now != nil && now.State == helmclient.Deployed
	var err error
	switch {
	case now == nil || was.Revision == 0:
		err = w.installOne(ctx, r)
	case isDeployed && (now.Revision == was.Revision || now.Description == rollbackMark(w.op.ID)):
	default:
		err = w.rollBack(ctx, now, was.Revision)
	}
	if err != nil {
		return err
	}
	m, err := w.manifestOf(ctx, w.named(r.name), 0)
	if err != nil {
		return err
	}
	return w.resizeWorkloads(ctx, m.Refs)
}

// rollBack rolls a release back to a revision. Objects with data that the revision does not have stay.
func (w *work) rollBack(ctx context.Context, now *helmclient.Release, revision int) error {
	had, err := w.manifestOf(ctx, now.Name, 0)
	if err != nil {
		return err
	}
	m, err := w.manifestOf(ctx, now.Name, revision)
	if err != nil {
		return err
	}
	if _, err := w.keepData(ctx, without(had.Refs, m.Refs)); err != nil {
		return err
	}
	return w.takeUp(ctx, func() error {
		_, err := w.helm.Rollback(ctx, helmclient.Rollback{Name: now.Name, Revision: revision, Description: rollbackMark(w.op.ID),
			Wait: helmclient.Wait{Timeout: w.cfg.Hooks}, Stale: ownStale, PostRender: w.withNumbers})
		return err
	})
}

// removeRelease uninstalls a release that op.Package does not have. Its history stays until nothing can be rolled back.
func (w *work) removeRelease(ctx context.Context, name string) error {
	now, err := w.find(ctx, name)
	if err != nil || now == nil || now.State == helmclient.Uninstalled {
		return err
	}
	if _, err := w.recordPreviousRevision(ctx, name, now); err != nil {
		return err
	}
	m, err := w.manifestOf(ctx, now.Name, 0)
	if err != nil {
		return err
	}
	how := helmclient.Uninstall{Wait: helmclient.Wait{Ready: true}, KeepClaims: true, KeepVolumes: true, KeepHistory: !w.op.RollingBack}
	if w.op.RollingBack {
		how.Keep, err = w.keepData(ctx, m.Refs)
	} else {
		err = w.checkGone(ctx, m, objects.Manifest{})
	}
	if err != nil {
		return err
	}
	if err := w.leaveStaying(ctx, m.Refs); err != nil {
		return err
	}
	pods, err := w.objects.Pods(ctx, m.Refs)
	if err != nil {
		return err
	}
	if err := w.uninstallOne(ctx, name, how); err != nil {
		return fmt.Errorf("release %s: %w", name, err)
	}
	if err := w.podsGone(ctx, pods, removal{grace: defaultGrace}); err != nil {
		return err
	}
	if err := w.noteWorkloads(ctx, m.Refs, objects.Manifest{}, name); err != nil {
		return err
	}
	if !w.op.RollingBack {
		if err := w.prune(ctx, m.Refs, name); err != nil {
			return err
		}
	}
	return w.noteObjects(ctx)
}

// forgetRemoved removes Helm's history of the releases that op.Package does not have.
func (w *work) forgetRemoved(ctx context.Context) error {
	for _, r := range w.old.design.releases {
		if w.design.has(r.name) {
			continue
		}
		now, err := w.find(ctx, r.name)
		if err == nil && now != nil && now.State == helmclient.Uninstalled {
			err = w.uninstallOne(ctx, r.name, helmclient.Uninstall{})
		}
		if err != nil {
			return fmt.Errorf("release %s: %w", r.name, err)
		}
	}
	return nil
}

// reusesValues reports whether the request asks for Helm's --reuse-values, as Tacker upgrades: the values of the chart before the change
// replace those of the new chart.
func (w *work) reusesValues() bool {
	var p struct {
		Reuse bool `json:"reuse_values"`
	}
	_, err := w.op.RequestParams().Decode(&p)
	return err == nil && p.Reuse // it was decoded before
}

// packageValues returns the values that a revision of a release has, and those that the change gives it.
func (w *work) packageValues(ctx context.Context, r, from release, revision int) (v releaseValues, err error) {
	if v.before, err = w.old.recordedValues(ctx, from, revision); err != nil {
		return v, err
	}
	was, err := w.old.givenValues(from)
	if err != nil {
		return v, err
	}
	given, err := w.givenValues(r)
	if err != nil {
		return v, err
	}
	c := valueChange{removes: (w.design.byMCIOPs || w.design.version2) && !w.reusesValues()}
	v.after = c.apply(v.before, was, given)
	return v, nil
}

// valueChange changes values as the sources of two requests differ.
type valueChange struct {
	removes bool // values that only the first request gives; a list of settings adds to the settings before
}

// apply returns values with the difference between was and given. Values that another client has given stay.
func (c valueChange) apply(values, was, given map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range values {
		_, stays := given[name]
		old, gave := was[name]
		if stays || !c.removes || !gave || !equalValues(old, value) {
			out[name] = value
		}
	}
	for name, value := range given {
		old, gave := was[name]
		below, isMap := value.(map[string]any)
		oldBelow, both := old.(map[string]any)
		switch {
		case isMap && both:
			here, _ := out[name].(map[string]any)
			if after := c.apply(here, oldBelow, below); len(after) > 0 || here != nil {
				out[name] = after
			}
		case !gave || !equalValues(old, value):
			out[name] = value
		}
	}
	return out
}
