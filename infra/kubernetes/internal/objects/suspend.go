package objects

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var cronJobKind = schema.GroupKind{Group: "batch", Kind: "CronJob"}

// Suspendable reports whether the object is a Job or a CronJob.
func (r Ref) Suspendable() bool {
	return r.gvk().GroupKind() == jobKind || r.gvk().GroupKind() == cronJobKind
}

// Runs reports whether a Job or CronJob makes pods: it exists, is not suspended, and is no Job that has ended.
func (c *Client) Runs(ctx context.Context, r Ref) (bool, error) {
	o, err := c.Get(ctx, r)
	if o == nil || err != nil {
		return false, err
	}
	return !Suspended(o) && condition(o, "Complete") != "True" && condition(o, "Failed") != "True", nil
}

// SetSuspended suspends a Job or CronJob, or lets it continue. The cluster ends the pods of a suspended Job; a CronJob makes no further Jobs.
func (c *Client) SetSuspended(ctx context.Context, r Ref, suspended bool) error {
	data, err := json.Marshal(map[string]any{"spec": map[string]any{"suspend": suspended}})
	if err != nil {
		return err
	}
	at, err := c.at(ctx, r)
	if err == nil {
		err = c.cluster.Do(ctx, func(ctx context.Context) error {
			_, err := at.Patch(ctx, r.Name, types.MergePatchType, data, metav1.PatchOptions{FieldManager: FieldManager})
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("kubernetes: %s: %w", r, err)
	}
	return nil
}
