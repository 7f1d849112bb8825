package kubeapi

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// validate finds the most frequent mistakes of clients and charts. A real API server checks more.
func (q *request) validate(old, o Object) error {
	if q.path.kind.custom() {
		return nil
	}
	switch q.path.kind.Kind {
	case "ClusterRoleBinding", "RoleBinding":
		if Text(o, "roleRef", "name") == "" {
			return q.invalid("roleRef.kind: Unsupported value: \"\": supported values: \"ClusterRole\", \"Role\"", "roleRef.name: Required value")
		}
		if was := Text(old, "roleRef", "name"); was != "" && was != Text(o, "roleRef", "name") {
			return q.invalid("roleRef: Invalid value: cannot change roleRef")
		}
	case "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet", "Job":
		q.checkWorkload(old, o)
	case "Pod":
		return q.checkPod(old, o)
	case "PersistentVolume":
		q.checkVolume(old, o)
	case "VolumeAttachment":
		q.checkAttachment(old, o)
	case "ConfigMap", "Secret":
		return q.checkData(old, o)
	case "Service":
		q.checkService(o)
	case "PersistentVolumeClaim":
		q.checkClaim(old, o)
	case "CustomResourceDefinition":
		return q.checkDefinition(o)
	}
	return nil
}

func (q *request) checkData(old, o Object) error {
	data, _ := o["data"].(Object)
	for _, name := range sortedNames(data) {
		if len(validation.IsConfigMapKey(name)) > 0 {
			q.fault("data[%s]: Invalid value: %q: a valid config key must consist of alphanumeric characters, '-', '_' or '.'", name, name)
		}
	}
	switch {
	case at(old, "immutable") != true:
	case o["immutable"] != true:
		return q.invalid("immutable: Forbidden: field is immutable when `immutable` is set")
	case !reflect.DeepEqual(plain(old["data"]), plain(o["data"])):
		return q.invalid("data: Forbidden: field is immutable when `immutable` is set")
	}
	if q.path.kind.Kind == "Secret" {
		return q.checkSecret(old, o)
	}
	return nil
}

// secretKeys are what Secrets of a type must have.
var secretKeys = map[string][]string{"kubernetes.io/tls": {"tls.crt", "tls.key"}, "kubernetes.io/dockerconfigjson": {".dockerconfigjson"},
	"kubernetes.io/ssh-auth": {"ssh-privatekey"}}

func (q *request) checkSecret(old, o Object) error {
	for _, name := range secretKeys[Text(o, "type")] {
		if at(o, "data", name) == nil {
			q.fault("data[%s]: Required value", name)
		}
	}
	if Text(o, "type") == accountSecretType && at(o, "data", "token") == nil {
		return q.fillToken(o)
	}
	if old != nil && Text(old, "type") != Text(o, "type") {
		return q.invalid(fmt.Sprintf("type: Invalid value: %q: field is immutable", Text(o, "type")))
	}
	return nil
}

func (q *request) checkService(o Object) {
	kind, ports := Text(o, "spec", "type"), list(o, "spec", "ports")
	if kind != "ExternalName" && len(ports) == 0 && Text(o, "spec", "clusterIP") != "None" {
		q.fault("spec.ports: Required value")
	}
	for i, port := range ports {
		if n, ok := numberAt(port, "port"); !ok || n < 1 || n > 65535 {
			q.fault("spec.ports[%d].port: Invalid value: %v: must be between 1 and 65535, inclusive", i, at(port, "port"))
		}
		if n, isNumber := numberAt(port, "targetPort"); isNumber && (n < 1 || n > 65535) {
			q.fault("spec.ports[%d].targetPort: Invalid value: %v: must be between 1 and 65535, inclusive", i, at(port, "targetPort"))
		}
		if len(ports) > 1 && Text(port, "name") == "" {
			q.fault("spec.ports[%d].name: Required value", i)
		}
		switch n, _ := numberAt(port, "nodePort"); {
		case n == 0:
		case kind == "ClusterIP":
			q.fault("spec.ports[%d].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'", i)
		case n < 30000 || n > 32767:
			q.fault("spec.ports[%d].nodePort: Invalid value: %v: provided port is not in the valid range. The range of valid ports is 30000-32767", i, n)
		}
		if indexOfPort(ports, port) < i {
			q.fault("spec.ports[%d]: Duplicate value: %v", i, port)
		}
	}
	if !slices.Contains([]string{"ClusterIP", "NodePort", "LoadBalancer", "ExternalName"}, kind) {
		q.fault("spec.type: Unsupported value: %q", kind)
	}
}

