package objects

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Undiscovered reports whether Kubernetes cannot delete a namespace because an API of the cluster does not answer.
func Undiscovered(namespace *Object) bool {
	return condition(namespace, "NamespaceDeletionDiscoveryFailure") == "True"
}

// holds returns why an object still exists.
func holds(o *Object) string {
	var reasons []string
	if o.GetDeletionTimestamp() == nil {
		reasons = append(reasons, "it is not being deleted")
	}
	if list := o.GetFinalizers(); len(list) > 0 {
		reasons = append(reasons, "held by the finalizers "+strings.Join(list, ", "))
	}
	// The status of a namespace lists the objects left in it, and their finalizers.
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, each := range conditions {
		m, ok := each.(map[string]any)
		if ok && o.GetKind() == "Namespace" && m["status"] == "True" {
			reasons = append(reasons, text(m, "message"))
		}
	}
	if node := field(o, "spec", "nodeName"); node != "" && o.GetKind() == "Pod" {
		reasons = append(reasons, fmt.Sprintf("its containers have not ended on node %s", node))
	}
	if len(reasons) == 0 {
		return errLeaving.Error()
	}
	return strings.Join(reasons, "; ")
}
