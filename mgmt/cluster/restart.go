package cluster

import (
	"context"
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// restartMark is the annotation of pods that RestartSystem sets, as "kubectl rollout restart" does.
const restartMark = "vnfkit.io/restarted"

// RestartSystem has the controllers replace the pods of DaemonSets and Deployments of kube-system, such as kube-proxy and CoreDNS, and of the
// namespaces of the objects in manifest, such as that of the pod network. It does not wait for the new pods. A call with the same mark
// changes nothing.
func (c *Cluster[R]) RestartSystem(ctx context.Context, manifest []byte, mark string) error {
	objects, err := objectsOf(manifest)
	if err != nil {
		return err
	}
	namespaces := []string{metav1.NamespaceSystem}
	for _, o := range objects {
		if o.GetNamespace() != "" {
			namespaces = append(namespaces, o.GetNamespace())
		}
	}
	slices.Sort(namespaces)
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": map[string]any{restartMark: mark}}}}})
	if err != nil {
		return err
	}
	return c.poll(ctx, "the pods of the system to be replaced", func(ctx context.Context, s *session) error {
		for _, namespace := range slices.Compact(namespaces) {
			for _, kind := range []string{"daemonset", "deployment"} {
				if err := s.patchAll(ctx, kind, namespace, patch); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// patchAll patches the objects of a kind in a namespace.
func (s *session) patchAll(ctx context.Context, kind, namespace string, patch []byte) error {
	objects := s.Objects(named[kind], namespace)
	list, err := objects.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, o := range list.Items {
		if _, err := objects.Patch(ctx, o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager}); err != nil {
			return permanent(err)
		}
	}
	return nil
}
