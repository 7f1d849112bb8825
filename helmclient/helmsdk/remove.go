package helmsdk

import (
	"context"
	"fmt"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/release"

	"github.com/vnfkit/vnfkit/helmclient"
)

// Rollback implements helmclient.Releases.
func (c *Client) Rollback(ctx context.Context, r helmclient.Rollback) (*helmclient.Release, error) {
	if r.Revision < 0 {
		return nil, fmt.Errorf("%w: revision %d", helmclient.ErrInvalid, r.Revision)
	}
	k, end, err := c.work(ctx, r.Name, r.Wait)
	if err != nil {
		return nil, err
	}
	defer end()
	//nolint:contextcheck // a call has its context in it
	out, err := k.watched(true, func() (*release.Release, error) {
		last, _, err := k.recover(r.Stale)
		if err != nil {
			return nil, err
		}
		if last == nil {
			return nil, fmt.Errorf("%w: %s", helmclient.ErrNotFound, k.name)
		}
		to := r.Revision
		if to == 0 {
			to = last.Version - 1
		}
		if _, err := k.cfg.Releases.Get(k.name.Release, to); err != nil {
			return nil, fmt.Errorf("revision %d: %w", to, k.explain(err, nil))
		}
		return k.rollback(r, to)
	})
	if err != nil {
		return nil, err
	}
	return told(out), nil
}

func (k *call) rollback(r helmclient.Rollback, to int) (*release.Release, error) {
	a := action.NewRollback(k.cfg)
	a.Version = to
	a.Wait, a.WaitForJobs, a.Timeout = r.Ready, r.Ready && r.Jobs, timeout(r.Wait)
	if err := a.Run(k.name.Release); err != nil {
		return nil, err
	}
	out, err := k.cfg.Releases.Last(k.name.Release)
	if err != nil || r.Description == "" {
		return out, err
	}
	out.Info.Description = r.Description // which Helm's rollback has no field for
	return out, k.cfg.Releases.Update(out)
}

// Uninstall implements helmclient.Releases. A release that is pending, or that another uninstall has begun, is removed
// too.
func (c *Client) Uninstall(ctx context.Context, r helmclient.Uninstall) error {
	k, end, err := c.work(ctx, r.Name, r.Wait)
	if err != nil {
		return err
	}
	defer end()
	if err := k.cfg.KubeClient.IsReachable(); err != nil {
		return k.explain(err, helmclient.ErrUnreachable)
	}
	last, err := k.last()
	if err != nil {
		return err
	}
	if last == nil || last.Info.Status == release.StatusUninstalled && r.KeepHistory {
		return fmt.Errorf("%w: %s", helmclient.ErrNotFound, k.name)
	}
	a := action.NewUninstall(k.cfg)
	a.KeepHistory, a.Description = r.KeepHistory, r.Description
	a.Wait, a.Timeout = r.Ready, timeout(r.Wait)
	_, err = a.Run(k.name.Release)
	return k.explain(err, nil)
}

// work begins a call that changes a release and needs no chart.
func (c *Client) work(ctx context.Context, name helmclient.Name, w helmclient.Wait) (*call, func(), error) {
	n, err := c.name(name)
	if err != nil {
		return nil, nil, err
	}
	leave, err := c.take(n)
	if err != nil {
		return nil, nil, err
	}
	k, end, err := c.open(ctx, n, false)
	if err != nil {
		leave()
		return nil, nil, err
	}
	k.progress = w.Progress
	return k, func() { end(); leave() }, nil
}
