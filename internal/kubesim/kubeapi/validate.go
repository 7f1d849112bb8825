package kubeapi

import (
	"reflect"
	"slices"
	"strings"
)

// validate refuses what drivers rely on: objects that cannot run, and changes of fields that cannot change. A real API server checks
// much more.
func (q *request) validate(old, o Object) error {
	if q.path.kind.custom() {
		return nil
	}
	switch q.path.kind.Kind {
	case "ClusterRoleBinding", "RoleBinding":
		if old != nil && !reflect.DeepEqual(plain(old["roleRef"]), plain(o["roleRef"])) {
			q.fault("roleRef: Invalid value: cannot change roleRef")
		}
	case "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet", "Job":
		q.checkWorkload(old, o)
	case "Pod":
		q.checkContainers(at(o, "spec"), "spec")
		if old == nil {
			setDefault(inner(o, "status"), "phase", "Pending")
		}
	case "PersistentVolume":
		q.checkVolume(old, o)
	case "ConfigMap", "Secret":
		if at(old, "immutable") == true {
			q.fixed(old, o, "data")
			q.fixed(old, o, "immutable")
		}
		if Text(o, "type") == accountSecretType && at(o, "data", "token") == nil {
			return q.fillToken(o)
		}
	case "Service":
		q.checkService(o)
	case "CustomResourceDefinition":
		q.checkDefinition(o)
	}
	return nil
}

// fixed refuses a change of a field.
func (q *request) fixed(old, o Object, path ...string) {
	if old != nil && !reflect.DeepEqual(plain(at(old, path...)), plain(at(o, path...))) {
		q.fault("%s: Invalid value: field is immutable", strings.Join(path, "."))
	}
}

func (q *request) checkService(o Object) {
	for i, port := range list(o, "spec", "ports") {
		for _, field := range []string{"port", "targetPort"} {
			if n, isNumber := numberAt(port, field); isNumber && (n < 1 || n > 65535) || field == "port" && !isNumber {
				q.fault("spec.ports[%d].%s: Invalid value: %v: must be between 1 and 65535, inclusive", i, field, at(port, field))
			}
		}
	}
}

// checkDefinition checks the parts by which the API serves a custom kind.
func (q *request) checkDefinition(o Object) {
	if q.path.name != Text(o, "spec", "names", "plural")+"."+Text(o, "spec", "group") {
		q.fault("metadata.name: Invalid value: must be spec.names.plural+\".\"+spec.group")
	}
	if !slices.ContainsFunc(list(o, "spec", "versions"), func(v any) bool { return at(v, "storage") == true }) {
		q.fault("spec.versions: Invalid value: must have exactly one version marked as storage version")
	}
}

// changeable are the fields of the spec of a StatefulSet that updates may change.
var changeable = []string{"replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit", "persistentVolumeClaimRetentionPolicy", "minReadySeconds"}

func (q *request) checkWorkload(old, o Object) {
	selector, given := at(o, "spec", "selector").(Object)
	template, _ := at(o, "spec", "template").(Object)
	if !given {
		q.fault("spec.selector: Required value")
	}
	for _, name := range []string{"replicas", "parallelism", "completions"} {
		if n, _ := numberAt(o, "spec", name); n < 0 {
			q.fault("spec.%s: Invalid value: %d: must be greater than or equal to 0", name, n)
		}
	}
	if !given || !selects(selector, template) {
		q.fault("spec.template.metadata.labels: Invalid value: `selector` does not match template `labels`")
	}
	q.checkContainers(template["spec"], "spec.template.spec")
	q.fixed(old, o, "spec", "selector")
	switch q.path.kind.Kind {
	case "Job":
		if Text(template, "spec", "restartPolicy") == "Always" {
			q.fault("spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\"")
		}
		q.fixed(old, o, "spec", "template")
	case "StatefulSet":
		was, _ := plain(at(old, "spec")).(Object)
		is, _ := plain(at(o, "spec")).(Object)
		for _, name := range changeable {
			delete(was, name)
			delete(is, name)
		}
		if old != nil && !reflect.DeepEqual(was, is) {
			q.fault("spec: Forbidden: updates to statefulset spec for these fields are forbidden")
		}
	}
}

// checkContainers checks the spec of pods, which is at a path.
func (q *request) checkContainers(spec any, path string) {
	if len(list(spec, "containers")) == 0 {
		q.fault("%s.containers: Required value", path)
	}
	for _, name := range podLists {
		for i, container := range list(spec, name) {
			for _, field := range []string{"name", "image"} {
				if Text(container, field) == "" {
					q.fault("%s.%s[%d].%s: Required value", path, name, i, field)
				}
			}
		}
	}
}
