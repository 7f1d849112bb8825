package kubeaccess

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ErrNoKind says that the API server does not serve a kind. It may later, when its definition has been applied.
var ErrNoKind = errors.New("the cluster does not know the kind")

// Kind is how the API serves a kind of objects.
type Kind struct {
	Resource   schema.GroupVersionResource
	Namespaced bool
	Scalable   bool // it has the subresource "scale"
}

// Kind asks the cluster for the resource of a kind, and caches the answer. It asks only for the kind's group: an
// aggregated API that does not answer does not affect other groups. The error is ErrNoKind if the cluster does not have
// the kind.
func (c *Cluster) Kind(ctx context.Context, gvk schema.GroupVersionKind) (Kind, error) {
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
	return Kind{}, fmt.Errorf("%s, %s: %w", gvk.GroupVersion(), gvk.Kind, ErrNoKind)
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

func (c *Cluster) served(ctx context.Context, gv schema.GroupVersion) ([]metav1.APIResource, error) {
	path := "/apis/" + gv.String()
	if gv.Group == "" {
		path = "/api/" + gv.Version
	}
	var list metav1.APIResourceList
	err := c.Do(ctx, func(ctx context.Context) error { return c.get(ctx, path, &list) })
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return list.APIResources, err
}

// get reads a path that is no object.
func (c *Cluster) get(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(c.Config.Host, "/")+path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	answer, err := c.http.Do(request)
	if err != nil {
		return c.broken(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return apierrors.NewGenericServerResponse(answer.StatusCode, http.MethodGet, schema.GroupResource{Resource: path}, "", http.StatusText(answer.StatusCode), 0, true)
	}
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return c.broken(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return &Error{Endpoint: c.endpoint, Message: path + " is not an answer of a Kubernetes API", kind: ErrUnreachable, cause: err}
	}
	return nil
}
