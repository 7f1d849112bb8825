package kubeadm_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/etcd"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// stop makes machines dead, as after a power cut.
func (l *lab) stop(names ...string) {
	l.t.Helper()
	for _, name := range names {
		if err := l.World.Stop(name); err != nil {
			l.t.Fatal(err)
		}
	}
}

// isolate fails the test when a process connects to one of these machines before the machine is replaced.
func (l *lab) isolate(names ...string) {
	l.t.Helper()
	going := map[string]string{} // by address: resource id
	for _, n := range l.World.Nodes() {
		if slices.Contains(names, l.World.Host(n.Machine).Name()) {
			going[n.Address.String()] = n.Machine
			l.World.Host(n.Machine).CutConnections() // open connections could be used without a new one
		}
	}
	l.dials.watch(func(addr string) {
		host, _, _ := net.SplitHostPort(addr)
		if id, known := going[host]; known && l.World.Host(id) != nil {
			l.t.Errorf("%s was dialled though it will be replaced", addr)
		}
	})
}

// etcd returns a client of etcd that connects through a machine, as the driver does.
func (l *lab) etcd(machine string) *etcd.Client {
	l.t.Helper()
	host := l.host(machine)
	keys, err := sshexec.PinnedHostKeys(host.PublicKey())
	if err != nil {
		l.t.Fatal(err)
	}
	pool := sshexec.NewPool(sshexec.Options{})
	ssh := pool.Host(sshexec.Target{Addr: host.Addr(), User: "ubuntu", Auth: []sshexec.Auth{sshexec.Password("ubuntu")}, HostKeys: keys})
	var files [3][]byte
	for i, name := range []string{etcd.CAFile, etcd.CertFile, etcd.KeyFile} {
		if files[i], err = afero.ReadFile(host.FS(), name); err != nil {
			l.t.Fatal(err)
		}
	}
	config, err := etcd.TLS(files[0], files[1], files[2])
	if err != nil {
		l.t.Fatal(err)
	}
	address := ""
	for _, m := range l.World.EtcdMembers() {
		if l.World.Host(m.Machine) == host {
			address = m.Address.String()
		}
	}
	client, err := etcd.Open(etcd.Config{Endpoint: "https://" + net.JoinHostPort(address, "2379"), TLS: config, Dial: ssh.DialContext, Timeout: time.Minute})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		if err := errors.Join(client.Close(), pool.Close()); err != nil {
			l.t.Error(err)
		}
	})
	return client
}

// lead makes the member on this machine the leader.
func (l *lab) lead(machine string) {
	l.t.Helper()
	client := l.etcd("masterNode-0")
	members, err := client.Members(l.t.Context(), nil)
	if err != nil {
		l.t.Fatal(err)
	}
	at := slices.IndexFunc(l.World.EtcdMembers(), func(m sandbox.EtcdMember) bool { return l.World.Host(m.Machine).Name() == machine })
	from := slices.IndexFunc(members, func(m etcd.Member) bool { return m.Leader })
	if from < 0 {
		l.t.Fatalf("no member leads: %+v", members)
	}
	if members[at].ID == members[from].ID {
		return
	}
	if err := client.MoveLeader(l.t.Context(), members[from], members[at].ID); err != nil {
		l.t.Fatal(err)
	}
}

// wantMembers checks that etcd has exactly one living voting member on each of these machines.
func (l *lab) wantMembers(machines ...string) {
	l.t.Helper()
	var have []string
	for _, m := range l.World.EtcdMembers() {
		if !m.Alive || m.Learner {
			l.t.Errorf("%+v", m)
		}
		if h := l.World.Host(m.Machine); h != nil {
			have = append(have, h.Name())
		} else {
			l.t.Errorf("the machine of %+v is gone", m)
		}
	}
	slices.Sort(have)
	if diff := cmp.Diff(machines, have); diff != "" {
		l.t.Errorf("etcd members:\n%s", diff)
	}
}

