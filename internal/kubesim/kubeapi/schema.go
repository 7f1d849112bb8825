package kubeapi

import "strings"

// keyedLists are the lists of built-in kinds whose items have keys, by the end of their path
// (x-kubernetes-list-map-keys and x-kubernetes-patch-merge-key; patches use the first key).
var keyedLists = map[string][]string{
	"containers": {"name"}, "initContainers": {"name"}, "ephemeralContainers": {"name"}, "volumes": {"name"}, "env": {"name"},
	"imagePullSecrets": {"name"}, "volumeMounts": {"mountPath"}, "volumeDevices": {"devicePath"}, "hostAliases": {"ip"},
	"containers/ports": {"containerPort", "protocol"}, "initContainers/ports": {"containerPort", "protocol"},
	"spec/ports": {"port", "protocol"}, "ownerReferences": {"uid"}, "topologySpreadConstraints": {"topologyKey", "whenUnsatisfiable"},
	"conditions": {"type"}, "secrets": {"name"}, "webhooks": {"name"}, "subsets/ports": nil,
}

// setLists are lists of values of which each is there once.
var setLists = map[string]bool{"finalizers": true}

// atomicMaps are owned as a whole (x-kubernetes-map-type: atomic).
var atomicMaps = map[string]bool{
	"spec/selector": true, "nodeSelector": true, "claimRef": true, "labelSelector": true, "podSelector": true, "namespaceSelector": true,
	"configMapKeyRef": true, "secretKeyRef": true, "fieldRef": true, "resourceFieldRef": true, "roleRef": true, "scaleTargetRef": true,
}

// tail are the last names of a path.
func tail(path []string, n int) string { return strings.Join(path[max(0, len(path)-n):], "/") }

// mergeKeys are the keys of the items of the list at that path, nil for a list that is replaced as a whole. For custom
// kinds the caller asks not.
func mergeKeys(path []string) []string {
	if keys, known := keyedLists[tail(path, 2)]; known {
		return keys
	}
	return keyedLists[tail(path, 1)]
}

func isSet(path []string) bool { return setLists[tail(path, 1)] }

func isAtomic(path []string) bool { return atomicMaps[tail(path, 2)] || atomicMaps[tail(path, 1)] }
