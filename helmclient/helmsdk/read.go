package helmsdk

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/vnfkit/vnfkit/helmclient"
)

// Status implements helmclient.Releases.
func (c *Client) Status(ctx context.Context, n helmclient.Name) (*helmclient.Release, error) {
	r, err := c.revision(ctx, n, 0)
	if err != nil {
		return nil, err
	}
	return told(r), nil
}

// Values implements helmclient.Releases.
func (c *Client) Values(ctx context.Context, n helmclient.Name, revision int, all bool) (map[string]any, error) {
	r, err := c.revision(ctx, n, revision)
	if err != nil {
		return nil, err
	}
	out := r.Config
	if all {
		if out, err = chartutil.CoalesceValues(r.Chart, r.Config); err != nil {
			return nil, fmt.Errorf("%w: values of %s: %w", helmclient.ErrInvalidChart, n, err)
		}
	}
	if out == nil {
		out = map[string]any{}
	}
	return out, nil
}

// Manifest implements helmclient.Releases.
func (c *Client) Manifest(ctx context.Context, n helmclient.Name, revision int) (string, error) {
	r, err := c.revision(ctx, n, revision)
	if err != nil {
		return "", err
	}
	return r.Manifest, nil
}

// revision reads one record; 0 is the newest.
func (c *Client) revision(ctx context.Context, n helmclient.Name, revision int) (*release.Release, error) {
	k, end, err := c.look(ctx, n)
	if err != nil {
		return nil, err
	}
	defer end()
	if revision < 0 {
		return nil, fmt.Errorf("%w: revision %d", helmclient.ErrInvalid, revision)
	}
	var r *release.Release
	if revision == 0 {
		r, err = k.cfg.Releases.Last(k.name.Release)
	} else {
		r, err = k.cfg.Releases.Get(k.name.Release, revision)
	}
	return r, k.explain(err, nil)
}

// History implements helmclient.Releases.
func (c *Client) History(ctx context.Context, n helmclient.Name) ([]helmclient.Release, error) {
	k, end, err := c.look(ctx, n)
	if err != nil {
		return nil, err
	}
	defer end()
	list, err := k.cfg.Releases.History(k.name.Release)
	if err == nil && len(list) == 0 {
		err = driver.ErrReleaseNotFound
	}
	if err != nil {
		return nil, k.explain(err, nil)
	}
	slices.SortFunc(list, func(a, b *release.Release) int { return cmp.Compare(a.Version, b.Version) })
	var out []helmclient.Release
	for _, r := range list {
		one := told(r)
		one.Manifest = ""
		out = append(out, *one)
	}
	return out, nil
}

// List implements helmclient.Releases.
func (c *Client) List(ctx context.Context, f helmclient.Filter) ([]helmclient.Release, error) {
	namespaces := []string{f.Namespace}
	if f.Namespace != "" {
		if err := (helmclient.Name{Namespace: f.Namespace, Release: "any"}).Validate(); err != nil {
			return nil, err
		}
	} else if c.storage == Memory {
		namespaces = c.known()
	}
	newest := map[helmclient.Name]*helmclient.Release{}
	for _, namespace := range namespaces {
		list, err := c.all(ctx, namespace)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			one := told(r)
			if old := newest[one.Name]; old == nil || old.Revision < one.Revision {
				newest[one.Name] = one
			}
		}
	}
	out := []helmclient.Release{}
	for _, r := range newest {
		if matches(f, r) {
			r.Manifest = ""
			out = append(out, *r)
		}
	}
	slices.SortFunc(out, func(a, b helmclient.Release) int { return cmp.Compare(a.String(), b.String()) })
	return out, nil
}

func (c *Client) all(ctx context.Context, namespace string) ([]*release.Release, error) {
	k, end, err := c.open(ctx, helmclient.Name{Namespace: namespace}, false)
	if err != nil {
		return nil, err
	}
	defer end()
	list, err := k.cfg.Releases.ListReleases()
	return list, k.explain(err, nil)
}

// known are the namespaces of releases that are kept in memory.
func (c *Client) known() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for namespace := range c.shared {
		out = append(out, namespace)
	}
	return out
}

func matches(f helmclient.Filter, r *helmclient.Release) bool {
	for key, value := range f.Labels {
		if got, ok := r.Labels[key]; !ok || got != value {
			return false
		}
	}
	return len(f.States) == 0 || slices.Contains(f.States, r.State)
}

// look begins a call that changes nothing.
func (c *Client) look(ctx context.Context, name helmclient.Name) (*call, func(), error) {
	n, err := c.name(name)
	if err != nil {
		return nil, nil, err
	}
	return c.open(ctx, n, false)
}