func (l *lab) reported(text string) bool {
	return slices.ContainsFunc(l.Events(), func(e vnflcm.Event) bool { return strings.Contains(e.Message, text) })
}

// released checks that these machines are not members of etcd when the first one is replaced, but are cordoned nodes:
// Kubernetes would start their pods elsewhere after the Node objects have been deleted.
func (l *lab) released(machines []string) func(*vnflcm.Config) {
	var once sync.Once
	return func(c *vnflcm.Config) {
		c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			if s.Name == "replace-vm" {
				once.Do(func() {
					for _, m := range l.World.EtcdMembers() {
						if slices.Contains(machines, l.World.Host(m.Machine).Name()) {
							l.t.Errorf("%+v is a member when it is replaced", m)
						}
					}
					cordoned := 0
					for _, n := range l.World.Nodes() {
						if slices.Contains(machines, l.World.Host(n.Machine).Name()) && n.Unschedulable {
							cordoned++
						}
					}
					if cordoned != len(machines) {
						l.t.Errorf("%d of %d machines are cordoned nodes when the first one is replaced", cordoned, len(machines))
					}
				})
			}
			return next(ctx)
		}
	}
}

func TestHealControlPlane(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, request string
		virtual       bool // the API is at a virtual address
		dead, heal    []string
		leader        string
		moved         bool
		variant       bool
	}{
		{name: "dead", dead: []string{"masterNode-1"}, heal: []string{"masterNode-1"}},
		{name: "dead, with a script", variant: true, request: "instantiate_script.json", dead: []string{"masterNode-2"}, heal: []string{"masterNode-2"}},
		{name: "the dead leader", variant: true, dead: []string{"masterNode-1"}, heal: []string{"masterNode-1"}, leader: "masterNode-1"},
		{name: "the living leader", heal: []string{"masterNode-2"}, leader: "masterNode-2", moved: true},
		{name: "two, one of them dead", variant: true, dead: []string{"masterNode-2"}, heal: []string{"masterNode-1", "masterNode-2"}},
		{name: "two, one of them dead, the other leads", variant: true, dead: []string{"masterNode-2"}, heal: []string{"masterNode-1", "masterNode-2"}, leader: "masterNode-1", moved: true},
		{name: "the first", virtual: true, dead: []string{"masterNode-0"}, heal: []string{"masterNode-0"}},
		{name: "the first, alive", variant: true, virtual: true, heal: []string{"masterNode-0"}, leader: "masterNode-0", moved: true},
		{name: "the first two", variant: true, virtual: true, dead: []string{"masterNode-0"}, heal: []string{"masterNode-0", "masterNode-1"}, leader: "masterNode-1", moved: true},
		{name: "the first, with a script", variant: true, request: "instantiate_script.json", virtual: true, dead: []string{"masterNode-0"}, heal: []string{"masterNode-0"}},
		{name: "with workers", dead: []string{"masterNode-1", "workerNode-0"}, heal: []string{"masterNode-1", "workerNode-0", "workerNode-1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.variant {
				fulltest.SkipVariant(t)
			}
			l := newLab(t)
			if c.request == "" {
				c.request = "instantiate_sandbox.json"
			}
			change := []mgmttest.Change{clustertest.Sized("complex", 1)}
			if c.virtual {
				change = append(change, virtual(t)...)
			}
			id := l.Instantiated(c.request, change...)
			l.wantMembers("masterNode-0", "masterNode-1", "masterNode-2")
			if c.leader != "" {
				l.lead(c.leader)
			}
			heal := l.vnfcs(id, c.heal...)
			before := l.outcome(id)
			vim, err := l.VIMs().Get(t.Context(), "", kubeadm.VIMID(id))
			if err != nil {
				t.Fatal(err)
			}
			l.isolate(c.heal...)
			l.stop(c.dead...)
			m := l.Process(l.released(c.heal))
			opID, err := m.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: heal})
			l.Must(opID, err, m)
			l.want(3, 2, 0)
			l.wantMembers("masterNode-0", "masterNode-1", "masterNode-2")
			if diff := cmp.Diff(before, l.outcome(id)); diff != "" {
				t.Errorf("another end than before:\n%s", diff)
			}
			if moved := l.reported("moving leadership"); moved != c.moved {
				t.Errorf("leadership was moved: %v", moved)
			}
			if strings.Contains(l.Log(), "could not be moved") && len(c.dead) == 0 {
				t.Error("it could not be moved")
			}
			if now, err := l.VIMs().Get(t.Context(), "", kubeadm.VIMID(id)); err != nil || now.VimID != vim.VimID {
				t.Errorf("%+v, %v", now, err)
			}
			// A later heal must find a healthy cluster.
			l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "masterNode-1")}))
			l.wantMembers("masterNode-0", "masterNode-1", "masterNode-2")
		})
	}
}

