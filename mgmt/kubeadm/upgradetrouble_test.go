package kubeadm_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const toNext = `{"kubernetes_version":"1.36.3"}`

// ofThree returns a lab with a cluster of three control-plane nodes and two workers.
func ofThree(t *testing.T, s setup) (l *lab, id string) {
	t.Helper()
	l = openLab(t, s)
	return l, l.Instantiated("instantiate_sandbox.json", append(virtual(t), clustertest.Sized("complex", 1), oldVersion(t))...)
}

// TestUpgradeRefusals checks that a faulty request to upgrade is refused before an operation begins.
func TestUpgradeRefusals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ patch, want string }{
		"downgrade":         {`{"kubernetes_version":"1.34.4"}`, `kubernetes_version: "1.34.4": is older than 1.35.4, which the cluster has: Kubernetes cannot be downgraded`},
		"older patch":       {`{"kubernetes_version":"1.35.3"}`, `kubernetes_version: "1.35.3": is older than 1.35.4`},
		"no version":        {`{"upgrade":{"max_unavailable":2}}`, "kubernetes_version: is required: the version that the cluster gets"},
		"unknown patch":     {`{"kubernetes_version":"1.39.0"}`, "upgrade.through: must have a version of 1.38: an upgrade leads through each minor version"},
		"through":           {`{"kubernetes_version":"1.37.2","upgrade":{"through":["1.35.6","1.36"]}}`, `upgrade.through[0]: "1.35.6": is not between 1.35.4 and 1.37.2`},
		"scope":             {`{"kubernetes_version":"1.36.3","upgrade":{"scope":"workers"}}`, `upgrade.scope: "workers": must be control-plane or nodes`},
		"scope and nodes":   {`{"kubernetes_version":"1.36.3","upgrade":{"scope":"control-plane","nodes":["x"]}}`, "upgrade.nodes: has no effect with the scope control-plane"},
		"nodes":             {`{"kubernetes_version":"1.36.3","upgrade":{"nodes":["x"]}}`, `upgrade.nodes[0]: "x": is neither the id nor the name of a VNFC with a node`},
		"pass over":         {`{"kubernetes_version":"1.36.3","upgrade":{"pass_over":["all"]}}`, `upgrade.pass_over[0]: "all": is no check: there are skew, api-servers`},
		"number":            {`{"kubernetes_version":"1.36.3","upgrade":{"max_unavailable":-1}}`, `upgrade.max_unavailable: "-1": must be 1 or more`},
		"installed":         {`{"kubernetes_version":"1.36.3","packages":{"source":"installed"}}`, `packages.source: "installed": leaves the driver no source of other packages`},
		"no upgrade at all": {`{"kubernetes_version":"1.36"}`, `kubernetes_version: "1.36": must be a full version`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{})
			id := l.Instantiated("instantiate_sandbox.json", oldVersion(t))
			_, err := l.Maintain(t.Context(), id, upgrading(t, c.patch))
			if _, refused := errors.AsType[*vnflcm.ParamError](err); !refused || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q is not in %v", c.want, err)
			}
		})
	}
	t.Run("script", func(t *testing.T) {
		t.Parallel()
		l := openLab(t, setup{})
		id := l.Instantiated("instantiate_script.json")
		if _, err := l.Maintain(t.Context(), id, upgrading(t, toNext)); !errors.Is(err, vnflcm.ErrNotSupported) || !strings.Contains(err.Error(), "the script of the package has made the cluster") {
			t.Errorf("%v", err)
		}
	})
}

