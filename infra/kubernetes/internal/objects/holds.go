package objects

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// holds says why an object is not gone.
func holds(o *Object) string {
	var reasons []string
	if o.GetDeletionTimestamp() == nil {
		reasons = append(reasons, "nobody deletes it")
	}
	if list := o.GetFinalizers(); len(list) > 0 {
		reasons = append(reasons, "held by the finalizers "+strings.Join(list, ", "))
	}
	// A namespace says which objects are left in it, and whose finalizers hold them.
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
		return "is being deleted"
	}
	return strings.Join(reasons, "; ")
}