// TestHealLiveControlPlaneNode: the pods of control-plane nodes that are Ready end before the machine of any is replaced. Until then
// the kubelet needs the API server of its machine, which ends with the member of etcd.
func TestHealLiveControlPlaneNode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		dead, heal []string
		order      []string // in which the steps of heal_start begin
	}{
		{"one", nil, []string{"masterNode-1"}, []string{"record-node masterNode-1", "move-leader masterNode-1", "drain masterNode-1", "detach masterNode-1", "remove-member masterNode-1"}},
		{"beside a dead one", []string{"masterNode-2"}, []string{"masterNode-1", "masterNode-2"}, []string{
			"record-node masterNode-2", "remove-member masterNode-2", "stop-machine masterNode-2", "drain masterNode-2", "detach masterNode-2",
			"record-node masterNode-1", "move-leader masterNode-1", "drain masterNode-1", "detach masterNode-1", "remove-member masterNode-1",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			id := l.Instantiated("instantiate_sandbox.json", append(virtual(t), clustertest.Sized("complex", 1))...)
			access, _ := l.Entry(kubeadm.VIMID(id))
			var pods []string
			for _, n := range l.World.Nodes() {
				machine := l.World.Host(n.Machine).Name()
				if !slices.Contains(c.heal, machine) || slices.Contains(c.dead, machine) {
					continue
				}
				pods = append(pods, n.Name)
				code, body, err := l.Ask(access, http.MethodPost, "/api/v1/namespaces/default/pods", `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "`+n.Name+`"},
					"spec": {"nodeName": "`+n.Name+`", "containers": [{"name": "a", "image": "a"}]}}`)
				if code != http.StatusCreated || err != nil {
					t.Fatalf("%d %s %v", code, body, err)
				}
			}
			heal := l.vnfcs(id, c.heal...)
			l.isolate(c.heal...)
			l.stop(c.dead...)
			var order []string
			var mu sync.Mutex
			m := l.Process(func(cfg *vnflcm.Config) {
				cfg.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
					mu.Lock()
					if s.Phase == "heal_start" && s.On != "" && slices.Contains(c.heal, l.NameOf(s.On)) {
						order = append(order, s.Name+" "+l.NameOf(s.On))
					}
					mu.Unlock()
					if s.Name == "replace-vm" {
						for _, pod := range pods {
							if code, _, err := l.Ask(access, http.MethodGet, "/api/v1/namespaces/default/pods/"+pod, ""); code != http.StatusNotFound || err != nil {
								t.Errorf("a machine is replaced before the pod on %s has ended: %d %v", pod, code, err)
							}
						}
					}
					return next(ctx)
				}
			})
			opID, err := m.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: heal})
			l.Must(opID, err, m)
			if diff := cmp.Diff(c.order, order); diff != "" {
				t.Errorf("steps:\n%s", diff)
			}
			l.wantMembers("masterNode-0", "masterNode-1", "masterNode-2")
		})
	}
}

