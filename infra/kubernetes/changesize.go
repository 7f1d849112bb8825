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

// resizeWorkloads sets the numbers of pods that Helm has reset while it rolled a release back.
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
