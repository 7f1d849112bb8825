package objects

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// accountVolume begins the name of the volume that the API server gives each pod, for the token of its account
// (k8s.io/kubernetes/plugin/pkg/admission/serviceaccount).
const accountVolume = "kube-api-access-"

// fresh returns a pod for creating it again: its spec without the fields that the cluster has added.
func fresh(pod *Object) *Object {
	o := pod.DeepCopy()
	unstructured.RemoveNestedField(o.Object, "status")
	for _, name := range []string{"managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "generateName", "selfLink",
		"deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences"} {
		unstructured.RemoveNestedField(o.Object, "metadata", name)
	}
	for _, name := range []string{"nodeName", "priority", "preemptionPolicy", "serviceAccount", "ephemeralContainers"} {
		unstructured.RemoveNestedField(o.Object, "spec", name)
	}
	without(o, []string{"spec", "volumes"})
	for _, list := range []string{"initContainers", "containers"} {
		containers, _, _ := unstructured.NestedSlice(o.Object, "spec", list)
		for i := range containers {
			if m, ok := containers[i].(map[string]any); ok {
				inside := &Object{Object: m}
				without(inside, []string{"volumeMounts"})
			}
		}
		if len(containers) > 0 {
			_ = unstructured.SetNestedSlice(o.Object, containers, "spec", list) // fails only where it was none
		}
	}
	return o
}

// without removes the entries for the account's token from a list.
func without(o *Object, path []string) {
	list, found, _ := unstructured.NestedSlice(o.Object, path...)
	if !found {
		return
	}
	list = slices.DeleteFunc(list, func(entry any) bool {
		m, ok := entry.(map[string]any)
		return ok && strings.HasPrefix(text(m, "name"), accountVolume)
	})
	if len(list) == 0 {
		unstructured.RemoveNestedField(o.Object, path...)
		return
	}
	_ = unstructured.SetNestedSlice(o.Object, list, path...) // it was one before
}
