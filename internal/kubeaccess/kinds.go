package kubeaccess

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// ErrNoKind says that the API server does not serve a kind. It may later, when its definition has been applied.
var ErrNoKind = errors.New("the cluster does not know the kind")

// Kind is how the API serves a kind of objects.
type Kind struct {
	Resource   schema.GroupVersionResource
	Namespaced bool
	Scalable   bool // it has the subresource "scale"
}

// Kind asks the cluster for the resource of a kind, as Connection.Kind does, until it answers.
func (c *Cluster) Kind(ctx context.Context, gvk schema.GroupVersionKind) (k Kind, err error) {
	err = c.Do(ctx, func(ctx context.Context) (err error) {
		k, err = c.Connection.Kind(ctx, gvk)
		return err
	})
	return k, err
}

// Kind asks the cluster for the resource of a kind, and caches the answer. It asks only for the kind's group: an
// aggregated API that does not answer does not affect other groups. The error is ErrNoKind if the cluster does not have
// the kind.
func (c *Connection) Kind(ctx context.Context, gvk schema.GroupVersionKind) (Kind, error) {
	gv := gvk.GroupVersion()
	c.mu.Lock()
	known := c.kinds[gv]
	c.mu.Unlock()
	if k, ok := kindIn(known, gvk); ok {
		return k, nil
	}
	served, err := c.served(ctx, gv)
	if err != nil {
		return Kind{}, err
	}
	c.mu.Lock()
	c.kinds[gv] = served
	c.mu.Unlock()
	if k, ok := kindIn(served, gvk); ok {
		return k, nil
	}
	return Kind{}, fmt.Errorf("%w %s of %s", ErrNoKind, gvk.Kind, gv)
}

// Objects returns a client for the objects of a kind. The namespace has no effect on a kind without namespaces; "" stands for all.
func (c *Connection) Objects(k Kind, namespace string) dynamic.ResourceInterface {
	if !k.Namespaced {
		return c.Dynamic.Resource(k.Resource)
	}
	return c.Dynamic.Resource(k.Resource).Namespace(namespace)
}

func kindIn(served []metav1.APIResource, gvk schema.GroupVersionKind) (k Kind, found bool) {
	for _, r := range served {
		if r.Kind == gvk.Kind && !strings.Contains(r.Name, "/") {
			k, found = Kind{Resource: gvk.GroupVersion().WithResource(r.Name), Namespaced: r.Namespaced}, true
		}
	}
	for _, r := range served {
		k.Scalable = k.Scalable || found && r.Name == k.Resource.Resource+"/scale"
	}
	return k, found
}

func (c *Connection) served(ctx context.Context, gv schema.GroupVersion) ([]metav1.APIResource, error) {
	path := "/apis/" + url.PathEscape(gv.Group) + "/" + url.PathEscape(gv.Version)
	if gv.Group == "" {
		path = "/api/" + url.PathEscape(gv.Version)
	}
	var list metav1.APIResourceList
	err := c.decode(ctx, path, &list)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return list.APIResources, err
}

// decode reads a path into a value of JSON.
func (c *Connection) decode(ctx context.Context, path string, into any) error {
	data, err := c.Get(ctx, path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return &Error{Endpoint: c.endpoint, Message: path + " is not an answer of a Kubernetes API", kind: ErrUnreachable, cause: err}
	}
	return nil
}
