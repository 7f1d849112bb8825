package kubeversion_test

import (
	"testing"

	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/kubeversion"
)

// TestRemoved checks from which version on flags and feature gates are not accepted.
func TestRemoved(t *testing.T) {
	t.Parallel()
	version := func(minor int) kubeversion.Version { return kubeversion.Version{Major: 1, Minor: minor, Patch: 2} }
	for _, c := range []struct {
		of, name string
		since    int // 0: never
	}{
		{kubeversion.Kubelet, "pod-infra-container-image", 35},
		{kubeversion.Kubelet, "boot_id_file", 37},
		{kubeversion.Kubelet, "containerd-namespace", 37},
		{kubeversion.Kubelet, "housekeeping-interval", 0},
		{kubeversion.Kubelet, "experimental-memory-mlock", 0},
		{kubeversion.Etcd, "experimental-memory-mlock", 37},
		{kubeversion.Etcd, "discovery", 37},
		{kubeversion.Etcd, "discovery-token", 0},
		{"gate", "MemoryManager", 36},
		{"gate", "SidecarContainers", 37},
		{"gate", "experimental-", 0},
		{"gate", "sidecarcontainers", 0},
	} {
		for minor := 34; minor < 39; minor++ {
			got := version(minor).RemovedFlag(c.of, c.name)
			if c.of == "gate" {
				got = version(minor).RemovedGate(c.name)
			}
			want := c.since
			if minor < c.since {
				want = 0
			}
			if got != want {
				t.Errorf("%s %s in 1.%d: removed in %d, want %d", c.of, c.name, minor, got, want)
			}
		}
	}
}