// TestHealWithoutQuorum checks that nothing is changed, that the error says what to do, and that doing so helps.
func TestHealWithoutQuorum(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		dead, heal []string
		want       etcd.QuorumError // without names
		remedy     string
	}{
		{"a healthy one beside a dead one", []string{"masterNode-2"}, []string{"masterNode-1"}, etcd.QuorumError{Voters: 2, Healthy: 1, Needed: 2}, "bring back master-"},
		{"one of two dead", []string{"masterNode-1", "masterNode-2"}, []string{"masterNode-1", "workerNode-0"}, etcd.QuorumError{Voters: 3, Healthy: 1, Needed: 2, Lost: true}, "heal the whole VNF"},
		{"two dead", []string{"masterNode-1", "masterNode-2"}, []string{"masterNode-1", "masterNode-2"}, etcd.QuorumError{Voters: 3, Healthy: 1, Needed: 2, Lost: true}, "heal the whole VNF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("complex", 0))
			heal := l.vnfcs(id, c.heal...)
			l.isolate(c.heal...)
			l.stop(c.dead...)
			members := l.World.EtcdMembers()
			ran := map[string]int{}
			for _, h := range l.World.Hosts() {
				ran[h.Name()] = len(h.Commands())
			}
			opID, err := l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: heal})
			err = l.Fails(opID, err)
			refused, _ := errors.AsType[*etcd.QuorumError](err)
			if refused == nil || !errors.Is(err, etcd.ErrQuorum) || !strings.Contains(err.Error(), c.remedy) {
				t.Fatalf("%v", err)
			}
			got := etcd.QuorumError{Voters: refused.Voters, Healthy: refused.Healthy, Needed: refused.Needed, Lost: refused.Lost}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(members, l.World.EtcdMembers(), cmp.Comparer(func(a, b sandbox.EtcdMember) bool { return a == b })); diff != "" {
				t.Errorf("members changed:\n%s", diff)
			}
			for _, h := range l.World.Hosts() {
				for _, r := range h.Commands()[ran[h.Name()]:] {
					if !r.BuiltIn && slices.Contains([]string{"kubeadm", "kubectl", "systemctl"}, r.Argv[0]) {
						t.Errorf("%s: %q", h.Name(), r.Argv)
					}
				}
			}
			l.dials.watch(nil)
			if err := l.Fail(t.Context(), opID); err != nil {
				t.Fatal(err)
			}
			l.Must(l.Heal(t.Context(), id, wholeHeal))
			l.wantMembers("masterNode-0", "masterNode-1", "masterNode-2")
		})
	}
}

// TestHealRefused: these heals are refused whatever the state of the machines is.
func TestHealRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("complex", 0))
	for want, machines := range map[string][]string{
		"would go with all other control-plane nodes": {"masterNode-0", "masterNode-1", "masterNode-2"},
		"has the address of the API":                  {"masterNode-0"},
	} {
		_, err := l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, machines...)})
		if !errors.Is(err, vnflcm.ErrInvalidRequest) || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "vnfcInstanceId") != len(machines) {
			t.Errorf("%q: %v", machines, err)
		}
	}
}

// TestHealBringsHelmBack: a healed control-plane node has Helm and the repositories of the other nodes.
func TestHealBringsHelmBack(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{pkg: helmPackage(t, helmInstaller)})
	id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("complex", 0), with(t, helmParams))
	add := []string{"helm", "repo", "add", "charts", "https://charts.example.com", "--username", "u", "--password-stdin"}
	if err := l.login(l.host("masterNode-0"), add...); err != nil {
		t.Fatal(err)
	}
	heal := l.vnfcs(id, "masterNode-1", "masterNode-2")
	l.stop("masterNode-2")
	l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: heal}))
	l.withHelm(3)
	const file = "/home/ubuntu/.config/helm/repositories.yaml"
	want, err := afero.ReadFile(l.host("masterNode-0").FS(), file)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"masterNode-1", "masterNode-2"} {
		got, err := afero.ReadFile(l.host(name).FS(), file)
		if diff := cmp.Diff(string(want), string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}
