package kubeadm_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// upgraded replaces the configuration of the cluster, as "kubeadm upgrade apply" by an administrator does.
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

// TestUpgradedCluster: a new node gets the version that the cluster has now. The package sources of the simulation offer
// only 1.34.4.
func TestUpgradedCluster(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ configuration, want string }{
		"upgraded": {`kind: ClusterConfiguration\nkubernetesVersion: v1.34.9\n`, "Version '1.34.9-*' for 'kubelet' was not found"},
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
