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
	"github.com/vnfkit/vnfkit/vnflcm"
)

// ErrRefused says that the cluster would refuse an object that a heal creates again. Nothing was removed.
var ErrRefused = errors.New("the cluster would refuse what the heal creates again")

// healAll recreates the workloads of the VNF.
func (w *work) healAll(ctx context.Context) error {
	if err := w.readyStep(ctx, "check-replacements", w.checkReplacements); err != nil {
		return fmt.Errorf("nothing was removed: %w", err)
	}
	if err := vnflcm.Do(ctx, w.op, "remove", "", w.removeWorkloads); err != nil {
		return err
	}
	return w.make(ctx)
}

// checkReplacements renders everything that the heal applies, and asks the API server by dry runs whether it accepts each
// object. The request can pass over findings by the names of their objects.
func (w *work) checkReplacements(ctx context.Context) error {
	planned, owner, err := w.replacements(ctx)
	if err != nil {
		return err
	}
	findings, err := w.objects.Rehearse(ctx, planned, owner)
	if err != nil {
		return err
	}
	var refused []error
	for _, f := range findings {
		if slices.Contains(w.design.IgnoreFindings, f.String()) {
			w.op.Warn(ctx, fmt.Sprintf("passed over, as the request says: %s: %v", f, f.Reason))
			continue
		}
		refused = append(refused, fmt.Errorf("%s: %w", f, f.Reason))
	}
	if len(refused) == 0 {
		return nil
	}
	return fmt.Errorf("%w; additionalParams.ignore_findings of another heal can name objects to pass over: %w", ErrRefused, errors.Join(refused...))
}

// replacements returns the objects that the heal applies, placed, and whose label they get from this driver.
func (w *work) replacements(ctx context.Context) ([]*objects.Object, objects.Owner, error) {
	if w.helm == nil {
		all, err := w.manifests(ctx)
		return all, w.owner(), err
	}
	var all []*objects.Object
	for _, r := range w.design.releases {
		planned, err := w.rehearseRelease(ctx, r)
		if err != nil {
			return nil, objects.Owner{}, fmt.Errorf("release %s: %w", r.name, err)
		}
		all = append(all, planned...)
	}
	return all, objects.Owner{}, nil
}

// rehearseRelease returns the objects of the revision that the heal makes of a release, and of its hooks.
func (w *work) rehearseRelease(ctx context.Context, r release) ([]*objects.Object, error) {
	now, err := w.find(ctx, r.name)
	if err != nil || w.done(now) {
		return nil, err
	}
	request, err := w.request(ctx, r, now)
	if err != nil {
		return nil, err
	}
	manifest, hooks, err := w.renderHeal(ctx, r, request, now)
	if err != nil {
		return nil, err
	}
	m, err := w.parse(ctx, manifest)
	if err != nil {
		return nil, err
	}
	all := m.Placed()
	for _, text := range hooks {
		m, err := w.parse(ctx, text)
		if err != nil { // Helm accepts hooks that other objects define, or that have a generated name
			w.op.Log.WarnContext(ctx, "a hook cannot be checked", "release", r.name, "error", err)
			continue
		}
		all = append(all, m.Placed()...)
	}
	return all, nil
}

// renderHeal renders a release, now, as the heal will install or upgrade it, with its hooks. Helm makes no dry run of a release
// whose change was never finished: its chart is rendered, and its manifest is the one that the release has.
func (w *work) renderHeal(ctx context.Context, r release, request helmclient.Install, now *helmclient.Release) (manifest string, hooks []string, err error) {
	if now != nil && now.State.Pending() {
		manifest, err = w.renderPending(ctx, request, now)
		return manifest, nil, err
	}
	request.DryRun = true
	var rendered *helmclient.Release
	event := "install"
	if now == nil {
		rendered, err = w.helm.Install(ctx, request)
	} else {
		event = "upgrade"
		var u helmclient.Upgrade
		if u, err = w.upgradeOf(ctx, r, request, now, true); err == nil {
			rendered, err = w.helm.Upgrade(ctx, u)
		}
	}
	if err != nil {
		return "", nil, err
	}
	for _, h := range rendered.Hooks {
		if slices.Contains(h.Events, "pre-"+event) || slices.Contains(h.Events, "post-"+event) {
			hooks = append(hooks, h.Manifest)
		}
	}
	return rendered.Manifest, hooks, nil
}

// renderPending returns the manifest of a release whose change was never finished. While another client may still work on the
// release, the error is helmclient.ErrBusy.
func (w *work) renderPending(ctx context.Context, request helmclient.Install, now *helmclient.Release) (string, error) {
	was, err := w.was(ctx, now.Release)
	if err != nil {
		return "", err
	}
	if was.Operation != w.op.ID && time.Since(now.Updated) < w.cfg.StaleAfter {
		return "", &helmclient.StaleError{Release: now.Name, State: now.State, Since: now.Updated, Busy: true}
	}
	if _, err := w.helm.Template(ctx, request); err != nil {
		return "", err
	}
	return w.helm.Manifest(ctx, now.Name, 0)
}