// TestUpgradeChecks: what is wrong in the cluster is found before anything is changed, and can be passed over by name.
func TestUpgradeChecks(t *testing.T) {
	t.Parallel()
	l, id := ofThree(t, setup{})
	l.stop("masterNode-1", "workerNode-0")
	before := l.changes()
	opID, err := l.Maintain(t.Context(), id, upgrading(t, toNext))
	err = l.Fails(opID, err)
	for _, want := range []string{"the check api-servers: the API server of", "the check members: ", "the check nodes: ", "is not healthy", "is not Ready"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if diff := cmp.Diff(before, l.changes()); diff != "" {
		t.Errorf("the machines have changed:\n%s", diff)
	}
}

// changes returns the programs that have changed machines.
func (l *lab) changes() (out []string) {
	for _, h := range l.World.Hosts() {
		for _, r := range h.Commands() {
			if words := strings.Join(r.Argv, " "); !r.BuiltIn && (strings.HasPrefix(words, "kubeadm upgrade") || strings.HasPrefix(words, "systemctl") || strings.Contains(words, " install ") && !strings.Contains(words, "--simulate")) {
				out = append(out, h.Name()+" "+words)
			}
		}
	}
	return out
}

// fails fails an operation in FAILED_TEMP, so that another one can begin.
func (l *lab) fails(opID string) {
	l.t.Helper()
	if err := l.Fail(l.t.Context(), opID); err != nil {
		l.t.Fatal(err)
	}
}

// TestDeadWorker: a worker that ends in its turn stops the upgrade. Retry passes the worker over and names it; healing it brings it to the
// version of the cluster.
func TestDeadWorker(t *testing.T) {
	t.Parallel()
	l, id := ofThree(t, setup{driver: kubeadm.Config{Timeouts: kubeadm.Timeouts{Ready: 2 * time.Second}}})
	l.when(l.host("workerNode-0"), "kubeadm", "upgrade", func() { l.stop("workerNode-0") })
	opID, err := l.Maintain(t.Context(), id, upgrading(t, toNext))
	l.Fails(opID, err)
	l.Must(opID, l.Retry(t.Context(), opID))
	if !strings.Contains(l.Log(), "does not answer and is not upgraded: heal it") {
		t.Error("the log does not name the worker")
	}
	l.wantVersions(slices.Concat(all(3, 0, "1.36.3", "3.6.8"), []string{"workerNode-0: 1.35.4, cordoned", "workerNode-1: 1.36.3"}))
	l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "workerNode-0")}))
	l.wantVersions(all(3, 2, "1.36.3", "3.6.8"))
}

// TestHealWithinUpgrade: while the API servers have different versions, a lost node is replaced by one whose kubelet is not newer than any of
// them, no node is added, and the same request ends the upgrade.
func TestHealWithinUpgrade(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]string{"worker": "workerNode-0", "control-plane node": "masterNode-2", "upgraded control-plane node": "masterNode-0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, id := ofThree(t, setup{})
			occ := l.stopped(id, "begin-1.36.3", "masterNode-1")
			l.fails(occ)
			opID, err := l.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"})
			if err := l.Fails(opID, err); !strings.Contains(err.Error(), "the upgrade to Kubernetes 1.36.3 has not ended") {
				t.Errorf("scale-out: %v", err)
			}
			l.RollBack(opID)
			l.stop(lost)
			l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, lost)}))
			for _, line := range l.versions() {
				if !strings.Contains(line, ": 1.35.4") {
					t.Errorf("a kubelet is newer than an API server: %q", l.versions())
				}
			}
			l.upgrade(id, toNext)
			l.wantVersions(all(3, 2, "1.36.3", "3.6.8"))
		})
	}
}

// TestHealWithinUpgradeByRepository: each minor version has another repository, as on pkgs.k8s.io. A node that is healed before all API servers
// are new gets kubeadm from the new repository and its kubelet from the old one.
func TestHealWithinUpgradeByRepository(t *testing.T) {
	t.Parallel()
	const source = `"packages":{"source":"repository","repository_url":"https://pkgs.k8s.io/core:/stable:/v1.%d/deb/","repository_key_path":"Files/kubernetes/key"}`
	l := openLab(t, setup{pkg: mgmttest.Package(t, packageDir, map[string]string{"Files/kubernetes/key": armoredKey})})
	m := l.Process(l.machines("sudo rm /etc/apt/sources.list.d/kubernetes.list"))
	id := l.Created()
	opID, err := m.Instantiate(t.Context(), id, l.Request("instantiate_sandbox.json",
		append(virtual(t), clustertest.Sized("complex", 1), with(t, fmt.Sprintf(`{"kubernetes_version":"1.35.4",`+source+"}", 35)))...))
	l.Must(opID, err, m)
	request := fmt.Sprintf(`{"kubernetes_version":"1.36.3",`+source+`}`, 36)
	for range 2 { // the second request follows one that has not ended
		l.fails(l.stoppedBy(id, request, "begin-1.36.3", "masterNode-1"))
	}
	l.stop("workerNode-0")
	opID, err = m.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "workerNode-0")})
	l.Must(opID, err, m)
	l.upgrade(id, request)
	l.wantVersions(all(3, 2, "1.36.3", "3.6.8"))
	l.stop("workerNode-0")
	opID, err = m.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "workerNode-0")})
	l.Must(opID, err, m)
	for _, machine := range []string{"masterNode-0", "masterNode-1", "workerNode-0", "workerNode-1"} {
		if exists, err := afero.Exists(l.host(machine).FS(), "/etc/apt/sources.list.d/vnfkit-kubernetes-before.sources"); exists || err != nil {
			t.Errorf("after the upgrade %s has the repository of the version before: %v", machine, err)
		}
	}
}

