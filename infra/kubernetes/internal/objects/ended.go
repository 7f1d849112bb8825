package objects

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/readiness"
)

var (
	jobKind   = schema.GroupKind{Group: "batch", Kind: "Job"}
	eventKind = schema.GroupVersionKind{Version: "v1", Kind: "Event"}
)

// endsByItself reports whether an object may disappear when its work is done: Kubernetes deletes a Job after its
// ttlSecondsAfterFinished, and an operator may delete its custom resources.
func (r Ref) endsByItself() bool {
	group := r.gvk().Group
	builtin := slices.Contains([]string{"", "apps", "batch", "autoscaling", "policy", "extensions"}, group) || strings.HasSuffix(group, ".k8s.io")
	return !builtin || r.gvk().GroupKind() == jobKind
}

// withoutEnded removes the objects that have ended by themselves. failed has the Jobs among them that had failed.
func (c *Client) withoutEnded(ctx context.Context, refs []Ref, objs []*Object) (rest []Ref, objects []*Object, failed []helmclient.Object) {
	for i, o := range objs {
		if o != nil || !refs[i].endsByItself() {
			rest, objects = append(rest, refs[i]), append(objects, finished(o))
			continue
		}
		if why := c.jobFailure(ctx, refs[i]); why != "" {
			gone := readiness.Missing(refs[i].APIVersion, refs[i].Kind, refs[i].Namespace, refs[i].Name)
			gone.Reason = why
			failed = append(failed, gone)
		}
	}
	return rest, objects, failed
}

// finished returns a Job that Kubernetes deletes after its end as if it were not being deleted, so that the status of the
// Job counts. Other objects are returned unchanged.
func finished(o *Object) *Object {
	if o == nil || o.GetDeletionTimestamp() == nil || o.GroupVersionKind().GroupKind() != jobKind ||
		condition(o, "Complete") != "True" && condition(o, "Failed") != "True" {
		return o
	}
	o = o.DeepCopy()
	o.SetDeletionTimestamp(nil)
	return o
}

// jobFailures are the reasons of the events of the Job controller that mean that a Job has failed
// (k8s.io/api/batch/v1, JobReason...).
var jobFailures = []string{"BackoffLimitExceeded", "DeadlineExceeded", "PodFailurePolicy", "FailedIndexes", "MaxFailedIndexesExceeded"}

// jobFailure returns the reason why a Job that no longer exists had failed, by the last event about its end; "" if no event
// says so, or if events cannot be read.
func (c *Client) jobFailure(ctx context.Context, r Ref) (why string) {
	if r.gvk().GroupKind() != jobKind {
		return ""
	}
	events, err := c.list(ctx, eventKind, r.Namespace, metav1.ListOptions{FieldSelector: "involvedObject.kind=Job,involvedObject.name=" + r.Name})
	if err != nil {
		return ""
	}
	slices.SortStableFunc(events, func(a, b Object) int {
		return strings.Compare(field(&a, "lastTimestamp"), field(&b, "lastTimestamp"))
	})
	for i := range events {
		reason := field(&events[i], "reason")
		switch {
		case reason == "Completed":
			why = ""
		case field(&events[i], "type") == corev1.EventTypeWarning && slices.Contains(jobFailures, reason):
			why = reason + ": " + field(&events[i], "message")
		}
	}
	return why
}