// formerKey is the state key of what a heal of the whole VNF removes.
const formerKey = "kubernetes/former"

// former are the objects that a heal removes, as they were on the cluster, and the pods of the VNF.
type former struct {
	Operation string            `json:"operation"`
	Objects   []*objects.Object `json:"objects"`
	Refs      []objects.Ref     `json:"refs"` // of the objects, with their UIDs
	Pods      []objects.Ref     `json:"pods"`
}

// removeWorkloads removes the workloads from before the operation, and not those that it has created. It stores first what it
// removes.
func (w *work) removeWorkloads(ctx context.Context) error {
	was, err := w.former(ctx)
	if err != nil {
		return err
	}
	if was.Operation != w.op.ID {
		if was, err = w.formerNow(ctx); err != nil {
			return err
		}
		if err := w.op.State().Put(ctx, formerKey, was); err != nil {
			return err
		}
	}
	remove := func(ctx context.Context) error { return w.objects.Clear(ctx, was.Refs, was.Pods) }
	err = within(ctx, w.cfg.Gone, remove)
	if _, stuck := errors.AsType[*objects.StuckError](err); !stuck || ctx.Err() != nil {
		return err
	}
	none := time.Duration(0) // the pods of a dead node end only so
	return within(ctx, w.cfg.Gone, func(ctx context.Context) error {
		if err := w.objects.Delete(ctx, was.Pods, objects.DeleteOptions{Owner: w.owner(), Grace: &none}); err != nil {
			return err
		}
		return remove(ctx)
	})
}

// former returns what the operation has stored before it removed anything.
func (w *work) former(ctx context.Context) (was former, err error) {
	err = w.op.State().Get(ctx, formerKey, &was)
	if errors.Is(err, vnflcm.ErrNotFound) {
		err = nil
	}
	if was.Operation != w.op.ID {
		was = former{}
	}
	return was, err
}

// formerNow returns the workloads and pods that exist.
func (w *work) formerNow(ctx context.Context) (former, error) {
	was := former{Operation: w.op.ID}
	m, err := w.formerManifest(ctx)
	if err != nil {
		return was, err
	}
	for i, r := range m.Refs {
		if !r.Cleared() || objects.Keeps(m.Objects[i]) {
			continue
		}
		live, err := w.objects.Get(ctx, r)
		if err != nil {
			return was, err
		}
		if live == nil || w.helm == nil && !w.owner().Owns(live) {
			continue
		}
		was.Objects = append(was.Objects, m.Objects[i])
		was.Refs = append(was.Refs, objects.RefOf(live))
	}
	pods, err := w.podsNow(ctx)
	was.Pods = podRefs(pods)
	return was, err
}

// formerManifest returns the objects of the VNF as they are on the cluster, with the fields of their manifests.
func (w *work) formerManifest(ctx context.Context) (m objects.Manifest, err error) {
	if w.helm == nil {
		if m.Objects, err = w.manifests(ctx); err != nil {
			return m, err
		}
		m.Refs = objects.Refs(m.Objects)
		return w.objects.Refresh(ctx, m)
	}
	for _, r := range w.design.releases {
		now, err := w.find(ctx, r.name)
		if err != nil {
			return m, err
		}
		if now == nil || now.State == helmclient.Uninstalled || w.done(now) {
			continue
		}
		was, err := w.was(ctx, r.name)
		if err != nil {
			return m, err
		}
		of, err := w.manifestOf(ctx, now.Name, w.revisionBefore(was, now))
		if err != nil {
			return m, fmt.Errorf("release %s: %w", r.name, err)
		}
		m.Objects, m.Refs = append(m.Objects, of.Objects...), append(m.Refs, of.Refs...)
	}
	return w.objects.Refresh(ctx, m)
}

// revisionBefore returns the revision that a release had before the operation.
func (w *work) revisionBefore(was before, now *helmclient.Release) int {
	if was.Operation != w.op.ID {
		return now.Revision
	}
	return cmp.Or(was.Revision, now.Revision)
}

// asRan returns a manifest with the fields that its objects have on the cluster, or had before a heal has removed them.
func (w *work) asRan(ctx context.Context, m objects.Manifest) (objects.Manifest, error) {
	was, err := w.former(ctx)
	if err != nil {
		return m, err
	}
	m.Objects = slices.Clone(m.Objects)
	for i, r := range m.Refs {
		for j, f := range was.Refs {
			if f.UID = ""; f == r {
				m.Objects[i] = was.Objects[j]
			}
		}
	}
	return w.objects.Refresh(ctx, m)
}
