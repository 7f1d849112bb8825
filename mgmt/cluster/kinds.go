package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// kind is how the API serves a kind of objects.
type kind struct {
	resource   schema.GroupVersionResource
	namespaced bool
}

func core(resource string, namespaced bool) kind {
	return kind{schema.GroupVersionResource{Version: "v1", Resource: resource}, namespaced}
}

func grouped(group, resource string, namespaced bool) kind {
	return kind{schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}, namespaced}
}

const rbacGroup = "rbac.authorization.k8s.io"

var nodeKind, podKind, secretKind, accountKind = core("nodes", false), core("pods", true), core("secrets", true), core("serviceaccounts", true)

// named are the kinds that callers name.
var named = map[string]kind{
	"node": nodeKind, "pod": podKind, "secret": secretKind, "serviceaccount": accountKind,
	"namespace": core("namespaces", false), "configmap": core("configmaps", true), "persistentvolume": core("persistentvolumes", false),
	"persistentvolumeclaim": core("persistentvolumeclaims", true), "volumeattachment": grouped("storage.k8s.io", "volumeattachments", false),
	"daemonset": grouped("apps", "daemonsets", true), "deployment": grouped("apps", "deployments", true),
	"clusterrole": grouped(rbacGroup, "clusterroles", false), "clusterrolebinding": grouped(rbacGroup, "clusterrolebindings", false),
}

func kindNamed(name string) (kind, error) {
	k, known := named[strings.ToLower(name)]
	if !known {
		return kind{}, fmt.Errorf("cluster: kind %q is not supported here", name)
	}
	return k, nil
}

// of is where the objects of a kind are.
func (s *session) of(k kind, namespace string) dynamic.ResourceInterface {
	if !k.namespaced {
		return s.objects.Resource(k.resource)
	}
	return s.objects.Resource(k.resource).Namespace(namespace)
}

// kindsOf caches the kinds that the API server serves.
type kindsOf map[schema.GroupVersion][]metav1.APIResource

// errNoKind says that the API server does not serve a kind. It may later, when its definition was just applied.
var errNoKind = errors.New("the API server does not know the kind")

// kindFor asks the API server for the resource of a kind. It asks only for the kind's group: an aggregated API that
// does not answer, because its server is not installed yet, does not affect other groups.
func (s *session) kindFor(ctx context.Context, known kindsOf, gvk schema.GroupVersionKind) (kind, error) {
	gv := gvk.GroupVersion()
	for _, cached := range []bool{true, false} {
		if !cached {
			served, err := s.served(ctx, gv)
			if err != nil {
				return kind{}, err
			}
			known[gv] = served
		}
		for _, r := range known[gv] {
			if r.Kind == gvk.Kind && !strings.Contains(r.Name, "/") {
				return kind{gv.WithResource(r.Name), r.Namespaced}, nil
			}
		}
	}
	return kind{}, fmt.Errorf("%w %s of %s", errNoKind, gvk.Kind, gv)
}

func (s *session) served(ctx context.Context, gv schema.GroupVersion) ([]metav1.APIResource, error) {
	path := "/apis/" + url.PathEscape(gv.Group) + "/" + url.PathEscape(gv.Version)
	if gv.Group == "" {
		path = "/api/" + url.PathEscape(gv.Version)
	}
	body, err := s.get(ctx, path)
	if e, ok := errors.AsType[*answerError](err); ok && e.code == http.StatusNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("cluster: read the kinds of %s from the API server: %w", gv, err)
	}
	return list.APIResources, nil
}
