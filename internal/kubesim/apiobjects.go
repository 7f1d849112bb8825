package kubesim

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// object is any object of the API.
type object = map[string]any

// at walks into an object; what is missing on the way is nil.
func at(o any, path ...string) any {
	for _, name := range path {
		inner, _ := o.(object)
		o = inner[name]
	}
	return o
}

func textAt(o any, path ...string) string {
	s, _ := at(o, path...).(string)
	return s
}

// inner returns the map of that name, which is made if it is missing.
func inner(o object, name string) object {
	m, ok := o[name].(object)
	if !ok {
		m = object{}
		o[name] = m
	}
	return m
}

// load reads an object. Nodes are not kept as they are: what the kubelet says is computed.
func (q *request) load(p apiPath) (object, bool) {
	switch {
	case p.kind.Kind == "Node":
		n := q.c.Nodes[p.name]
		if n == nil {
			return nil, false
		}
		return q.w.nodeObject(q.c, n), true
	case p.kind.Kind == "Secret" && p.namespace == "kube-system" && strings.HasPrefix(p.name, tokenSecret):
		return q.c.tokenSecret(p.name)
	}
	raw, found := q.c.Objects[p.key()]
	var o object
	return o, found && json.Unmarshal(raw, &o) == nil
}

// store keeps an object as etcd does: with a uid and a new revision.
func (c *cluster) store(k apiKind, o object) error {
	meta := inner(o, "metadata")
	c.Revision++
	meta["resourceVersion"] = strconv.Itoa(c.Revision)
	if meta["uid"] == nil {
		meta["uid"], meta["creationTimestamp"] = randomHex(16), time.Now().UTC().Format(time.RFC3339)
	}
	o["kind"], o["apiVersion"] = k.Kind, k.apiVersion()
	raw, err := json.Marshal(o)
	if err != nil {
		return err
	}
	c.Objects[k.key(textAt(meta, "namespace"), textAt(meta, "name"))] = raw
	return nil
}

func (q *request) notFound() error {
	p := q.path
	e := &apiError{code: http.StatusNotFound, reason: "NotFound", message: p.resource() + ` "` + p.name + `" not found`,
		details: map[string]any{"name": p.name, "group": p.kind.Group, "kind": p.kind.Plural}}
	return e
}

func (p apiPath) resource() string {
	if p.kind.Group == "" {
		return p.kind.Plural
	}
	return p.kind.Plural + "." + p.kind.Group
}

func (q *request) invalid(reason string) error {
	return apiFault(http.StatusUnprocessableEntity, "Invalid", "%s %q is invalid: %s", q.path.kind.Kind, q.path.name, reason)
}

// resource answers a request to objects.
func (q *request) resource() (any, error) {
	switch {
	case q.path.sub != "":
		return q.subresource()
	case q.path.name == "" && q.http.Method == http.MethodGet:
		return q.list()
	case q.path.name == "" && q.http.Method == http.MethodPost:
		return q.create()
	case q.path.name == "":
	case q.http.Method == http.MethodGet:
		if o, found := q.load(q.path); found {
			return o, nil
		}
		return nil, q.notFound()
	case q.http.Method == http.MethodPatch:
		return q.patch()
	case q.http.Method == http.MethodDelete:
		return q.remove()
	}
	return nil, apiFault(http.StatusMethodNotAllowed, "MethodNotAllowed", "kubesim: %s %s is not simulated", q.http.Method, q.http.URL.Path)
}

func (q *request) list() (any, error) {
	items := []any{}
	if q.path.kind.Kind == "Node" {
		for _, name := range slices.Sorted(maps.Keys(q.c.Nodes)) {
			items = append(items, q.w.nodeObject(q.c, q.c.Nodes[name]))
		}
	}
	matches, err := selector(q.http.URL.Query().Get("fieldSelector"), q.http.URL.Query().Get("labelSelector"))
	if err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(q.c.Objects)) {
		parts := strings.SplitN(key, "/", 3)
		if parts[0] != q.path.kind.Kind || q.path.namespace != "" && parts[1] != q.path.namespace {
			continue
		}
		var o object
		if err := json.Unmarshal(q.c.Objects[key], &o); err != nil {
			return nil, err
		}
		if matches(o) {
			items = append(items, o)
		}
	}
	return object{"kind": q.path.kind.Kind + "List", "apiVersion": q.path.kind.apiVersion(), "metadata": object{"resourceVersion": strconv.Itoa(q.c.Revision)}, "items": items}, nil
}

