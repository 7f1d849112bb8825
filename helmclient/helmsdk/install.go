package helmsdk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/postrender"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/vnfkit/vnfkit/helmclient"
)

// Install implements helmclient.Releases.
func (c *Client) Install(ctx context.Context, r helmclient.Install) (*helmclient.Release, error) {
	//nolint:contextcheck // a call has its context in it
	return c.change(ctx, r, func(k *call, ch *chart.Chart, values map[string]any) (*release.Release, error) {
		last, marked, err := k.recover(staleness(r))
		if err != nil {
			return nil, err
		}
		// What was never installed, or half uninstalled, is replaced; what was there before its upgrade died is a release.
		replaced := marked == helmclient.PendingInstall || marked == helmclient.Uninstalling
		if last != nil && !replaced && !r.DryRun {
			return nil, fmt.Errorf("%w: %s, revision %d is %s", helmclient.ErrExists, k.name, last.Version, last.Info.Status)
		}
		return k.install(r, ch, values, replaced)
	})
}

// Upgrade implements helmclient.Releases.
func (c *Client) Upgrade(ctx context.Context, r helmclient.Upgrade) (*helmclient.Release, error) {
	//nolint:contextcheck // as above
	return c.change(ctx, r.Install, func(k *call, ch *chart.Chart, values map[string]any) (*release.Release, error) {
		last, _, err := k.recover(staleness(r.Install))
		switch {
		case err != nil:
			return nil, err
		case last == nil && r.OrInstall:
			return k.install(r.Install, ch, values, false)
		case last != nil && last.Info.Status == release.StatusUninstalled && r.OrInstall: // its history was kept
			return k.install(r.Install, ch, values, true)
		case last == nil || last.Info.Status == release.StatusUninstalled:
			return nil, fmt.Errorf("%w: %s", helmclient.ErrNotFound, k.name)
		}
		return k.upgrade(r, ch, values)
	})
}

// staleness is never for a dry run: it marks nothing.
func staleness(r helmclient.Install) time.Duration {
	if r.DryRun {
		return 0
	}
	return r.Stale
}

// change is what making and upgrading a release have in common: the request is checked and the chart read before
// anything is done.
func (c *Client) change(ctx context.Context, r helmclient.Install, do func(*call, *chart.Chart, map[string]any) (*release.Release, error)) (*helmclient.Release, error) {
	n, err := c.name(r.Name)
	if err != nil {
		return nil, err
	}
	if driver.ContainsSystemLabels(r.Labels) {
		return nil, fmt.Errorf("%w: labels: %v are Helm's own", helmclient.ErrInvalid, driver.GetSystemLabels())
	}
	values, err := values(r.Values)
	if err != nil {
		return nil, err
	}
	if !r.DryRun {
		leave, err := c.take(n)
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	ch, err := c.load(ctx, r.Chart)
	if err != nil {
		return nil, err
	}
	k, end, err := c.open(ctx, n, r.Atomic)
	if err != nil {
		return nil, err
	}
	defer end()
	k.progress = r.Progress
	//nolint:contextcheck // as above
	out, err := k.watched(!r.DryRun, func() (*release.Release, error) { return do(k, ch, values) })
	if err != nil {
		return nil, err
	}
	return told(out), nil
}

// watched runs an action on a release; one that failed leaves no pending revision.
func (k *call) watched(records bool, do func() (*release.Release, error)) (*release.Release, error) {
	if err := k.cfg.KubeClient.IsReachable(); err != nil {
		return nil, k.explain(err, helmclient.ErrUnreachable)
	}
	before := 0
	if last, err := k.last(); err != nil {
		return nil, err
	} else if last != nil {
		before = last.Version
	}
	out, err := do()
	if err != nil && records {
		k.settle(before, err)
	}
	return out, k.explain(err, helmclient.ErrInvalidChart)
}

func (k *call) install(r helmclient.Install, ch *chart.Chart, values map[string]any, replace bool) (*release.Release, error) {
	if err := k.crds(ch, r); err != nil {
		return nil, err
	}
	a := action.NewInstall(k.cfg)
	a.ReleaseName, a.Namespace = k.name.Release, k.name.Namespace
	a.CreateNamespace = r.CreateNamespace
	a.Wait, a.WaitForJobs, a.Timeout = r.Ready, r.Ready && r.Jobs, timeout(r.Wait)
	a.Atomic = r.Atomic
	a.SkipCRDs = r.CRDs != helmclient.CRDCreate
	a.Labels, a.Description = maps.Clone(r.Labels), r.Description
	a.Replace = replace
	a.PostRenderer = k.postRenderer(r)
	if r.DryRun {
		a.DryRun, a.DryRunOption = true, "server"
	}
	return a.Run(ch, values)
}

func (k *call) upgrade(r helmclient.Upgrade, ch *chart.Chart, values map[string]any) (*release.Release, error) {
	if err := k.crds(ch, r.Install); err != nil {
		return nil, err
	}
	a := action.NewUpgrade(k.cfg)
	a.Namespace = k.name.Namespace
	a.Wait, a.WaitForJobs, a.Timeout = r.Ready, r.Ready && r.Jobs, timeout(r.Wait)
	a.Atomic, a.CleanupOnFail, a.MaxHistory = r.Atomic, r.CleanupOnFail, r.MaxHistory
	a.Labels, a.Description = maps.Clone(r.Labels), r.Description
	a.PostRenderer = k.postRenderer(r.Install)
	switch r.Reuse {
	case helmclient.ReuseNone:
	case helmclient.ReuseValues:
		a.ReuseValues = true
	case helmclient.ReuseReset:
		a.ResetValues = true
	case helmclient.ReuseThen:
		a.ResetThenReuseValues = true
	default:
		return nil, fmt.Errorf("%w: reuse: %q is not known", helmclient.ErrInvalid, r.Reuse)
	}
	if r.DryRun {
		a.DryRun, a.DryRunOption = true, "server"
	}
	return a.Run(k.name.Release, ch, values)
}

// postRenderer is the hook of a request as Helm calls it. A nil interface is none.
func (k *call) postRenderer(r helmclient.Install) postrender.PostRenderer {
	if r.PostRender == nil {
		return nil
	}
	return &postRenderer{k, r.PostRender}
}

type postRenderer struct {
	call *call
	hook func(context.Context, []byte) ([]byte, error)
}

func (p *postRenderer) Run(manifest *bytes.Buffer) (*bytes.Buffer, error) {
	out, err := p.hook(p.call.ctx, manifest.Bytes())
	if err != nil {
		return nil, errors.Join(err)
	}
	return bytes.NewBuffer(out), nil
}
