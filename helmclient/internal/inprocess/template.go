package inprocess

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"

	"github.com/vnfkit/vnfkit/helmclient"
)

// newestKubernetes is the version of Kubernetes whose client Helm has been built with.
const newestKubernetes = "1.37.0"

// versionPatience is how long the cluster is asked for its version.
const versionPatience = 10 * time.Second

// kubeVersion returns the version of Kubernetes for which a chart is rendered.
func (c *Client) kubeVersion(ctx context.Context, r helmclient.Install) (string, error) {
	if r.KubeVersion != "" {
		if _, err := version.ParseGeneric(r.KubeVersion); err != nil {
			return "", fmt.Errorf("%w: KubeVersion: %q is no version such as 1.34.2", helmclient.ErrInvalid, r.KubeVersion)
		}
		return r.KubeVersion, nil
	}
	asking, cancel := context.WithTimeout(ctx, versionPatience)
	defer cancel()
	k := &Call{client: c, Name: r.Name, ctx: asking}
	client, err := discovery.NewDiscoveryClientForConfig(k.config(false))
	if err != nil {
		return "", badCluster(err)
	}
	info, err := client.ServerVersion()
	if ctx.Err() != nil {
		return "", stopped(ctx, nil)
	}
	if err == nil {
		_, err = version.ParseGeneric(info.GitVersion)
	}
	if err != nil {
		k.Log().DebugContext(ctx, "the version of the cluster is unknown", "error", err, "assumed", newestKubernetes)
		return newestKubernetes, nil
	}
	return info.GitVersion, nil
}

// Template implements helmclient.Releases.
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
	if r.KubeVersion, err = c.kubeVersion(ctx, r); err != nil {
		return "", err
	}
	k := &Call{client: c, Name: n, ctx: ctx}
	manifest, err := c.helm.Template(k, r, ch, values)
	if err != nil {
		return "", k.explain(err, helmclient.ErrInvalidChart)
	}
	return manifest, nil
}