// selector knows fields and labels that must be equal to something.
func selector(fields, labels string) (func(object) bool, error) {
	wanted := map[string]string{}
	for prefix, list := range map[string]string{"fields:": fields, "labels:": labels} {
		for term := range strings.SplitSeq(list, ",") {
			if term == "" {
				continue
			}
			name, value, ok := strings.Cut(term, "=")
			if !ok || strings.ContainsAny(name, "! ()") {
				return nil, apiFault(http.StatusBadRequest, "BadRequest", "kubesim: the selector %q is not simulated", term)
			}
			wanted[prefix+name] = strings.TrimPrefix(value, "=")
		}
	}
	return func(o object) bool {
		for name, value := range wanted {
			path := strings.Split(strings.TrimPrefix(name, "fields:"), ".")
			if label, ok := strings.CutPrefix(name, "labels:"); ok {
				path = []string{"metadata", "labels", label}
			}
			if textAt(o, path...) != value {
				return false
			}
		}
		return true
	}, nil
}

// decode reads the object of a request, which must fit the path.
func (q *request) decode() (object, error) {
	var o object
	var err error
	if strings.Contains(q.http.Header.Get("Content-Type"), "yaml") {
		err = yaml.Unmarshal(q.body, &o) // JSON is YAML
	} else {
		err = json.Unmarshal(q.body, &o)
	}
	if err != nil || o == nil {
		return nil, errors.Join(apiFault(http.StatusBadRequest, "BadRequest", "error decoding the body"), err)
	}
	return o, nil
}

func (q *request) create() (any, error) {
	o, err := q.decode()
	if err != nil {
		return nil, err
	}
	q.path.name = textAt(o, "metadata", "name")
	if q.path.name == "" {
		return nil, q.invalid("metadata.name: Required value: name or generateName is required")
	}
	if _, exists := q.load(q.path); exists {
		return nil, apiFault(http.StatusConflict, "AlreadyExists", "%s %q already exists", q.path.resource(), q.path.name)
	}
	return q.write(nil, o)
}

// The types of patches.
const (
	applyPatch     = "application/apply-patch+yaml"
	mergePatch     = "application/merge-patch+json"
	strategicPatch = "application/strategic-merge-patch+json"
)

// patch changes an object. Of server-side apply only that is simulated what one manager needs who owns all that
// it applies: maps are merged, lists replaced.
func (q *request) patch() (any, error) {
	patch, err := q.decode()
	if err != nil {
		return nil, err
	}
	old, exists := q.load(q.path)
	switch q.http.Header.Get("Content-Type") {
	case applyPatch:
		if q.http.URL.Query().Get("fieldManager") == "" {
			return nil, apiFault(http.StatusUnprocessableEntity, "Invalid", "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch")
		}
	case mergePatch, strategicPatch:
		if !exists {
			return nil, q.notFound()
		}
	default:
		return nil, apiFault(http.StatusUnsupportedMediaType, "UnsupportedMediaType", "the body of the request was in an unknown format")
	}
	return q.merged(old, patch)
}

// merged keeps the object with the patch laid over it.
func (q *request) merged(old, patch object) (any, error) {
	changed := object{}
	if old != nil {
		raw, err := json.Marshal(old)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(raw, &changed); err != nil {
			return nil, err
		}
	}
	merge(changed, patch)
	return q.write(old, changed)
}

// merge follows RFC 7396.
func merge(into, patch object) {
	for name, value := range patch {
		deeper, isMap := value.(object)
		switch {
		case value == nil:
			delete(into, name)
		case isMap:
			merge(inner(into, name), deeper)
		default:
			into[name] = value
		}
	}
}

