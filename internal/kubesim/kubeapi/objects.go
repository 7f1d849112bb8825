package kubeapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"gopkg.in/yaml.v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Object is any object of the API.
type Object = map[string]any

// at returns a value inside an object, nil if a part of the path does not exist.
func at(o any, path ...string) any {
	for _, name := range path {
		inner, _ := o.(Object)
		o = inner[name]
	}
	return o
}

// Text returns a text inside an object, "" if a part of the path is missing.
func Text(o any, path ...string) string {
	s, _ := at(o, path...).(string)
	return s
}

// inner returns the map of that name, which is made if it is missing.
func inner(o Object, name string) Object {
	m, ok := o[name].(Object)
	if !ok {
		m = Object{}
		o[name] = m
	}
	return m
}

// load reads an object. Nodes are not stored: they are computed from the state of their kubelets.
func (q *request) load(p apiPath) (Object, bool) {
	switch {
	case p.kind.Kind == "Node":
		n := q.c.Nodes[p.name]
		if n == nil {
			return nil, false
		}
		return q.c.nodeObject(n), true
	case p.kind.Kind == "Pod" && p.namespace == "kube-system" && q.c.mirrorPod(p.name) != nil:
		return q.c.mirrorPod(p.name), true
	case p.kind.Kind == "Secret" && p.namespace == "kube-system" && strings.HasPrefix(p.name, tokenSecret):
		return q.c.tokenSecret(p.name)
	}
	raw, found := q.c.Objects[p.key()]
	var o Object
	if !found || json.Unmarshal(raw, &o) != nil {
		return nil, false
	}
	o["apiVersion"] = p.kind.apiVersion()
	return o, true
}

// Store stores an object as etcd does: with a uid and a new revision. It stores nothing if nothing changes.
func (c *Cluster) Store(k Kind, o Object) error {
	meta := inner(o, "metadata")
	key := k.key(Text(meta, "namespace"), Text(meta, "name"))
	o["kind"], o["apiVersion"] = k.Kind, k.apiVersion()
	if was := c.Objects[key]; was != nil {
		if raw, err := json.Marshal(o); err == nil && bytes.Equal(raw, was) {
			return nil
		}
	}
	c.Revision++
	meta["resourceVersion"] = strconv.Itoa(c.Revision)
	if meta["uid"] == nil {
		meta["uid"], meta["creationTimestamp"] = c.newUID(), time.Now().UTC().Format(time.RFC3339)
	}
	raw, err := json.Marshal(o)
	if err != nil {
		return err
	}
	c.put(key, raw)
	return nil
}

// newUID makes uids that sort by age, so that "the newest first" is certain within one second too.
func (c *Cluster) newUID() string {
	return fmt.Sprintf("%08x%s", c.Revision, uuid.NewString()[8:])
}

func (q *request) notFound() error {
	return apierrors.NewNotFound(q.path.kind.resource(), q.path.name)
}

// resource answers a request to objects.
func (q *request) resource() (any, error) {
	if err := q.readMedia(); err != nil {
		return nil, err
	}
	query := q.http.URL.Query()
	switch {
	case q.http.Method == http.MethodGet && q.path.sub == "" && (query.Get("watch") == "true" || query.Get("watch") == "1"):
		return q.startWatch()
	case query.Has("dryRun") && q.http.Method != http.MethodGet:
		return q.dryRun()
	}
	return q.method()
}

func (q *request) method() (any, error) {
	switch {
	case q.path.sub != "":
		return q.subresource()
	case q.path.name == "" && q.http.Method == http.MethodGet:
		return q.list()
	case q.path.name == "" && q.http.Method == http.MethodPost:
		return q.create()
	case q.path.name == "" && q.http.Method == http.MethodDelete:
		return q.removeAll()
	case q.path.name == "":
	case q.http.Method == http.MethodGet:
		if o, found := q.load(q.path); found {
			return o, nil
		}
		return nil, q.notFound()
	case q.http.Method == http.MethodPut:
		return q.replace()
	case q.http.Method == http.MethodPatch:
		return q.patch()
	case q.http.Method == http.MethodDelete:
		return q.remove()
	}
	return nil, apiFault(http.StatusMethodNotAllowed, "MethodNotAllowed", "kubesim: %s %s is not simulated", q.http.Method, q.http.URL.Path)
}

// dryRun answers as if the request were done, and does it not.
func (q *request) dryRun() (any, error) {
	if q.http.URL.Query().Get("dryRun") != "All" {
		return nil, q.invalid("dryRun: Unsupported value: supported values: \"All\"")
	}
	saved, revision, past := maps.Clone(q.c.Objects), q.c.Revision, q.c.history
	q.c.history.told, q.c.history.decoded = nil, nil
	q.dry = true
	out, err := q.method()
	q.c.Objects, q.c.Revision, q.c.history = saved, revision, past
	q.c.history.decoded = nil
	return out, err
}

func (q *request) list() (any, error) {
	matches, err := q.selector()
	if err != nil {
		return nil, err
	}
	items, err := q.items(matches)
	if !q.path.kind.custom() {
		for _, item := range items { // of built-in kinds only the list says what they are
			o, _ := item.(Object)
			delete(o, "kind")
			delete(o, "apiVersion")
		}
	}
	return Object{"kind": q.path.kind.Kind + "List", "apiVersion": q.path.kind.apiVersion(), "metadata": Object{"resourceVersion": strconv.Itoa(q.c.Revision)}, "items": items}, err
}

// items are the objects below the path that match.
func (q *request) items(matches func(Object) bool) ([]any, error) {
	items := []any{}
	if q.path.kind.Kind == "Node" {
		for _, name := range slices.Sorted(maps.Keys(q.c.Nodes)) {
			if o := q.c.nodeObject(q.c.Nodes[name]); matches(o) {
				items = append(items, o)
			}
		}
	}
	prefix := q.path.kind.prefix()
	if q.path.namespace != "" {
		prefix += q.path.namespace + "/"
	}
	for _, key := range slices.Sorted(maps.Keys(q.c.Objects)) {
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		var o Object
		if err := json.Unmarshal(q.c.Objects[key], &o); err != nil {
			return nil, err
		}
		if o["apiVersion"] = q.path.kind.apiVersion(); matches(o) {
			items = append(items, o)
		}
	}
	return items, nil
}

// decode reads the object of a request, which must fit the path.
func (q *request) decode() (Object, error) {
	var o Object
	var err error
	if q.patchType() == applyPatch {
		err = yaml.Unmarshal(q.body, &o) // JSON is YAML
	} else {
		err = json.Unmarshal(q.body, &o)
	}
	if err != nil || o == nil {
		return nil, apiFault(http.StatusBadRequest, "BadRequest", "error decoding the body: %v", err)
	}
	return o, nil
}
