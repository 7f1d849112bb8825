package kubeapi

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

func (q *request) subresource() (any, error) {
	o, found := q.load(q.path)
	if !found {
		return nil, q.notFound()
	}
	method := q.http.Method
	switch {
	case q.path.sub == "scale" && q.c.scaleOf(q.path.kind) != nil && method != http.MethodPost && method != http.MethodDelete:
		return q.scale(o, q.c.scaleOf(q.path.kind))
	case q.path.sub == "log" && q.path.kind.Kind == "Pod" && method == http.MethodGet:
		return q.log(o), nil
	case method != http.MethodPost:
		return nil, apiFault(http.StatusNotFound, "NotFound", "the server could not find the requested resource")
	}
	switch q.path.kind.Kind + "/" + q.path.sub {
	case "Pod/eviction":
		return q.evict(o)
	case "ServiceAccount/token":
		return q.requestToken()
	}
	return nil, apiFault(http.StatusNotFound, "NotFound", "the server could not find the requested resource")
}

// changed is the object that a request makes of another one.
func (q *request) changed(old Object) (Object, error) {
	o, err := q.decode()
	if err != nil || q.http.Method == http.MethodPut {
		return o, err
	}
	return q.patched(old, o)
}

// scale reads or changes the number of replicas (autoscaling/v1).
func (q *request) scale(old Object, paths *scalePaths) (any, error) {
	is := scaleObject(old, paths)
	if q.http.Method == http.MethodGet {
		return is, nil
	}
	wanted, err := q.changed(is)
	if err != nil {
		return nil, err
	}
	if version := Text(wanted, "metadata", "resourceVersion"); version != "" && version != Text(old, "metadata", "resourceVersion") {
		return nil, q.conflict()
	}
	n, isNumber := numberAt(wanted, "spec", "replicas")
	if at(wanted, "spec", "replicas") != nil && !isNumber || n < 0 {
		return nil, q.invalid("spec.replicas: Invalid value: must be greater than or equal to 0")
	}
	changed := clone(old)
	setAt(changed, n, paths.spec...)
	if err := q.ownUpdate(old, changed); err != nil {
		return nil, err
	}
	if err := q.c.callWebhooks("UPDATE", q.path, wanted, webhookLists...); err != nil {
		return nil, err
	}
	out, err := q.keep(old, changed)
	if err != nil {
		return nil, err
	}
	kept, _ := out.(Object)
	return scaleObject(kept, paths), nil
}

func scaleObject(o Object, paths *scalePaths) Object {
	meta := Object{}
	for _, name := range []string{"name", "namespace", "uid", "resourceVersion", "creationTimestamp"} {
		if v := at(o, "metadata", name); v != nil {
			meta[name] = v
		}
	}
	status := Object{"replicas": numberOr(0, o, paths.status...)}
	if text := Text(o, paths.selector...); paths.selector != nil && text != "" {
		status["selector"] = text
	} else if paths.selector == nil {
		status["selector"] = selectorOf(at(o, "spec", "selector")).String()
	}
	return Object{"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": meta, "spec": Object{"replicas": numberOr(0, o, paths.spec...)}, "status": status}
}

func setAt(o Object, value any, path ...string) {
	for _, name := range path[:len(path)-1] {
		o = inner(o, name)
	}
	o[path[len(path)-1]] = value
}

// podLists are the lists of containers of a pod.
var podLists = []string{"initContainers", "containers"}

// templated are the kinds that make pods, and where they say how.
var templated = map[string][]string{
	"Deployment": {"spec", "template"}, "ReplicaSet": {"spec", "template"}, "StatefulSet": {"spec", "template"}, "DaemonSet": {"spec", "template"},
	"Job": {"spec", "template"}, "CronJob": {"spec", "jobTemplate", "spec", "template"},
}

func setDefault(o Object, name string, value any) {
	if o[name] == nil {
		o[name] = value
	}
}