// write checks an object as the API server does, and keeps it.
func (q *request) write(old, o object) (any, error) {
	meta := inner(o, "metadata")
	switch {
	case textAt(meta, "name") != q.path.name:
		return nil, apiFault(http.StatusBadRequest, "BadRequest", "the name of the object (%s) does not match the name on the URL (%s)", textAt(meta, "name"), q.path.name)
	case textAt(o, "kind") != "" && textAt(o, "kind") != q.path.kind.Kind:
		return nil, apiFault(http.StatusBadRequest, "BadRequest", "%s provided is not %s", textAt(o, "kind"), q.path.kind.Kind)
	case q.path.kind.Namespaced && textAt(meta, "namespace") != "" && textAt(meta, "namespace") != q.path.namespace:
		return nil, apiFault(http.StatusBadRequest, "BadRequest", "the namespace of the provided object does not match the namespace sent on the request")
	case !objectNames.MatchString(q.path.name):
		return nil, q.invalid("metadata.name: Invalid value: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'")
	}
	if q.path.kind.Namespaced {
		if _, exists := q.c.Objects["Namespace//"+q.path.namespace]; !exists {
			return nil, apiFault(http.StatusNotFound, "NotFound", "namespaces %q not found", q.path.namespace)
		}
		meta["namespace"] = q.path.namespace
	} else {
		delete(meta, "namespace")
	}
	if q.path.kind.Kind == "Node" {
		return q.writeNode(old, o)
	}
	if err := q.validate(old, o); err != nil {
		return nil, err
	}
	return o, q.c.store(q.path.kind, o)
}

// validate checks what clients get wrong most easily, and does what controllers do about new objects.
func (q *request) validate(old, o object) error {
	switch q.path.kind.Kind {
	case "ClusterRoleBinding", "RoleBinding":
		if textAt(o, "roleRef", "name") == "" {
			return q.invalid("roleRef.name: Required value")
		}
		if was := textAt(old, "roleRef", "name"); was != "" && was != textAt(o, "roleRef", "name") {
			return q.invalid("roleRef: Invalid value: cannot change roleRef")
		}
	case "DaemonSet", "Deployment":
		if at(o, "spec", "selector") == nil || at(o, "spec", "template") == nil {
			return q.invalid("spec.selector: Required value")
		}
	case "Secret":
		if textAt(o, "type") == accountSecretType && at(o, "data", "token") == nil {
			return q.fillToken(o)
		}
	}
	return nil
}

func (q *request) remove() (any, error) {
	o, found := q.load(q.path)
	if !found {
		return nil, q.notFound()
	}
	done := object{"kind": "Status", "apiVersion": "v1", "status": "Success"}
	switch q.path.kind.Kind {
	case "Node":
		return done, q.w.deleteNode(q.c, q.path.name)
	case "Pod":
		return done, q.w.endPod(q.c, o, q.grace() == 0)
	case "ServiceAccount":
		q.c.deleteTokens(q.path.namespace, q.path.name)
	case "Namespace":
		maps.DeleteFunc(q.c.Objects, func(key string, _ jsonObject) bool { return strings.Split(key, "/")[1] == q.path.name })
	}
	if id, isToken := strings.CutPrefix(q.path.name, tokenSecret); isToken && q.path.kind.Kind == "Secret" && q.path.namespace == "kube-system" {
		maps.DeleteFunc(q.c.Tokens, func(token string, _ time.Time) bool { return strings.HasPrefix(token, id+".") })
	}
	delete(q.c.Objects, q.path.key())
	return done, nil
}

// grace is how many seconds a pod is given, -1 for its own value.
func (q *request) grace() int {
	var options struct {
		GracePeriodSeconds *int `json:"gracePeriodSeconds"`
	}
	if json.Unmarshal(q.body, &options) != nil || options.GracePeriodSeconds == nil {
		return -1
	}
	return *options.GracePeriodSeconds
}

func (q *request) subresource() (any, error) {
	if q.http.Method != http.MethodPost {
		return nil, apiFault(http.StatusMethodNotAllowed, "MethodNotAllowed", "kubesim: %s %s is not simulated", q.http.Method, q.http.URL.Path)
	}
	o, found := q.load(q.path)
	if !found {
		return nil, q.notFound()
	}
	switch q.path.kind.Kind + "/" + q.path.sub {
	case "Pod/eviction":
		return q.evict(o)
	case "ServiceAccount/token":
		return q.requestToken()
	}
	return nil, apiFault(http.StatusNotFound, "NotFound", "the server could not find the requested resource")
}
