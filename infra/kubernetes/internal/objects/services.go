package objects

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var serviceKind = schema.GroupVersionKind{Version: "v1", Kind: "Service"}

// Services returns the Services among the objects as they are now, in that order, without those that are not there or are
// being deleted.
func (c *Client) Services(ctx context.Context, refs []Ref) ([]corev1.Service, error) {
	var asked []Ref
	for _, r := range refs {
		if r.gvk() == serviceKind {
			asked = append(asked, r)
		}
	}
	found := make([]*corev1.Service, len(asked))
	err := each(ctx, asked, func(ctx context.Context, i int, r Ref) error {
		o, err := c.Get(ctx, r)
		if err != nil || o == nil || o.GetDeletionTimestamp() != nil {
			return err
		}
		found[i] = &corev1.Service{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, found[i]); err != nil {
			return fmt.Errorf("kubernetes: %s is no Service: %w", r, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var out []corev1.Service
	for _, s := range found {
		if s != nil {
			out = append(out, *s)
		}
	}
	return out, nil
}
