package controlplane_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/controlplane"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/kubeversion"
)

var (
	v136 = kubeversion.Version{Major: 1, Minor: 36, Patch: 3}
	v137 = kubeversion.Version{Major: 1, Minor: 37, Patch: 2}
)

// TestRemovedSettings finds flags and gates in each ConfigMap, in both forms of extraArgs.
func TestRemovedSettings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cluster, kubelet, proxy string
		version                 kubeversion.Version
		want                    string // the findings, separated by "; ", or the error
	}{
		"nothing": {"apiServer: {extraArgs: [{name: v, value: '4'}]}", "featureGates: {GracefulNodeShutdown: true}", "", v137, ""},
		"mapping": {"scheduler: {extraArgs: {v: '2', feature-gates: 'GangScheduling=true,Other=false'}}", "", "", v137,
			"the ConfigMap kubeadm-config: scheduler.extraArgs: --feature-gates: the feature gate GangScheduling does not exist since 1.37"},
		"later":   {"scheduler: {extraArgs: {feature-gates: 'GangScheduling=true'}}", "", "", v136, ""},
		"etcd":    {"etcd: {local: {extraArgs: [{name: experimental-memory-mlock, value: 'true'}]}}", "", "", v137, "the ConfigMap kubeadm-config: etcd.local.extraArgs: the flag --experimental-memory-mlock of etcd does not exist since Kubernetes 1.37"},
		"own":     {"controllerManager: {extraArgs: [{name: containerd, value: x}]}", "", "", v137, ""},
		"proxy":   {"", "", "featureGates: {TopologyAwareHints: true}", v136, "the ConfigMap kube-proxy: featureGates: the feature gate TopologyAwareHints does not exist since 1.36"},
		"several": {"", "featureGates: {SidecarContainers: true, MemoryManager: false}", "", v137, "the ConfigMap kubelet-config: featureGates: the feature gate MemoryManager does not exist since 1.36; the ConfigMap kubelet-config: featureGates: the feature gate SidecarContainers does not exist since 1.37"},
		"damage":  {"apiServer: {extraArgs: 3}", "", "", v137, "the ConfigMap kubeadm-config: yaml: "},
	} {
		found := controlplane.RemovedSettings(map[string]map[string]string{"kubeadm-config": {"ClusterConfiguration": c.cluster},
			"kubelet-config": {"kubelet": c.kubelet}, "kube-proxy": {"config.conf": c.proxy}}, c.version)
		got := ""
		if all := errors.Join(found...); all != nil {
			got = strings.ReplaceAll(all.Error(), "\n", "; ")
		}
		if got != c.want && (name != "damage" || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestWithoutFlags removes flags in each form, and leaves everything else byte for byte.
func TestWithoutFlags(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text    string
		version kubeversion.Version
		want    string
		dropped []string
	}{
		"value after =":  {"KUBELET_KUBEADM_ARGS=\"--v=2 --pod-infra-container-image=registry.k8s.io/pause:3.10 --node-ip=1.2.3.4\"\n", v136, "KUBELET_KUBEADM_ARGS=\"--v=2 --node-ip=1.2.3.4\"\n", []string{"pod-infra-container-image"}},
		"value follows":  {"A='--boot-id-file /x --v 2'", v137, "A='--v 2'\n", []string{"boot-id-file"}},
		"without value":  {"A=--enable_load_reader --v=2\n", v137, "A=--v=2\n", []string{"enable_load_reader"}},
		"not yet":        {"A=--enable_load_reader  --v=2\n", v136, "A=--enable_load_reader  --v=2\n", nil},
		"other lines":    {"# --boot-id-file=x\n\nB=\"--containerd=x\"\nC=1", v137, "# --boot-id-file=x\n\nB=\"\"\nC=1", []string{"containerd"}},
		"other flags":    {"A=\"--container-runtime-endpoint=unix:///run/containerd/containerd.sock --housekeeping-interval=5s\"\n", v137, "A=\"--container-runtime-endpoint=unix:///run/containerd/containerd.sock --housekeeping-interval=5s\"\n", nil},
		"empty variable": {"A=\n", v137, "A=\n", nil},
	} {
		got, dropped := controlplane.WithoutFlags(c.text, c.version)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if diff := cmp.Diff(c.dropped, dropped); diff != "" {
			t.Errorf("%s: dropped:\n%s", name, diff)
		}
	}
}

// TestForVersion replaces only the version of a configuration.
func TestForVersion(t *testing.T) {
	t.Parallel()
	got, err := controlplane.Configuration("apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: v1.35.4\napiServer:\n  extraArgs:\n    - name: v\n      value: \"4\"\n").ForVersion("1.36.3")
	want := controlplane.Configuration("apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: v1.36.3\napiServer:\n    extraArgs:\n        - name: v\n          value: \"4\"\n")
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, text := range []controlplane.Configuration{"", "a", "[]", "{"} {
		if _, err := text.ForVersion("1.36.3"); err == nil {
			t.Errorf("%q is a configuration", text)
		}
	}
}

// TestWithNames changes the names of certificates in configurations of different forms, and leaves everything else.
func TestWithNames(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, want string }{
		"none":      {"kind: ClusterConfiguration\n", "kind: ClusterConfiguration\napiServer:\n    certSANs:\n        - vip\n        - b\n"},
		"empty":     {"apiServer: {}\nkind: ClusterConfiguration\n", "apiServer: {certSANs: [vip, b]}\nkind: ClusterConfiguration\n"},
		"others":    {"apiServer:\n    certSANs:\n        - vip\n        - gone\n        - users\n    extraArgs: []\n", "apiServer:\n    certSANs:\n        - vip\n        - users\n        - b\n    extraArgs: []\n"},
		"unchanged": {"apiServer:\n  certSANs: [ b,vip ]\n", "apiServer:\n  certSANs: [ b,vip ]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := controlplane.Configuration(c.before).WithNames([]string{"vip", "b"}, func(name string) bool { return name == "gone" })
			if diff := cmp.Diff(c.want, string(got)); diff != "" || err != nil {
				t.Errorf("%s, %v", diff, err)
			}
		})
	}
	if _, err := controlplane.Configuration("apiServer: {certSANs: {a: b}}").WithNames(nil, nil); err == nil {
		t.Error("names that are no list are accepted")
	}
}