// stopped begins an upgrade whose step fails, and returns the operation.
func (l *lab) stopped(id, step, machine string) string {
	l.t.Helper()
	return l.stoppedBy(id, toNext, step, machine)
}

func (l *lab) stoppedBy(id, patch, step, machine string) string {
	l.t.Helper()
	m := l.Process(func(c *vnflcm.Config) {
		c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, do func(context.Context) error) error {
			if s.Name == step && l.NameOf(s.On) == machine {
				return errors.New("stopped here")
			}
			return do(ctx)
		}
	})
	opID, err := m.Maintain(l.t.Context(), id, upgrading(l.t, patch))
	l.Fails(opID, err, m)
	return opID
}

// TestCancelledUpgrade: a graceful cancel stops the upgrade after the node at hand, which accepts pods again. The next request continues.
func TestCancelledUpgrade(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		machine, command string
		count            vnflcm.MachineCount
		want             []string
	}{
		"at a worker": {"workerNode-0", "kubeadm", vnflcm.MachineCount{Done: 4, Left: 1}, slices.Concat(all(3, 0, "1.36.3", "3.6.8"), []string{"workerNode-0: 1.36.3", "workerNode-1: 1.35.4"})},
		"at a control-plane node": {"masterNode-1", "kubeadm", vnflcm.MachineCount{Left: 5}, []string{"masterNode-0: 1.35.4, 1.36.3, 3.6.8", "masterNode-1: 1.35.4, 1.36.3, 3.6.8", "masterNode-2: 1.35.4, 1.35.4, 3.6.6",
			"workerNode-0: 1.35.4", "workerNode-1: 1.35.4"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, id := ofThree(t, setup{})
			var opID string
			begun := make(chan struct{})
			l.when(l.host(c.machine), c.command, "upgrade", func() {
				<-begun
				if err := l.Cancel(t.Context(), opID, vnflcm.CancelGraceful); err != nil {
					t.Error(err)
				}
			})
			var err error
			opID, err = l.Maintain(t.Context(), id, upgrading(t, toNext))
			close(begun)
			if err := l.Fails(opID, err); !errors.Is(err, vnflcm.ErrCancelled) {
				t.Errorf("%v", err)
			}
			l.wantVersions(c.want)
			l.fails(opID)
			l.wantCount(opID, c.count)
			l.upgrade(id, toNext)
			l.wantVersions(all(3, 2, "1.36.3", "3.6.8"))
		})
	}
}

// wantCount compares the count in the document of an upgrade.
func (l *lab) wantCount(opID string, want vnflcm.MachineCount) {
	l.t.Helper()
	occ, err := l.Operation(l.t.Context(), opID)
	if err != nil {
		l.t.Fatal(err)
	}
	if diff := cmp.Diff(&want, occ.Machines); diff != "" {
		l.t.Errorf("machines:\n%s", diff)
	}
}

