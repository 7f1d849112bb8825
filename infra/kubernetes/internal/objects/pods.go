package objects

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var podKind = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

// Pod is a pod of a workload.
type Pod struct {
	Namespace, Name string
	UID             types.UID
	Node, IP        string // empty before it has them
	Created         time.Time
	Phase           corev1.PodPhase
	Ready           bool
	Leaving         bool // it is being deleted
	Controller      Ref  // controller that recreates the pod; empty for a bare pod
	Top             Ref  // which of the workloads that were asked for it belongs to, with its UID
	Labels          map[string]string
	Cost            string // of its deletion: see MarkForRemoval
}

// Ref names the pod.
func (p Pod) Ref() Ref {
	return Ref{APIVersion: "v1", Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID}
}

// Finished reports whether the pod has succeeded or failed permanently.
func (p Pod) Finished() bool { return p.Phase == corev1.PodSucceeded || p.Phase == corev1.PodFailed }

// Pods returns the pods that belong to the workloads by their owners, the oldest first: a Deployment's by its
// ReplicaSets, a CronJob's by its Jobs, a custom resource's by the objects that it created. Pods among the workloads
// are returned themselves. If one workload owns another, the pod belongs to the upper one. Objects of kinds without
// pods have none.
func (c *Client) Pods(ctx context.Context, workloads []Ref) ([]Pod, error) {
	all, err := c.podObjects(ctx, workloads)
	if err != nil {
		return nil, err
	}
	owners := newOwners(c)
	var out []Pod
	for i := range all {
		top, found, err := owners.top(ctx, &all[i], workloads)
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		p, err := podOf(&all[i])
		if err != nil {
			return nil, err
		}
		p.Top = top
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(a, b Pod) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

// podObjects reads all pods of the workloads' namespaces; of all namespaces if a workload has none.
func (c *Client) podObjects(ctx context.Context, workloads []Ref) ([]Object, error) {
	var namespaces []string
	for _, w := range workloads {
		if rank := rankOf(w.gvk().GroupKind()); rank == workloadRank || rank == restRank { // other kinds have no pods
			namespaces = append(namespaces, w.Namespace)
		}
	}
	slices.Sort(namespaces)
	namespaces = slices.Compact(namespaces)
	if slices.Contains(namespaces, "") {
		// An object without a namespace can have pods anywhere, unless these credentials are for some namespaces only.
		all, err := c.list(ctx, podKind, "", metav1.ListOptions{})
		if !apierrors.IsForbidden(err) {
			return all, err
		}
		namespaces = namespaces[1:]
	}
	var all []Object
	for _, namespace := range namespaces {
		some, err := c.list(ctx, podKind, namespace, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

func podOf(o *Object) (Pod, error) {
	var pod corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &pod); err != nil {
		return Pod{}, errors.Join(errors.New("kubernetes: "+RefOf(o).String()+" is no pod"), err)
	}
	p := Pod{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Node: pod.Spec.NodeName, IP: pod.Status.PodIP,
		Created: pod.CreationTimestamp.Time, Phase: pod.Status.Phase, Leaving: pod.DeletionTimestamp != nil, Labels: pod.Labels, Cost: pod.Annotations[corev1.PodDeletionCost]}
	for _, each := range pod.Status.Conditions {
		p.Ready = p.Ready || each.Type == corev1.PodReady && each.Status == corev1.ConditionTrue
	}
	p.Ready = p.Ready && !p.Leaving && !p.Finished()
	if owner := metav1.GetControllerOf(&pod); owner != nil {
		p.Controller = Ref{APIVersion: owner.APIVersion, Kind: owner.Kind, Namespace: pod.Namespace, Name: owner.Name, UID: owner.UID}
	}
	return p, nil
}

// owners climbs chains of owners, and reads each owner once.
type owners struct {
	client *Client
	read   map[types.UID]*Object // nil: it does not exist
}

func newOwners(c *Client) *owners { return &owners{c, map[types.UID]*Object{}} }

// longestChain bounds the chain of owners: real ones are shorter, and a hostile cluster could return a circle.
const longestChain = 10

// top finds the uppermost of the workloads in the chain of controllers above o, itself included.
func (w *owners) top(ctx context.Context, o *Object, workloads []Ref) (top Ref, found bool, err error) {
	at := RefOf(o)
	for range longestChain {
		if slices.ContainsFunc(workloads, at.means) {
			top, found = at, true
		}
		owner := metav1.GetControllerOf(o)
		if owner == nil {
			break
		}
		above := Ref{APIVersion: owner.APIVersion, Kind: owner.Kind, Namespace: at.Namespace, Name: owner.Name, UID: owner.UID}
		if o, err = w.get(ctx, &above); err != nil {
			return top, false, err
		}
		if o == nil { // it does not exist; its name may still be a requested one
			if slices.ContainsFunc(workloads, above.means) {
				top, found = above, true
			}
			break
		}
		at = above
	}
	return top, found, nil
}

// get reads an owner, and clears the namespace of a cluster-scoped one.
func (w *owners) get(ctx context.Context, r *Ref) (*Object, error) {
	o, known := w.read[r.UID]
	if !known {
		var err error
		if o, err = w.client.Get(ctx, *r); err != nil {
			return nil, err
		}
		w.read[r.UID] = o
	}
	if o != nil {
		r.Namespace = o.GetNamespace()
	}
	return o, nil
}
