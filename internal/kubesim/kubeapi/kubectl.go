package kubeapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Apply applies an object as kubectl apply --server-side does.
func (c *Cluster) Apply(kind Kind, namespace string, o Object) error {
	q := c.asKubectl(http.MethodPatch, apiPath{kind: kind, namespace: namespace, name: Text(o, "metadata", "name")})
	q.http.Header.Set("Content-Type", applyPatch)
	var err error
	if q.body, err = json.Marshal(o); err != nil {
		return err
	}
	if _, err := q.patch(); err != nil {
		return err
	}
	return c.RunControllers()
}

// asKubectl is a request as kubectl sends it.
func (c *Cluster) asKubectl(method string, to apiPath) *request {
	query := url.Values{"fieldManager": {"kubectl"}, "force": {"true"}, "fieldValidation": {"Strict"}}
	return &request{c: c, path: to, http: &http.Request{Method: method, URL: &url.URL{RawQuery: query.Encode()}, Header: http.Header{}}}
}

// EvictAll cordons a node, asks every pod of it to leave that is not there for the node itself, and counts them.
func (c *Cluster) EvictAll(node string) (left int, err error) {
	n := c.Nodes[node]
	if n == nil {
		return 0, fmt.Errorf("Error from server (NotFound): nodes %q not found", node)
	}
	n.Unschedulable = true
	pods := c.podsOn(node)
	for _, key := range slices.Sorted(maps.Keys(pods)) {
		pod := pods[key]
		if ownedBy(pod, "DaemonSet") || ownedBy(pod, "Node") {
			continue
		}
		left++
		if at(pod, "metadata", "deletionTimestamp") != nil {
			continue
		}
		q := c.asKubectl(http.MethodPost, apiPath{kind: podKind, namespace: Text(pod, "metadata", "namespace"), name: Text(pod, "metadata", "name"), sub: "eviction"})
		q.body = []byte(`{"apiVersion":"policy/v1","kind":"Eviction"}`)
		if _, err := q.evict(pod); err != nil && !apierrors.IsTooManyRequests(err) {
			return left, err
		}
	}
	return left, c.RunControllers()
}
