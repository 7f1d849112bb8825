package objects

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ranks lists kinds in the order of their dependencies. Kinds in no rank are at restRank, since a workload may serve
// them; kinds that change or block other objects come last.
var ranks = [][]schema.GroupKind{
	{namespaceKind},
	{crdKind},
	{{Group: "storage.k8s.io", Kind: "StorageClass"}, {Group: "scheduling.k8s.io", Kind: "PriorityClass"}, {Group: "node.k8s.io", Kind: "RuntimeClass"},
		{Group: "networking.k8s.io", Kind: "IngressClass"}, {Kind: "ResourceQuota"}, {Kind: "LimitRange"}, {Group: "k8s.cni.cncf.io", Kind: "NetworkAttachmentDefinition"}},
	{{Kind: "ServiceAccount"}, {Kind: "Secret"}, {Kind: "ConfigMap"}},
	{{Kind: "PersistentVolume"}},
	{{Kind: "PersistentVolumeClaim"}},
	{{Group: rbac, Kind: "ClusterRole"}, {Group: rbac, Kind: "Role"}},
	{{Group: rbac, Kind: "ClusterRoleBinding"}, {Group: rbac, Kind: "RoleBinding"}},
	{{Kind: "Service"}, {Group: "networking.k8s.io", Kind: "NetworkPolicy"}, {Group: "policy", Kind: "PodDisruptionBudget"}},
	{{Kind: "Pod"}, {Kind: "ReplicationController"}, {Group: "apps", Kind: "Deployment"}, {Group: "apps", Kind: "ReplicaSet"},
		{Group: "apps", Kind: "StatefulSet"}, {Group: "apps", Kind: "DaemonSet"}, {Group: "batch", Kind: "Job"}, {Group: "batch", Kind: "CronJob"}},
	nil,
	{{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}, {Group: "apiregistration.k8s.io", Kind: "APIService"},
		{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}, {Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"},
		{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy"}, {Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding"}},
}

const rbac = "rbac.authorization.k8s.io"

var (
	namespaceKind = schema.GroupKind{Kind: "Namespace"}
	crdKind       = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
)

var restRank = slices.IndexFunc(ranks, func(kinds []schema.GroupKind) bool { return kinds == nil })

var workloadRank = rankOf(podKind.GroupKind())

func rankOf(kind schema.GroupKind) int {
	for i, kinds := range ranks {
		if slices.Contains(kinds, kind) {
			return i
		}
	}
	return restRank
}

// inRanks sorts into what can be done at once; the order within is kept.
func inRanks[T any](all []T, ref func(T) Ref) [][]T {
	out := make([][]T, len(ranks))
	for _, item := range all {
		rank := rankOf(ref(item).gvk().GroupKind())
		out[rank] = append(out[rank], item)
	}
	return out
}
