package kubernetes

import (
	"context"
	"reflect"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
)

// upgradeOne makes a revision of a release in which only that differs from the revision before the operation what the
// operation is for. now is the newest revision.
func (w *work) upgradeOne(ctx context.Context, r release, request helmclient.Install, now *helmclient.Release, orInstall bool) error {
	u, err := w.upgradeOf(ctx, r, request, now, orInstall)
	if err != nil {
		return err
	}
	return w.takeUp(ctx, func() error {
		_, err := w.helm.Upgrade(ctx, u)
		return err
	})
}

// upgradeOf returns Helm's request for upgradeOne.
func (w *work) upgradeOf(ctx context.Context, r release, request helmclient.Install, now *helmclient.Release, orInstall bool) (helmclient.Upgrade, error) {
	was, err := w.was(ctx, r.name)
	if err != nil {
		return helmclient.Upgrade{}, err
	}
	u := helmclient.Upgrade{Install: request, Reuse: helmclient.ReuseReset, OrInstall: orInstall, MaxHistory: was.historyFrom(now)}
	if now.State == helmclient.Uninstalled || now.State == helmclient.Uninstalling {
		return u, nil
	}
	revision := w.revisionBefore(was, now)
	values, err := w.changeOf(ctx, r, revision)
	if err != nil {
		return u, err
	}
	return w.onlyChange(u, revision, values), nil
}

// onlyChange limits an upgrade to what its values change: a post-renderer applies to a revision of the release, as its
// objects are on the cluster, the difference between renderings with the values before and after the operation. A second
// rendering with the same values shows which fields depend on chance or on the time.
func (w *work) onlyChange(u helmclient.Upgrade, revision int, values releaseValues) helmclient.Upgrade {
	u.Values = helmclient.Values{Map: values.after}
	plain := u
	u.PostRender = func(ctx context.Context, rendered []byte) ([]byte, error) {
		after, err := w.parse(ctx, string(rendered))
		if err != nil {
			return nil, err
		}
		before, err := w.render(ctx, plain, values.before)
		if err != nil {
			return nil, err
		}
		again, err := w.render(ctx, plain, values.after)
		if err != nil {
			return nil, err
		}
		had, err := w.manifestOf(ctx, u.Name, revision)
		if err != nil {
			return nil, err
		}
		if had, err = w.asRan(ctx, had); err != nil {
			return nil, err
		}
		out := objects.Change{Before: before, After: after, Again: again}.Apply(had)
		if _, err := w.size(out.Objects, out.Refs); err != nil {
			return nil, err
		}
		if reflect.DeepEqual(out.Objects, after.Objects) {
			return rendered, nil
		}
		return writeManifest(out.Objects)
	}
	return u
}

// render renders an upgrade with other values, without a change.
func (w *work) render(ctx context.Context, u helmclient.Upgrade, values map[string]any) (objects.Manifest, error) {
	u.DryRun, u.PostRender, u.Values = true, nil, helmclient.Values{Map: values}
	r, err := w.helm.Upgrade(ctx, u)
	if err != nil {
		return objects.Manifest{}, err
	}
	return w.parse(ctx, r.Manifest)
}

func (w *work) manifestOf(ctx context.Context, n helmclient.Name, revision int) (objects.Manifest, error) {
	text, err := w.helm.Manifest(ctx, n, revision)
	if err != nil {
		return objects.Manifest{}, err
	}
	return w.parse(ctx, text)
}

func (w *work) parse(ctx context.Context, text string) (objects.Manifest, error) {
	return w.objects.Manifest(ctx, "rendered manifest", []byte(text), w.design.namespace)
}
