package cluster

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// WaitStaticPod waits until the static pod of a component in kube-system, such as "etcd", is Ready on the node with that InternalIP, and
// runs with this annotation in its manifest. The kubelet starts the pod again when the manifest changes.
func (c *Cluster[R]) WaitStaticPod(ctx context.Context, node netip.Addr, component, annotation, value string) error {
	return c.poll(ctx, fmt.Sprintf("%s on %s to run with its changed manifest", component, node), func(ctx context.Context, s *session) error {
		pod, err := s.staticPod(ctx, node, component)
		switch {
		case err != nil:
			return err
		case pod.Annotations[annotation] != value:
			return fmt.Errorf("pod %s still runs with the manifest before", pod.Name)
		case !podReady(pod):
			return fmt.Errorf("pod %s is not Ready: %s", pod.Name, pod.Status.Phase)
		}
		return nil
	})
}

// staticPod returns the mirror pod of a static pod on the node with that InternalIP.
func (s *session) staticPod(ctx context.Context, node netip.Addr, component string) (corev1.Pod, error) {
	nodes, err := s.nodes(ctx)
	if err != nil {
		return corev1.Pod{}, err
	}
	i := slices.IndexFunc(nodes, func(n Node) bool { return n.Address == node })
	if i < 0 {
		return corev1.Pod{}, fmt.Errorf("no node has the address %s", node)
	}
	return s.pod(ctx, metav1.NamespaceSystem, component+"-"+nodes[i].Name)
}

func (s *session) pod(ctx context.Context, namespace, name string) (pod corev1.Pod, err error) {
	found, err := s.Objects(podKind, namespace).Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(found.UnstructuredContent(), &pod)
	}
	return pod, err
}

func podReady(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
