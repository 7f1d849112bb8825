package objects

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var (
	statefulSetKind = schema.GroupKind{Group: "apps", Kind: "StatefulSet"}
	claimKind       = schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}
	volumeKind      = schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolume"}
	claimRank       = rankOf(claimKind.GroupKind())
)

// Claims returns the claims that StatefulSets among the workloads have created, with their UIDs. They stay when the
// StatefulSet is deleted.
func (c *Client) Claims(ctx context.Context, workloads []Ref) ([]Ref, error) {
	var out []Ref
	for _, r := range workloads {
		if r.gvk().GroupKind() != statefulSetKind {
			continue
		}
		set, err := c.Get(ctx, r)
		if err != nil {
			return nil, err
		}
		if set == nil {
			continue
		}
		claims, err := c.list(ctx, claimKind, r.Namespace, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for i := range claims {
			if madeBy(&claims[i], set) {
				out = append(out, RefOf(&claims[i]))
			}
		}
	}
	return out, nil
}

// madeBy checks the properties that a StatefulSet gives its claims: the name consists of template, set and ordinal, and
// the labels are those of its selector.
func madeBy(claim, set *Object) bool {
	chosen, _, _ := unstructured.NestedStringMap(set.Object, "spec", "selector", "matchLabels")
	if !labels.SelectorFromSet(chosen).Matches(labels.Set(claim.GetLabels())) {
		return false
	}
	templates, _, _ := unstructured.NestedSlice(set.Object, "spec", "volumeClaimTemplates")
	for _, t := range templates {
		m, ok := t.(map[string]any)
		if !ok {
			continue
		}
		name := regexp.QuoteMeta(text(m, "metadata", "name") + "-" + set.GetName() + "-")
		if regexp.MustCompile("^" + name + "[0-9]+$").MatchString(claim.GetName()) {
			return true
		}
	}
	return false
}

// markClaims gives the claims of a StatefulSet the owner's label: a later attempt finds them without the set.
func (d *deletion) markClaims(ctx context.Context, set Ref) error {
	claims, err := d.Claims(ctx, []Ref{set})
	if err != nil {
		return err
	}
	return each(ctx, claims, func(ctx context.Context, _ int, r Ref) error {
		return d.patch(ctx, r, map[string]any{"metadata": map[string]any{"labels": map[string]any{Label: d.how.Owner.Instance}}})
	})
}

// claims deletes those that are marked.
func (d *deletion) claims(ctx context.Context) error {
	var all []Ref
	for _, namespace := range slices.Sorted(maps.Keys(d.namespaces)) {
		list, err := d.list(ctx, claimKind, namespace, metav1.ListOptions{LabelSelector: labels.Set{Label: d.how.Owner.Instance}.String()})
		if err != nil {
			return err
		}
		for i := range list {
			all = append(all, RefOf(&list[i]))
		}
	}
	if err := d.remove(ctx, all, d.how.options(nil)); err != nil {
		return err
	}
	return d.gone(ctx, all)
}

// patch merges fields into exactly this object. It succeeds if the object no longer exists.
func (c *Client) patch(ctx context.Context, r Ref, fields map[string]any) error {
	at, err := c.at(ctx, r)
	if err != nil {
		return err
	}
	metadata, given := fields["metadata"].(map[string]any)
	if !given {
		metadata = map[string]any{}
		fields["metadata"] = metadata
	}
	metadata["uid"] = r.UID
	data, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	err = c.cluster.Do(ctx, func(ctx context.Context) error {
		_, err := at.Patch(ctx, r.Name, types.MergePatchType, data, metav1.PatchOptions{FieldManager: FieldManager})
		return err
	})
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("kubernetes: %s: %w", r, err)
}
