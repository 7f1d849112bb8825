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
	m, err := w.objects.Manifest(ctx, "rendered manifest", rendered, w.design.namespace)
	if err != nil {
		return nil, err
	}
	changed, err := w.size(m.Objects, m.Refs)
	if err != nil || !changed {
		return rendered, err
	}
	return writeManifest(m.Objects)
}

// writeManifest writes a manifest as YAML documents.
func writeManifest(all []*objects.Object) ([]byte, error) {
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

// size sets the number of pods of the workloads that the operation resizes and no value counts.
func (w *work) size(all []*objects.Object, refs []objects.Ref) (changed bool, err error) {
	want, err := w.op.Instances()
	if err != nil {
		return false, err
	}
	for id, ref := range w.workloads(refs) {
		if !w.sets(id) {
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

// sets reports whether the operation sets the number of pods of a VDU at its workload. A scaling changes those of its
// aspect, a heal none; a change of the package follows sizeChanged.
func (w *work) sets(vduID string) bool {
	return w.resizes(vduID) && (w.op.Kind != vnflcm.OpScale || scaled(w.op, vduID)) && w.op.Kind != vnflcm.OpHeal && w.op.Kind != vnflcm.OpChangeVnfPkg
}

// resize is the step that sets the numbers of pods that no value of a chart gives.
func (w *work) resize(ctx context.Context) error {
	return w.readyStep(ctx, "set-replicas", func(ctx context.Context) error {
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
			if err := w.resizeOne(ctx, id, found[id], want[id]); err != nil {
				return fmt.Errorf("VDU %s: %w", id, err)
			}
		}
		return nil
	})
}

// resizeOne sets the number of pods of a workload. An autoscaler decides about the workloads that the operation is not for.
func (w *work) resizeOne(ctx context.Context, id string, ref objects.Ref, n int) error {
	now, err := w.objects.Replicas(ctx, ref)
	if err != nil || now == n {
		return err
	}
	if !w.sets(id) {
		if auto, err := w.objects.Autoscaled(ctx, ref); err != nil || auto {
			return err
		}
	}
	return w.objects.SetReplicas(ctx, ref, n)
}
