package kubeapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// lastApplied is the annotation in which kubectl apply keeps what it was given.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Apply applies an object as kubectl apply does, and says what that did: the object was created, configured or unchanged.
func (c *Cluster) Apply(kind Kind, namespace string, o Object) (done string, err error) {
	before := c.Revision
	q := c.asKubectl(http.MethodPost, apiPath{kind: kind, namespace: namespace, name: Text(o, "metadata", "name")})
	text, err := json.Marshal(o)
	if err != nil {
		return "", err
	}
	inner(inner(o, "metadata"), "annotations")[lastApplied] = string(text)
	if q.body, err = json.Marshal(o); err != nil {
		return "", err
	}
	send, done := q.create, "created"
	if old, exists := q.load(q.path); exists {
		send, done = q.patch, "configured"
		if q.body, err = q.threeWay(old, q.body); err != nil {
			return "", err
		}
	}
	if _, err := send(); err != nil {
		return "", err
	}
	if c.Revision == before {
		done = "unchanged"
	}
	return done, c.RunControllers()
}

// threeWay makes the patch by which kubectl apply turns an object into another: it also removes what was applied before.
func (q *request) threeWay(old Object, wanted []byte) ([]byte, error) {
	current, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	last := []byte(cmp.Or(Text(old, "metadata", "annotations", lastApplied), "{}"))
	q.http.Method = http.MethodPatch
	typed := q.path.kind.typed()
	if typed == nil {
		q.http.Header.Set("Content-Type", mergePatch)
		return jsonmergepatch.CreateThreeWayJSONMergePatch(last, wanted, current)
	}
	q.http.Header.Set("Content-Type", strategicPatch)
	meta, err := strategicpatch.NewPatchMetaFromStruct(typed)
	if err != nil {
		return nil, err
	}
	return strategicpatch.CreateThreeWayMergePatch(last, wanted, current, meta, true)
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
		if _, err := q.evict(pod); err != nil && !apierrors.IsTooManyRequests(err) {
			return left, err
		}
	}
	return left, c.RunControllers()
}
