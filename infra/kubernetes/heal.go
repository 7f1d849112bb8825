package kubernetes

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Heal implements vnflcm.InfraDriver. It deletes the pods of chosen VNFCs, or evicts them with
// additionalParams.eviction, and waits for their replacements; it creates bare pods again. Healing the whole VNF
// recreates its workloads as they ran, at the current scale levels: each release is upgraded in place, to the same version
// of its chart and the same values, and manifests are applied again. All other objects stay, and with them the data.
// Nothing is removed unless the charts can be had and rendered, and dry runs show that the cluster accepts all objects
// (ErrRefused).
func (d *Driver) Heal(ctx context.Context, op *vnflcm.Operation) error {
	w, err := d.begin(ctx, op)
	if err != nil {
		return err
	}
	defer w.close()
	if err := w.warnOfManagers(ctx); err != nil {
		return err
	}
	if op.WholeVNF() {
		return w.healAll(ctx)
	}
	if err := w.readyStep(ctx, "replace-pods", w.replace); err != nil {
		return err
	}
	return w.await(ctx)
}

// bareKey is the state key of bare pods while they are deleted and created again.
const bareKey = "kubernetes/bare-pods"

type bare struct {
	Operation string            `json:"operation"`
	Pods      []*objects.Object `json:"pods"`
}

// replace replaces the announced pods that still exist.
func (w *work) replace(ctx context.Context) error {
	pods, err := w.podsOf(ctx, w.op.Change.Replaced)
	if err != nil {
		return err
	}
	state := w.op.State()
	o := objects.ReplaceOptions{Evict: w.design.Eviction}
	var kept bare
	if err := state.Get(ctx, bareKey, &kept); err != nil && !errors.Is(err, vnflcm.ErrNotFound) {
		return err
	}
	if kept.Operation == w.op.ID {
		o.Earlier = kept.Pods
		pods = append(pods, w.lost(kept.Pods, pods)...)
	}
	o.Save = func(ctx context.Context, pods []*objects.Object) error {
		return state.Put(ctx, bareKey, bare{w.op.ID, pods})
	}
	if len(pods) == 0 {
		return nil
	}
	return w.objects.Replace(ctx, pods, o)
}

// lost returns the bare pods that an earlier attempt has deleted.
func (w *work) lost(kept []*objects.Object, there []objects.Pod) []objects.Pod {
	var out []objects.Pod
	for _, o := range kept {
		if slices.ContainsFunc(there, func(p objects.Pod) bool { return p.Namespace == o.GetNamespace() && p.Name == o.GetName() }) {
			continue
		}
		for _, v := range w.op.Change.Replaced {
			if v.ResourceID == o.GetName() && v.Metadata[metaNamespace] == o.GetNamespace() {
				out = append(out, objects.Pod{Namespace: o.GetNamespace(), Name: o.GetName(), UID: types.UID(v.Metadata[metaUID])})
			}
		}
	}
	return out
}
