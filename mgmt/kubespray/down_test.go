package kubespray_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// stopKubelet ends the kubelet of a worker. Its machine lets the driver and Ansible log in.
func (l *lab) stopKubelet(machine string) {
	l.t.Helper()
	host := l.World.Host(machine)
	keys, err := sshexec.PinnedHostKeys(host.PublicKey())
	if err != nil {
		l.t.Fatal(err)
	}
	pool := sshexec.NewPool(sshexec.Options{})
	ssh := pool.Host(sshexec.Target{Addr: host.Addr(), User: "ubuntu", Auth: []sshexec.Auth{sshexec.Password("ubuntu")}, HostKeys: keys})
	if err := ssh.Exec(l.t.Context(), sshexec.Command{Argv: []string{"sudo", "systemctl", "stop", "kubelet"}}); err != nil {
		l.t.Fatal(err)
	}
	if err := pool.Close(); err != nil {
		l.t.Fatal(err)
	}
}

// listed reports whether the inventory on the Ansible server has a node.
func (l *lab) listed(node string) bool {
	l.t.Helper()
	return strings.Contains(files(l.t, l.server())[inventory+"/hosts.ini"], node+" ansible_host=")
}

// TestDownWorker: a worker that is down is left out of the playbooks until it is healed, so that the remaining workers can be scaled
// and healed.
func TestDownWorker(t *testing.T) {
	t.Parallel()
	scale := func(kind vnflcm.ScaleType) func(*lab, string) (string, error) {
		return func(l *lab, id string) (string, error) {
			return l.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: kind, AspectID: "worker_instance"})
		}
	}
	healLast := func(l *lab, id string) (string, error) {
		workers := l.vnfcs(id, "workerNode")
		return l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{workers[len(workers)-1].ID}})
	}
	dead := func(l *lab, machine string) {
		if err := l.World.Stop(machine); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name    string
		down    func(*lab, string)
		machine string
		begin   func(*lab, string) (string, error)
		workers int
		left    bool // the worker that is down is left
	}{
		{"scale-out beside a dead one", dead, "workerNode-0", scale(vnflcm.ScaleOut), 4, true},
		{"scale-in beside a dead one", dead, "workerNode-0", scale(vnflcm.ScaleIn), 2, true},
		{"heal beside a dead one", dead, "workerNode-0", healLast, 3, true},
		{"scale-out beside one without kubelet", (*lab).stopKubelet, "workerNode-0", scale(vnflcm.ScaleOut), 4, true},
		{"scale-in of one without kubelet", (*lab).stopKubelet, "workerNode-2", scale(vnflcm.ScaleIn), 2, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			id := l.Instantiated(sample, clustertest.Sized("simple", 2))
			workers := l.vnfcs(id, "workerNode")
			down := workers[slices.IndexFunc(workers, func(v vnflcm.VnfcResourceInfo) bool { return l.NameOf(v.ID) == c.machine })]
			node := ""
			for _, n := range l.World.Nodes() {
				if n.Machine == down.ComputeResource.ResourceID {
					node = n.Name
				}
			}
			c.down(l, c.machine)
			l.WantNodes(1, 3, 1)
			l.Must(c.begin(l, id))
			if !c.left {
				l.WantNodes(1, c.workers, 0)
				return
			}
			l.WantNodes(1, c.workers, 1)
			if l.listed(node) || !strings.Contains(l.Log(), "a worker is left out of the playbooks") {
				t.Errorf("%s is in the inventory, or the log does not say that it is left out", node)
			}
			l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{down.ID}}))
			l.WantNodes(1, c.workers, 0)
			if !l.listed(node) {
				t.Errorf("%s is not in the inventory after it is healed", node)
			}
		})
	}
}
