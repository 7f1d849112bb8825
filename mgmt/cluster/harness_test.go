package cluster_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/afero"
	"go.uber.org/goleak"
	"k8s.io/klog/v2"

	"github.com/vnfkit/vnfkit/internal/kubesim"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// silent fails the process when a Kubernetes package prints: errors are returned, and a library does not print.
type silent struct{}

func (silent) Write(p []byte) (int, error) { panic("printed: " + string(p)) }

func TestMain(m *testing.M) {
	klog.LogToStderr(false)
	klog.SetOutput(silent{})
	goleak.VerifyTestMain(m)
}

// site is a cluster of simulated machines, reached through SSH.
type site struct {
	*cluster.Cluster[controlPlaneNode]
	t     *testing.T
	world *kubesim.World
	pool  *sshexec.Pool
	hosts map[string]*sshtest.Host

	mu       sync.Mutex
	requests []string // "METHOD path" of what was asked, but for readiness
	before   func(method, path string)
}

// controlPlaneNode is a control-plane node.
type controlPlaneNode struct {
	*sshexec.Host
	name string
}

func (m controlPlaneNode) ReadRoot(ctx context.Context, path string) ([]byte, error) {
	return m.ReadFile(ctx, sshexec.File{Path: path, Root: true})
}

var _ cluster.ControlPlaneNode = controlPlaneNode{}

func addressOf(name string) netip.Addr { return netip.MustParseAddr("10.0.0." + name[1:]) }

const install = `sudo swapoff -a && sudo modprobe overlay br_netfilter && sudo mkdir -p /etc/sysctl.d /etc/apt/sources.list.d && echo deb | sudo tee /etc/apt/sources.list.d/k8s.list >/dev/null &&
printf 'net.ipv4.ip_forward = 1\n' | sudo tee /etc/sysctl.d/90.conf >/dev/null && sudo sysctl --system && sudo apt-get update && sudo apt-get install -y containerd kubelet kubeadm kubectl`

const network = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: cni, namespace: kube-system}\nspec: {selector: {matchLabels: {app: cni}}, template: {metadata: {labels: {app: cni}}, spec: {containers: [{name: cni, image: cni}]}}}\n"

// newSite has m1 and further control-plane nodes, and workers, whose names begin with "w": m1, m2, w3.
func newSite(t *testing.T, others ...string) *site {
	t.Helper()
	s := &site{t: t, world: kubesim.NewWorld(kubesim.Options{}), pool: sshexec.NewPool(sshexec.Options{}), hosts: map[string]*sshtest.Host{}}
	t.Cleanup(func() {
		if err := s.pool.Close(); err != nil {
			t.Error(err)
		}
	})
	controlPlane := []controlPlaneNode{s.start("m1")}
	s.initialise()
	join := strings.TrimSpace(s.must("m1", "sudo kubeadm token create --print-join-command"))
	for _, name := range others {
		m := s.start(name)
		command := "sudo " + join + " --node-name " + name
		if strings.HasPrefix(name, "m") {
			controlPlane = append(controlPlane, m)
			lines := strings.Split(strings.TrimSpace(s.must("m1", "sudo kubeadm init phase upload-certs --upload-certs")), "\n")
			command += fmt.Sprintf(" --control-plane --apiserver-advertise-address %s --certificate-key %s", addressOf(name), lines[len(lines)-1])
		}
		s.must(name, command)
	}
	s.Cluster = cluster.New(controlPlane)
	t.Cleanup(s.Close)
	s.world.OnRequest(s.observe)
	return s
}

func (s *site) initialise() {
	s.t.Helper()
	s.must("m1", "sudo kubeadm init --node-name m1 --apiserver-advertise-address 10.0.0.1 --pod-network-cidr 10.244.0.0/16")
	s.must("m1", "printf '"+strings.ReplaceAll(network, "\n", "\\n")+"' | sudo kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f -")
}

func (s *site) observe(_, method, path string) {
	if path == "/readyz" {
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, method+" "+path)
	before := s.before
	s.mu.Unlock()
	if before != nil {
		before(method, path)
	}
}

// when has fn called before each request.
func (s *site) when(fn func(method, path string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = fn
}

// asked returns what was asked since the last time.
func (s *site) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.requests
	s.requests = nil
	return out
}

func (s *site) start(name string) controlPlaneNode {
	s.t.Helper()
	var host *sshtest.Host
	commands := s.world.Attach(name, addressOf(name), name, func() afero.Fs { return host.FS() })
	host = sshtest.Start(s.t, sshtest.Config{Name: name, Commands: commands, Dial: s.world.Dialer(name)})
	s.hosts[name] = host
	keys, err := sshexec.PinnedHostKeys(host.PublicKey())
	if err != nil {
		s.t.Fatal(err)
	}
	m := controlPlaneNode{s.pool.Host(sshexec.Target{Addr: host.Addr(), User: "ubuntu", Auth: []sshexec.Auth{sshexec.Password("ubuntu")}, HostKeys: keys}), name}
	if _, err := m.Output(s.t.Context(), sshexec.Command{Shell: install}); err != nil {
		s.t.Fatal(err)
	}
	return m
}

// must runs shell text on a machine.
func (s *site) must(name, text string) string {
	s.t.Helper()
	host := s.hosts[name]
	keys, err := sshexec.PinnedHostKeys(host.PublicKey())
	if err != nil {
		s.t.Fatal(err)
	}
	h := s.pool.Host(sshexec.Target{Addr: host.Addr(), User: "ubuntu", Auth: []sshexec.Auth{sshexec.Password("ubuntu")}, HostKeys: keys})
	out, err := h.Output(s.t.Context(), sshexec.Command{Shell: sshexec.Shell(text)})
	if err != nil {
		s.t.Fatalf("%s: %s: %v", name, text, err)
	}
	return string(out)
}

// apply applies what the test needs.
func (s *site) apply(manifest string) {
	s.t.Helper()
	if err := s.Apply(s.t.Context(), []byte(manifest)); err != nil {
		s.t.Fatal(err)
	}
}

// stop ends the machine and all its connections.
func (s *site) stop(name string) {
	s.world.SetDown(name, true)
	s.hosts[name].CutConnections()
}

// elsewhere is a control-plane node whose connections go to another address.
type elsewhere struct {
	controlPlaneNode
	dial func(ctx context.Context) (net.Conn, error)
}

func (e elsewhere) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	return e.dial(ctx)
}
