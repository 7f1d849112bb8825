package kubeadm_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// upgraded replaces the configuration of the cluster, as an administrator does with "kubeadm upgrade apply".
func (l *lab) upgraded(id, configuration string) {
	l.t.Helper()
	entry, _ := l.Entry(kubeadm.VIMID(id))
	const path = "/api/v1/namespaces/kube-system/configmaps"
	for _, request := range []struct{ method, path, body string }{
		{http.MethodDelete, path + "/kubeadm-config", ""},
		{http.MethodPost, path, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"kubeadm-config"},"data":{"ClusterConfiguration":"` + configuration + `"}}`},
	} {
		if code, answer, err := l.Ask(entry, request.method, request.path, request.body); err != nil || code >= 300 {
			l.t.Fatalf("%s: %d %s, %v", request.method, code, answer, err)
		}
	}
}

// TestUpgradedCluster: a new node gets the current version of the cluster. The simulated package sources do not have 1.36.9.
func TestUpgradedCluster(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ configuration, want string }{
		"upgraded": {`kind: ClusterConfiguration\nkubernetesVersion: v1.36.9\n`, "Version '1.36.9-*' for 'kubelet' was not found"},
		"unknown":  {`kind: ClusterConfiguration\nkubernetesVersion: stable-1\n`, `the ConfigMap kubeadm-config has no version of Kubernetes, but "stable-1"`},
		"no YAML":  {`{`, "the ConfigMap kubeadm-config: yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{})
			id := l.Instantiated("instantiate_sandbox.json")
			l.upgraded(id, c.configuration)
			opID, err := l.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"})
			if err := l.Fails(opID, err); !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q is not in %v", c.want, err)
			}
		})
	}
}

// TestNewestVersion checks that an untested version is logged once, before a machine is created.
func TestNewestVersion(t *testing.T) {
	t.Parallel()
	const warning = "the driver is not tested with this version of Kubernetes: it is up to 1.37"
	for version, want := range map[string]int{"1.34.4": 0, "1.37.2": 0, "1.38.0": 1} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{})
			// A second fault refuses the request, so nothing is created.
			_, _, err := l.Begin("instantiate_sandbox.json", with(t, `{"kubernetes_version":"`+version+`","cni_manifest_path":"none.yaml"}`))
			l.Refused(err)
			if n := strings.Count(l.Log(), warning); n != want {
				t.Errorf("%d warnings", n)
			}
		})
	}
}

// TestContainerdOfKubernetes: the version of an installed containerd is checked, too.
func TestContainerdOfKubernetes(t *testing.T) {
	t.Parallel()
	const old, current = "containerd github.com/containerd/containerd v1.7.24 88bf19b", "containerd github.com/containerd/containerd/v2 v2.2.0 1c4457e"
	const refused = "is too old for Kubernetes 1.38: kubelets work with containerd 1 up to Kubernetes 1.37, later versions take containerd 2"
	for name, c := range map[string]struct{ version, printed, want string }{
		"1 with the last version":   {"1.37.2", old, ""},
		"1 with the version beyond": {"1.38.1", old, refused},
		"2 with the version beyond": {"1.38.1", current, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := kubeadm.NewSite(`{"kubernetes_version":"`+c.version+`","master_node":{"cluster_cp_name":"M"}}`, oneControlPlane, worker, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.ContainerdConfig(c.printed, "registry.k8s.io/pause:3.10\n", "CapBnd:\t000001ffffffffff\n")
			if got := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && got != c.want {
				t.Errorf("%v, not %q", err, c.want)
			}
		})
	}
}

// TestHeld: upgrading the machine's packages changes neither Kubernetes nor its container runtime.
func TestHeld(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{})
	l.Instantiated("instantiate_sandbox.json")
	for _, name := range []string{"masterNode-0", "workerNode-0"} {
		if diff := cmp.Diff([][]string{{"hold", "kubelet", "kubeadm", "kubectl", "containerd"}}, l.ran(name, "apt-mark")); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