func (q *request) checkDefinition(o Object) error {
	if want := Text(o, "spec", "names", "plural") + "." + Text(o, "spec", "group"); q.path.name != want {
		return q.invalid(fmt.Sprintf("metadata.name: Invalid value: %q: must be spec.names.plural+\".\"+spec.group", q.path.name))
	}
	versions := list(o, "spec", "versions")
	if len(versions) == 0 {
		return q.invalid("spec.versions: Required value")
	}
	stored := 0
	for i, v := range versions {
		if at(v, "storage") == true {
			stored++
		}
		if at(v, "schema", "openAPIV3Schema") == nil {
			return q.invalid(fmt.Sprintf("spec.versions[%d].schema.openAPIV3Schema: Required value: schemas are required", i))
		}
	}
	if stored != 1 {
		return q.invalid("spec.versions: Invalid value: must have exactly one version marked as storage version")
	}
	if scope := Text(o, "spec", "scope"); scope != "Namespaced" && scope != "Cluster" {
		return q.invalid("spec.scope: Required value")
	}
	return nil
}

// checkClaim checks a PersistentVolumeClaim.
func (q *request) checkClaim(old, o Object) {
	spec, _ := o["spec"].(Object)
	if len(list(spec, "accessModes")) == 0 {
		q.fault("spec.accessModes: Required value: at least 1 access mode is required")
	}
	if at(spec, "resources", "requests", "storage") == nil {
		q.fault("spec.resources[storage]: Required value")
	}
	strip := func(o Object) Object {
		spec, _ := plain(o["spec"]).(Object)
		for _, name := range []string{"resources", "volumeName", "volumeAttributesClassName"} {
			delete(spec, name)
		}
		return spec
	}
	if old != nil && !reflect.DeepEqual(strip(old), strip(o)) {
		q.fault("spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims")
	}
}

// changeable are the fields of the spec of a StatefulSet that updates may change.
var changeable = []string{"replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit", "persistentVolumeClaimRetentionPolicy", "minReadySeconds"}

func (q *request) checkWorkload(old, o Object) {
	kind := q.path.kind.Kind
	spec, _ := o["spec"].(Object)
	template, _ := spec["template"].(Object)
	selector, given := spec["selector"].(Object)
	switch {
	case !given:
		q.fault("spec.selector: Required value")
	case len(selector) == 0:
		q.fault("spec.selector: Invalid value: {}: empty selector is invalid for %s", strings.ToLower(kind))
	}
	for _, name := range []string{"replicas", "parallelism", "completions", "backoffLimit", "minReadySeconds"} {
		if n, _ := numberAt(spec, name); n < 0 {
			q.fault("spec.%s: Invalid value: %d: must be greater than or equal to 0", name, n)
		}
	}
	if !given || !selects(spec["selector"], template) {
		q.fault("spec.template.metadata.labels: Invalid value: %v: `selector` does not match template `labels`", at(template, "metadata", "labels"))
	}
	podSpec, _ := template["spec"].(Object)
	q.checkPodSpec(podSpec, "spec.template.spec")
	if old != nil && !reflect.DeepEqual(plain(at(old, "spec", "selector")), plain(spec["selector"])) {
		q.fault("spec.selector: Invalid value: %v: field is immutable", spec["selector"])
	}
	if q.faults == nil {
		q.checkTemplate(kind, old, o)
	}
}

