package client_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/internal/kubesim"
	"github.com/vnfkit/vnfkit/mgmt/registry/client"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestPull pulls the images that a machine lacks, with the login of a known registry, and names each image that cannot be pulled.
func TestPull(t *testing.T) {
	t.Parallel()
	const private = "10.0.9.9:5000"
	registry := kubesim.Registry{Address: netip.MustParseAddrPort(private), Username: "u", Password: "p", Images: []string{"team/app:1"}}
	n := newNode(t, []kubesim.Registry{registry}, "containerd kubeadm")
	known := client.Connections{{Type: client.HTTP, Server: private, Username: "u", Password: vnflcm.NewSecret("p")}}
	n.put("/etc/containerd/certs.d/10.0.9.9_5000_/hosts.toml", "server = \"http://"+private+"\"\n[host.\"http://"+private+"\"]\ncapabilities = [\"pull\", \"resolve\"]\n")
	images := []string{"registry.k8s.io/pause:3.10.2", private + "/team/app:1"}
	if err := client.Pull(t.Context(), n.ssh, known, images); err != nil {
		t.Fatal(err)
	}
	if err := client.Pull(t.Context(), n.ssh, nil, images); err != nil {
		t.Errorf("images that the machine has are pulled again: %v", err)
	}
	err := client.Pull(t.Context(), n.ssh, known, append(images, private+"/team/app:2", "registry.example.org/a:1"))
	for _, want := range []string{"image " + private + "/team/app:2: registry " + private + ": ", "image registry.example.org/a:1: registry registry.example.org: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}
