package objects

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// Replicas returns how many pods a workload is to have, by its subresource "scale", which custom resources can have too.
// A kind without one is an ErrNotScalable.
func (c *Client) Replicas(ctx context.Context, r Ref) (n int, err error) {
	at, err := c.scaleOf(ctx, r)
	if err != nil {
		return 0, err
	}
	err = c.cluster.Do(ctx, func(ctx context.Context) error {
		scale, err := at.Get(ctx, r.Name, metav1.GetOptions{}, "scale")
		if err == nil {
			count, _, _ := unstructured.NestedInt64(scale.Object, "spec", "replicas")
			n = int(count)
		}
		return err
	})
	return n, scaleFault(r, err)
}

// SetReplicas says how many pods a workload is to have, and does not wait for them.
func (c *Client) SetReplicas(ctx context.Context, r Ref, n int) error {
	at, err := c.scaleOf(ctx, r)
	if err != nil {
		return err
	}
	patch := map[string]any{"spec": map[string]any{"replicas": n}}
	if r.UID != "" {
		patch["metadata"] = map[string]any{"uid": r.UID}
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	return scaleFault(r, c.cluster.Do(ctx, func(ctx context.Context) error {
		_, err := at.Patch(ctx, r.Name, types.MergePatchType, data, metav1.PatchOptions{FieldManager: FieldManager}, "scale")
		return err
	}))
}

func (c *Client) scaleOf(ctx context.Context, r Ref) (dynamic.ResourceInterface, error) {
	k, err := c.cluster.Kind(ctx, r.gvk())
	if err == nil && !k.Scalable {
		err = ErrNotScalable
	}
	if err != nil {
		return nil, scaleFault(r, err)
	}
	return c.of(k, r.Namespace), nil
}

func scaleFault(r Ref, err error) error {
	if err == nil {
		return nil
	}
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("kubernetes: %s does not exist: %w", r, err)
	}
	return fmt.Errorf("kubernetes: %s: %w", r, err)
}

// autoscalers are the kind of objects that set the numbers of pods by load.
var autoscalers = schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}

// Autoscaled reports whether an autoscaler sets how many pods a workload is to have. It is false for a client that may not
// list autoscalers.
func (c *Client) Autoscaled(ctx context.Context, r Ref) (bool, error) {
	list, err := c.list(ctx, autoscalers, r.Namespace, metav1.ListOptions{})
	if err != nil {
		if apierrors.IsForbidden(err) {
			err = nil
		}
		return false, err
	}
	return slices.ContainsFunc(list, func(o Object) bool {
		target := Ref{APIVersion: field(&o, "spec", "scaleTargetRef", "apiVersion"), Kind: field(&o, "spec", "scaleTargetRef", "kind"),
			Namespace: r.Namespace, Name: field(&o, "spec", "scaleTargetRef", "name")}
		return target.identity() == r.identity()
	}), nil
}
