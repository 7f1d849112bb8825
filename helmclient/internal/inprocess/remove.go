package inprocess

import (
	"context"
	"fmt"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/internal/claims"
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
	out, err := k.watched(true, func() (*Record, error) {
		last, _, err := k.recover(r.Stale)
		if err != nil {
			return nil, err
		}
		if last == nil {
			return nil, fmt.Errorf("%w: %s", helmclient.ErrNotFound, k.Name)
		}
		if r.Revision == 0 {
			r.Revision = last.Revision - 1
		}
		to, err := k.helm.Get(r.Revision)
		if err != nil {
			return nil, fmt.Errorf("revision %d: %w", r.Revision, k.explain(err, nil))
		}
		if err := k.postRender(r, to); err != nil {
			return nil, err
		}
		return k.rollback(r, to)
	})
	if err != nil {
		return nil, err
	}
	return out.told(), nil
}

// postRender changes the stored manifest of the revision, which Helm applies.
func (k *Call) postRender(r helmclient.Rollback, to *Record) error {
	if r.PostRender == nil {
		return nil
	}
	changed, err := r.PostRender(k.ctx, []byte(to.Manifest))
	if err != nil || string(changed) == to.Manifest {
		return err
	}
	return k.explain(k.helm.SetManifest(to, string(changed)), nil)
}

func (k *Call) rollback(r helmclient.Rollback, to *Record) (*Record, error) {
	if err := k.helm.Rollback(r, to); err != nil {
		return nil, err
	}
	out, err := k.helm.Last()
	if err != nil || r.Description == "" {
		return out, err
	}
	return out, k.helm.Update(out, out.State, r.Description) // Helm 3 has no field for it, Helm 4 one of 256 characters
}

// Uninstall implements helmclient.Releases. A release that is pending, or that another uninstall has begun, is removed
// too.
func (c *Client) Uninstall(ctx context.Context, r helmclient.Uninstall) error {
	k, end, err := c.work(ctx, r.Name, r.Wait)
	if err != nil {
		return err
	}
	defer end()
	if err := k.helm.Reachable(); err != nil {
		return k.explain(err, helmclient.ErrUnreachable)
	}
	last, err := k.last()
	if err != nil {
		return err
	}
	if last == nil || last.State == helmclient.Uninstalled && r.KeepHistory {
		return fmt.Errorf("%w: %s", helmclient.ErrNotFound, k.Name)
	}
	if err := k.keep(last, claims.Keep{Claims: r.KeepClaims, Volumes: r.KeepVolumes, Objects: r.Keep, Namespace: k.Name.Namespace}); err != nil {
		return k.explain(err, nil)
	}
	return k.explain(Recovered(func() error { return k.helm.Uninstall(r) }), nil)
}

// keep gives objects in the stored manifest the annotation that keeps them.
func (k *Call) keep(last *Record, what claims.Keep) error {
	manifest, changed, err := what.In(last.Manifest)
	if err != nil || !changed {
		return err
	}
	return k.helm.SetManifest(last, manifest)
}

// work begins a call that changes a release and needs no chart.
func (c *Client) work(ctx context.Context, name helmclient.Name, w helmclient.Wait) (*Call, func(), error) {
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
