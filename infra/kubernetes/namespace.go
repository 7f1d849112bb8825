package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// removeNamespace removes the namespace if it was created for the VNF and contains no objects of other clients. A namespace
// whose objects cannot all be listed stays, with a warning.
func (w *work) removeNamespace(ctx context.Context) error {
	var name string
	err := w.op.State().Get(ctx, namespaceKey, &name)
	if errors.Is(err, vnflcm.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	found, err := w.inside(ctx, name)
	if err != nil {
		return err
	}
	switch {
	case len(found.left) > 0:
		w.op.Log.WarnContext(ctx, "the namespace is not removed: it contains objects that stay or do not belong to this VNF", "namespace", name, "objects", found.left)
		err = w.leave(ctx, append(found.left, "Namespace "+name))
	case len(found.unknown) > 0:
		w.op.Log.WarnContext(ctx, "the namespace is not removed: some kinds of its objects cannot be listed", "namespace", name, "kinds", found.unknown)
		err = w.leave(ctx, []string{"Namespace " + name})
	default:
		err = w.deleteNamespace(ctx, name)
	}
	if err != nil {
		return err
	}
	return w.op.State().Delete(ctx, namespaceKey)
}

// deleteNamespace deletes a namespace and waits until it is gone. Kubernetes deletes no namespace while an aggregated API
// does not answer: then deleteNamespace returns after Config.Gone with a warning, and Kubernetes deletes the namespace later.
func (w *work) deleteNamespace(ctx context.Context, name string) error {
	ref := objects.Ref{APIVersion: "v1", Kind: "Namespace", Name: name}
	err := within(ctx, w.cfg.Gone, func(ctx context.Context) error {
		return w.objects.Delete(ctx, []objects.Ref{ref}, objects.DeleteOptions{Owner: w.owner()})
	})
	if _, stuck := errors.AsType[*objects.StuckError](err); !stuck || ctx.Err() != nil {
		return err
	}
	now, failed := w.objects.Get(ctx, ref)
	if failed != nil || now == nil || !objects.Undiscovered(now) {
		return errors.Join(err, failed)
	}
	w.op.Log.WarnContext(ctx, "the namespace is being deleted, but an API of the cluster does not answer", "namespace", name, "reason", err)
	return nil
}

// shownObjects bounds the number of objects that a message names.
const shownObjects = 10

// content is what a namespace contains beside the objects that Kubernetes creates in each.
type content struct {
	left    []string // objects that stay or belong to other clients, at most shownObjects
	unknown []string // kinds that cannot be listed, with the reason
}

// inside lists the objects of a namespace.
func (w *work) inside(ctx context.Context, name string) (content, error) {
	kinds, unknown, err := w.namespaced(ctx)
	if err != nil {
		return content{}, err
	}
	deletesClaims, err := w.deletesClaims(ctx)
	if err != nil {
		return content{}, err
	}
	out := content{unknown: unknown}
	for _, r := range kinds {
		list, err := w.listFew(ctx, r, name)
		switch {
		case ctx.Err() != nil:
			return content{}, context.Cause(ctx)
		case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err): // the kind is no longer served
		case err != nil:
			out.unknown = append(out.unknown, fmt.Sprintf("%s: %v", r.GroupResource(), err))
		}
		for i := range list {
			if o := &list[i]; !common(r, o, deletesClaims) && len(out.left) < shownObjects {
				out.left = append(out.left, objects.RefOf(o).String())
			}
		}
	}
	if len(out.unknown) == 0 {
		return out, nil
	}
	// Only an answer of the API server itself shows that the kinds are the fault.
	_, err = w.objects.Get(ctx, objects.Ref{APIVersion: "v1", Kind: "Namespace", Name: name})
	return out, err
}

// listPatience is how long one kind of objects is asked for: an aggregated API may be down while the API server works.
const listPatience = 10 * time.Second

// listFew lists the first objects of a kind.
func (w *work) listFew(ctx context.Context, r schema.GroupVersionResource, namespace string) (items []unstructured.Unstructured, err error) {
	err = within(ctx, min(listPatience, w.cfg.Gone), func(ctx context.Context) error {
		return w.cluster.Do(ctx, func(ctx context.Context) error {
			list, err := w.cluster.Dynamic.Resource(r).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: 2 * shownObjects})
			if err == nil {
				items = list.Items
			}
			return err
		})
	})
	return items, err
}

// common reports whether Kubernetes itself creates the object in a namespace, or deletes it automatically. Helm does not delete
// its hooks: the namespace is deleted with them, unless one is a claim or says that it must not be deleted.
func common(r schema.GroupVersionResource, o *unstructured.Unstructured, deletesClaims bool) bool {
	switch r.Resource {
	case "events", "endpoints", "endpointslices", "leases", "controllerrevisions":
		return true
	case "serviceaccounts", "configmaps":
		if o.GetName() == map[string]string{"serviceaccounts": "default", "configmaps": "kube-root-ca.crt"}[r.Resource] {
			return true
		}
	}
	return len(o.GetOwnerReferences()) > 0 || // the owner is checked instead
		o.GetAnnotations()["helm.sh/hook"] != "" && (r == claimResource && deletesClaims || r != claimResource && !objects.Keeps(o)) ||
		o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0
}

// namespaced lists the kinds that a namespace can hold, each in the version that the cluster prefers, and names the APIs
// whose kinds cannot be discovered.
func (w *work) namespaced(ctx context.Context) (kinds []schema.GroupVersionResource, unknown []string, err error) {
	client, err := discovery.NewDiscoveryClientForConfig(w.cluster.Config)
	if err != nil {
		return nil, nil, err
	}
	var lists []*metav1.APIResourceList
	err = w.cluster.Do(ctx, func(context.Context) (err error) {
		lists, err = client.ServerPreferredNamespacedResources()
		return err
	})
	if failed, partly := errors.AsType[*discovery.ErrGroupDiscoveryFailed](err); partly {
		for gv, reason := range failed.Groups {
			unknown = append(unknown, fmt.Sprintf("%s: %v", gv, reason))
		}
		slices.Sort(unknown)
	} else if err != nil {
		return nil, nil, fmt.Errorf("the kinds of the cluster: %w", err)
	}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, nil, err
		}
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "delete") && !strings.Contains(r.Name, "/") {
				kinds = append(kinds, gv.WithResource(r.Name))
			}
		}
	}
	return kinds, unknown, nil
}
