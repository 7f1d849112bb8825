package client_test

import (
	"net/netip"
	"slices"
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

// TestMirror pulls the image of a public registry from its mirror, and never from the registry. Docker, and a mirror without the image, are errors.
func TestMirror(t *testing.T) {
	t.Parallel()
	mirrors := client.Mirrors{{Registry: "registry.k8s.io", Server: "registry.example.com"}}
	private := client.Connections{{Type: client.HTTPS, Server: "registry.example.com", CertificatePath: "ca.crt"}}
	all := slices.Concat(private, mirrors.Connections(private))
	ca := newCA(t, true)
	registry := kubesim.Registry{Address: secure, CA: ca, Images: []string{"pause:3.10.2"}}
	n := newNode(t, []kubesim.Registry{registry}, "containerd kubeadm")
	n.files["ca.crt"] = ca
	n.must(mirrors.Validate("registry_mirrors", private, "private", n.files.open))
	n.must(client.Connect(t.Context(), n.ssh, client.Containerd, all, n.files.open))
	contains(t, n.get("/etc/containerd/certs.d/registry.k8s.io/hosts.toml"), "server = 'https://registry.example.com'", "[host.'https://registry.example.com']",
		"ca = '/etc/containerd/certs.d/registry.k8s.io/vnfkit-ca.crt'")
	n.must(client.Pull(t.Context(), n.ssh, all, []string{"registry.k8s.io/pause:3.10.2"}))
	err := client.Pull(t.Context(), n.ssh, all, []string{"registry.k8s.io/pause:3.10.1"})
	if want := "image registry.k8s.io/pause:3.10.1: registry registry.k8s.io, by its mirror https://registry.example.com: "; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%q is not in %v", want, err)
	}
	n.must(client.Connect(t.Context(), n.ssh, client.Containerd, nil, n.files.open))
	if got := n.get("/etc/containerd/certs.d/registry.k8s.io/hosts.toml"); got != "" {
		t.Errorf("a mirror that was removed: %s", got)
	}
	if err := client.Connect(t.Context(), n.ssh, client.Docker, all, n.files.open); err == nil || !strings.Contains(err.Error(), "Docker knows no mirrors of this kind") {
		t.Errorf("Docker: %v", err)
	}
}