// checkTemplate finds what updates must not change, and policies that pods of a kind cannot have.
func (q *request) checkTemplate(kind string, old, o Object) {
	spec, _ := o["spec"].(Object)
	template, _ := spec["template"].(Object)
	if kind == "Job" && old != nil && !reflect.DeepEqual(plain(at(old, "spec", "template")), plain(template)) {
		q.fault("spec.template: Invalid value: field is immutable")
	}
	if kind == "StatefulSet" && old != nil {
		was, _ := plain(old["spec"]).(Object)
		is, _ := plain(spec).(Object)
		for _, name := range changeable {
			delete(was, name)
			delete(is, name)
		}
		if !reflect.DeepEqual(was, is) {
			q.fault("spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden")
		}
	}
	switch policy := Text(template, "spec", "restartPolicy"); {
	case kind == "Job" && policy == "Always":
		q.fault("spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\"")
	case kind != "Job" && policy != "Always":
		q.fault("spec.template.spec.restartPolicy: Unsupported value: %q: supported values: \"Always\"", policy)
	}
}

// checkPodSpec checks the spec of pods, which is at a path.
func (q *request) checkPodSpec(spec Object, path string) {
	if len(list(spec, "containers")) == 0 {
		q.fault("%s.containers: Required value", path)
	}
	if policy := Text(spec, "restartPolicy"); policy != "" && !slices.Contains([]string{"Always", "OnFailure", "Never"}, policy) {
		q.fault("%s.restartPolicy: Unsupported value: %q: supported values: \"Always\", \"OnFailure\", \"Never\"", path, policy)
	}
	volumes := map[string]bool{}
	for _, v := range list(spec, "volumes") {
		volumes[Text(v, "name")] = true
	}
	seen := map[string]bool{}
	for _, name := range podLists {
		for i, container := range list(spec, name) {
			where := fmt.Sprintf("%s.%s[%d]", path, name, i)
			switch id := Text(container, "name"); {
			case id == "":
				q.fault("%s.name: Required value", where)
			case len(validation.IsDNS1123Label(id)) > 0:
				q.fault("%s.name: Invalid value: %q: a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-'", where, id)
			case seen[id]:
				q.fault("%s.name: Duplicate value: %q", where, id)
			default:
				seen[id] = true
			}
			if strings.TrimSpace(Text(container, "image")) == "" {
				q.fault("%s.image: Required value", where)
			}
			if policy := Text(container, "imagePullPolicy"); policy != "" && !slices.Contains([]string{"Always", "IfNotPresent", "Never"}, policy) {
				q.fault("%s.imagePullPolicy: Unsupported value: %q: supported values: \"Always\", \"IfNotPresent\", \"Never\"", where, policy)
			}
			for j, port := range list(container, "ports") {
				if n, _ := numberAt(port, "containerPort"); n < 1 || n > 65535 {
					q.fault("%s.ports[%d].containerPort: Invalid value: %d: must be between 1 and 65535, inclusive", where, j, n)
				}
			}
			for j, m := range list(container, "volumeMounts") {
				if !volumes[Text(m, "name")] && q.path.kind.Kind != "StatefulSet" { // which has claims
					q.fault("%s.volumeMounts[%d].name: Not found: %q", where, j, Text(m, "name"))
				}
			}
		}
	}
}

func (q *request) checkPod(old, o Object) error {
	spec, _ := o["spec"].(Object)
	if old != nil {
		return q.checkPodChange(old, o)
	}
	if account := Text(spec, "serviceAccountName"); account != "" {
		if _, exists := q.c.Objects["ServiceAccount/"+q.path.namespace+"/"+account]; !exists {
			return apiFault(http.StatusForbidden, "Forbidden", "pods %q is forbidden: error looking up service account %s/%s: serviceaccount %q not found", q.path.name, q.path.namespace, account, account)
		}
	}
	setDefault(inner(o, "status"), "phase", "Pending")
	q.checkPodSpec(spec, "spec")
	return nil
}

// checkPodChange allows changes only of images, tolerations and the like.
func (q *request) checkPodChange(old, o Object) error {
	strip := func(o Object) Object {
		spec, _ := plain(o["spec"]).(Object)
		for _, name := range []string{"activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds"} {
			delete(spec, name)
		}
		for _, name := range podLists {
			for _, c := range list(spec, name) {
				if container, isMap := c.(Object); isMap {
					delete(container, "image")
				}
			}
		}
		return spec
	}
	if !reflect.DeepEqual(strip(old), strip(o)) {
		return q.invalid("spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds`")
	}
	return nil
}
