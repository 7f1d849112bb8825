package kubeapi

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
)

// validate finds the most frequent mistakes of clients and charts. A real API server checks more: this one does not
// know the valid fields.
func (q *request) validate(old, o Object) error {
	if q.path.kind.custom() {
		return nil
	}
	switch q.path.kind.Kind {
	case "ClusterRoleBinding", "RoleBinding":
		if Text(o, "roleRef", "name") == "" {
			return q.invalid("roleRef.name: Required value")
		}
		if was := Text(old, "roleRef", "name"); was != "" && was != Text(o, "roleRef", "name") {
			return q.invalid("roleRef: Invalid value: cannot change roleRef")
		}
	case "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet", "Job":
		return q.checkWorkload(old, o)
	case "Pod":
		return q.checkPod(old, o)
	case "PersistentVolume":
		return q.checkVolume(old, o)
	case "ConfigMap", "Secret":
		return q.checkData(old, o)
	case "Service":
		return q.checkService(o)
	case "CustomResourceDefinition":
		return q.checkDefinition(o)
	}
	return nil
}

func (q *request) checkData(old, o Object) error {
	if data, given := o["data"]; given && data != nil {
		values, isMap := data.(Object)
		for _, value := range values {
			if _, isText := value.(string); !isText {
				isMap = false
			}
		}
		if !isMap {
			return apiFault(http.StatusBadRequest, "BadRequest", "%s in version \"v1\" cannot be handled as a %s: json: cannot unmarshal into Go struct field %s.data of type string", q.path.kind.Kind, q.path.kind.Kind, q.path.kind.Kind)
		}
	}
	if at(old, "immutable") == true && (o["immutable"] != true || !reflect.DeepEqual(plain(old["data"]), plain(o["data"]))) {
		return q.invalid("data: Forbidden: field is immutable when `immutable` is set")
	}
	if q.path.kind.Kind == "Secret" && Text(o, "type") == accountSecretType && at(o, "data", "token") == nil {
		return q.fillToken(o)
	}
	if old != nil && q.path.kind.Kind == "Secret" && Text(old, "type") != Text(o, "type") {
		return q.invalid(fmt.Sprintf("type: Invalid value: %q: field is immutable", Text(o, "type")))
	}
	return nil
}

func (q *request) checkService(o Object) error {
	kind := Text(o, "spec", "type")
	switch {
	case !slices.Contains([]string{"ClusterIP", "NodePort", "LoadBalancer", "ExternalName"}, kind):
		return q.invalid(fmt.Sprintf("spec.type: Unsupported value: %q", kind))
	case kind != "ExternalName" && len(list(o, "spec", "ports")) == 0 && Text(o, "spec", "clusterIP") != "None":
		return q.invalid("spec.ports: Required value")
	}
	for i, port := range list(o, "spec", "ports") {
		if n, ok := numberAt(port, "port"); !ok || n < 1 || n > 65535 {
			return q.invalid(fmt.Sprintf("spec.ports[%d].port: Invalid value: %v: must be between 1 and 65535, inclusive", i, at(port, "port")))
		}
		if len(list(o, "spec", "ports")) > 1 && Text(port, "name") == "" {
			return q.invalid(fmt.Sprintf("spec.ports[%d].name: Required value", i))
		}
	}
	return nil
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

// changeable are the fields of the spec of a StatefulSet that updates may change.
var changeable = []string{"replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit", "persistentVolumeClaimRetentionPolicy", "minReadySeconds"}

func (q *request) checkWorkload(old, o Object) error {
	kind := q.path.kind.Kind
	spec, _ := o["spec"].(Object)
	template, _ := spec["template"].(Object)
	if spec["selector"] == nil || template == nil {
		return q.invalid("spec.selector: Required value")
	}
	for _, name := range []string{"replicas", "parallelism", "completions", "backoffLimit", "minReadySeconds"} {
		n, isNumber := numberAt(spec, name)
		if spec[name] != nil && !isNumber {
			return apiFault(http.StatusBadRequest, "BadRequest", "%s in version %q cannot be handled as a %s: json: cannot unmarshal into Go struct field %sSpec.spec.%s of type int32", kind, q.path.kind.Version, kind, kind, name)
		}
		if n < 0 {
			return q.invalid(fmt.Sprintf("spec.%s: Invalid value: %d: must be greater than or equal to 0", name, n))
		}
	}
	if template["spec"] == nil { // a workload whose pods do not matter in the test: the controllers make none
		return nil
	}
	if !selects(spec["selector"], at(template, "metadata", "labels")) {
		return q.invalid(fmt.Sprintf("spec.template.metadata.labels: Invalid value: %v: `selector` does not match template `labels`", at(template, "metadata", "labels")))
	}
	if old != nil && !reflect.DeepEqual(plain(at(old, "spec", "selector")), plain(spec["selector"])) {
		return q.invalid(fmt.Sprintf("spec.selector: Invalid value: %v: field is immutable", spec["selector"]))
	}
	if kind == "Job" && old != nil && !reflect.DeepEqual(plain(at(old, "spec", "template")), plain(template)) {
		return q.invalid("spec.template: Invalid value: field is immutable")
	}
	if kind == "StatefulSet" && old != nil {
		was, _ := plain(old["spec"]).(Object)
		is, _ := plain(spec).(Object)
		for _, name := range changeable {
			delete(was, name)
			delete(is, name)
		}
		if !reflect.DeepEqual(was, is) {
			return q.invalid("spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden")
		}
	}
	podSpec, _ := template["spec"].(Object)
	if err := q.checkPodSpec(podSpec, "spec.template.spec"); err != nil {
		return err
	}
	switch policy := Text(podSpec, "restartPolicy"); {
	case kind == "Job" && policy == "Always":
		return q.invalid("spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\"")
	case kind != "Job" && policy != "Always":
		return q.invalid(fmt.Sprintf("spec.template.spec.restartPolicy: Unsupported value: %q: supported values: \"Always\"", policy))
	}
	return nil
}

func (q *request) checkPodSpec(spec Object, path string) error {
	if len(list(spec, "containers")) == 0 {
		return q.invalid(path + ".containers: Required value")
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
				return q.invalid(where + ".name: Required value")
			case seen[id]:
				return q.invalid(fmt.Sprintf("%s.name: Duplicate value: %q", where, id))
			case strings.TrimSpace(Text(container, "image")) == "":
				return q.invalid(where + ".image: Required value")
			default:
				seen[id] = true
			}
			for j, m := range list(container, "volumeMounts") {
				if !volumes[Text(m, "name")] && !q.claimed(Text(m, "name")) {
					return q.invalid(fmt.Sprintf("%s.volumeMounts[%d].name: Not found: %q", where, j, Text(m, "name")))
				}
			}
		}
	}
	return nil
}

// claimed reports whether a volume may be one of a StatefulSet's claims, which its template does not have.
func (q *request) claimed(string) bool { return q.path.kind.Kind == "StatefulSet" }

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
	return q.checkPodSpec(spec, "spec")
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
