package kubernetes

import (
	"context"
	"fmt"

	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/tosca"
)

// sizeChanged sets the numbers of pods of the workloads of op.Package that no value of a chart gives. A workload keeps the number that it has
// on the cluster unless the two packages have different numbers at the scale levels: an autoscaler may have set it.
func (w *work) sizeChanged(ctx context.Context, all []*objects.Object, refs []objects.Ref) error {
	want, err := w.op.Instances()
	if err != nil {
		return err
	}
	had, err := w.old.op.Instances()
	if err != nil {
		return err
	}
	for id, ref := range scaledWorkloads(w.planned, refs) {
		if !w.resizes(id) {
			continue
		}
		n := want[id]
		now, err := w.objects.Get(ctx, ref)
		if err == nil && now != nil && had[w.predecessor(id)] == n {
			n, err = w.objects.Replicas(ctx, ref)
		}
		if err != nil {
			return fmt.Errorf("VDU %s: %w", id, err)
		}
		for i, o := range all {
			if spec, ok := o.Object["spec"].(map[string]any); ok && refs[i] == ref {
				spec["replicas"] = int64(n)
			}
		}
	}
	return nil
}

// predecessor returns the VDU of op.Former that a VDU of op.Package follows.
func (w *work) predecessor(vduID string) string {
	for _, v := range w.old.op.Flavour.VDUs {
		if w.op.Successor(tosca.MappedVDU, v.ID) == vduID {
			return v.ID
		}
	}
	return ""
}

// withNumbers sets the numbers of pods in the manifest of a revision that a release returns to: the revision has those of its time, and a
// StatefulSet that has fewer pods for a moment may lose claims. An autoscaler decides about its workload.
func (w *work) withNumbers(ctx context.Context, manifest []byte) ([]byte, error) {
	m, err := w.parse(ctx, string(manifest))
	if err != nil {
		return nil, err
	}
	want, err := w.op.Instances()
	if err != nil {
		return nil, err
	}
	changed := false
	for id, ref := range scaledWorkloads(w.planned, m.Refs) {
		if !w.resizes(id) {
			continue
		}
		n, err := w.numberNow(ctx, ref, want[id])
		if err != nil {
			return nil, fmt.Errorf("VDU %s: %w", id, err)
		}
		if spec, ok := m.Object(ref).Object["spec"].(map[string]any); ok {
			spec["replicas"], changed = int64(n), true
		}
	}
	if !changed {
		return manifest, nil
	}
	return writeManifest(m.Objects)
}

// numberNow returns the number of pods of a workload with an autoscaler, and otherwise n.
func (w *work) numberNow(ctx context.Context, ref objects.Ref, n int) (int, error) {
	live, err := w.objects.Get(ctx, ref)
	if err != nil || live == nil {
		return n, err
	}
	auto, err := w.objects.Autoscaled(ctx, ref)
	if err != nil || !auto {
		return n, err
	}
	return w.objects.Replicas(ctx, ref)
}

// resizeWorkloads sets the numbers of pods of a release that was installed again.
func (w *work) resizeWorkloads(ctx context.Context, refs []objects.Ref) error {
	want, err := w.op.Instances()
	if err != nil {
		return err
	}
	found := scaledWorkloads(w.planned, refs)
	for _, id := range sortedKeys(found) {
		if !w.resizes(id) {
			continue
		}
		if err := w.resizeOne(ctx, id, found[id], want[id]); err != nil {
			return fmt.Errorf("VDU %s: %w", id, err)
		}
	}
	return nil
}
