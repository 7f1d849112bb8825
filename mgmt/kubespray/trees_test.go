package kubespray_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubespray"
	"github.com/vnfkit/vnfkit/mgmt/kubespray/ansible"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// onCluster returns a Manager that calls fn once, before the playbook that creates the cluster.
func (l *lab) onCluster(fn func()) *vnflcm.Manager {
	var once sync.Once
	return l.Process(func(c *vnflcm.Config) {
		observe := c.Observe
		c.Observe = func(e vnflcm.Event) {
			observe(e)
			if e.Kind == vnflcm.StepStarted && e.Name == "cluster" {
				once.Do(fn)
			}
		}
	})
}

// TestGroups: old releases of kubespray have other names for the groups, and a request may choose them, too.
func TestGroups(t *testing.T) {
	t.Parallel()
	old := func(s *sandbox.AnsibleServer) { s.Kubespray, s.Version = "2.15.1", "2.10.17" }
	for name, c := range map[string]struct {
		server func(*sandbox.AnsibleServer)
		groups string
		legacy bool
	}{
		"old release":              {old, "auto", true},
		"asked for":                {nil, "legacy", true},
		"new names asked for":      {nil, "current", false},
		"by the release, as usual": {nil, "auto", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{server: c.server})
			id := l.Instantiated(sample, clustertest.Sized("simple", 0), with(t, `{"kubespray_groups":"`+c.groups+`"}`))
			l.scaleOut(id)
			l.WantNodes(1, 2, 0)
			hosts := read(t, l.server(), inventory+"/hosts.ini")
			if strings.Contains(hosts, "[kube-node]") != c.legacy || strings.Contains(hosts, "[kube_node]") == c.legacy {
				t.Errorf("the groups are\n%s", hosts)
			}
			l.Must(l.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance"}))
			l.WantNodes(1, 1, 0)
		})
	}
}

// TestHostKeysCount checks that Ansible does not log in to a node whose host key differs from the recorded one, whatever
// ansible.cfg says.
func TestHostKeysCount(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]func(*sandbox.AnsibleServer){
		"2.23": nil,
		"2.31": func(s *sandbox.AnsibleServer) { s.Kubespray, s.Version = "2.31.0", "2.18.6" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{server: server})
			if config := read(t, l.server(), root+"/ansible.cfg"); !strings.Contains(config, "host_key_checking = False") {
				t.Fatalf("the tree does not weaken anything:\n%s", config)
			}
			l.Instantiated(sample)
			other := openLab(t, setup{server: server})
			m := other.onCluster(func() {
				if err := other.World.Host("workerNode-0").ReplaceHostKey(); err != nil {
					t.Error(err)
				}
			})
			opID, err := m.Instantiate(t.Context(), other.Created(), other.Request(sample))
			err = other.Fails(opID, err, m)
			failed, is := errors.AsType[*ansible.Error](err)
			if !is || len(failed.Failures) != 1 || failed.Failures[0].Kind != ansible.Unreachable || !strings.Contains(err.Error(), "worker-198-18-") ||
				!strings.Contains(err.Error(), "Host key verification failed") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// TestOwnServer: if the VNFM has an Ansible server, requests need not name one.
func TestOwnServer(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	pool := sshexec.NewPool(sshexec.Options{Dial: l.World.Dial})
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	keys, err := sshexec.PinnedHostKeys(l.server().PublicKey())
	if err != nil {
		t.Fatal(err)
	}
	l.driver.Server = &kubespray.Server{Root: root, Server: ansible.Server{Host: pool.Host(sshexec.Target{
		ID: "own", Name: "Ansible server", Addr: serverAddress.String() + ":22", User: "ansible", Auth: []sshexec.Auth{sshexec.Password(serverPassword)},
		HostKeys: keys})}}
	l.Manager = l.Process()
	before := files(t, l.server())
	_, _, err = l.Begin(sample, with(t, `{"ansible":{"ip_address":null,"username":"root"}}`))
	if !strings.Contains(err.Error(), "without it the Ansible server of the VNFM is used") {
		t.Errorf("the error is %v", err)
	}
	id := l.Instantiated(sample, clustertest.Sized("simple", 0), with(t, `{"ansible":null}`))
	l.scaleOut(id)
	l.WantNodes(1, 2, 0)
	l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{}))
	l.WantNodes(1, 2, 0)
	l.Must(l.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	sameFiles(t, before, files(t, l.server()))
}
