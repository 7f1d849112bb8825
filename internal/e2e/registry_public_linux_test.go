package e2e_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/e2e/kube"
	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/mgmt/registry/client"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// dockerHub is the server of images whose name has no server. "library" is the namespace of those that have no other.
const dockerHub = "registry-1.docker.io"

// newDockerHub starts Debian's docker-registry under the name of Docker Hub: HTTPS at port 443, no login.
func newDockerHub(t *testing.T, parts kube.Parts) client.Connection {
	t.Helper()
	ca, certificate, key := issue(t, dockerHub)
	host, err := site.network.Create(t.Context(), vmhost.Spec{Name: "hub", User: user, Password: password, Tree: parts.NodeTree(), Files: map[string]string{
		"/etc/docker/registry/tls.crt": string(certificate),
		"/etc/docker/registry/tls.key": string(key),
		"/etc/docker/registry/config.yml": `version: 0.1
storage: {filesystem: {rootdirectory: /var/lib/docker-registry}}
http: {addr: ":443", secret: lab, tls: {certificate: /etc/docker/registry/tls.crt, key: /etc/docker/registry/tls.key}}
`,
		"/etc/systemd/system/docker-registry.service.d/port.conf": "[Service]\nAmbientCapabilities=CAP_NET_BIND_SERVICE\n",
		"/etc/systemd/system/multi-user.target.d/registry.conf":   "[Unit]\nWants=docker-registry.service\n",
	}})
	must(t, err)
	t.Cleanup(func() { must(t, host.Close()) })
	return client.Connection{Type: client.HTTPS, Server: dockerHub, HostsString: host.Address.String() + " " + dockerHub, CACertificate: string(ca)}
}

// withInternet lets a machine find a server as it would find one in the Internet: by its name, with a certificate of a CA that
// the image of the machine trusts.
func withInternet(c client.Connection, spec *vmhost.Spec) {
	spec.Files = map[string]string{
		"/etc/ssl/certs/ca-certificates.crt":         c.CACertificate,
		"/etc/systemd/system/ssh.service.d/dns.conf": "[Service]\nExecStartPre=/bin/sh -c 'echo " + c.HostsString + " >>/etc/hosts'\n",
	}
}

// TestRegistryPulled: the package has no image, so the machine pulls the default image from Docker Hub. The operation fails while
// Docker Hub lacks the image, and succeeds when it is tried again. A heal pulls the image that its request names.
func TestRegistryPulled(t *testing.T) {
	t.Parallel()
	var hub client.Connection
	y := newRegistryYard(t, func(y *yard, spec *vmhost.Spec) {
		hub = newDockerHub(t, y.parts)
		spec.Tree = y.parts.NodeTree()
		withInternet(hub, spec)
		y.others = map[string]string{registryVNFD: registryDir}
	})
	ctx := t.Context()
	public := y.from(hub)
	y.answers(public)
	id, request := y.registry(`{"private_registry_installation_param": {"image_path": null, "packages": {"source": "installed"}}}`)
	op, err := y.Instantiate(ctx, id, request)
	if err := y.failure(op, err); !strings.Contains(err.Error(), "manifest for registry:latest not found") {
		t.Fatalf("Docker Hub has no image: %v", err)
	}

	must(t, public.push(ctx, y.parts.Image("registry"), "library/registry:latest"))
	must(t, public.push(ctx, y.parts.Image("registry"), "distribution/distribution:2.8"))
	must(t, y.Retry(ctx, op))
	y.must(op, nil)
	y.wantPulled(id, "registry:latest")

	y.kill(y.machine(id))
	y.must(y.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{y.machine(id).ID},
		AdditionalParams: y.laid(vnflcm.Params{}, `{"private_registry_installation_param": {"image": "distribution/distribution:2.8"}}`)}))
	y.wantPulled(id, "distribution/distribution:2.8")
}

// wantPulled checks that a registry works, and which image its machine has.
func (y *yard) wantPulled(id, image string) {
	y.t.Helper()
	r := y.from(y.connection(id, "", ""))
	must(y.t, r.push(y.t.Context(), y.parts.Image("pause"), "team/web:1"))
	y.holds(r, "team/web:1", true)
	images, err := asRoot(y.there(id), "docker", "image", "ls", "--format", "{{.Repository}}:{{.Tag}}")
	if diff := cmp.Diff(image+"\n", images); diff != "" || err != nil {
		y.t.Errorf("images: %v\n%s", err, diff)
	}
}
