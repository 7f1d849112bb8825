package cluster

import (
	"context"
	"encoding/json"
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

// WaitStaticPods waits until the static pods of these components, such as "etcd", are Ready on the node with that InternalIP as its kubelet
// wants them now. A kubelet of another minor version starts each static pod again, some time after it has started itself. Until then the
// mirror pods show the pods before.
func (c *Cluster[R]) WaitStaticPods(ctx context.Context, node netip.Addr, components ...string) error {
	return c.poll(ctx, fmt.Sprintf("the static pods of %s to run with its kubelet", node), func(ctx context.Context, s *session) error {
		name, err := s.nodeName(ctx, node)
		if err != nil {
			return err
		}
		wanted, err := s.staticPodsOf(ctx, name)
		if err != nil {
			return err
		}
		for _, component := range components {
			pod, err := s.pod(ctx, metav1.NamespaceSystem, component+"-"+name)
			switch hash := wanted[component+"-"+name]; {
			case err != nil:
				return err
			case hash == "" || pod.Annotations[corev1.MirrorPodAnnotationKey] != hash:
				return fmt.Errorf("the kubelet has not started pod %s again", pod.Name)
			case !podReady(pod):
				return fmt.Errorf("pod %s is not Ready: %s", pod.Name, pod.Status.Phase)
			}
		}
		return nil
	})
}

// configHash is the annotation by which a kubelet and the mirror pod identify a static pod (k8s.io/kubernetes, pkg/kubelet/types).
const configHash = "kubernetes.io/config.hash"

// staticPodsOf returns the hashes of the static pods of kube-system that the kubelet of a node wants, by the names of their mirror pods.
func (s *session) staticPodsOf(ctx context.Context, node string) (map[string]string, error) {
	text, err := s.Get(ctx, "/api/v1/nodes/"+node+"/proxy/pods")
	if err != nil {
		return nil, err
	}
	var list corev1.PodList
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("the kubelet of %s: %w", node, err)
	}
	out := map[string]string{}
	for _, pod := range list.Items {
		if hash := pod.Annotations[configHash]; hash != "" && pod.Namespace == metav1.NamespaceSystem {
			out[pod.Name] = hash
		}
	}
	return out, nil
}

// staticPod returns the mirror pod of a static pod on the node with that InternalIP.
func (s *session) staticPod(ctx context.Context, node netip.Addr, component string) (corev1.Pod, error) {
	name, err := s.nodeName(ctx, node)
	if err != nil {
		return corev1.Pod{}, err
	}
	return s.pod(ctx, metav1.NamespaceSystem, component+"-"+name)
}

// nodeName returns the name of the node with that InternalIP.
func (s *session) nodeName(ctx context.Context, node netip.Addr) (string, error) {
	nodes, err := s.nodes(ctx)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(nodes, func(n Node) bool { return n.Address == node })
	if i < 0 {
		return "", fmt.Errorf("no node has the address %s", node)
	}
	return nodes[i].Name, nil
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
