package helmsdk

import (
	"context"
	"fmt"
	"strings"

	"helm.sh/helm/v3/pkg/action"

	"github.com/vnfkit/vnfkit/helmclient"
)

// Template implements helmclient.Releases: no cluster is asked, what templates see of one are Helm's defaults. Hooks come
// last, as with Helm's own command.
func (c *Client) Template(ctx context.Context, r helmclient.Install) (string, error) {
	n, err := c.name(r.Name)
	if err != nil {
		return "", err
	}
	values, err := values(r.Values)
	if err != nil {
		return "", err
	}
	ch, err := c.load(ctx, r.Chart)
	if err != nil {
		return "", err
	}
	k := &call{client: c, name: n, ctx: ctx}
	k.cfg = &action.Configuration{Log: k.debug}
	a := action.NewInstall(k.cfg)
	a.ReleaseName, a.Namespace = n.Release, n.Namespace
	a.DryRun, a.ClientOnly, a.Replace = true, true, true
	a.PostRenderer = k.postRenderer(r)
	out, err := a.Run(ch, values)
	if err != nil {
		return "", k.explain(err, helmclient.ErrInvalidChart)
	}
	manifest := strings.TrimSpace(out.Manifest) + "\n"
	for _, hook := range out.Hooks {
		manifest += fmt.Sprintf("---\n# Source: %s\n%s\n", hook.Path, strings.TrimSpace(hook.Manifest))
	}
	return manifest, nil
}
