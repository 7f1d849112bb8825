package kubesim_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

// TestStrictness: each wrong thing fails as the real one does.
func TestStrictness(t *testing.T) {
	t.Parallel()
	const kubectl = "sudo kubectl --kubeconfig /etc/kubernetes/admin.conf "
	for name, c := range map[string]struct {
		on, before, text, want string
		do                     func(*site)
	}{
		"wrong token":          {on: "m2", text: `sudo kubeadm join 10.0.0.1:6443 --node-name m2 --token aaaaaa.0123456789abcdef --discovery-token-ca-cert-hash $HASH`, want: "could not find a JWS signature"},
		"expired token":        {on: "m2", do: func(s *site) { s.now = s.now.Add(25 * time.Hour) }, text: "sudo kubeadm join 10.0.0.1:6443 --node-name m2 $JOIN", want: "could not find a JWS signature"},
		"wrong CA hash":        {on: "m2", text: `sudo kubeadm join 10.0.0.1:6443 --node-name m2 --token $TOKEN --discovery-token-ca-cert-hash sha256:0123`, want: "none of the public keys are pinned"},
		"no CA hash":           {on: "m2", text: `sudo kubeadm join 10.0.0.1:6443 --node-name m2 --token $TOKEN`, want: "none of the public keys are pinned"},
		"second init":          {on: "m1", text: initialise, want: "already exists"},
		"join unprepared":      {on: "m3", before: "sudo apt-get update && sudo apt-get install -y containerd kubelet kubeadm kubectl", text: "sudo kubeadm join 10.0.0.1:6443 --node-name m3 $JOIN", want: "running with swap on"},
		"join uninstalled":     {on: "m3", text: "sudo kubeadm join 10.0.0.1:6443 --node-name m3 $JOIN", want: "command not found"},
		"join without runtime": {on: "m2", before: "sudo systemctl stop containerd", text: "sudo kubeadm join 10.0.0.1:6443 --node-name m2 $JOIN", want: "container runtime is not running"},
		"join again":           {on: "m2", before: "sudo kubeadm join 10.0.0.1:6443 --node-name m2 $JOIN", text: "sudo kubeadm join 10.0.0.1:6443 --node-name m2 $JOIN", want: "already exists"},
		"join elsewhere":       {on: "m2", text: "sudo kubeadm join 10.0.0.9:6443 --node-name m2 $JOIN", want: "i/o timeout"},
		"join no API":          {on: "m2", text: "sudo kubeadm join 10.0.0.3:6443 --node-name m2 $JOIN", want: "connection refused"},
		"join by another port": {on: "m2", text: "sudo kubeadm join 10.0.0.1:16443 --node-name m2 $JOIN", want: "connection refused"},
		"name taken":           {on: "m2", text: "sudo kubeadm join 10.0.0.1:6443 --node-name m1 $JOIN", want: `a Node with name "m1"`},
		"name invalid":         {on: "m2", text: "sudo kubeadm join 10.0.0.1:6443 --node-name M_2 $JOIN", want: "RFC 1123"},
		"wrong certificate key": {on: "m2", text: "sudo kubeadm join 10.0.0.1:6443 --node-name m2 --control-plane --apiserver-advertise-address 10.0.0.2 --certificate-key 0 $JOIN",
			want: "error downloading certs"},
		"expired certificate key": {on: "m2", do: func(s *site) { s.now = s.now.Add(3 * time.Hour) }, text: "sudo kubeadm join 10.0.0.1:6443 --node-name m2 --control-plane --apiserver-advertise-address 10.0.0.2 --certificate-key $KEY $JOIN",
			want: "error downloading certs"},
		"join advertises another": {on: "m2", text: "sudo kubeadm join 10.0.0.1:6443 --node-name m2 --control-plane --apiserver-advertise-address 10.0.0.9 --certificate-key $KEY $JOIN",
			want: "no address of this machine"},
		"init advertises another": {on: "m2", text: "sudo kubeadm init --node-name m2 --apiserver-advertise-address 10.0.0.9 --pod-network-cidr 10.244.0.0/16", want: "no address of this machine"},
		"overlapping networks":    {on: "m2", text: "sudo kubeadm init --node-name m2 --apiserver-advertise-address 10.0.0.2 --pod-network-cidr 10.96.0.0/16", want: "overlap"},
		"host bits":               {on: "m2", text: "sudo kubeadm init --node-name m2 --apiserver-advertise-address 10.0.0.2 --pod-network-cidr 192.168.3.0/16", want: "host bits"},
		"no quorum":               {on: "m1", do: func(s *site) { s.world.SetDown("m1", true) }, text: "sudo kubeadm token create", want: "request timed out"},
		"kubeadm flag":            {on: "m2", text: "sudo kubeadm join --colour blue", want: "unknown flag"},
		"kubeadm command":         {on: "m2", text: "sudo kubeadm joins 10.0.0.1:6443", want: "unknown command"},
		"kubectl command":         {on: "m1", text: kubectl + "explain nodes", want: "unknown command"},
		"kubeadm needs root":      {on: "m2", text: "kubeadm reset --force", want: "are you root"},
		"apt needs root":          {on: "m3", text: "apt-get update", want: "are you root"},
		"systemctl needs root":    {on: "m2", text: "systemctl restart containerd", want: "are you root"},
		"admin.conf needs root":   {on: "m1", text: "echo | kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f -", want: "error loading config file"},
		"apt without update":      {on: "m3", text: "sudo apt-get install -y containerd", want: "Unable to locate package containerd"},
		"apt without source":      {on: "m3", before: "sudo rm /etc/apt/sources.list.d/kubernetes.list; sudo apt-get update", text: "sudo apt-get install -y kubeadm", want: "Unable to locate package kubeadm"},
		"apt wrong version":       {on: "m3", before: "sudo apt-get update", text: "sudo apt-get install -y 'kubeadm=1.30.0-*'", want: "was not found"},
		"apt simulates":           {on: "m3", before: "sudo apt-get update", text: "sudo apt-get install --simulate -y 'kubeadm=1.30.0-*'", want: "was not found"},
		"apt unknown package":     {on: "m3", before: "sudo apt-get update", text: "sudo apt-get install -y docker", want: "Unable to locate package docker"},
		"sysctl without module":   {on: "m3", before: "sudo mkdir -p /etc/sysctl.d; echo net.bridge.bridge-nf-call-iptables=1 | sudo tee /etc/sysctl.d/9.conf", text: "sudo sysctl --system", want: "cannot stat"},
		"unknown unit":            {on: "m2", text: "sudo systemctl restart docker", want: "not found"},
		"foreign admin.conf":      {on: "m1", before: "printf 'clusters: [{}]\nusers: [{}]\n' | sudo tee /etc/kubernetes/admin.conf", text: "sudo kubeadm token create", want: "was refused"},
		"ip":                      {on: "m1", text: "ip", want: "not simulated"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "m1", "m2", "m3")
			join := s.cluster()
			s.must("m2", prepare)
			parts := strings.Fields(join)
			replace := strings.NewReplacer("$JOIN", join, "$TOKEN", parts[1], "$HASH", parts[3], "$KEY", s.certificateKey())
			if c.before != "" {
				s.must(c.on, replace.Replace(c.before))
			}
			if c.do != nil {
				c.do(s)
			}
			before := s.world.Nodes()
			out, err := s.run(c.on, replace.Replace(c.text)+" 2>&1")
			if err == nil || !strings.Contains(out, c.want) {
				t.Errorf("%v: %s", err, out)
			}
			if diff := cmp.Diff(before, s.world.Nodes(), cmp.Comparer(func(a, b kubesim.Node) bool { return a == b })); diff != "" {
				t.Errorf("the cluster has changed:\n%s", diff)
			}
		})
	}
}

