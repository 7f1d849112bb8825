package kubesim_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/spf13/afero"
	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/internal/kubesim"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a world with machines that are SSH hosts.
type site struct {
	t     *testing.T
	world *kubesim.World
	pool  *sshexec.Pool
	hosts map[string]*sshtest.Host
	now   time.Time
}

func newSite(t *testing.T, names ...string) *site {
	t.Helper()
	return slowSite(t, 20*time.Millisecond, names...)
}

// slowSite is a site whose slow programs take so long.
func slowSite(t *testing.T, takes time.Duration, names ...string) *site {
	t.Helper()
	s := &site{t: t, pool: sshexec.NewPool(sshexec.Options{}), hosts: map[string]*sshtest.Host{}, now: time.Now()}
	t.Cleanup(func() { _ = s.pool.Close() })
	s.world = kubesim.NewWorld(kubesim.Options{Now: func() time.Time { return s.now }, Takes: takes})
	for _, name := range names {
		s.start(name)
	}
	return s
}

// addressOf gives m1 the address 10.0.0.1.
func addressOf(name string) netip.Addr { return netip.MustParseAddr("10.0.0." + name[1:]) }

func (s *site) start(name string) {
	s.t.Helper()
	var host *sshtest.Host
	commands := s.world.Attach(name, addressOf(name), name, func() afero.Fs { return host.FS() })
	host = sshtest.Start(s.t, sshtest.Config{Name: name, Commands: commands, Dial: s.world.Dialer(name)})
	s.hosts[name] = host
	if err := host.FS().MkdirAll("/etc/apt/sources.list.d", 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := afero.WriteFile(host.FS(), "/etc/apt/sources.list.d/kubernetes.list", []byte("deb x /\n"), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// host is a machine, as the test logs in to it.
func (s *site) host(name string) *sshexec.Host {
	s.t.Helper()
	host := s.hosts[name]
	keys, err := sshexec.PinnedHostKeys(host.PublicKey())
	if err != nil {
		s.t.Fatal(err)
	}
	return s.pool.Host(sshexec.Target{Addr: host.Addr(), User: "ubuntu", Auth: []sshexec.Auth{sshexec.Password("ubuntu")}, HostKeys: keys})
}

// run runs shell text on a machine and returns what it printed and how it ended.
func (s *site) run(name, text string) (string, error) {
	out, err := s.host(name).Output(s.t.Context(), sshexec.Command{Shell: sshexec.Shell(text)})
	return string(out), err
}

func (s *site) must(name, text string) string {
	s.t.Helper()
	out, err := s.run(name, text)
	if err != nil {
		s.t.Fatalf("%s: %s: %v", name, text, err)
	}
	return out
}

const prepare = `sudo swapoff -a && sudo modprobe overlay br_netfilter && sudo mkdir -p /etc/sysctl.d &&
printf 'net.ipv4.ip_forward = 1\nnet.bridge.bridge-nf-call-iptables = 1\n' | sudo tee /etc/sysctl.d/90.conf >/dev/null && sudo sysctl --system &&
sudo apt-get update && sudo apt-get install -y containerd kubelet kubeadm kubectl`

const initialise = "sudo kubeadm init --node-name m1 --apiserver-advertise-address 10.0.0.1 --pod-network-cidr 10.244.0.0/16"

const network = `printf 'apiVersion: apps/v1\nkind: DaemonSet\nmetadata:\n  name: cni\n  namespace: kube-system\nspec:\n  selector: {matchLabels: {app: cni}}\n  template:\n    metadata: {labels: {app: cni}}\n    spec: {containers: [{name: cni, image: cni}]}\n' | sudo kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f -`

// cluster makes m1 a control plane and returns "--token T --discovery-token-ca-cert-hash H" for others.
func (s *site) cluster() (credentials string) {
	s.t.Helper()
	s.must("m1", prepare)
	s.must("m1", initialise)
	s.must("m1", network)
	printed := strings.Fields(s.must("m1", "sudo kubeadm token create --print-join-command"))
	return strings.Join(printed[3:], " ")
}

func (s *site) certificateKey() string {
	s.t.Helper()
	lines := strings.Split(strings.TrimSpace(s.must("m1", "sudo kubeadm init phase upload-certs --upload-certs")), "\n")
	return lines[len(lines)-1]
}
