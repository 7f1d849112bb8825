package kubeadm_test

import (
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/etcd"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// stop makes machines dead.
func (l *lab) stop(names ...string) {
	l.t.Helper()
	for _, name := range names {
		if err := l.world.Stop(name); err != nil {
			l.t.Fatal(err)
		}
	}
}

// isolate has any connection to one of these machines fail the test, while it is still that machine.
func (l *lab) isolate(names ...string) {
	l.t.Helper()
	going := map[string]string{} // address: resource id
	for _, n := range l.world.Nodes() {
		if slices.Contains(names, l.world.Host(n.Machine).Name()) {
			going[n.Address.String()] = n.Machine
			l.world.Host(n.Machine).CutConnections() // those that are open would be used without a new one
		}
	}
	l.dials.watch(func(addr string) {
		host, _, _ := net.SplitHostPort(addr)
		if id, known := going[host]; known && l.world.Host(id) != nil {
			l.t.Errorf("%s was dialled though it will be replaced", addr)
		}
	})
}

// etcd opens a client of etcd by way of a machine, as the driver does.
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
	for _, m := range l.world.EtcdMembers() {
		if l.world.Host(m.Machine) == host {
			address = m.Address.String()
		}
	}
	client, err := etcd.Open(etcd.Config{Endpoint: "https://" + net.JoinHostPort(address, "2379"), TLS: config, Dial: ssh.DialContext, Timeout: time.Second})
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

// lead makes the member of that machine the leader.
func (l *lab) lead(machine string) {
	l.t.Helper()
	client := l.etcd("masterNode-0")
	members, err := client.Members(l.t.Context(), nil)
	if err != nil {
		l.t.Fatal(err)
	}
	at := slices.IndexFunc(l.world.EtcdMembers(), func(m sandbox.EtcdMember) bool { return l.world.Host(m.Machine).Name() == machine })
	from := slices.IndexFunc(members, func(m etcd.Member) bool { return m.Leader })
	if members[at].ID == members[from].ID {
		return
	}
	if err := client.MoveLeader(l.t.Context(), members[from], members[at].ID); err != nil {
		l.t.Fatal(err)
	}
}

// wantMembers makes sure that etcd has one living voting member on each of these machines, and nothing else.
func (l *lab) wantMembers(machines ...string) {
	l.t.Helper()
	var have []string
	for _, m := range l.world.EtcdMembers() {
		if !m.Alive || m.Learner {
			l.t.Errorf("%+v", m)
		}
		if h := l.world.Host(m.Machine); h != nil {
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
	return slices.ContainsFunc(l.events.all(), func(e vnflcm.Event) bool { return strings.Contains(e.Message, text) })
}

func TestHealControlPlane(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, request string
		dead, heal    []string
		leader        string
		moved         bool
	}{
		{name: "dead", dead: []string{"masterNode-1"}, heal: []string{"masterNode-1"}},
		{name: "dead, with a script", request: "instantiate_script.json", dead: []string{"masterNode-2"}, heal: []string{"masterNode-2"}},
		{name: "the dead leader", dead: []string{"masterNode-1"}, heal: []string{"masterNode-1"}, leader: "masterNode-1"},
		{name: "the living leader", heal: []string{"masterNode-2"}, leader: "masterNode-2", moved: true},
		{name: "two, one of them dead", dead: []string{"masterNode-2"}, heal: []string{"masterNode-1", "masterNode-2"}},
		{name: "two, one of them dead, the other leads", dead: []string{"masterNode-2"}, heal: []string{"masterNode-1", "masterNode-2"}, leader: "masterNode-1", moved: true},
		{name: "with workers", dead: []string{"masterNode-1", "workerNode-0"}, heal: []string{"masterNode-1", "workerNode-0", "workerNode-1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			if c.request == "" {
				c.request = "instantiate_sandbox.json"
			}
			id := l.cluster(c.request, sized("complex", 1))
			l.wantMembers("masterNode-0", "masterNode-1", "masterNode-2")
			if c.leader != "" {
				l.lead(c.leader)
			}
			heal := l.vnfcs(id, c.heal...)
			before := l.outcome(id)
			vim, err := l.VIMs().Get(t.Context(), kubeadm.VIMID(id))
			if err != nil {
				t.Fatal(err)
			}
			l.isolate(c.heal...)
			l.stop(c.dead...)
			l.must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: heal}))
			l.want(count{3, 2, 0})
			l.wantMembers("masterNode-0", "masterNode-1", "masterNode-2")
			if diff := cmp.Diff(before, l.outcome(id)); diff != "" {
				t.Errorf("another end than before:\n%s", diff)
			}
			if moved := l.reported("moving leadership"); moved != c.moved {
				t.Errorf("leadership was moved: %v", moved)
			}
			if strings.Contains(l.log.String(), "could not be moved") && len(c.dead) == 0 {
				t.Error("it could not be moved")
			}
			if now, err := l.VIMs().Get(t.Context(), kubeadm.VIMID(id)); err != nil || now.VimID != vim.VimID {
				t.Errorf("%+v, %v", now, err)
			}
			// The next heal finds a cluster like any other.
			l.must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "masterNode-1")}))
			l.wantMembers("masterNode-0", "masterNode-1", "masterNode-2")
		})
	}
}

// TestHealWithoutQuorum: nothing is touched, and the error says what to do. What it asks for helps.
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
			id := l.cluster("instantiate_sandbox.json", sized("complex", 0))
			heal := l.vnfcs(id, c.heal...)
			l.isolate(c.heal...)
			l.stop(c.dead...)
			members := l.world.EtcdMembers()
			ran := map[string]int{}
			for _, h := range l.world.Hosts() {
				ran[h.Name()] = len(h.Commands())
			}
			opID, err := l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: heal})
			err = l.fails(opID, err)
			refused, _ := errors.AsType[*etcd.QuorumError](err)
			if refused == nil || !errors.Is(err, etcd.ErrQuorum) || !strings.Contains(err.Error(), c.remedy) {
				t.Fatalf("%v", err)
			}
			got := etcd.QuorumError{Voters: refused.Voters, Healthy: refused.Healthy, Needed: refused.Needed, Lost: refused.Lost}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(members, l.world.EtcdMembers(), cmp.Comparer(func(a, b sandbox.EtcdMember) bool { return a == b })); diff != "" {
				t.Errorf("members changed:\n%s", diff)
			}
			for _, h := range l.world.Hosts() {
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
			l.must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{}))
			l.wantMembers("masterNode-0", "masterNode-1", "masterNode-2")
		})
	}
}

// TestHealRefused: what can never be, whatever the state of the machines.
func TestHealRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	id := l.cluster("instantiate_sandbox.json", sized("complex", 0))
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
