package kubernetes

import (
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
)

// The functions of this file find the VDUs of instances that have no record of them, because an earlier version of vnfkit has
// made them: other rules could give their pods to other VDUs.

// vduOfUnrecorded returns the VDU of a pod: by the mapping, else by the name of its workload, else by labels, else because there
// is only one VDU. It returns "" if none of these applies.
func (w *work) vduOfUnrecorded(p objects.Pod) string {
	if id := w.vduOfWorkload(p.Top); id != "" {
		return id
	}
	if id := w.vduOfLabels(p); id != "" {
		return id
	}
	if vdus := w.op.Flavour.VDUs; len(vdus) == 1 && w.design.vdus[vdus[0].ID].mapping.Name == "" && slices.Contains(running, p.Top.Kind) {
		return vdus[0].ID
	}
	return ""
}

// vduOfWorkload returns the VDU of a workload by the mapping or by the rule of version 2 of Tacker's API: its name is
// the VDU's property name, with or without "-" and the name of a release.
func (w *work) vduOfWorkload(r objects.Ref) string {
	for _, v := range w.op.Flavour.VDUs {
		if m := w.design.vdus[v.ID].mapping; m.Name == r.Name && m.Kind == r.Kind {
			return v.ID
		}
	}
	for _, v := range w.op.Flavour.VDUs {
		if w.design.vdus[v.ID].mapping.Name != "" || v.Name == "" || !slices.Contains(running, r.Kind) {
			continue
		}
		rest, ok := strings.CutPrefix(r.Name, v.Name)
		if ok && (rest == "" || rest[0] == '-' && w.design.has(rest[1:])) {
			return v.ID
		}
	}
	return ""
}

// unrecordedWorkloads returns the workloads of VDUs that can be scaled, by VDU. If the name of a workload does not show its VDU,
// the labels of its pods do.
func (w *work) unrecordedWorkloads(refs []objects.Ref) map[string]objects.Ref {
	out := map[string]objects.Ref{}
	var rest []objects.Ref
	for _, r := range refs {
		if m := w.vduOfWorkload(r); m != "" && (slices.Contains(scalable, r.Kind) || w.design.vdus[m].mapping.Name != "") {
			out[m] = r
		} else if slices.Contains(scalable, r.Kind) {
			rest = append(rest, r)
		}
	}
	for _, v := range w.op.VNFCs { // found by the labels of their pods
		for _, r := range rest {
			if _, known := out[v.VDU]; !known && r.Kind == v.Metadata[metaKind] && r.Name == v.Metadata[metaWorkload] && r.Namespace == v.Metadata[metaNamespace] {
				out[v.VDU] = r
			}
		}
	}
	if vdus := w.op.Flavour.VDUs; len(vdus) == 1 && len(rest) == 1 && len(out) == 0 {
		out[vdus[0].ID] = rest[0]
	}
	return out
}
