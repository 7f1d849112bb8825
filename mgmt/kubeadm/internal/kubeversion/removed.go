package kubeversion

import (
	"slices"
	"strings"
)

// removal lists what a minor version does not accept any more and the minor version before does: a component that is started with one of them
// ends. The lists are compared with the sources of 1.35.4, 1.36.3 and 1.37.2 (featuregate.Feature in k8s.io/kubernetes and its staging
// modules; cmd/kubelet/app/options).
type removal struct {
	gates        string // feature gates of components, not those of kubeadm, which "kubeadm config validate" knows
	kubeletFlags string
	etcdFlags    string // of the etcd that kubeadm of the version deploys; a "*" at the end stands for any end
}

var removals = map[int]removal{
	35: {kubeletFlags: podInfraImage},
	36: {gates: "CSIMigrationPortworx HonorPVReclaimPolicy InPlacePodVerticalScalingAllocatedStatus InTreePluginPortworxUnregister MemoryManager " +
		"ServiceTrafficDistribution StructuredAuthorizationConfiguration TopologyAwareHints WatchFromStorageWithoutResourceVersion"},
	37: {gates: "APIServerTracing AnonymousAuthConfigurableEndpoints AnyVolumeDataSource AuthorizeNodeWithSelectors AuthorizeWithSelectors BtreeWatchCache " +
		"ConsistentListFromCache GangScheduling JobBackoffLimitPerIndex JobPodReplacementPolicy JobSuccessPolicy LogarithmicScaleDown OrderedNamespaceDeletion " +
		"PodLifecycleSleepAction PodLifecycleSleepActionAllowZero PreventStaticPodAPIReferences RelaxedDNSSearchValidation ResilientWatchCacheInitialization " +
		"RetryGenerateName SchedulerQueueingHints SidecarContainers StreamingCollectionEncodingToJSON StreamingCollectionEncodingToProtobuf " +
		"StructuredAuthenticationConfiguration WorkloadAwarePreemption",
		kubeletFlags: "application-metrics-count-limit boot-id-file container-hints containerd containerd-namespace enable-load-reader event-storage-age-limit " +
			"event-storage-event-limit global-housekeeping-interval log-cadvisor-usage machine-id-file storage-driver-buffer-duration storage-driver-db " +
			"storage-driver-host storage-driver-password storage-driver-secure storage-driver-table storage-driver-user",
		etcdFlags: "discovery discovery-proxy experimental-*"},
}

// podInfraImage is the flag of the kubelet with the pause image. kubeadm wrote it before 1.35, and only kubeadm 1.35 removes it.
const podInfraImage = "pod-infra-container-image"

// Components whose flags RemovedFlag knows.
const (
	Kubelet = "kubelet"
	Etcd    = "etcd"
)

// RemovedFlag returns the minor version up to a version that has removed a flag of the Kubelet or of Etcd, 0 if none has. Names may have "_"
// for "-".
func (v Version) RemovedFlag(component, name string) (minor int) {
	return v.removed(strings.ReplaceAll(name, "_", "-"), func(r removal) string {
		if component == Etcd {
			return r.etcdFlags
		}
		return r.kubeletFlags
	})
}

// OfKubeadm reports whether kubeadm has written a flag of the kubelet, and not an administrator.
func OfKubeadm(name string) bool { return name == podInfraImage }

// RemovedGate returns the minor version up to a version that has removed a feature gate, 0 if none has.
func (v Version) RemovedGate(name string) (minor int) {
	return v.removed(name, func(r removal) string { return r.gates })
}

func (v Version) removed(name string, list func(removal) string) int {
	for minor, r := range removals {
		if minor > v.Minor {
			continue
		}
		if slices.ContainsFunc(strings.Fields(list(r)), func(removed string) bool {
			prefix, open := strings.CutSuffix(removed, "*")
			return removed == name || open && strings.HasPrefix(name, prefix)
		}) {
			return minor
		}
	}
	return 0
}
