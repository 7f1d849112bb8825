package kubeapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
)

// lastApplied is the annotation in which kubectl apply keeps what it was given.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Apply applies an object as kubectl apply does, and says what that did: the object was created, configured or unchanged. Items of
// lists that were applied before, and are not in the object, stay.
func (c *Cluster) Apply(kind Kind, namespace string, o Object) (done string, err error) {
	text, err := json.Marshal(o)
	if err != nil {
		return "", err
	}
	before := c.Revision
	q := c.asKubectl(http.MethodPost, apiPath{kind: kind, namespace: namespace, name: Text(o, "metadata", "name")})
	old, exists := q.load(q.path)
	if exists {
		q.http.Method = http.MethodPatch
		q.http.Header.Set("Content-Type", strategicPatch)
		if kind.custom() {
			q.http.Header.Set("Content-Type", mergePatch)
		}
		var last Object
		if err := json.Unmarshal([]byte(orElse(Text(old, "metadata", "annotations", lastApplied), "{}")), &last); err != nil {
			return "", err
		}
		drop(last, o)
	}
	inner(inner(o, "metadata"), "annotations")[lastApplied] = string(text)
	if q.body, err = json.Marshal(o); err != nil {
		return "", err
	}
	send, done := q.create, "created"
	if exists {
		send, done = q.patch, "configured"
	}
	if _, err := send(); err != nil {
		return "", err
	}
	if c.Revision == before {
		done = "unchanged"
	}
	return done, c.RunControllers()
}

// drop sets the fields of a patch to null that an object had before, and that are not in the patch.
func drop(before, patch Object) {
	for name, value := range before {
		now, there := patch[name]
		if !there {
			patch[name] = nil
			continue
		}
		was, isMap := value.(Object)
		if is, ok := now.(Object); isMap && ok {
			drop(was, is)
		}
	}
}

// asKubectl is a request as kubectl sends it.
func (c *Cluster) asKubectl(method string, to apiPath) *request {
	query := url.Values{"fieldManager": {"kubectl-client-side-apply"}, "fieldValidation": {"Strict"}}
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
		if _, err := q.evict(pod); err != nil && Reason(err) != "TooManyRequests" {
			return left, err
		}
	}
	return left, c.RunControllers()
}