// TestTwoControlPlaneJoinsAtOnce: etcd takes one learner at a time, and kubeadm waits until the other one votes.
func TestTwoControlPlaneJoinsAtOnce(t *testing.T) {
	t.Parallel()
	s := slowSite(t, 100*time.Millisecond, "m1", "m2", "m3")
	join := s.cluster() + " --control-plane --certificate-key " + s.certificateKey()
	results := make(chan error)
	for _, name := range []string{"m2", "m3"} {
		s.must(name, prepare)
	}
	for _, name := range []string{"m2", "m3"} {
		go func() {
			out, err := s.run(name, fmt.Sprintf("sudo kubeadm join 10.0.0.1:6443 --node-name %s --apiserver-advertise-address %s %s 2>&1", name, addressOf(name), join))
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			results <- err
		}()
	}
	if err := errors.Join(<-results, <-results); err != nil {
		t.Error(err)
	}
}

// TestQuorum: of three members two must live; a reset member leaves.
func TestQuorum(t *testing.T) {
	t.Parallel()
	s := newSite(t, "m1", "m2", "m3")
	join := s.cluster() + " --control-plane --certificate-key " + s.certificateKey()
	for _, name := range []string{"m2", "m3"} {
		s.must(name, prepare)
		s.must(name, fmt.Sprintf("sudo kubeadm join 10.0.0.1:6443 --node-name %s --apiserver-advertise-address %s %s", name, addressOf(name), join))
	}
	const get = "sudo kubeadm token list -o json"
	s.world.SetDown("m3", true)
	s.must("m1", get)
	s.world.SetDown("m2", true)
	if out, err := s.run("m1", get); err == nil {
		t.Errorf("one of three members answers: %s", out)
	}
	if n := len(s.world.Nodes()); n != 0 {
		t.Errorf("%d nodes of a cluster that does not answer", n)
	}
	s.world.SetDown("m2", false)
	s.must("m2", "sudo kubeadm reset --force")
	s.world.SetDown("m3", false)
	s.must("m1", get)
	s.world.Remove("m3") // one of two is left
	if _, err := s.run("m1", get); err == nil {
		t.Error("one of two members answers")
	}
}

