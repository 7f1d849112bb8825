package kubeapi

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind of objects that the API serves.
type Kind struct {
	Group, Version, Plural, Kind string
	Namespaced                   bool
}

// builtin are the kinds that this API server serves without CustomResourceDefinitions, the preferred version of a group
// first.
var builtin = slices.Concat(
	kindsOf("", "v1", "Namespace Node PersistentVolume",
		"ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount"),
	kindsOf("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration", ""),
	kindsOf("apiextensions.k8s.io", "v1", "CustomResourceDefinition", ""),
	kindsOf("apiregistration.k8s.io", "v1", "APIService", ""),
	kindsOf("apps", "v1", "", "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet"),
	kindsOf("autoscaling", "v2", "", "HorizontalPodAutoscaler"),
	kindsOf("autoscaling", "v1", "", "HorizontalPodAutoscaler"),
	kindsOf("batch", "v1", "", "CronJob Job"),
	kindsOf("certificates.k8s.io", "v1", "CertificateSigningRequest", ""),
	kindsOf("coordination.k8s.io", "v1", "", "Lease"),
	kindsOf("discovery.k8s.io", "v1", "", "EndpointSlice"),
	kindsOf("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema PriorityLevelConfiguration", ""),
	kindsOf("networking.k8s.io", "v1", "IPAddress IngressClass ServiceCIDR", "Ingress NetworkPolicy"),
	kindsOf("node.k8s.io", "v1", "RuntimeClass", ""),
	kindsOf("policy", "v1", "", "PodDisruptionBudget"),
	kindsOf("rbac.authorization.k8s.io", "v1", "ClusterRole ClusterRoleBinding", "Role RoleBinding"),
	kindsOf("resource.k8s.io", "v1", "DeviceClass ResourceSlice", "ResourceClaim ResourceClaimTemplate"),
	kindsOf("scheduling.k8s.io", "v1", "PriorityClass", ""),
	kindsOf("storage.k8s.io", "v1", "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass", "CSIStorageCapacity"),
	kindsOf("storage.k8s.io", "v1beta1", "VolumeAttributesClass", ""),
)

// removedRelease are the releases that do not serve a version of a built-in kind any more, by apiVersion (APILifecycleRemoved in k8s.io/api).
var removedRelease = map[string]string{"storage.k8s.io/v1beta1": "1.37"}

// noteDeprecated counts a request for a version that a release removes.
func (q *request) noteDeprecated() {
	k := q.path.kind
	release := removedRelease[k.apiVersion()]
	if release == "" {
		return
	}
	line := fmt.Sprintf("apiserver_requested_deprecated_apis{group=%q,removed_release=%q,resource=%q,subresource=%q,version=%q} 1\n", k.Group, release, k.Plural, q.path.sub, k.Version)
	if !slices.Contains(q.c.Deprecated, line) {
		q.c.Deprecated = append(q.c.Deprecated, line)
	}
}

// metrics returns the metric of deprecated versions. Other metrics are not simulated.
func (c *Cluster) metrics() string {
	return "# HELP apiserver_requested_deprecated_apis [STABLE] Gauge of deprecated APIs that have been requested\n" +
		"# TYPE apiserver_requested_deprecated_apis gauge\n" + strings.Join(c.Deprecated, "")
}

// kindsOf returns the kinds of a version, of which some are of the cluster and some of its namespaces.
func kindsOf(group, version, cluster, namespaced string) (out []Kind) {
	for i, names := range []string{cluster, namespaced} {
		for name := range strings.FieldsSeq(names) {
			plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: name})
			out = append(out, Kind{group, version, plural.Resource, name, i == 1})
		}
	}
	return out
}

// subresources are what objects of a kind answer to beside themselves, their status and their scale.
var subresources = map[string]map[string]any{
	"pods":            {"name": "pods/eviction", "namespaced": true, "group": "policy", "version": "v1", "kind": "Eviction", "verbs": []string{"create"}},
	"serviceaccounts": {"name": "serviceaccounts/token", "namespaced": true, "group": "authentication.k8s.io", "version": "v1", "kind": "TokenRequest", "verbs": []string{"create"}},
}

// custom reports whether a CustomResourceDefinition defines the kind.
func (k Kind) custom() bool {
	return k.Group != "" && !slices.ContainsFunc(builtin, func(b Kind) bool { return b.Group == k.Group })
}

// kinds are the built-in ones and those of CustomResourceDefinitions.
func (c *Cluster) kinds() []Kind {
	out := slices.Clone(builtin)
	definitions, err := c.objects(definitionKind)
	if err != nil {
		return out
	}
	for _, crd := range definitions {
		versions, _ := at(crd, "spec", "versions").([]any)
		for _, v := range versions {
			if served, given := at(v, "served").(bool); !served && given {
				continue
			}
			out = append(out, Kind{Text(crd, "spec", "group"), Text(v, "name"), Text(crd, "spec", "names", "plural"), Text(crd, "spec", "names", "kind"),
				Text(crd, "spec", "scope") == "Namespaced"})
		}
	}
	return out
}