// TestUpgradeUntil: the end of a window stops the upgrade after the node at hand, at the latest after the second one, and the next request
// continues.
func TestUpgradeUntil(t *testing.T) {
	t.Parallel()
	l, id := ofThree(t, setup{})
	request := upgrading(t, toNext)
	request.Until = time.Now().Add(10 * time.Second)
	ended := time.After(time.Until(request.Until))
	l.when(l.host("masterNode-1"), "kubeadm", "node", func() { <-ended })
	opID, err := l.Maintain(t.Context(), id, request)
	if err := l.Fails(opID, err); !errors.Is(err, vnflcm.ErrCancelled) || !strings.Contains(err.Error(), "until of the request has passed") {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff([]string{"masterNode-2: 1.35.4, 1.35.4, 3.6.6", "workerNode-0: 1.35.4", "workerNode-1: 1.35.4"}, l.versions()[2:]); diff != "" {
		t.Errorf("nodes that must not have been begun:\n%s", diff)
	}
	l.fails(opID)
	l.upgrade(id, toNext)
	l.wantVersions(all(3, 2, "1.36.3", "3.6.8"))
}

// TestCordonedByOthers: a node that was cordoned before the upgrade stays so.
func TestCordonedByOthers(t *testing.T) {
	t.Parallel()
	l, id := ofThree(t, setup{})
	l.cordon("workerNode-1")
	l.upgrade(id, toNext)
	want := all(3, 2, "1.36.3", "3.6.8")
	want[4] += ", cordoned"
	l.wantVersions(want)
}

// cordon drains a node as an administrator does.
func (l *lab) cordon(machine string) {
	l.t.Helper()
	for _, n := range l.World.Nodes() {
		if l.World.Host(n.Machine).Name() != machine {
			continue
		}
		argv := []string{"kubectl", "--kubeconfig", kubernetesDir + "admin.conf", "drain", n.Name, "--force", "--ignore-daemonsets", "--delete-emptydir-data"}
		if _, err := mgmttest.Run(l.t.Context(), l.host("masterNode-0"), sshexec.Command{Argv: argv, Root: true}); err != nil {
			l.t.Fatal(err)
		}
	}
}

// TestKubeadmEnded: kubeadm is killed while each static pod has no manifest. The next attempt puts the manifest back that kubeadm has moved
// away, and never takes a control-plane node for a worker.
func TestKubeadmEnded(t *testing.T) {
	t.Parallel()
	for _, machine := range []string{"masterNode-0", "masterNode-1"} {
		t.Run(machine, func(t *testing.T) {
			t.Parallel()
			l, id := ofThree(t, setup{})
			h := l.host(machine)
			var missing atomic.Pointer[string]
			l.World.OnRequest(func(id, method, path string) {
				pod := missing.Load()
				if method == http.MethodDelete && l.World.Host(id) == h && pod != nil && strings.HasPrefix(path, "/api/v1/namespaces/kube-system/pods/"+*pod+"-") {
					h.CutConnections()
				}
			})
			attempt := func() (string, error) { return l.Maintain(t.Context(), id, upgrading(t, toNext)) }
			var opID string
			for _, pod := range staticPods {
				missing.Store(&pod)
				var err error
				opID, err = attempt()
				l.Fails(opID, err)
				attempt = func() (string, error) { return opID, l.Retry(t.Context(), opID) }
				if exists, err := afero.Exists(h.FS(), kubernetesDir+"manifests/"+pod+".yaml"); exists || err != nil {
					t.Errorf("kubeadm was not ended without %s: %v, %v", pod, exists, err)
				}
			}
			missing.Store(nil)
			l.Must(attempt())
			l.wantVersions(all(3, 2, "1.36.3", "3.6.8"))
			if left, _ := afero.Glob(h.FS(), kubernetesDir+"tmp/*"); len(left) > 0 {
				t.Errorf("copies are left: %q", left)
			}
		})
	}
}

// TestUnavailable: as many workers are drained at the same time as the request says.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{sandbox: sandbox.Config{Takes: 20 * time.Millisecond}})
	id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 4), oldVersion(t))
	var mu sync.Mutex
	most := 0
	for _, h := range l.World.Hosts() {
		h.OnCommand(func(r sshtest.Record) {
			mu.Lock()
			defer mu.Unlock()
			cordoned := 0
			for _, n := range l.World.Nodes() {
				if n.Unschedulable {
					cordoned++
				}
			}
			most = max(most, cordoned)
		})
	}
	l.upgrade(id, `{"kubernetes_version":"1.36.3","upgrade":{"max_unavailable":2}}`)
	if most != 2 {
		t.Errorf("%d nodes were cordoned at the same time", most)
	}
	l.wantVersions(all(1, 5, "1.36.3", "3.6.8"))
}

// TestUpgradeBlocked: a disruption budget keeps a pod on its node. The node accepts pods again; with another drain_policy the upgrade ends.
func TestUpgradeBlocked(t *testing.T) {
	t.Parallel()
	l := openLab(t, shortDrain)
	id := l.guarded()
	opID, err := l.Maintain(t.Context(), id, upgrading(t, `{"kubernetes_version":"1.37.2"}`))
	if err := l.Fails(opID, err); !strings.Contains(err.Error(), "disruption budget all needs 2 healthy pods") {
		t.Errorf("%v", err)
	}
	for _, line := range l.versions() {
		if strings.Contains(line, "cordoned") {
			t.Errorf("a node is cordoned: %s", line)
		}
	}
	if !strings.Contains(l.Log(), "disruption budgets allow no eviction now, drain_policy decides when the turn of a node comes: default/all") {
		t.Error("the log does not warn of the budget")
	}
	l.fails(opID)
	l.upgrade(id, `{"kubernetes_version":"1.37.2","drain_policy":"Delete"}`)
	l.wantVersions(all(1, 2, "1.37.2", "3.7.0"))
}