// TestSaveAndRestore: another world with the same files continues from the state of the first one.
func TestSaveAndRestore(t *testing.T) {
	t.Parallel()
	s := newSite(t, "m1", "m2")
	join := s.cluster()
	data, err := json.Marshal(s.world)
	if err != nil {
		t.Fatal(err)
	}
	next := newSite(t)
	if err := json.Unmarshal(data, next.world); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"m1", "m2"} {
		next.start(name)
		for _, file := range []string{"/etc/kubernetes/admin.conf", "/etc/kubernetes/kubelet.conf", "/etc/kubernetes/pki/ca.crt"} {
			if content, err := afero.ReadFile(s.hosts[name].FS(), file); err == nil {
				if err := next.hosts[name].FS().MkdirAll("/etc/kubernetes/pki", 0o755); err != nil {
					t.Fatal(err)
				}
				if err := afero.WriteFile(next.hosts[name].FS(), file, content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	equal := cmp.Comparer(func(a, b kubesim.Node) bool { return a == b })
	if diff := cmp.Diff(s.world.Nodes(), next.world.Nodes(), equal); diff != "" || len(next.world.Nodes()) != 1 {
		t.Errorf("nodes:\n%s", diff)
	}
	if next.world.Tokens() != s.world.Tokens() || next.world.Tokens() == 0 {
		t.Errorf("%d tokens, not %d", next.world.Tokens(), s.world.Tokens())
	}
	next.must("m2", prepare)
	next.must("m2", "sudo kubeadm join 10.0.0.1:6443 --node-name m2 "+join)
	nodes := next.world.Nodes()
	if i := slices.IndexFunc(nodes, func(n kubesim.Node) bool { return n.Name == "m2" && n.Ready && n.Address == addressOf("m2") }); i < 0 {
		t.Errorf("%+v", nodes)
	}
	next.now = next.now.Add(25 * time.Hour)
	if n := next.world.Tokens(); n != 0 {
		t.Errorf("%d tokens live longer than a day", n)
	}
}
