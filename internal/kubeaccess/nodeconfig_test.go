package kubeaccess_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/kubeaccess"
)

// nodeConfig is a kubeconfig as kubeadm writes it, with fields that ReadNodeConfig ignores.
const nodeConfig = `apiVersion: v1
kind: Config
clusters: [{name: k, cluster: {server: "https://10.0.0.1:6443", certificate-authority-data: Y2E=, proxy-url: "http://10.0.0.2"}}]
users: [{name: u, user: {client-certificate-data: Y2VydA==, client-key-data: a2V5, tokenFile: /etc/passwd, exec: {command: "true"}}}]
`

func TestReadNodeConfig(t *testing.T) {
	t.Parallel()
	want := kubeaccess.NodeConfig{Server: "https://10.0.0.1:6443", CA: []byte("ca"), Certificate: []byte("cert"), Key: []byte("key")}
	got, ok := kubeaccess.ReadNodeConfig([]byte(nodeConfig))
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Errorf("%t, %s", ok, diff)
	}
}

// FuzzNodeConfig reads texts of hostile machines: a text that is refused gives nothing.
func FuzzNodeConfig(f *testing.F) {
	for _, seed := range []string{nodeConfig, "", "clusters: [{}]\nusers: [{}]\n", "clusters: [{}, {}]\nusers: [{}]\n", "a: &a [*a]\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, ok := kubeaccess.ReadNodeConfig(text)
		if diff := cmp.Diff(kubeaccess.NodeConfig{}, got); !ok && diff != "" {
			t.Error(diff)
		}
	})
}
