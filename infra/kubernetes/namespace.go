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

// namespaceKey says that the namespace was made for the VNF.
const namespaceKey = "kubernetes/namespace"

// makeNamespace is the step that makes the namespace, if the request names one and it is not there. That it is to be ours
// is written down before: whoever dies in between leaves nothing behind.
func (w *work) makeNamespace(ctx context.Context) error {
	name := w.design.Namespace
	if name == "" {
		return nil
	}
	return vnflcm.Do(ctx, w.op, "make-namespace", "", func(ctx context.Context) error {
		if err := w.op.State().Put(ctx, namespaceKey, name); err != nil {
			return err
		}
		n := &objects.Object{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
		err := w.objects.Apply(ctx, []*objects.Object{n}, w.owner())
		if errors.Is(err, objects.ErrForeign) { // it was there
			return w.op.State().Delete(ctx, namespaceKey)
		}
		return err
	})
}

// removeNamespace removes the namespace if it was made for the VNF and nothing is in it that somebody may miss.
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
		w.op.Log.WarnContext(ctx, "the namespace stays: not all in it is of this VNF", "namespace", name, "objects", left)
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

// shownObjects bounds how many objects a message names.
const shownObjects = 10

// inside lists what is in a namespace beside what Kubernetes puts into each.
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
			return nil, fmt.Errorf("what is in namespace %s: %s: %w", name, r.Resource, err)
		}
		for i := range list.Items {
			if o := &list.Items[i]; !common(r, o) && len(out) < shownObjects {
				out = append(out, r.Resource+"/"+o.GetName())
			}
		}
	}
	return out, nil
}

// common reports whether an object is one that Kubernetes itself puts into a namespace, or goes by itself.
func common(r schema.GroupVersionResource, o *unstructured.Unstructured) bool {
	switch r.Resource {
	case "events", "endpoints", "endpointslices", "leases", "controllerrevisions":
		return true
	case "serviceaccounts":
		return o.GetName() == "default"
	case "configmaps":
		return o.GetName() == "kube-root-ca.crt"
	}
	return len(o.GetOwnerReferences()) > 0 || // its owner counts
		o.GetAnnotations()["helm.sh/hook"] != "" || // Helm leaves its hooks behind
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
