package kubeapi

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// fieldLabels are the fields that lists can be selected by, beside the name and the namespace.
var fieldLabels = map[string][]string{
	"Pod":       {"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "status.phase", "status.podIP"},
	"Event":     {"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid", "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason", "type", "source"},
	"Secret":    {"type"},
	"Namespace": {"status.phase"}, "Node": {"spec.unschedulable"}, "ReplicaSet": {"status.replicas"}, "Job": {"status.successful"},
}

// selector reads the selectors of a request.
func (q *request) selector() (func(Object) bool, error) {
	query := q.http.URL.Query()
	byField, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	for _, r := range byField.Requirements() {
		if r.Field != "metadata.name" && r.Field != "metadata.namespace" && !slices.Contains(fieldLabels[q.path.kind.Kind], r.Field) {
			return nil, apierrors.NewBadRequest("field label not supported: " + r.Field)
		}
	}
	byLabel, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return func(o Object) bool { return byField.Matches(fieldsOf(o)) && byLabel.Matches(labelsOf(o)) }, nil
}

// fieldsOf are the fields of an object by their paths.
type fieldsOf Object

// Has implements [fields.Fields].
func (o fieldsOf) Has(path string) bool { return o.value(path) != nil }

// Get implements [fields.Fields].
func (o fieldsOf) Get(path string) string {
	if v := o.value(path); v != nil {
		return fmt.Sprint(v)
	}
	return ""
}

func (o fieldsOf) value(path string) any { return at(Object(o), strings.Split(path, ".")...) }

func labelsOf(o any) labels.Set { return setOf(at(o, "metadata", "labels")) }

func setOf(values any) labels.Set {
	out := labels.Set{}
	texts, _ := values.(Object)
	for name, value := range texts {
		out[name], _ = value.(string)
	}
	return out
}

// selects reads a LabelSelector (meta/v1). A missing or invalid one selects nothing, an empty one everything.
func selects(selector any, o any) bool { return selectorOf(selector).Matches(labelsOf(o)) }

func selectorOf(selector any) labels.Selector {
	content, given := selector.(Object)
	var read metav1.LabelSelector
	if !given || runtime.DefaultUnstructuredConverter.FromUnstructured(content, &read) != nil {
		return labels.Nothing()
	}
	if out, err := metav1.LabelSelectorAsSelector(&read); err == nil {
		return out
	}
	return labels.Nothing()
}

// texts are the strings of a list.
func texts(list any) (out []string) {
	values, _ := list.([]any)
	for _, v := range values {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
