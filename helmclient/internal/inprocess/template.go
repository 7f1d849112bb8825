package inprocess

import (
	"context"

	"github.com/vnfkit/vnfkit/helmclient"
)

// Template implements helmclient.Releases: no cluster is asked, what templates see of one are Helm's defaults. Hooks come
// last, as with Helm's own command.
func (c *Client) Template(ctx context.Context, r helmclient.Install) (string, error) {
	n, err := c.name(r.Name)
	if err != nil {
		return "", err
	}
	values, err := c.helm.values(r.Values)
	if err != nil {
		return "", err
	}
	ch, err := c.load(ctx, r.Chart)
	if err != nil {
		return "", err
	}
	k := &Call{client: c, Name: n, ctx: ctx}
	manifest, err := c.helm.Template(k, r, ch, values)
	if err != nil {
		return "", k.explain(err, helmclient.ErrInvalidChart)
	}
	return manifest, nil
}
