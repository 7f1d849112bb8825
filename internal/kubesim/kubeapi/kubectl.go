package kubeapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
)

// Apply applies an object, as kubectl apply --server-side --force-conflicts does.
func (c *Cluster) Apply(manager string, kind Kind, namespace string, o Object) error {
	raw, err := json.Marshal(o)
	if err != nil {
		return err
	}
	query := url.Values{"fieldManager": {manager}, "force": {"true"}}
	q := &request{c: c, path: apiPath{kind: kind, namespace: namespace, name: Text(o, "metadata", "name")}, body: raw,
		http: &http.Request{Method: http.MethodPatch, URL: &url.URL{RawQuery: query.Encode()}, Header: http.Header{}}}
	old, _ := q.load(q.path)
	if _, err := q.apply(old); err != nil {
		return err
	}
	return c.RunControllers()
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
		q := &request{c: c, body: []byte(`{"apiVersion":"policy/v1","kind":"Eviction"}`), http: &http.Request{Method: http.MethodPost, Header: http.Header{}},
			path: apiPath{kind: podKind, namespace: Text(pod, "metadata", "namespace"), name: Text(pod, "metadata", "name"), sub: "eviction"}}
		if _, err := q.evict(pod); err != nil {
			if fault, ok := errors.AsType[*apiError](err); !ok || fault.code != http.StatusTooManyRequests {
				return left, err
			}
		}
	}
	return left, c.RunControllers()
}
