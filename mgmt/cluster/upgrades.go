package cluster

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// SetUnschedulable cordons a node, or uncordons it. It succeeds if the node does not exist.
func (c *Cluster[R]) SetUnschedulable(ctx context.Context, node string, unschedulable bool) error {
	return c.on(ctx, func(ctx context.Context, s *session) error {
		err := s.mergeNode(ctx, node, map[string]any{"spec": map[string]any{"unschedulable": unschedulable}})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}

// StaticPodTags returns the tags of the images with which a static pod of kube-system, such as "kube-apiserver", runs on the control-plane
// nodes, by InternalIP. A node without this pod is left out.
func (c *Cluster[R]) StaticPodTags(ctx context.Context, component string) (tags map[netip.Addr]string, err error) {
	err = c.on(ctx, func(ctx context.Context, s *session) error {
		nodes, err := s.nodes(ctx)
		if err != nil {
			return err
		}
		tags = map[netip.Addr]string{}
		for _, n := range nodes {
			if !n.ControlPlane {
				continue
			}
			pod, err := s.pod(ctx, metav1.NamespaceSystem, component+"-"+n.Name)
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return err
			}
			tags[n.Address] = tagOf(pod.Spec.Containers)
		}
		return nil
	})
	return tags, err
}

// tagOf returns the tag of the image of the first container, "" without a tag.
func tagOf(containers []corev1.Container) string {
	if len(containers) == 0 {
		return ""
	}
	image, _, _ := strings.Cut(containers[0].Image, "@")
	_, tag, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	return tag
}

// WaitStaticPodTag waits until a static pod of kube-system runs on the node with that InternalIP with an image that matches, and is Ready.
func (c *Cluster[R]) WaitStaticPodTag(ctx context.Context, node netip.Addr, component string, matches func(tag string) bool) error {
	return c.poll(ctx, fmt.Sprintf("%s on %s to run with its new image", component, node), func(ctx context.Context, s *session) error {
		pod, err := s.staticPod(ctx, node, component)
		switch {
		case err != nil:
			return err
		case !matches(tagOf(pod.Spec.Containers)):
			return fmt.Errorf("pod %s still runs with the image %s", pod.Name, pod.Spec.Containers[0].Image)
		case !podReady(pod):
			return fmt.Errorf("pod %s is not Ready: %s", pod.Name, pod.Status.Phase)
		}
		return nil
	})
}

// WaitDaemonSetTag waits until the tag of the image of the first container of a DaemonSet matches. The tag is "" if it does not exist.
func (c *Cluster[R]) WaitDaemonSetTag(ctx context.Context, namespace, name string, matches func(tag string) bool) error {
	return c.poll(ctx, "DaemonSet "+name+" to have its new image", func(ctx context.Context, s *session) error {
		found, err := s.Objects(named["daemonset"], namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		var set workload
		if err == nil {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.UnstructuredContent(), &set); err != nil {
				return err
			}
		}
		if tag := tagOf(set.Spec.Template.Spec.Containers); !matches(tag) {
			return fmt.Errorf("DaemonSet %s still has the image with the tag %s", name, tag)
		}
		return nil
	})
}

// workload and budgets are the parts of a DaemonSet and of PodDisruptionBudgets that this package reads. The packages with the complete types
// would be linked into every program that imports this one.
type (
	workload struct {
		Spec struct {
			Template struct {
				Spec struct {
					Containers []corev1.Container `json:"containers"`
				} `json:"spec"`
			} `json:"template"`
		} `json:"spec"`
	}
	budgets struct {
		Items []struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
			Status   struct {
				DisruptionsAllowed int32 `json:"disruptionsAllowed"`
				ExpectedPods       int32 `json:"expectedPods"`
			} `json:"status"`
		} `json:"items"`
	}
)

// BlockingBudgets returns the PodDisruptionBudgets that have pods and allow no eviction now, as namespace/name.
func (c *Cluster[R]) BlockingBudgets(ctx context.Context) (names []string, err error) {
	err = c.on(ctx, func(ctx context.Context, s *session) error {
		var list budgets
		if err := s.list(ctx, grouped("policy", "poddisruptionbudgets", true), metav1.NamespaceAll, metav1.ListOptions{}, &list); err != nil {
			return err
		}
		names = nil
		for _, b := range list.Items {
			if b.Status.ExpectedPods > 0 && b.Status.DisruptionsAllowed == 0 {
				names = append(names, b.Metadata.Namespace+"/"+b.Metadata.Name)
			}
		}
		return nil
	})
	return names, err
}

// WaitKubelet waits until the node with that InternalIP is Ready and its kubelet has a version that matches, such as v1.36.3. It calls report
// with the reason, when it changes.
func (c *Cluster[R]) WaitKubelet(ctx context.Context, node netip.Addr, matches func(version string) bool, report func(string)) error {
	told := ""
	return c.poll(ctx, fmt.Sprintf("the kubelet of %s to be Ready with its new version", node), func(ctx context.Context, s *session) error {
		nodes, err := s.nodes(ctx)
		if err != nil {
			return err
		}
		reason := fmt.Errorf("no node has the address %s", node)
		for _, n := range nodes {
			switch {
			case n.Address != node:
			case !n.Ready:
				reason = fmt.Errorf("node %s: %s", n.Name, n.Reason)
			case !matches(n.Status.NodeInfo.KubeletVersion):
				reason = fmt.Errorf("the kubelet of node %s still reports %s", n.Name, n.Status.NodeInfo.KubeletVersion)
			default:
				return nil
			}
		}
		if message := reason.Error(); message != told {
			told = message
			report(message)
		}
		return reason
	})
}
