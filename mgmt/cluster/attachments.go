package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/vnfkit/vnfkit/internal/answerlimit"
)

// ErrAttached reports that volumes are still attached to a node. A retry helps after they have been detached.
var ErrAttached = errors.New("cluster: volumes are attached")

var attachmentKind, claimKind = named["volumeattachment"], named["persistentvolumeclaim"]

// attachment has the fields of a VolumeAttachment that are read here (storage.k8s.io/v1).
type attachment struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		NodeName string `json:"nodeName"`
		Source   struct {
			PersistentVolumeName string `json:"persistentVolumeName"`
		} `json:"source"`
	} `json:"spec"`
}

// name returns the volume if the VolumeAttachment names one, and the VolumeAttachment.
func (a attachment) name() string {
	if volume := a.Spec.Source.PersistentVolumeName; volume != "" {
		return fmt.Sprintf("%s (VolumeAttachment %s)", volume, a.Name)
	}
	return "VolumeAttachment " + a.Name
}

// WaitDetached waits until no VolumeAttachment names the node, so that other nodes can attach its volumes. It does not wait for
// volumes of pods that stay on the node: pods of DaemonSets, static pods, and pods that Drain has left. It calls report with the
// volumes, when they change. If ctx ends before, the error is ErrAttached and names the volumes.
func (c *Cluster[R]) WaitDetached(ctx context.Context, node string, report func(string)) error {
	told := ""
	return c.poll(ctx, "the volumes of node "+node+" to be detached", func(ctx context.Context, s *session) error {
		names, err := s.attachedTo(ctx, node)
		if err != nil {
			return permanent(err)
		}
		if len(names) == 0 {
			return nil
		}
		err = fmt.Errorf("%w to node %s: %s", ErrAttached, node, answerlimit.Shorten(strings.Join(names, ", ")))
		if text := err.Error(); text != told {
			told = text
			report(text)
		}
		return err
	})
}

// attachedTo returns the names of the volumes for which WaitDetached waits.
func (s *session) attachedTo(ctx context.Context, node string) (names []string, err error) {
	var list struct {
		Items []attachment `json:"items"`
	}
	if err := s.list(ctx, attachmentKind, "", metav1.ListOptions{}, &list); err != nil {
		return nil, err
	}
	on := slices.DeleteFunc(list.Items, func(a attachment) bool { return a.Spec.NodeName != node })
	if len(on) == 0 {
		return nil, nil
	}
	used, err := s.volumesUsedOn(ctx, node)
	if err != nil {
		return nil, err
	}
	for _, a := range on {
		if volume := a.Spec.Source.PersistentVolumeName; volume == "" || !slices.Contains(used, volume) {
			names = append(names, a.name())
		}
	}
	return names, nil
}

// volumesUsedOn returns the persistent volumes of the pods that stay on a node.
func (s *session) volumesUsedOn(ctx context.Context, node string) (names []string, err error) {
	var pods corev1.PodList
	if err := s.list(ctx, podKind, metav1.NamespaceAll, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node}, &pods); err != nil {
		return nil, err
	}
	for _, p := range pods.Items {
		if p.DeletionTimestamp != nil || finished(&p) {
			continue
		}
		for _, claim := range claimsOf(&p) {
			volume, err := s.volumeOf(ctx, p.Namespace, claim)
			if err != nil {
				return nil, err
			}
			names = append(names, volume)
		}
	}
	return names, nil
}

// claimsOf returns the names of the PersistentVolumeClaims of a pod.
func claimsOf(p *corev1.Pod) (names []string) {
	for _, v := range p.Spec.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			names = append(names, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			names = append(names, p.Name+"-"+v.Name) // how Kubernetes names the claims of ephemeral volumes
		}
	}
	return names
}

// volumeOf returns the persistent volume that a claim is bound to, "" for an unbound claim.
func (s *session) volumeOf(ctx context.Context, namespace, claim string) (string, error) {
	found, err := s.Objects(claimKind, namespace).Get(ctx, claim, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var c corev1.PersistentVolumeClaim
	err = runtime.DefaultUnstructuredConverter.FromUnstructured(found.UnstructuredContent(), &c)
	return c.Spec.VolumeName, err
}
