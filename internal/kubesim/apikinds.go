package kubesim

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// apiKind is a kind of objects that the API serves.
type apiKind struct {
	Group, Version, Plural, Kind string
	Namespaced                   bool
}

// builtin are the kinds that this API server knows without definitions of clients.
var builtin = []apiKind{
	{"", "v1", "nodes", "Node", false}, {"", "v1", "namespaces", "Namespace", false}, {"", "v1", "pods", "Pod", true},
	{"", "v1", "secrets", "Secret", true}, {"", "v1", "configmaps", "ConfigMap", true}, {"", "v1", "services", "Service", true},
	{"", "v1", "serviceaccounts", "ServiceAccount", true}, {"", "v1", "persistentvolumes", "PersistentVolume", false},
	{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", true},
	{"apps", "v1", "daemonsets", "DaemonSet", true}, {"apps", "v1", "deployments", "Deployment", true},
	{"apps", "v1", "replicasets", "ReplicaSet", true}, {"apps", "v1", "statefulsets", "StatefulSet", true},
	{"batch", "v1", "jobs", "Job", true}, {"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", true},
	{"rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", false},
	{"rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", false},
	{"rbac.authorization.k8s.io", "v1", "roles", "Role", true}, {"rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", true},
	{"networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", true}, {"storage.k8s.io", "v1", "storageclasses", "StorageClass", false},
	{"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false},
}

// subresources are what objects of a kind answer to beside themselves.
var subresources = map[string]map[string]any{
	"pods":            {"name": "pods/eviction", "namespaced": true, "group": "policy", "version": "v1", "kind": "Eviction", "verbs": []string{"create"}},
	"serviceaccounts": {"name": "serviceaccounts/token", "namespaced": true, "group": "authentication.k8s.io", "version": "v1", "kind": "TokenRequest", "verbs": []string{"create"}},
}

// kinds are the built-in ones and those of CustomResourceDefinitions.
func (c *cluster) kinds() []apiKind {
	out := slices.Clone(builtin)
	for key, raw := range c.Objects {
		if !strings.HasPrefix(key, "CustomResourceDefinition/") {
			continue
		}
		var crd struct {
			Spec struct {
				Group    string `json:"group"`
				Scope    string `json:"scope"`
				Names    struct{ Plural, Kind string }
				Versions []struct{ Name string }
			} `json:"spec"`
		}
		if json.Unmarshal(raw, &crd) != nil {
			continue
		}
		for _, v := range crd.Spec.Versions {
			out = append(out, apiKind{crd.Spec.Group, v.Name, crd.Spec.Names.Plural, crd.Spec.Names.Kind, crd.Spec.Scope == "Namespaced"})
		}
	}
	return out
}

// kindOf finds the kind of an object.
func (c *cluster) kindOf(apiVersion, kind string) (apiKind, bool) {
	for _, k := range c.kinds() {
		if k.apiVersion() == apiVersion && k.Kind == kind {
			return k, true
		}
	}
	return apiKind{}, false
}

func (k apiKind) apiVersion() string {
	if k.Group == "" {
		return k.Version
	}
	return k.Group + "/" + k.Version
}

func (k apiKind) key(namespace, name string) string {
	if !k.Namespaced {
		namespace = ""
	}
	return k.Kind + "/" + namespace + "/" + name
}

// discovery answers what kinds there are, nil for other paths.
func (q *request) discovery() any {
	parts := strings.Split(strings.Trim(q.http.URL.Path, "/"), "/")
	switch {
	case len(parts) == 1 && parts[0] == "api":
		return map[string]any{"kind": "APIVersions", "versions": []string{"v1"}}
	case len(parts) == 1 && parts[0] == "apis":
		return q.groups()
	case len(parts) == 2 && parts[0] == "api":
		return q.resources("", parts[1])
	case len(parts) == 3 && parts[0] == "apis":
		return q.resources(parts[1], parts[2])
	}
	return nil
}

func (q *request) groups() any {
	groups := []any{}
	var seen []string
	for _, k := range q.c.kinds() {
		if k.Group == "" || slices.Contains(seen, k.Group) {
			continue
		}
		seen = append(seen, k.Group)
		version := map[string]any{"groupVersion": k.apiVersion(), "version": k.Version}
		groups = append(groups, map[string]any{"name": k.Group, "versions": []any{version}, "preferredVersion": version})
	}
	return map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
}

func (q *request) resources(group, version string) any {
	list := []any{}
	for _, k := range q.c.kinds() {
		if k.Group != group || k.Version != version {
			continue
		}
		list = append(list, map[string]any{"name": k.Plural, "kind": k.Kind, "namespaced": k.Namespaced, "singularName": strings.ToLower(k.Kind),
			"verbs": []string{"create", "delete", "get", "list", "patch"}})
		if sub := subresources[k.Plural]; sub != nil && group == "" {
			list = append(list, sub)
		}
	}
	return map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": apiKind{Group: group, Version: version}.apiVersion(), "resources": list}
}

// apiPath is where a request goes.
type apiPath struct {
	kind                 apiKind
	namespace, name, sub string
}

func (p apiPath) key() string { return p.kind.key(p.namespace, p.name) }

// parsePath reads /api/v1/... and /apis/group/version/..., with "namespaces/NAMESPACE/" for kinds that have one.
func (c *cluster) parsePath(path string) (p apiPath, err error) {
	unknown := apiFault(http.StatusNotFound, "NotFound", "the server could not find the requested resource")
	parts := strings.Split(strings.Trim(path, "/"), "/")
	group, version := "", ""
	switch {
	case len(parts) > 2 && parts[0] == "api":
		version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		group, version, parts = parts[1], parts[2], parts[3:]
	default:
		return p, unknown
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		p.namespace, parts = parts[1], parts[2:]
	}
	kinds := c.kinds()
	i := slices.IndexFunc(kinds, func(k apiKind) bool { return k.Group == group && k.Version == version && k.Plural == parts[0] })
	if i < 0 || len(parts) > 3 {
		return p, unknown
	}
	parts = append(parts, "", "")
	p.kind, p.name, p.sub = kinds[i], parts[1], parts[2]
	if p.kind.Namespaced != (p.namespace != "") && (p.name != "" || p.namespace != "") {
		return p, unknown
	}
	return p, nil
}

// The forms of names in the API.
var (
	objectNames = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.:]*[a-z0-9])?$`)
	labelNames  = regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
	labelValues = regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`)
)
