package inprocess

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/readiness"
)

var (
	pods   = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	events = schema.GroupVersionResource{Version: "v1", Resource: "events"}
)

// observe reads objects, and the related objects that explain why some are not ready. It leaves out objects that cannot
// be read: the result only describes a wait and does not decide it.
func (k *Call) observe(ctx context.Context, list []*resource.Info) (p helmclient.Progress) {
	err := Recovered(func() error {
		p = k.observed(ctx, list)
		return nil
	})
	if err != nil {
		k.Log().WarnContext(ctx, "the objects that are waited for cannot be described", "error", err)
		p = helmclient.Progress{Total: len(list)}
	}
	return p
}

func (k *Call) observed(ctx context.Context, list []*resource.Info) helmclient.Progress {
	var objects []unstructured.Unstructured
	var missing []helmclient.Object
	namespaces := map[string]bool{}
	for _, info := range list {
		o, err := k.Dynamic.Resource(info.Mapping.Resource).Namespace(info.Namespace).Get(ctx, info.Name, metav1.GetOptions{})
		switch {
		case err == nil:
			objects = append(objects, *o)
			if ready, _ := readiness.State(o); !ready {
				namespaces[info.Namespace] = true
			}
		case apierrors.IsNotFound(err):
			gvk := info.Mapping.GroupVersionKind
			missing = append(missing, readiness.Missing(gvk.GroupVersion().String(), gvk.Kind, info.Namespace, info.Name))
		}
	}
	p := readiness.Of(objects, k.related(ctx, namespaces))
	p.Total = len(list)
	p.Waiting = append(p.Waiting, missing...)
	return p
}

// about explains the state of an object that may be ready.
func (k *Call) about(ctx context.Context, info *resource.Info) (out helmclient.Object) {
	err := Recovered(func() error {
		o, err := k.Dynamic.Resource(info.Mapping.Resource).Namespace(info.Namespace).Get(ctx, info.Name, metav1.GetOptions{})
		if err == nil {
			out = readiness.About(o, k.related(ctx, map[string]bool{info.Namespace: true}))
		}
		return err
	})
	if err != nil {
		return object(info, "is not ready by Helm's rules")
	}
	return out
}

// related reads what explains the state of objects in namespaces. It leaves out what cannot be read.
func (k *Call) related(ctx context.Context, namespaces map[string]bool) (related readiness.Related) {
	for _, of := range []struct {
		resource schema.GroupVersionResource
		fields   string
		into     *[]unstructured.Unstructured
	}{
		{pods, "", &related.Pods},
		{events, "type=Warning", &related.Events},
		{events, "type=Normal,involvedObject.kind=PersistentVolumeClaim", &related.Events},
		{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}, "", &related.Between},
		{schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}, "", &related.Claims},
	} {
		for namespace := range namespaces {
			if found, err := k.Dynamic.Resource(of.resource).Namespace(namespace).List(ctx, metav1.ListOptions{FieldSelector: of.fields}); err == nil {
				*of.into = append(*of.into, found.Items...)
			}
		}
	}
	return related
}

// object returns the fields of an object that are known without asking the cluster.
func object(info *resource.Info, reason string) helmclient.Object {
	gvk := info.Mapping.GroupVersionKind
	return helmclient.Object{
		APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Namespace: info.Namespace, Name: info.Name, Reason: reason,
	}
}
