package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vnfkit/vnfkit/internal/answerlimit"
	"github.com/vnfkit/vnfkit/internal/kubeaccess"
)

// Node is a node of the cluster.
type Node struct {
	corev1.Node
	Address      netip.Addr // InternalIP
	ControlPlane bool
	Ready        bool
	Reason       string // why it is not ready
}

func newNode(o corev1.Node) Node {
	n := Node{Node: o, Reason: "it has not reported yet"}
	_, n.ControlPlane = o.Labels["node-role.kubernetes.io/control-plane"]
	for _, a := range o.Status.Addresses {
		if addr, err := netip.ParseAddr(a.Address); err == nil && a.Type == corev1.NodeInternalIP && !n.Address.IsValid() {
			n.Address = addr
		}
	}
	for _, c := range o.Status.Conditions {
		if c.Type == corev1.NodeReady {
			n.Ready, n.Reason = c.Status == corev1.ConditionTrue, answerlimit.Shorten(cmp.Or(c.Message, c.Reason))
		}
	}
	return n
}

// list reads objects into a list of their type.
func (s *session) list(ctx context.Context, k kubeaccess.Kind, namespace string, o metav1.ListOptions, into any) error {
	found, err := s.Objects(k, namespace).List(ctx, o)
	if err != nil {
		return err
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(found.UnstructuredContent(), into)
}

func (s *session) nodes(ctx context.Context) ([]Node, error) {
	var list corev1.NodeList
	if err := s.list(ctx, nodeKind, "", metav1.ListOptions{}, &list); err != nil {
		return nil, err
	}
	out := make([]Node, len(list.Items))
	for i, item := range list.Items {
		out[i] = newNode(item)
	}
	return out, nil
}

// Nodes lists the nodes.
func (c *Cluster[R]) Nodes(ctx context.Context) (nodes []Node, err error) {
	err = c.on(ctx, func(ctx context.Context, s *session) error {
		nodes, err = s.nodes(ctx)
		return err
	})
	return nodes, err
}

// NodeAt finds the node with that InternalIP, independent of its name.
func (c *Cluster[R]) NodeAt(ctx context.Context, addr netip.Addr) (Node, bool, error) {
	nodes, err := c.Nodes(ctx)
	for _, n := range nodes {
		if addr.IsValid() && n.Address == addr {
			return n, true, nil
		}
	}
	return Node{}, false, err
}

// DeleteNode removes the Node object of that name and UID. It succeeds if the object does not exist, and if another
// machine has joined under the name since: that one has another UID and stays.
func (c *Cluster[R]) DeleteNode(ctx context.Context, name string, uid types.UID) error {
	return c.on(ctx, func(ctx context.Context, s *session) error {
		err := s.Objects(nodeKind, "").Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil
		}
		return err
	})
}

// SetLabels sets these labels of a node, and keeps its other labels.
func (c *Cluster[R]) SetLabels(ctx context.Context, node string, labels map[string]string) error {
	if len(labels) == 0 {
		return nil
	}
	return c.on(ctx, func(ctx context.Context, s *session) error {
		return s.mergeNode(ctx, node, map[string]any{"metadata": map[string]any{"labels": labels}})
	})
}

// SetTaints sets these taints of a node, and keeps its other taints. A taint of the same key and effect is replaced.
func (c *Cluster[R]) SetTaints(ctx context.Context, node string, taints []corev1.Taint) error {
	if len(taints) == 0 {
		return nil
	}
	return c.poll(ctx, "the taints of node "+node, func(ctx context.Context, s *session) error {
		old, err := s.node(ctx, node)
		if err != nil {
			return permanentError{err}
		}
		set := slices.DeleteFunc(slices.Clone(old.Spec.Taints), func(t corev1.Taint) bool {
			return slices.ContainsFunc(taints, func(wanted corev1.Taint) bool { return wanted.Key == t.Key && wanted.Effect == t.Effect })
		})
		// The patch replaces the complete list. The version in it prevents overwriting a concurrent change (409, then
		// retry).
		return permanent(s.mergeNode(ctx, node, map[string]any{
			"metadata": map[string]any{"resourceVersion": old.ResourceVersion},
			"spec":     map[string]any{"taints": append(set, taints...)},
		}))
	})
}

func (s *session) node(ctx context.Context, name string) (Node, error) {
	var node corev1.Node
	found, err := s.Objects(nodeKind, "").Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return Node{}, err
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructured(found.UnstructuredContent(), &node)
	return newNode(node), err
}

func (s *session) mergeNode(ctx context.Context, node string, patch any) error {
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = s.Objects(nodeKind, "").Patch(ctx, node, types.MergePatchType, data, metav1.PatchOptions{FieldManager: fieldManager})
	return err
}

// WaitReady waits until the node of each of these machines is Ready. It calls report with the reasons, when they change. machines has the
// name of each machine for people, by the InternalIP of its node.
func (c *Cluster[R]) WaitReady(ctx context.Context, machines map[netip.Addr]string, report func(string)) error {
	told := ""
	return c.poll(ctx, "all nodes to be Ready", func(ctx context.Context, s *session) error {
		nodes, err := s.nodes(ctx)
		if err != nil {
			return err
		}
		blocking := notReady(nodes, machines)
		if len(blocking) == 0 {
			return nil
		}
		message := fmt.Sprintf("%d of %d nodes are Ready; %v", len(machines)-len(blocking), len(machines), blocking[0])
		if message != told {
			told = message
			report(message)
		}
		return errors.Join(blocking...)
	})
}

// notReady returns a reason for each machine without a Ready node, in the order of the addresses.
func notReady(nodes []Node, machines map[netip.Addr]string) (blocking []error) {
	byAddr := map[netip.Addr]Node{}
	for _, n := range nodes {
		byAddr[n.Address] = n
	}
	for _, addr := range slices.SortedFunc(maps.Keys(machines), netip.Addr.Compare) {
		if n, joined := byAddr[addr]; !joined {
			blocking = append(blocking, fmt.Errorf("%s has not joined: no node has the address %s", machines[addr], addr))
		} else if !n.Ready {
			blocking = append(blocking, fmt.Errorf("%s is not Ready: %s", machines[addr], n.Reason))
		}
	}
	return blocking
}

// delete removes an object; that there is none is no error.
func (s *session) delete(ctx context.Context, k kubeaccess.Kind, namespace, name string) error {
	policy := metav1.DeletePropagationBackground
	err := s.Objects(k, namespace).Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &policy})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
