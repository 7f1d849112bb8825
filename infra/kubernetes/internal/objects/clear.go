package objects

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Cleared reports whether Clear removes objects of this kind: workloads, and kinds that have no data and act on workloads or
// on requests, such as autoscalers and webhooks.
func (r Ref) Cleared() bool {
	rank := rankOf(r.gvk().GroupKind())
	return rank == workloadRank || rank == len(ranks)-1
}

// Clear deletes exactly these objects, which have UIDs, and then pods, and waits until they no longer exist. Volume claims stay,
// also if the retention policy of a StatefulSet would delete them with the StatefulSet: the pods of StatefulSets have to be
// among pods. Objects that still exist when ctx ends are in the *StuckError.
func (c *Client) Clear(ctx context.Context, refs, pods []Ref) error {
	for _, rank := range slices.Backward(inRanks(refs, func(r Ref) Ref { return r })) {
		if err := c.clearRank(ctx, rank); err != nil {
			return err
		}
	}
	if err := c.remove(ctx, pods, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return c.gone(ctx, slices.Concat(refs, pods))
}

func (c *Client) clearRank(ctx context.Context, refs []Ref) error {
	return each(ctx, refs, func(ctx context.Context, _ int, r Ref) error {
		policy := metav1.DeletePropagationForeground
		if r.gvk().GroupKind() == statefulSetKind {
			policy = metav1.DeletePropagationOrphan // its claims may depend on it
		}
		return c.remove(ctx, []Ref{r}, metav1.DeleteOptions{PropagationPolicy: &policy})
	})
}