// KindOf finds the kind of an object.
func (c *Cluster) KindOf(apiVersion, kind string) (Kind, bool) {
	for _, k := range c.kinds() {
		if k.apiVersion() == apiVersion && k.Kind == kind {
			return k, true
		}
	}
	return Kind{}, false
}

func (k Kind) apiVersion() string {
	if k.Group == "" {
		return k.Version
	}
	return k.Group + "/" + k.Version
}

func (k Kind) gvk() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind}
}

func (k Kind) resource() schema.GroupResource {
	return schema.GroupResource{Group: k.Group, Resource: k.Plural}
}

// prefix is the prefix of the keys of all objects of a kind, for any version. The name of a built-in kind is unique
// here.
func (k Kind) prefix() string {
	if k.custom() {
		return k.Kind + "." + k.Group + "/"
	}
	return k.Kind + "/"
}

func (k Kind) key(namespace, name string) string {
	if !k.Namespaced {
		namespace = ""
	}
	return k.prefix() + namespace + "/" + name
}

// discovery answers what kinds there are, nil for other paths. It is the form that clients fall back to when the
// aggregated one is not offered.
func (q *request) discovery() any {
	parts := strings.Split(strings.Trim(q.http.URL.Path, "/"), "/")
	switch {
	case len(parts) == 1 && parts[0] == "api":
		return map[string]any{"kind": "APIVersions", "versions": []string{"v1"}}
	case len(parts) == 1 && parts[0] == "apis":
		return map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": q.groups()}
	case len(parts) == 2 && parts[0] == "api":
		return q.resources("", parts[1])
	case len(parts) == 3 && parts[0] == "apis":
		return q.resources(parts[1], parts[2])
	}
	return nil
}

func (q *request) groups() (groups []Object) {
	kinds := q.c.kinds()
	for _, o := range q.c.aggregated() {
		kinds = append(kinds, Kind{Group: Text(o, "spec", "group"), Version: Text(o, "spec", "version")})
	}
	for _, k := range kinds {
		if k.Group == "" {
			continue
		}
		version := Object{"groupVersion": k.apiVersion(), "version": k.Version}
		i := slices.IndexFunc(groups, func(g Object) bool { return g["name"] == k.Group })
		if i < 0 {
			groups = append(groups, Object{"name": k.Group, "versions": []any{version}, "preferredVersion": version})
			continue
		}
		versions, _ := groups[i]["versions"].([]any)
		if !slices.ContainsFunc(versions, func(v any) bool { return Text(v, "version") == k.Version }) {
			groups[i]["versions"] = append(versions, version)
		}
	}
	return groups
}

// resources are nil for a version that there is not.
func (q *request) resources(group, version string) any {
	var list []any
	for _, k := range q.c.kinds() {
		if k.Group != group || k.Version != version {
			continue
		}
		one := map[string]any{"name": k.Plural, "kind": k.Kind, "namespaced": k.Namespaced, "singularName": strings.ToLower(k.Kind),
			"verbs": []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}}
		list = append(list, one)
		if sub := subresources[k.Plural]; sub != nil && group == "" {
			list = append(list, sub)
		}
		if q.c.scaleOf(k) != nil {
			list = append(list, Object{"name": k.Plural + "/scale", "kind": "Scale", "group": "autoscaling", "version": "v1", "namespaced": k.Namespaced, "singularName": "",
				"verbs": []string{"get", "patch", "update"}})
		}
	}
	if list == nil {
		return nil
	}
	return map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": Kind{Group: group, Version: version}.apiVersion(), "resources": list}
}

// apiPath is the target of a request.
type apiPath struct {
	kind                 Kind
	namespace, name, sub string
}

func (p apiPath) key() string { return p.kind.key(p.namespace, p.name) }

// parsePath reads /api/v1/... and /apis/group/version/..., with "namespaces/NAMESPACE/" for kinds that have one.
func (c *Cluster) parsePath(path string) (p apiPath, err error) {
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
	if len(parts) > 2 && parts[0] == "namespaces" && parts[2] != "status" && parts[2] != "finalize" {
		p.namespace, parts = parts[1], parts[2:]
	}
	kinds := c.kinds()
	if !slices.ContainsFunc(kinds, func(k Kind) bool { return k.Group == group && k.Version == version }) {
		return p, apiFault(http.StatusNotFound, "", "404 page not found")
	}
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Group == group && k.Version == version && k.Plural == parts[0] })
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

// generated is the name of an object of which only the beginning was given.
func generated(prefix string) string { return prefix[:min(len(prefix), 58)] + randomName(5) }

// randomName has the letters that the names of generated objects have (apimachinery, util/rand).
func randomName(n int) string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	var b strings.Builder
	for _, r := range rand.Text()[:n] {
		b.WriteByte(letters[int(r)%len(letters)])
	}
	return b.String()
}

// compareIn orders objects by a text in them.
func compareIn(path ...string) func(a, b Object) int {
	return func(a, b Object) int { return cmp.Compare(Text(a, path...), Text(b, path...)) }
}
