package helmcli

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vnfkit/vnfkit/helmclient"
)

// sortObjects gives objects an order: Helm's JSON has them by kind, in any order.
func sortObjects(list []unstructured.Unstructured) {
	key := func(o unstructured.Unstructured) string {
		return o.GetKind() + "/" + o.GetNamespace() + "/" + o.GetName()
	}
	slices.SortFunc(list, func(a, b unstructured.Unstructured) int { return strings.Compare(key(a), key(b)) })
}

// replaceCRDs makes the CRDs of a chart what they are in the chart, which Helm itself never does.
func (m *master) replaceCRDs(ctx context.Context, o operation, p placed) error {
	if o.crds != helmclient.CRDCreateReplace {
		return nil
	}
	crds, err := m.run(ctx, command{argv: append([]string{"helm", "show", "crds", p.ref}, p.args...), files: true})
	if err != nil || len(bytes.TrimSpace(crds)) == 0 {
		return err
	}
	if _, err = m.run(ctx, command{argv: []string{"kubectl", "apply", "--server-side", "--force-conflicts", "--field-manager=vnfkit", "--filename=-"}, stdin: bytes.NewReader(crds)}); err != nil {
		return err
	}
	_, err = m.run(ctx, command{argv: []string{"kubectl", "wait", "--for=condition=Established", "--timeout=60s", "--filename=-"}, stdin: bytes.NewReader(crds)})
	return err
}

// rendered carries out PostRender: Helm calls a program for that, which here prints what was made from the manifest of a
// dry run before. It is there for this call only.
func (c *Client) rendered(ctx context.Context, m *master, o operation, p placed) (placed, error) {
	if o.postRender == nil {
		return p, nil
	}
	run := o.command(p)
	run.argv = append(run.argv, "--dry-run=server")
	out, err := m.run(ctx, run)
	if err != nil {
		return p, err
	}
	r, err := parseDryRun(out)
	if err != nil {
		return p, err
	}
	changed, err := o.postRender(ctx, []byte(r.Manifest))
	if err != nil {
		return p, err
	}
	if p.temp == "" {
		if p.temp, err = m.temporary(ctx); err != nil {
			return p, err
		}
	}
	p.args = append(slices.Clone(p.args), "--post-renderer=cat", "--post-renderer-args="+p.temp+"/manifest.yaml")
	return p, m.put(ctx, p.temp+"/manifest.yaml", changed)
}
