package kubesim

import (
	"net/http"
	"slices"
	"strings"
)

// openAPI answers the requests that clients make before they send objects: the answer says that the API server itself
// validates fields. It lists no fields, so clients that validate find no faults. It is nil for other paths.
func (q *request) openAPI() (any, error) {
	const root = "/openapi/v3"
	path := q.http.URL.Path
	if path == "/openapi/v2" {
		return nil, apiFault(http.StatusNotFound, "NotFound", "the server could not find the requested resource")
	}
	if path != root && !strings.HasPrefix(path, root+"/") {
		return nil, nil
	}
	paths, docs := object{}, map[string]object{}
	for _, k := range q.c.kinds() {
		version := "apis/" + k.apiVersion()
		if k.Group == "" {
			version = "api/" + k.Version
		}
		paths[version] = object{"serverRelativeURL": root + "/" + version + "?hash=0"}
		if docs[version] == nil {
			docs[version] = object{}
		}
		at := "/" + version + "/" + k.Plural + "/{name}"
		if k.Namespaced {
			at = "/" + version + "/namespaces/{namespace}/" + k.Plural + "/{name}"
		}
		docs[version][at] = object{"patch": object{"responses": object{},
			"parameters":                      []any{object{"name": "fieldValidation", "in": "query", "schema": object{"type": "string"}}},
			"x-kubernetes-group-version-kind": object{"group": k.Group, "version": k.Version, "kind": k.Kind}}}
	}
	if path == root {
		return object{"paths": paths}, nil
	}
	doc := docs[strings.TrimPrefix(path, root+"/")]
	if doc == nil {
		return nil, apiFault(http.StatusNotFound, "NotFound", "the server could not find the requested resource")
	}
	return object{"openapi": "3.0.0", "info": object{"title": "Kubernetes", "version": "v" + q.c.Version}, "paths": doc}, nil
}

// checkQuery refuses parameters that are not simulated, instead of ignoring them.
func (q *request) checkQuery() error {
	query := q.http.URL.Query()
	if v := query.Get("fieldValidation"); !slices.Contains([]string{"", "Ignore", "Warn", "Strict"}, v) {
		return q.invalid("fieldValidation: Unsupported value: \"" + v + "\"")
	}
	if query.Has("continue") {
		return apiFault(http.StatusNotImplemented, "NotImplemented", "kubesim: lists are sent whole")
	}
	return nil
}
