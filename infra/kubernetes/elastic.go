package kubernetes

import (
	"context"

	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/vnflcm"
)

var _ vnflcm.ElasticVDUs = (*Driver)(nil)

// ElasticVDUs implements vnflcm.ElasticVDUs. It returns the VDUs that have no workload with a number of pods, whose number neither a
// scaling aspect nor a value of a chart sets, or whose workload has an autoscaler. In a scale-in also those of Deployments: their
// controller deletes pods that are not ready before those that the driver has marked.
func (d *Driver) ElasticVDUs(ctx context.Context, op *vnflcm.Operation) ([]string, error) {
	w, err := d.begin(ctx, op)
	if err != nil {
		return nil, err
	}
	defer w.close()
	refs, err := w.storedObjects(ctx)
	if err != nil {
		return nil, err
	}
	found := w.workloads(refs)
	var out []string
	for _, v := range op.Flavour.VDUs {
		ref, isOne := found[v.ID]
		elastic := !isOne || !w.decidesOn(v.ID, ref)
		if !elastic {
			if elastic, err = w.objects.Autoscaled(ctx, ref); err != nil {
				return nil, err
			}
		}
		if elastic {
			out = append(out, v.ID)
		}
	}
	return out, nil
}

// decidesOn reports whether the operation decides how many pods, and which, the workload of a VDU has.
func (w *work) decidesOn(vduID string, ref objects.Ref) bool {
	counted := w.resizes(vduID) || w.design.vdus[vduID].value != ""
	return counted && (len(w.op.Change.Removed) == 0 || ref.Kind == "StatefulSet")
}
