package e2e_test

import (
	"bytes"
	"io"
	"os"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/mgmt/registry/client"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// foreign holds files that another program has written on a machine, by container runtime. The driver must not change them.
var foreign = map[client.Runtime]map[string]string{
	client.Containerd: {
		"/etc/containerd/config.toml":                        "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".registry]\n  config_path = \"/etc/containerd/certs.d\"\n",
		"/etc/containerd/certs.d/foreign.example/hosts.toml": "server = \"https://mirror.example\" # somebody's\n",
		"/var/lib/kubelet/config.json":                       `{"auths":{"foreign.example":{"auth":"Zm9yZWlnbjpwYXNz"}}}`,
	},
	client.Docker: {
		"/etc/containerd/config.toml":                "disabled_plugins = [\"cri\"]\n",
		"/etc/docker/daemon.json":                    "{\n\t\"log-level\": \"warn\",\n\t\"insecure-registries\": [\"foreign.example:5000\"]\n}\n",
		"/etc/docker/certs.d/foreign.example/ca.crt": "somebody's\n",
		// "docker login" and "docker logout" rewrite the file in this form.
		"/root/.docker/config.json":    "{\n\t\"auths\": {\n\t\t\"foreign.example\": {\n\t\t\t\"auth\": \"Zm9yZWlnbjpwYXNz\"\n\t\t}\n\t}\n}",
		"/var/lib/kubelet/config.json": `{"auths":{"foreign.example":{"auth":"Zm9yZWlnbjpwYXNz"}}}`,
	},
}

// node is a machine that uses registries.
type node struct {
	t       *testing.T
	machine *vmhost.Host
	host    *sshexec.Host
	runtime client.Runtime
}

// newNode makes a machine on which one runtime serves Kubernetes.
func newNode(t *testing.T, y *yard, runtime client.Runtime) *node {
	t.Helper()
	machine, err := site.network.Create(t.Context(), vmhost.Spec{Name: string(runtime), User: user, Password: password, Tree: y.parts.NodeTree()})
	must(t, err)
	t.Cleanup(func() { must(t, machine.Close()) })
	n := &node{t: t, machine: machine, runtime: runtime, host: newPool(t, sshexec.Options{}).Host(targetOf(t, machine))}
	must(t, n.host.Wait(within(t, time.Minute)))
	for name, content := range foreign[runtime] {
		_, err := asRoot(n.host, "mkdir", "-p", path.Dir(name))
		must(t, err)
		must(t, n.host.Upload(t.Context(), strings.NewReader(content), sshexec.File{Path: name, Mode: 0o600, Root: true}))
	}
	units := []string{"containerd"}
	if runtime == client.Docker {
		units = append(units, "docker")
	}
	for _, unit := range units {
		_, err := asRoot(n.host, "systemctl", "restart", unit)
		must(t, err)
	}
	if got, err := client.Detect(t.Context(), n.host); got != runtime || err != nil {
		t.Fatalf("%s was detected as %s, %v", runtime, got, err)
	}
	return n
}

// nothing is what a package has whose connections bring their CA along.
func nothing(string) (io.ReadCloser, error) { return nil, os.ErrNotExist }

// connect makes the connections, twice, and pulls through all of them.
func (n *node) connect(what string, connections ...client.Connection) {
	n.t.Helper()
	introduce(n.t, n.machine, connections)
	var before string
	for range 2 {
		must(n.t, client.Connect(n.t.Context(), n.host, n.runtime, connections, nothing))
		after := n.state()
		if before != "" && after != before {
			n.t.Errorf("%s, %s: done again, something changes:\n%s", n.runtime, what, cmp.Diff(before, after))
		}
		before = after
	}
	if err := client.Probe(n.t.Context(), n.host, n.runtime, connections); err != nil {
		n.t.Errorf("%s, %s: %v", n.runtime, what, err)
	}
}

// state is what belongs to registries on the machine, and which daemons run.
func (n *node) state() string {
	n.t.Helper()
	out, err := asRoot(n.host, "sh", "-c", `find /etc/containerd /etc/docker /root/.docker /var/lib/kubelet /var/lib/vnfkit -type f -exec sha256sum {} + 2>/dev/null | sort -k 2
systemctl show --property=MainPID,NRestarts containerd docker`)
	must(n.t, err)
	return out
}