// defaults sets the defaults of a real API server that clients or the controllers here read.
func (q *request) defaults(old, o Object) {
	kind := q.path.kind.Kind
	if path := templated[kind]; path != nil && !q.path.kind.custom() {
		template, _ := at(o, path...).(Object)
		if spec, _ := template["spec"].(Object); spec != nil {
			defaultPodSpec(spec)
		}
	}
	spec, hasSpec := o["spec"].(Object)
	switch {
	case q.path.kind.custom():
	case kind == "Namespace":
		setDefault(inner(o, "spec"), "finalizers", []any{"kubernetes"})
		setDefault(inner(inner(o, "metadata"), "labels"), "kubernetes.io/metadata.name", q.path.name)
		setDefault(inner(o, "status"), "phase", "Active")
	case kind == "Secret":
		if texts, _ := o["stringData"].(Object); texts != nil {
			for _, name := range sortedNames(texts) {
				s, _ := texts[name].(string)
				inner(o, "data")[name] = encode(s)
			}
		}
		delete(o, "stringData")
		setDefault(o, "type", "Opaque")
	case !hasSpec:
	case kind == "Pod":
		defaultPodSpec(spec)
		setDefault(spec, "serviceAccountName", "default")
	case kind == "Deployment" || kind == "StatefulSet" || kind == "ReplicaSet":
		setDefault(spec, "replicas", 1)
		q.defaultStrategy(spec)
	case kind == "DaemonSet":
		q.defaultStrategy(spec)
	case kind == "Job":
		q.defaultJob(o, spec)
	case kind == "Service":
		q.defaultService(old, spec)
	case kind == "PersistentVolumeClaim":
		setDefault(spec, "volumeMode", "Filesystem")
		if old == nil {
			o["status"] = Object{"phase": "Pending"}
		}
	}
}

func sortedNames(o Object) []string { return slices.Sorted(maps.Keys(o)) }

func (q *request) defaultStrategy(spec Object) {
	switch q.path.kind.Kind {
	case "Deployment":
		strategy := inner(spec, "strategy")
		setDefault(strategy, "type", "RollingUpdate")
		if strategy["type"] == "RollingUpdate" {
			rolling := inner(strategy, "rollingUpdate")
			setDefault(rolling, "maxSurge", "25%")
			setDefault(rolling, "maxUnavailable", "25%")
		}
	case "DaemonSet":
		strategy := inner(spec, "updateStrategy")
		setDefault(strategy, "type", "RollingUpdate")
		if strategy["type"] == "RollingUpdate" {
			rolling := inner(strategy, "rollingUpdate")
			setDefault(rolling, "maxSurge", 0)
			setDefault(rolling, "maxUnavailable", 1)
		}
	case "StatefulSet":
		strategy := inner(spec, "updateStrategy")
		setDefault(strategy, "type", "RollingUpdate")
		if strategy["type"] == "RollingUpdate" {
			setDefault(inner(strategy, "rollingUpdate"), "partition", 0)
		}
		for _, claim := range list(spec, "volumeClaimTemplates") {
			if o, isMap := claim.(Object); isMap {
				o["kind"], o["apiVersion"] = "PersistentVolumeClaim", "v1"
				setDefault(inner(o, "spec"), "volumeMode", "Filesystem")
				setDefault(o, "status", Object{"phase": "Pending"})
			}
		}
	}
}

// defaultJob gives a Job the selector that it has for itself.
func (q *request) defaultJob(o, spec Object) {
	setDefault(spec, "parallelism", 1)
	if numberOr(1, spec, "parallelism") == 1 {
		setDefault(spec, "completions", 1)
	}
	setDefault(spec, "backoffLimit", 6)
	if spec["selector"] != nil || spec["template"] == nil {
		return
	}
	meta := inner(o, "metadata")
	if meta["uid"] == nil {
		meta["uid"] = q.c.newUID()
		meta["creationTimestamp"] = now()
	}
	const uid, name = "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"
	spec["selector"] = Object{"matchLabels": Object{uid: meta["uid"]}}
	labels := inner(inner(inner(spec, "template"), "metadata"), "labels")
	labels[uid], labels[name], labels["controller-uid"], labels["job-name"] = meta["uid"], q.path.name, meta["uid"], q.path.name
}

func defaultPodSpec(spec Object) {
	setDefault(spec, "restartPolicy", "Always")
	setDefault(spec, "terminationGracePeriodSeconds", 30)
	for _, name := range podLists {
		for _, item := range list(spec, name) {
			container, isMap := item.(Object)
			if !isMap {
				continue
			}
			policy := "IfNotPresent"
			if image := Text(container, "image"); strings.HasSuffix(image, ":latest") || !strings.Contains(image[strings.LastIndex(image, "/")+1:], ":") {
				policy = "Always"
			}
			setDefault(container, "imagePullPolicy", policy)
			for _, port := range list(container, "ports") {
				if p, isMap := port.(Object); isMap {
					setDefault(p, "protocol", "TCP")
				}
			}
		}
	}
}
