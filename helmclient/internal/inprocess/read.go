package inprocess

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/vnfkit/vnfkit/helmclient"
)

// Status implements helmclient.Releases.
func (c *Client) Status(ctx context.Context, n helmclient.Name) (*helmclient.Release, error) {
	r, err := c.revision(ctx, n, 0)
	if err != nil {
		return nil, err
	}
	return r.told(), nil
}

// Values implements helmclient.Releases.
func (c *Client) Values(ctx context.Context, n helmclient.Name, revision int, all bool) (map[string]any, error) {
	r, err := c.revision(ctx, n, revision)
	if err != nil {
		return nil, err
	}
	out, err := r.Values(all)
	if err != nil {
		return nil, fmt.Errorf("%w: values of %s: %w", helmclient.ErrInvalidChart, n, err)
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
func (c *Client) revision(ctx context.Context, n helmclient.Name, revision int) (*Record, error) {
	k, end, err := c.look(ctx, n)
	if err != nil {
		return nil, err
	}
	defer end()
	if revision < 0 {
		return nil, fmt.Errorf("%w: revision %d", helmclient.ErrInvalid, revision)
	}
	var r *Record
	if revision == 0 {
		r, err = k.helm.Last()
	} else {
		r, err = k.helm.Get(revision)
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
	list, err := k.helm.History()
	if err == nil && len(list) == 0 {
		err = c.helm.ReleaseNotFound
	}
	if err != nil {
		return nil, k.explain(err, nil)
	}
	slices.SortFunc(list, func(a, b *Record) int { return cmp.Compare(a.Revision, b.Revision) })
	var out []helmclient.Release
	for _, r := range list {
		one := r.told()
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
	} else if c.helm.Namespaces != nil {
		namespaces = c.helm.Namespaces()
	}
	newest := map[helmclient.Name]*helmclient.Release{}
	for _, namespace := range namespaces {
		list, err := c.all(ctx, namespace)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			one := r.told()
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

func (c *Client) all(ctx context.Context, namespace string) ([]*Record, error) {
	k, end, err := c.open(ctx, helmclient.Name{Namespace: namespace}, false)
	if err != nil {
		return nil, err
	}
	defer end()
	list, err := k.helm.List()
	return list, k.explain(err, nil)
}

func matches(f helmclient.Filter, r *helmclient.Release) bool {
	for key, value := range f.Labels {
		if got, ok := r.Labels[key]; !ok || got != value {
			return false
		}
	}
	return len(f.States) == 0 || slices.Contains(f.States, r.State)
}

// look begins a call that only reads.
func (c *Client) look(ctx context.Context, name helmclient.Name) (*Call, func(), error) {
	n, err := c.name(name)
	if err != nil {
		return nil, nil, err
	}
	return c.open(ctx, n, false)
}
