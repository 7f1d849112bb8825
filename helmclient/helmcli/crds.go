package helmcli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/vnfkit/vnfkit/helmclient"
)

// sortObjects sorts objects: Helm's JSON groups them by kind, in random order.
func sortObjects(list []unstructured.Unstructured) {
	key := func(o unstructured.Unstructured) string {
		return o.GetKind() + "/" + o.GetNamespace() + "/" + o.GetName()
	}
	slices.SortFunc(list, func(a, b unstructured.Unstructured) int { return strings.Compare(key(a), key(b)) })
}

// replaceCRDs updates the CRDs of the cluster to those of the chart. Helm itself never updates CRDs.
func (m *machine) replaceCRDs(ctx context.Context, o operation, p providedChart) error {
	if o.crds != helmclient.CRDCreateReplace {
		return nil
	}
	return m.withCRDs(ctx, p, func(crds []byte) error {
		_, err := m.run(ctx, command{argv: []string{"kubectl", "apply", "--server-side", "--force-conflicts", "--field-manager=vnfkit", "--filename=-"}, stdin: bytes.NewReader(crds)})
		return err
	})
}

// withCRDs calls do with the CRDs of a chart, if it has any, and waits until the API server serves them.
func (m *machine) withCRDs(ctx context.Context, p providedChart, do func(crds []byte) error) error {
	crds, err := m.run(ctx, command{argv: append([]string{"helm", "show", "crds", p.ref}, p.args...), files: true})
	if err != nil || len(bytes.TrimSpace(crds)) == 0 {
		return err
	}
	if err := do(crds); err != nil {
		return err
	}
	definitions, err := onlyDefinitions(crds)
	if err != nil || len(definitions) == 0 {
		return err
	}
	_, err = m.run(ctx, command{argv: []string{"kubectl", "wait", "--for=condition=Established", "--timeout=60s", "--filename=-"}, stdin: bytes.NewReader(definitions)})
	return err
}

// onlyDefinitions returns the CustomResourceDefinitions among the objects of a chart's directory crds, which may have others too: only
// they have the condition Established.
func onlyDefinitions(crds []byte) ([]byte, error) {
	var out bytes.Buffer
	add := func(o runtime.Object) error {
		if o.GetObjectKind().GroupVersionKind().Kind != "CustomResourceDefinition" {
			return nil
		}
		text, err := json.Marshal(o)
		fmt.Fprintf(&out, "---\n%s\n", text)
		return err
	}
	decoder := yamlutil.NewYAMLOrJSONDecoder(bytes.NewReader(crds), len(crds)+1)
	for {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(&o.Object)
		switch {
		case errors.Is(err, io.EOF):
			return out.Bytes(), nil
		case err == nil && o.IsList():
			err = o.EachListItem(add)
		case err == nil && len(o.Object) > 0:
			err = add(o)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: directory crds: %w", helmclient.ErrInvalidChart, err)
		}
	}
}

// rendered applies PostRender. Helm calls a program as post-renderer. Here that program prints the manifest that
// PostRender made from an earlier dry run. It exists only for this call.
func (c *Client) rendered(ctx context.Context, m *machine, o operation, p providedChart) (providedChart, error) {
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
	if changed, err = m.withHooks(changed, out); err != nil {
		return p, err
	}
	if m.isHelm4() {
		if changed, err = plainYAML(changed); err != nil {
			return p, err
		}
	}
	if p.temp == "" {
		if p.temp, err = m.temporary(ctx); err != nil {
			return p, err
		}
	}
	args, err := m.postRenderer(ctx, p.temp+"/manifest.yaml")
	if err != nil {
		return p, err
	}
	p.args = append(slices.Clone(p.args), args...)
	return p, m.put(ctx, p.temp+"/manifest.yaml", changed)
}
