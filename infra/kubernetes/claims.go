package kubernetes

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// claimsKey is the state key of the volume claims of the VNF: after the StatefulSets are deleted, the cluster does not show
// which claims were theirs.
const claimsKey = "kubernetes/claims"

// leftKey is the state key of the objects that a termination leaves, as texts.
const leftKey = "kubernetes/left"

var claimResource = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}

// claims finds the volume claims of the VNF's objects and of its StatefulSets, and stores them.
func (w *work) claims(ctx context.Context) ([]objects.Ref, error) {
	var found []objects.Ref
	if err := w.op.State().Get(ctx, claimsKey, &found); err == nil || !errors.Is(err, vnflcm.ErrNotFound) {
		return found, err
	}
	refs, err := w.storedObjects(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range refs {
		if r.IsClaim() {
			claim, err := w.objects.Get(ctx, r)
			if err != nil {
				return nil, err
			}
			if claim != nil {
				found = append(found, objects.RefOf(claim))
			}
		}
		if r.Kind != "StatefulSet" {
			continue
		}
		set, err := w.objects.Get(ctx, r)
		if err != nil {
			return nil, err
		}
		if set == nil {
			continue
		}
		of, err := w.claimsOf(ctx, set)
		if err != nil {
			return nil, err
		}
		found = append(found, of...)
	}
	hooks, err := w.hookClaims(ctx)
	if err != nil {
		return nil, err
	}
	found = append(found, hooks...)
	return found, w.op.State().Put(ctx, claimsKey, found)
}

// claimsOf finds the claims of one StatefulSet by the names that its controller gives them:
// <template>-<StatefulSet>-<ordinal>.
func (w *work) claimsOf(ctx context.Context, set *objects.Object) ([]objects.Ref, error) {
	templates, _, _ := unstructured.NestedSlice(set.Object, "spec", "volumeClaimTemplates")
	if len(templates) == 0 {
		return nil, nil
	}
	list, err := w.listClaims(ctx, set.GetNamespace())
	if err != nil {
		return nil, err
	}
	var out []objects.Ref
	for i := range list {
		for _, t := range templates {
			template, _ := t.(map[string]any)
			name, _, _ := unstructured.NestedString(template, "metadata", "name")
			number, ok := strings.CutPrefix(list[i].GetName(), name+"-"+set.GetName()+"-")
			if _, err := strconv.ParseUint(number, 10, 31); ok && err == nil {
				out = append(out, refOfClaim(&list[i]))
			}
		}
	}
	return out, nil
}

func refOfClaim(o *objects.Object) objects.Ref {
	return objects.Ref{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID()}
}

// hookClaims finds the claims that hooks of charts have made, if the namespace was made for the VNF: hooks have no label of
// their release.
func (w *work) hookClaims(ctx context.Context) ([]objects.Ref, error) {
	made, err := w.madeNamespace(ctx)
	if err != nil || w.helm == nil || made != w.design.namespace {
		return nil, err
	}
	list, err := w.listClaims(ctx, made)
	if apierrors.IsForbidden(err) {
		return nil, nil
	}
	var out []objects.Ref
	for i := range list {
		if list[i].GetAnnotations()["helm.sh/hook"] != "" {
			out = append(out, refOfClaim(&list[i]))
		}
	}
	return out, err
}

// madeNamespace returns the namespace that the driver has made for the VNF, "" if the driver has made no namespace.
func (w *work) madeNamespace(ctx context.Context) (name string, err error) {
	err = w.op.State().Get(ctx, namespaceKey, &name)
	if errors.Is(err, vnflcm.ErrNotFound) {
		err = nil
	}
	return name, err
}

func (w *work) listClaims(ctx context.Context, namespace string) ([]objects.Object, error) {
	var list *unstructured.UnstructuredList
	err := w.cluster.Do(ctx, func(ctx context.Context) (err error) {
		list, err = w.cluster.Dynamic.Resource(claimResource).Namespace(namespace).List(ctx, metav1.ListOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// deletesClaims reports whether claims are deleted: if the request says so, and when an instantiation is undone that has made
// the namespace, so that no claim in it can be older.
func (w *work) deletesClaims(ctx context.Context) (bool, error) {
	if w.design.DeletePVC {
		return true, nil
	}
	if w.op.Kind != vnflcm.OpInstantiate && !w.op.RollingBack {
		return false, nil
	}
	made, err := w.madeNamespace(ctx)
	return made == w.design.namespace, err
}

// staying returns the objects among refs that stay because of their data.
func (w *work) staying(ctx context.Context, refs []objects.Ref, deletesClaims bool) ([]objects.Ref, error) {
	all, err := w.objects.Staying(ctx, refs)
	return slices.DeleteFunc(all, func(r objects.Ref) bool { return r.IsClaim() && deletesClaims }), err
}

// withoutData returns refs without the objects that stay, without their namespaces, without volumes (see removeVolumes), and without
// adopted objects that hold objects of other clients.
func (w *work) withoutData(ctx context.Context, refs []objects.Ref, deletesClaims bool) ([]objects.Ref, error) {
	staying, err := w.staying(ctx, refs, deletesClaims)
	return slices.DeleteFunc(slices.Clone(refs), func(r objects.Ref) bool {
		return r.IsVolume() || r.HoldsOthers() && w.adopted.has(r) || slices.ContainsFunc(staying, func(s objects.Ref) bool {
			s.UID = ""
			return s == r || r.Kind == "Namespace" && r.Name == s.Namespace
		})
	}), err
}

// leave stores which objects stay, in addition to the stored ones.
func (w *work) leave(ctx context.Context, texts []string) error {
	if len(texts) == 0 {
		return nil
	}
	var left []string
	if err := w.op.State().Get(ctx, leftKey, &left); err != nil && !errors.Is(err, vnflcm.ErrNotFound) {
		return err
	}
	all := slices.Concat(left, texts)
	slices.Sort(all)
	return w.op.State().Put(ctx, leftKey, slices.Compact(all))
}

// warnOfLeft names in the operation's document the objects that stay.
func (w *work) warnOfLeft(ctx context.Context) error {
	var left []string
	err := w.op.State().Get(ctx, leftKey, &left)
	if errors.Is(err, vnflcm.ErrNotFound) || err == nil && len(left) == 0 {
		return nil
	}
	if err == nil {
		w.op.Warn(ctx, "left on the cluster: "+strings.Join(left, ", "))
	}
	return err
}

// deleteByUID deletes exactly these claims or volumes.
func (w *work) deleteByUID(ctx context.Context, refs []objects.Ref) error {
	if len(refs) == 0 {
		return nil
	}
	return within(ctx, w.cfg.Gone, func(ctx context.Context) error {
		return w.objects.Delete(ctx, refs, objects.DeleteOptions{Owner: w.owner()})
	})
}