// left checks that nothing is left on the machine of any of the texts.
func (n *node) left(what string, texts ...string) {
	n.t.Helper()
	if found := grep(n.t, n.host, texts, "/etc", "/root", "/home", "/tmp", "/var/lib/kubelet", "/var/lib/vnfkit"); found != "" {
		n.t.Errorf("%s: %s is left in %s", n.runtime, what, found)
	}
}

// pulls checks whether the machine can pull an image of a registry with what it has been told.
func (n *node) pulls(c client.Connection, want bool) {
	n.t.Helper()
	err := client.Probe(n.t.Context(), n.host, n.runtime, client.Connections{c})
	if got := err == nil; got != want {
		n.t.Errorf("%s pulls from %s: %t, want %t: %v", n.runtime, c.Server, got, want, err)
	}
}

// runs has Docker run a container whose image it must pull with what it has been told.
func (n *node) runs(c client.Connection) {
	n.t.Helper()
	image := c.Server + "/" + c.ProbeImage
	for _, command := range [][]string{{"image", "rm", image}, {"run", "--detach", "--name=pulled", image}} {
		_, err := asRoot(n.host, append([]string{"docker"}, command...)...)
		must(n.t, err)
	}
	if state, err := asRoot(n.host, "docker", "container", "inspect", "--format", "{{.State.Status}}", "pulled"); state != "running\n" || err != nil {
		n.t.Errorf("the container of %s is %s, %v", image, state, err)
	}
	_, err := asRoot(n.host, "docker", "container", "rm", "--force", "pulled")
	must(n.t, err)
}

// pemLine is a line of a certificate that no other has.
func pemLine(certificate string) string {
	lines := strings.Split(certificate, "\n")
	return lines[len(lines)/2]
}

// making is a registry that is being made.
type making struct{ id, op string }

func (y *yard) begun(params string) making {
	y.t.Helper()
	id, request := y.registry(params)
	op, err := y.Instantiate(y.t.Context(), id, request)
	must(y.t, err)
	return making{id, op}
}

// offered is the connection to a registry when that is made and has an image to try it with.
func (y *yard) offered(m making, username, password string) client.Connection {
	y.t.Helper()
	y.must(m.op, nil)
	c := y.connection(m.id, username, password)
	must(y.t, y.from(c).push(y.t.Context(), y.parts.Image("pause"), "team/probe:1"))
	c.ProbeImage = "team/probe:1"
	return c
}

// TestRegistryNodes: machines with containerd and with Docker pull from registry VNFs, over HTTP and over HTTPS with
// a login, by what the instances tell. Then a registry gets another CA and another password, and then it is gone.
func TestRegistryNodes(t *testing.T) {
	t.Parallel()
	y := newRegistryYard(t, nil)
	const rotated = `an"other'$(id)-password`
	processes := watchProcesses(t, append(registryCanaries(t), rotated))
	ctx := t.Context()
	begun := y.begun(`{}`)
	first := y.begun(protected(t, registryName, registryPassword))
	nodes := []*node{newNode(t, y, client.Containerd), newNode(t, y, client.Docker)}
	plain, safe := y.offered(begun, "", ""), y.offered(first, registryUser, registryPassword)
	for _, n := range nodes {
		n.connect("both registries", plain, safe)
	}
	nodes[1].runs(safe)

	y.must(y.Terminate(ctx, first.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	other := y.offered(y.begun(protected(t, registryName, rotated)), registryUser, rotated)
	if other.CACertificate == safe.CACertificate {
		t.Fatal("two instances have one CA")
	}
	for _, n := range nodes {
		introduce(t, n.machine, client.Connections{plain, other})
		n.pulls(other, false)
		n.connect("another CA and another password", plain, other)
		n.left("the old password", registryCanaries(t)...)
		n.left("the old CA", pemLine(safe.CACertificate))
	}
	for _, n := range nodes {
		n.connect("one of two", plain)
		n.left("the other registry", registryName, rotated, pemLine(other.CACertificate))
		introduce(t, n.machine, client.Connections{plain, other})
		n.pulls(other, false)
		n.connect("none")
		n.left("the last registry", plain.Server)
		for name, want := range foreign[n.runtime] {
			var got bytes.Buffer
			must(t, n.host.Exec(ctx, sshexec.Command{Root: true, Argv: []string{"cat", name}, Stdout: &got}))
			if diff := cmp.Diff(want, got.String()); diff != "" {
				t.Errorf("%s: %s is another:\n%s", n.runtime, name, diff)
			}
		}
	}
	processes()
}
