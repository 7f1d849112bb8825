package cluster

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Event is a warning that a part of the cluster has recorded about an object.
type Event struct {
	Time    time.Time // of the last occurrence
	Object  string    // kind and name, such as Pod kube-system/coredns-5d78
	Reason  string
	Message string
	Count   int32
}

// String returns the event in one line.
func (e Event) String() string {
	return fmt.Sprintf("%s %s: %s: %s (%d times)", e.Time.UTC().Format(time.RFC3339), e.Object, e.Reason, e.Message, max(1, e.Count))
}

// mostEvents is how many events are read at most. A cluster keeps events for an hour.
const mostEvents = 2000

// Warnings returns the warnings about the node with that InternalIP and about the pods on it, the newest last. Without an address it returns
// the warnings of kube-system and about all nodes.
func (c *Cluster[R]) Warnings(ctx context.Context, node netip.Addr) (out []Event, err error) {
	err = c.on(ctx, func(ctx context.Context, s *session) error {
		about, err := s.isAbout(ctx, node)
		if err != nil {
			return err
		}
		var list corev1.EventList
		if err := s.list(ctx, core("events", true), metav1.NamespaceAll, metav1.ListOptions{FieldSelector: "type=" + corev1.EventTypeWarning, Limit: mostEvents}, &list); err != nil {
			return err
		}
		out = nil
		for _, e := range list.Items {
			if o := e.InvolvedObject; about(o) {
				out = append(out, Event{latest(e), o.Kind + " " + join(o.Namespace, o.Name), e.Reason, e.Message, e.Count})
			}
		}
		return nil
	})
	slices.SortStableFunc(out, func(a, b Event) int { return a.Time.Compare(b.Time) })
	return out, err
}

// latest returns the time of the last occurrence of an event. Events of newer clients have no lastTimestamp.
func latest(e corev1.Event) time.Time {
	return slices.MaxFunc([]time.Time{e.LastTimestamp.Time, e.EventTime.Time, e.CreationTimestamp.Time}, time.Time.Compare)
}

func join(namespace, name string) string { return cmp.Or(namespace, "-") + "/" + name }

// isAbout returns a function that selects the objects of a node: the node itself, and its pods.
func (s *session) isAbout(ctx context.Context, node netip.Addr) (func(corev1.ObjectReference) bool, error) {
	if !node.IsValid() {
		return func(o corev1.ObjectReference) bool { return o.Kind == "Node" || o.Namespace == metav1.NamespaceSystem }, nil
	}
	name, err := s.nodeName(ctx, node)
	if err != nil {
		return nil, err
	}
	var list corev1.PodList
	if err := s.list(ctx, podKind, metav1.NamespaceAll, metav1.ListOptions{FieldSelector: "spec.nodeName=" + name}, &list); err != nil {
		return nil, err
	}
	pods := map[string]bool{}
	for _, p := range list.Items {
		pods[join(p.Namespace, p.Name)] = true
	}
	return func(o corev1.ObjectReference) bool {
		return o.Kind == "Node" && o.Name == name || o.Kind == "Pod" && pods[join(o.Namespace, o.Name)]
	}, nil
}
