package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// namespaceKey is the state key that records that the namespace was created for the VNF.
const namespaceKey = "kubernetes/namespace"

// makeNamespace is the step that creates the namespace, if the request names one that does not exist. It stores its
// intention first, so that a namespace is removed later even if the process dies in between.
func (w *work) makeNamespace(ctx context.Context) error {
	name := w.design.Namespace
	if name == "" {
		return nil
	}
	return w.readyStep(ctx, "make-namespace", func(ctx context.Context) error {
		if err := w.op.State().Put(ctx, namespaceKey, name); err != nil {
			return err
		}
		n := &objects.Object{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
		err := w.objects.Apply(ctx, []*objects.Object{n}, w.owner())
		if errors.Is(err, objects.ErrForeign) { // it existed
			return w.op.State().Delete(ctx, namespaceKey)
		}
		return err
	})
}

// removeNamespace removes the namespace if it was created for the VNF and contains no objects of other clients.
func (w *work) removeNamespace(ctx context.Context) error {
	var name string
	err := w.op.State().Get(ctx, namespaceKey, &name)
	if errors.Is(err, vnflcm.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	left, err := w.inside(ctx, name)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		w.op.Log.WarnContext(ctx, "the namespace is not removed: it contains objects that do not belong to this VNF", "namespace", name, "objects", left)
		return w.op.State().Delete(ctx, namespaceKey)
	}
	err = within(ctx, w.cfg.Gone, func(ctx context.Context) error {
		return w.objects.Delete(ctx, []objects.Ref{{APIVersion: "v1", Kind: "Namespace", Name: name}}, objects.DeleteOptions{Owner: w.owner()})
	})
	if err != nil {
		return err
	}
	return w.op.State().Delete(ctx, namespaceKey)
}

// shownObjects bounds the number of objects that a message names.
const shownObjects = 10

// inside lists the objects of a namespace without those that Kubernetes creates in each.
func (w *work) inside(ctx context.Context, name string) ([]string, error) {
	var out []string
	resources, err := w.namespaced(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range resources {
		var list *unstructured.UnstructuredList
		err := w.cluster.Do(ctx, func(ctx context.Context) (err error) {
			list, err = w.cluster.Dynamic.Resource(r).Namespace(name).List(ctx, metav1.ListOptions{Limit: 2 * shownObjects})
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("list the objects of namespace %s: %s: %w", name, r.Resource, err)
		}
		for i := range list.Items {
			if o := &list.Items[i]; !common(r, o) && len(out) < shownObjects {
				out = append(out, r.Resource+"/"+o.GetName())
			}
		}
	}
	return out, nil
}

// common reports whether Kubernetes itself creates the object in a namespace, or deletes it automatically.
func common(r schema.GroupVersionResource, o *unstructured.Unstructured) bool {
	switch r.Resource {
	case "events", "endpoints", "endpointslices", "leases", "controllerrevisions":
		return true
	case "serviceaccounts":
		return o.GetName() == "default"
	case "configmaps":
		return o.GetName() == "kube-root-ca.crt"
	}
	return len(o.GetOwnerReferences()) > 0 || // the owner is checked instead
		o.GetAnnotations()["helm.sh/hook"] != "" || // Helm does not delete its hooks
		o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0
}

// namespaced lists the kinds that a namespace can hold, each in the version that the cluster prefers.
func (w *work) namespaced(ctx context.Context) ([]schema.GroupVersionResource, error) {
	client, err := discovery.NewDiscoveryClientForConfig(w.cluster.Config)
	if err != nil {
		return nil, err
	}
	var lists []*metav1.APIResourceList
	err = w.cluster.Do(ctx, func(context.Context) (err error) {
		lists, err = client.ServerPreferredNamespacedResources()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("the kinds of the cluster: %w", err)
	}
	var out []schema.GroupVersionResource
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "delete") && !strings.Contains(r.Name, "/") {
				out = append(out, gv.WithResource(r.Name))
			}
		}
	}
	return out, nil
}
