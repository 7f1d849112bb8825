package helm4sdk

import (
	"bytes"
	"io"

	"helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/release"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/internal/inprocess"
)

// postRender applies the hook of a request to the manifest that Helm has rendered. Helm 4's own post-renderers get a manifest that
// its YAML library has rewritten: an empty field of a map in braces becomes an empty text, and annotations given by an alias are lost.
// Here Helm renders without a post-renderer. The first manifest that Helm then builds objects of is the rendered one: the objects are
// those of the changed manifest, and the record gets its text.
type postRender struct {
	hook              *inprocess.PostRenderer // nil: the manifest stays
	done              bool
	rendered, changed string
}

// begin sets the hook of a request.
func (p *postRender) begin(k *inprocess.Call, r helmclient.Install) {
	*p = postRender{hook: k.PostRenderer(r)}
}

// apply returns the manifest to use for a manifest.
func (p *postRender) apply(manifest string) (string, error) {
	if p.hook == nil {
		return manifest, nil
	}
	if !p.done {
		out, err := p.hook.Run(bytes.NewBufferString(manifest))
		if err != nil {
			return "", err
		}
		p.done, p.rendered, p.changed = true, manifest, out.String()
	}
	if manifest == p.rendered {
		return p.changed, nil
	}
	return manifest, nil
}

// record gives a record the changed manifest.
func (p *postRender) record(r release.Releaser) {
	if record, ok := r.(*releasev1.Release); ok && p.done && record != nil && record.Manifest == p.rendered {
		record.Manifest = p.changed
	}
}

// Build parses a manifest.
func (c *kubeClient) Build(reader io.Reader, validate bool) (kube.ResourceList, error) {
	text, err := io.ReadAll(reader)
	if err != nil {
		return nil, err
	}
	manifest, err := c.postRender.apply(string(text))
	if err != nil {
		return nil, c.call.Report(err)
	}
	return c.Client.Build(bytes.NewBufferString(manifest), validate)
}

// Create stores a new record. Helm stores it before it changes objects.
func (c complete) Create(key string, r release.Releaser) error {
	c.postRender.record(r)
	return c.Driver.Create(key, r)
}
