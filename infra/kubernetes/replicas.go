package kubernetes

import (
	"bytes"
	"context"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// overlay sets the numbers of pods in a manifest that Helm has rendered, for workloads whose number is not a value of
// the chart: otherwise the next revision would undo an earlier scaling.
func (w *work) overlay(ctx context.Context, rendered []byte) ([]byte, error) {
	if len(bytes.TrimSpace(rendered)) == 0 {
		return rendered, nil
	}
	all, err := objects.Parse("rendered manifest", rendered)
	if err != nil {
		return nil, err
	}
	var placed []*objects.Object // copies, so that the rest of the manifest stays unchanged
	for _, o := range all {
		placed = append(placed, o.DeepCopy())
	}
	if err := w.objects.Place(ctx, placed, w.design.namespace); err != nil {
		return nil, err
	}
	changed, err := w.size(all, objects.Refs(placed))
	if err != nil || !changed {
		return rendered, err
	}
	var out bytes.Buffer
	for _, o := range all {
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "---\n%s", text)
	}
	return out.Bytes(), nil
}

// size sets the number of pods of the workloads that scaling aspects resize and no value counts.
func (w *work) size(all []*objects.Object, refs []objects.Ref) (changed bool, err error) {
	want, err := w.op.Instances()
	if err != nil {
		return false, err
	}
	for id, ref := range w.workloads(refs) {
		if !w.resizes(id) {
			continue
		}
		for i, o := range all {
			spec, ok := o.Object["spec"].(map[string]any)
			if refs[i] == ref && ok {
				spec["replicas"], changed = int64(want[id]), true
			}
		}
	}
	return changed, nil
}

// resizes reports whether the workload of a VDU is scaled directly.
func (w *work) resizes(vduID string) bool {
	return len(w.op.Flavour.AspectsOf(vduID)) > 0 && w.design.vdus[vduID].value == ""
}

// resize is the step that sets the numbers of pods that no value of a chart gives.
func (w *work) resize(ctx context.Context) error {
	return vnflcm.Do(ctx, w.op, "set-replicas", "", func(ctx context.Context) error {
		want, err := w.op.Instances()
		if err != nil {
			return err
		}
		refs, err := w.storedObjects(ctx)
		if err != nil {
			return err
		}
		found := w.workloads(refs)
		for _, id := range sortedKeys(found) {
			if !w.resizes(id) {
				continue
			}
			if err := w.resizeOne(ctx, found[id], want[id]); err != nil {
				return fmt.Errorf("VDU %s: %w", id, err)
			}
		}
		return nil
	})
}

func (w *work) resizeOne(ctx context.Context, ref objects.Ref, n int) error {
	now, err := w.objects.Replicas(ctx, ref)
	if err != nil || now == n {
		return err
	}
	return w.objects.SetReplicas(ctx, ref, n)
}
