package kubeapi

import "strings"

// keyedLists are the lists of built-in kinds whose items have keys, by the end of their path
// (x-kubernetes-list-map-keys and x-kubernetes-patch-merge-key; patches use the first key).
var keyedLists = map[string][]string{
	"containers": {"name"}, "initContainers": {"name"}, "ephemeralContainers": {"name"}, "volumes": {"name"}, "env": {"name"},
	"containers/ports": {"containerPort", "protocol"}, "initContainers/ports": {"containerPort", "protocol"},
	"ephemeralContainers/ports": {"containerPort", "protocol"}, "volumeMounts": {"mountPath"}, "volumeDevices": {"devicePath"},
	"spec/imagePullSecrets": {"name"}, "hostAliases": {"ip"}, "schedulingGates": {"name"}, "evictionResponders": {"name"},
	"topologySpreadConstraints": {"topologyKey", "whenUnsatisfiable"}, "resourceClaims": {"name"}, "resources/claims": {"name"},
	"spec/ports": {"port", "protocol"}, "ownerReferences": {"uid"}, "conditions": {"type"}, "secrets": {"name"},
	"webhooks": {"name"}, "matchConditions": {"name"}, "status/addresses": {"type"}, "healthConditions": {"status", "reason"},
}

// setLists are lists of values of which each is there once.
var setLists = map[string]bool{"metadata/finalizers": true, "podCIDRs": true, "bindMountOptions": true, "disableResizePreemption": true}

// atomicMaps are owned as a whole (x-kubernetes-map-type: atomic).
var atomicMaps = map[string]bool{
	"spec/selector": true, "nodeSelector": true, "labelSelector": true, "podSelector": true, "namespaceSelector": true, "objectSelector": true,
	"scopeSelector": true, "required": true, "nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution": true,
	"configMapKeyRef": true, "secretKeyRef": true, "fileKeyRef": true, "fieldRef": true, "resourceFieldRef": true, "roleRef": true,
	"secretRef": true, "controllerExpandSecretRef": true, "controllerPublishSecretRef": true, "nodeExpandSecretRef": true,
	"nodePublishSecretRef": true, "nodeStageSecretRef": true, "spec/dataSource": true, "involvedObject": true, "related": true,
	"defaultBackend/resource": true, "service/port": true,
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

func isSet(path []string) bool { return setLists[tail(path, 2)] || setLists[tail(path, 1)] }

func isAtomic(path []string) bool { return atomicMaps[tail(path, 2)] || atomicMaps[tail(path, 1)] }
