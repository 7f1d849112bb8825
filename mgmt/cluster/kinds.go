package cluster

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vnfkit/vnfkit/internal/kubeaccess"
)

func core(resource string, namespaced bool) kubeaccess.Kind { return grouped("", resource, namespaced) }

func grouped(group, resource string, namespaced bool) kubeaccess.Kind {
	return kubeaccess.Kind{Resource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}, Namespaced: namespaced}
}

const rbacGroup = "rbac.authorization.k8s.io"

var nodeKind, podKind, secretKind, accountKind = core("nodes", false), core("pods", true), core("secrets", true), core("serviceaccounts", true)

// named are the kinds that callers name.
var named = map[string]kubeaccess.Kind{
	"node": nodeKind, "pod": podKind, "secret": secretKind, "serviceaccount": accountKind,
	"namespace": core("namespaces", false), "configmap": core("configmaps", true), "persistentvolume": core("persistentvolumes", false),
	"persistentvolumeclaim": core("persistentvolumeclaims", true), "volumeattachment": grouped("storage.k8s.io", "volumeattachments", false),
	"daemonset": grouped("apps", "daemonsets", true), "deployment": grouped("apps", "deployments", true),
	"clusterrole": grouped(rbacGroup, "clusterroles", false), "clusterrolebinding": grouped(rbacGroup, "clusterrolebindings", false),
}

func kindNamed(name string) (kubeaccess.Kind, error) {
	k, known := named[strings.ToLower(name)]
	if !known {
		return kubeaccess.Kind{}, fmt.Errorf("cluster: kind %q is not supported here", name)
	}
	return k, nil
}
