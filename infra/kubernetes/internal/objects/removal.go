package objects

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// leavesFirst is the lowest cost that there is (k8s.io/kubernetes/pkg/controller, an int32).
const leavesFirst = "-2147483648"

// MarkForRemoval makes a scale-in remove exactly these pods: for ReplicaSets by the pod deletion cost, which it removes
// from all other pods. A StatefulSet removes its highest ordinals first: other pods are an ErrOrder. Pods that are not
// ready are removed before all others, independent of their cost.
func (c *Client) MarkForRemoval(ctx context.Context, pods []Pod) error {
	chosen := map[types.UID]bool{}
	sets := map[Ref][]Pod{}
	var tops []Ref
	for _, p := range pods {
		chosen[p.UID] = true
		if p.Controller.gvk().GroupKind() == statefulSetKind {
			sets[p.Controller] = append(sets[p.Controller], p)
		} else {
			tops = append(tops, p.Top)
		}
	}
	for set, leaving := range sets {
		if err := c.checkOrdinals(ctx, set, leaving); err != nil {
			return err
		}
	}
	all, err := c.Pods(ctx, tops)
	if err != nil {
		return err
	}
	return each(ctx, all, func(ctx context.Context, _ int, p Pod) error {
		var cost any // no cost
		if chosen[p.UID] {
			cost = leavesFirst
		} else if p.Cost != leavesFirst {
			return nil // set by another client
		}
		return c.patch(ctx, p.Ref(), map[string]any{"metadata": map[string]any{"annotations": map[string]any{corev1.PodDeletionCost: cost}}})
	})
}

// checkOrdinals finds pods that a smaller StatefulSet would keep.
func (c *Client) checkOrdinals(ctx context.Context, r Ref, leaving []Pod) error {
	set, err := c.Get(ctx, r)
	if err != nil || set == nil {
		return err
	}
	replicas, _, _ := unstructured.NestedInt64(set.Object, "spec", "replicas")
	first, _, _ := unstructured.NestedInt64(set.Object, "spec", "ordinals", "start")
	lowest := first + replicas - int64(len(leaving))
	for _, p := range leaving {
		n, err := strconv.ParseInt(strings.TrimPrefix(p.Name, r.Name+"-"), 10, 32)
		if err != nil || n < lowest {
			return fmt.Errorf("kubernetes: pod %s/%s %w: those of %s from number %d", p.Namespace, p.Name, ErrOrder, r, lowest)
		}
	}
	return nil
}
