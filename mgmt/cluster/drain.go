package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DrainPolicy says what Drain does if pods are still on the node after the timeout.
type DrainPolicy string

// The policies.
const (
	// DrainFail makes Drain return a *DrainError that names the remaining pods. It is the default.
	DrainFail DrainPolicy = "Fail"
	// DrainDelete makes Drain delete the remaining pods, without regard to disruption budgets.
	DrainDelete DrainPolicy = "Delete"
	// DrainContinue makes Drain leave the remaining pods on the node, call DrainOptions.Warn, and succeed.
	DrainContinue DrainPolicy = "Continue"
)

// DrainOptions of Drain.
type DrainOptions struct {
	Timeout time.Duration // how long pods may take to leave; required
	Force   bool          // also evict pods that no controller recreates
	Policy  DrainPolicy   // after Timeout; default DrainFail
	Warn    func(error)   // called with the error that DrainContinue ignores; may be nil
}

// DrainError names the pods that did not leave a node, and why.
type DrainError struct {
	Node string
	Pods []BlockedPod // by namespace and name
}

// BlockedPod is a pod that did not leave.
type BlockedPod struct {
	Namespace, Name string
	Reason          string // message of the API server, with the disruption budget if one blocks the eviction
}

// Error names at most ten pods.
func (e *DrainError) Error() string {
	const most = 10
	var text strings.Builder
	fmt.Fprintf(&text, "cluster: %d pods have not left node %s", len(e.Pods), e.Node)
	for i, p := range e.Pods {
		if i == most {
			fmt.Fprintf(&text, "; and %d more", len(e.Pods)-most)
			break
		}
		fmt.Fprintf(&text, "; %s/%s: %s", p.Namespace, p.Name, p.Reason)
	}
	return text.String()
}

// lastWait is how long pods are waited for that a policy has deleted: as long as a pod is given by default.
const lastWait = 30 * time.Second

// errPodsLeft says that the drain has not ended.
var errPodsLeft = errors.New("pods are left")

// Drain cordons a node and evicts its pods, in all namespaces, as kubectl drain does: pods of DaemonSets and static
// pods stay, data in emptyDir volumes is lost, disruption budgets are respected. Pods on a node whose kubelet does not
// report are evicted but not waited for, because nothing would report their end. Without o.Force, Drain refuses to
// start if a pod has no controller that recreates it. It succeeds if the node does not exist.
func (c *Cluster[R]) Drain(ctx context.Context, node string, o DrainOptions) error {
	left, err := c.empty(ctx, o.Timeout, &drain{node: node, force: o.Force})
	if left == nil || err != nil {
		return err
	}
	switch o.Policy {
	case DrainDelete:
		left, err = c.empty(ctx, lastWait, &drain{node: node, force: true, delete: true})
		if left == nil || err != nil {
			return err
		}
		return left
	case DrainContinue:
		if o.Warn != nil {
			o.Warn(left)
		}
		return nil
	default:
		return left
	}
}

// empty works until the node is empty or the time is over. Then it returns the remaining pods.
func (c *Cluster[R]) empty(ctx context.Context, limit time.Duration, d *drain) (*DrainError, error) {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := c.poll(within, "the pods of node "+d.node+" to leave", d.round)
	switch {
	case err == nil:
		return nil, nil
	case ctx.Err() == nil && within.Err() != nil && len(d.left) > 0:
		return d.err(), nil
	}
	return nil, err
}

// drain is the state of draining one node.
type drain struct {
	node   string
	force  bool
	delete bool // instead of evicting
	left   map[string]BlockedPod
}

func (d *drain) err() *DrainError {
	e := &DrainError{Node: d.node}
	for _, key := range slices.Sorted(maps.Keys(d.left)) {
		e.Pods = append(e.Pods, d.left[key])
	}
	return e
}

// round asks every pod on the node to leave that has not been asked yet, or refused.
func (d *drain) round(ctx context.Context, s *session) error {
	node, err := s.node(ctx, d.node)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return permanent(err)
	}
	if !node.Spec.Unschedulable {
		if err := s.mergeNode(ctx, d.node, map[string]any{"spec": map[string]any{"unschedulable": true}}); err != nil {
			return permanent(err)
		}
	}
	pods, err := s.podsToMove(ctx, d.node)
	if err != nil {
		return permanent(err)
	}
	if err := d.refuse(pods); err != nil {
		return permanentError{err}
	}
	left := map[string]BlockedPod{}
	for _, p := range pods {
		if reason := d.ask(ctx, s, &p, node.Ready); reason != "" {
			left[p.Namespace+"/"+p.Name] = BlockedPod{p.Namespace, p.Name, reason}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx) // report the pods that were left in the round before
		}
	}
	d.left = left
	if len(left) > 0 {
		return errPodsLeft
	}
	return nil
}

// refuse names the pods that no controller would recreate.
func (d *drain) refuse(pods []corev1.Pod) error {
	e := &DrainError{Node: d.node}
	for _, p := range pods {
		if !d.force && metav1.GetControllerOf(&p) == nil && !finished(&p) {
			e.Pods = append(e.Pods, BlockedPod{p.Namespace, p.Name, "no controller recreates it elsewhere"})
		}
	}
	if len(e.Pods) == 0 {
		return nil
	}
	return e
}

// podsToMove lists the pods of a node that are not bound to it.
func (s *session) podsToMove(ctx context.Context, node string) ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := s.list(ctx, podKind, metav1.NamespaceAll, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node}, &list); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool {
		owner := metav1.GetControllerOf(&p)
		_, static := p.Annotations[corev1.MirrorPodAnnotationKey]
		return static || owner != nil && owner.Kind == "DaemonSet" && !finished(&p)
	}), nil
}

func finished(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// ask has a pod leave. It returns why it is still there, "" if it is not waited for any more.
func (d *drain) ask(ctx context.Context, s *session, p *corev1.Pod, kubeletReports bool) string {
	if p.DeletionTimestamp == nil {
		err := s.end(ctx, p, d.delete)
		switch {
		case apierrors.IsNotFound(err):
			return ""
		case err != nil:
			return reasonOf(err)
		}
	}
	if !kubeletReports {
		return ""
	}
	return "is ending"
}

func (s *session) end(ctx context.Context, p *corev1.Pod, force bool) error {
	pods := s.Objects(podKind, p.Namespace)
	uid := p.UID
	if force {
		return pods.Delete(ctx, p.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	}
	eviction := object("policy/v1", "Eviction", p.Namespace, p.Name)
	_, err := pods.Create(ctx, &eviction, metav1.CreateOptions{}, "eviction")
	return err
}

// reasonOf is the text of the API server, with its details: they name the disruption budget.
func reasonOf(err error) string {
	text := err.Error()
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok && status.ErrStatus.Details != nil {
		for _, cause := range status.ErrStatus.Details.Causes {
			text += " " + cause.Message
		}
	}
	return text
}
