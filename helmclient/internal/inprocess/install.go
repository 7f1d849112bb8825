package inprocess

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/internal/systemlabels"
)

// Install implements helmclient.Releases.
func (c *Client) Install(ctx context.Context, r helmclient.Install) (*helmclient.Release, error) {
	//nolint:contextcheck // a call has its context in it
	return c.change(ctx, r, func(k *Call, ch Chart, values map[string]any) (*Record, error) {
		last, marked, err := k.recover(staleness(r))
		if err != nil {
			return nil, err
		}
		// A release that was never installed, or only half uninstalled, is replaced. A release whose upgrade died
		// exists.
		replaced := marked == helmclient.PendingInstall || marked == helmclient.Uninstalling
		if last != nil && !replaced && !r.DryRun {
			return nil, fmt.Errorf("%w: %s, revision %d is %s", helmclient.ErrExists, k.Name, last.Revision, last.State)
		}
		return k.install(r, ch, values, replaced)
	})
}

func (k *Call) install(r helmclient.Install, ch Chart, values map[string]any, replace bool) (*Record, error) {
	if err := k.replaceCRDs(ch, r); err != nil {
		return nil, err
	}
	return k.helm.Install(r, ch, values, replace)
}

// Upgrade implements helmclient.Releases.
func (c *Client) Upgrade(ctx context.Context, r helmclient.Upgrade) (*helmclient.Release, error) {
	switch r.Reuse {
	case helmclient.ReuseNone, helmclient.ReuseValues, helmclient.ReuseReset, helmclient.ReuseThen:
	default:
		return nil, fmt.Errorf("%w: reuse: %q is not known", helmclient.ErrInvalid, r.Reuse)
	}
	//nolint:contextcheck // as above
	return c.change(ctx, r.Install, func(k *Call, ch Chart, values map[string]any) (*Record, error) {
		last, _, err := k.recover(staleness(r.Install))
		switch {
		case err != nil:
			return nil, err
		case last == nil && r.OrInstall:
			return k.install(r.Install, ch, values, false)
		case last != nil && last.State == helmclient.Uninstalled && r.OrInstall: // its history was kept
			return k.install(r.Install, ch, values, true)
		case last == nil || last.State == helmclient.Uninstalled:
			return nil, fmt.Errorf("%w: %s", helmclient.ErrNotFound, k.Name)
		}
		if err := k.replaceCRDs(ch, r.Install); err != nil {
			return nil, err
		}
		return k.helm.Upgrade(r, ch, values, last)
	})
}

// staleness is zero for a dry run, which must not mark a release as failed.
func staleness(r helmclient.Install) time.Duration {
	if r.DryRun {
		return 0
	}
	return r.Stale
}

// change is what making and upgrading a release have in common: the request is checked and the chart read before
// anything is done.
func (c *Client) change(ctx context.Context, r helmclient.Install, do func(*Call, Chart, map[string]any) (*Record, error)) (*helmclient.Release, error) {
	n, err := c.name(r.Name)
	if err != nil {
		return nil, err
	}
	for label := range r.Labels {
		if systemlabels.Has(label) {
			return nil, fmt.Errorf("%w: labels: %q is Helm's own", helmclient.ErrInvalid, label)
		}
	}
	switch r.CRDs {
	case helmclient.CRDCreate, helmclient.CRDSkip, helmclient.CRDCreateReplace:
	default:
		return nil, fmt.Errorf("%w: CRDs: %q is not known", helmclient.ErrInvalid, r.CRDs)
	}
	values, err := c.helm.values(r.Values)
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
	out, err := k.watched(!r.DryRun, func() (*Record, error) { return do(k, ch, values) })
	if err != nil {
		return nil, err
	}
	told := out.told()
	if r.DryRun {
		told.Hooks = out.Hooks
	}
	return told, nil
}

// watched runs an action on a release; one that failed leaves no pending revision.
func (k *Call) watched(records bool, do func() (*Record, error)) (*Record, error) {
	if err := k.helm.Reachable(); err != nil {
		return nil, k.explain(err, helmclient.ErrUnreachable)
	}
	before := 0
	if last, err := k.last(); err != nil {
		return nil, err
	} else if last != nil {
		before = last.Revision
	}
	var out *Record
	err := Recovered(func() (err error) {
		out, err = do()
		return err
	})
	if err != nil && records {
		k.failPending(before, err)
	}
	return out, k.explain(err, helmclient.ErrInvalidChart)
}

// PostRenderer adapts the hook of a request to Helm's interface. It returns nil if the request
// has no hook.
func (k *Call) PostRenderer(r helmclient.Install) *PostRenderer {
	if r.PostRender == nil {
		return nil
	}
	return &PostRenderer{k, r.PostRender}
}

// PostRenderer implements Helm's interface of that name.
type PostRenderer struct {
	call *Call
	hook func(context.Context, []byte) ([]byte, error)
}

// Run calls the hook.
func (p *PostRenderer) Run(manifest *bytes.Buffer) (*bytes.Buffer, error) {
	out, err := p.hook(p.call.ctx, manifest.Bytes())
	if err != nil {
		return nil, errors.Join(err)
	}
	return bytes.NewBuffer(out), nil
}
