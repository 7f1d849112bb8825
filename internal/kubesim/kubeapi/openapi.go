package kubeapi

import (
	"net/http"
	"strings"
)

// swagger is an openapi.v2.Document of gnostic that has only its first field, the version of the format.
const swagger = "\x0a\x032.0"

// openAPI answers the requests that clients make before they send objects: the answer says that the API server itself
// validates fields. It lists no fields, so clients that validate find no faults. It is nil for other paths. Clients read version 2
// for lists, in the form of protobuf.
func (q *request) openAPI() (any, error) {
	const root = "/openapi/v3"
	path := q.http.URL.Path
	if path == "/openapi/v2" {
		return swagger, nil
	}
	if path != root && !strings.HasPrefix(path, root+"/") {
		return nil, nil
	}
	paths, docs := Object{}, map[string]Object{}
	for _, k := range q.c.kinds() {
		version := "apis/" + k.apiVersion()
		if k.Group == "" {
			version = "api/" + k.Version
		}
		paths[version] = Object{"serverRelativeURL": root + "/" + version + "?hash=0"}
		if docs[version] == nil {
			docs[version] = Object{}
		}
		at := "/" + version + "/" + k.Plural + "/{name}"
		if k.Namespaced {
			at = "/" + version + "/namespaces/{namespace}/" + k.Plural + "/{name}"
		}
		docs[version][at] = Object{"patch": Object{"responses": Object{},
			"parameters":                      []any{Object{"name": "fieldValidation", "in": "query", "schema": Object{"type": "string"}}},
			"x-kubernetes-group-version-kind": Object{"group": k.Group, "version": k.Version, "kind": k.Kind}}}
	}
	if path == root {
		return Object{"paths": paths}, nil
	}
	doc := docs[strings.TrimPrefix(path, root+"/")]
	if doc == nil {
		return nil, apiFault(http.StatusNotFound, "NotFound", "the server could not find the requested resource")
	}
	return Object{"openapi": "3.0.0", "info": Object{"title": "Kubernetes", "version": "v" + q.c.Version}, "paths": doc}, nil
}

// checkQuery refuses parameters that are not simulated, instead of ignoring them.
func (q *request) checkQuery() error {
	query := q.http.URL.Query()
	if query.Has("force") && !strings.HasPrefix(q.http.Header.Get("Content-Type"), applyPatch) {
		return q.invalid("force: Forbidden: may not be specified for non-apply patch")
	}
	if query.Has("continue") {
		return apiFault(http.StatusNotImplemented, "NotImplemented", "kubesim: lists are sent whole")
	}
	return nil
}
