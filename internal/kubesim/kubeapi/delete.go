package kubeapi

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"
	"time"
)

// The finalizers that the garbage collector takes away itself.
const (
	foreground = "foregroundDeletion"
	orphan     = "orphan"
)

// deleteOptions are those of meta/v1, in the body.
type deleteOptions struct {
	GracePeriodSeconds *int   `json:"gracePeriodSeconds"`
	PropagationPolicy  string `json:"propagationPolicy"`
}

func (q *request) deleteOptions() (o deleteOptions, err error) {
	if len(q.body) > 0 {
		if err := json.Unmarshal(q.body, &o); err != nil {
			return o, apiFault(http.StatusBadRequest, "BadRequest", "%v", err)
		}
	}
	return o, nil
}

func (q *request) remove() (any, error) {
	o, found := q.load(q.path)
	if !found {
		return nil, q.notFound()
	}
	options, err := q.deleteOptions()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(q.asExpected(o), q.c.callWebhooks("DELETE", q.path, o, webhookLists...)); err != nil {
		return nil, err
	}
	done := Object{"kind": "Status", "apiVersion": "v1", "metadata": Object{}, "status": "Success",
		"details": Object{"name": q.path.name, "group": q.path.kind.Group, "kind": q.path.kind.Plural, "uid": at(o, "metadata", "uid")}}
	switch q.path.kind.Kind {
	case "Node":
		return done, q.c.DeleteNode(q.path.name)
	case "Pod":
		if err := q.c.endPod(o, options.GracePeriodSeconds); err != nil {
			return nil, err
		}
	case "ServiceAccount":
		q.c.deleteTokens(q.path.namespace, q.path.name)
		q.c.drop(q.path.key())
	default:
		if id, isToken := strings.CutPrefix(q.path.name, tokenSecret); isToken && q.path.kind.Kind == "Secret" && q.path.namespace == "kube-system" {
			maps.DeleteFunc(q.c.Tokens, func(token string, _ time.Time) bool { return strings.HasPrefix(token, id+".") })
		}
		if err := q.c.end(q.path.kind, o, options.PropagationPolicy); err != nil {
			return nil, err
		}
	}
	if left, there := q.load(q.path); there {
		return left, nil
	}
	return done, nil
}

// end deletes an object, or marks it for deletion if a finalizer blocks that.
func (c *Cluster) end(k Kind, o Object, policy string) error {
	meta := inner(o, "metadata")
	held := list(meta, "finalizers")
	switch policy {
	case "Foreground":
		held = union(held, []any{foreground})
	case "Orphan":
		held = union(held, []any{orphan})
	}
	if k.Kind == "CustomResourceDefinition" {
		held = union(held, []any{"customresourcecleanup.apiextensions.k8s.io"})
	}
	if len(held) > 0 {
		meta["finalizers"] = held
	}
	mark(o, 0)
	if k.Kind == "Namespace" {
		inner(o, "status")["phase"] = "Terminating"
	}
	if err := c.Store(k, o); err != nil {
		return err
	}
	c.finish(k, o)
	return nil
}

// removeAll deletes a collection.
func (q *request) removeAll() (any, error) {
	if q.path.kind.Namespaced && q.path.namespace == "" || q.path.kind.Kind == "Node" || q.path.kind.Kind == "Namespace" {
		return nil, apiFault(http.StatusMethodNotAllowed, "MethodNotAllowed", "the server does not allow this method on the requested resource")
	}
	matches, err := q.selector()
	if err != nil {
		return nil, err
	}
	items, err := q.items(matches)
	if err != nil {
		return nil, err
	}
	whole := q.path
	for _, item := range items {
		q.path.name = Text(item, "metadata", "name")
		if _, err := q.remove(); err != nil {
			return nil, err
		}
	}
	q.path = whole
	return Object{"kind": q.path.kind.Kind + "List", "apiVersion": q.path.kind.apiVersion(), "metadata": Object{"resourceVersion": ""}, "items": items}, nil
}
