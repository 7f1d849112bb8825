package kubernetes

import (
	"context"
	"errors"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// claimsKey is the state key of the volume claims that StatefulSets have made: after the StatefulSets are deleted, the
// cluster does not show which claims were theirs.
const claimsKey = "kubernetes/claims"

var claimResource = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}

// claims finds the volume claims of the VNF's StatefulSets, and stores them.
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
	return found, w.op.State().Put(ctx, claimsKey, found)
}

// claimsOf finds the claims of one StatefulSet by the names that its controller gives them:
// <template>-<StatefulSet>-<ordinal>.
func (w *work) claimsOf(ctx context.Context, set *objects.Object) ([]objects.Ref, error) {
	templates, _, _ := unstructured.NestedSlice(set.Object, "spec", "volumeClaimTemplates")
	if len(templates) == 0 {
		return nil, nil
	}
	var list *unstructured.UnstructuredList
	err := w.cluster.Do(ctx, func(ctx context.Context) (err error) {
		list, err = w.cluster.Dynamic.Resource(claimResource).Namespace(set.GetNamespace()).List(ctx, metav1.ListOptions{})
		return err
	})
	if err != nil {
		if apierrors.IsNotFound(err) {
			err = nil
		}
		return nil, err
	}
	var out []objects.Ref
	for i := range list.Items {
		for _, t := range templates {
			template, _ := t.(map[string]any)
			name, _, _ := unstructured.NestedString(template, "metadata", "name")
			number, ok := strings.CutPrefix(list.Items[i].GetName(), name+"-"+set.GetName()+"-")
			if _, err := strconv.ParseUint(number, 10, 31); ok && err == nil {
				o := &list.Items[i]
				out = append(out, objects.Ref{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID()})
			}
		}
	}
	return out, nil
}

// deleteClaims deletes exactly these claims, by UID.
func (w *work) deleteClaims(ctx context.Context, claims []objects.Ref) error {
	if len(claims) == 0 {
		return nil
	}
	return within(ctx, w.cfg.Gone, func(ctx context.Context) error {
		return w.objects.Delete(ctx, claims, objects.DeleteOptions{Owner: w.owner()})
	})
}
