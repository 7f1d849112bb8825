package kubeadm_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// running returns how many programs are running on the machines.
func (l *lab) running() (n int) {
	for _, h := range l.World.Hosts() {
		for _, r := range h.Commands() {
			if r.End.IsZero() {
				n++
			}
		}
	}
	return n
}

// watchHosts calls do once, when a program with this name and argument begins on a machine. The machine may not exist yet.
func (l *lab) watchHosts(name, program, arg string, do func()) func(*vnflcm.Config) {
	return func(c *vnflcm.Config) {
		var begun atomic.Bool
		c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			if strings.Contains(s.Phase, "_") && l.World.Host(name) != nil && begun.CompareAndSwap(false, true) {
				l.when(l.World.Host(name), program, arg, do)
			}
			return next(ctx)
		}
	}
}

// TestCancel cancels an operation while a slow program runs. No program continues, and Retry completes the operation.
func TestCancel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ host, program, arg string }{
		{"workerNode-0", "apt-get", "install"}, {"masterNode-0", "kubeadm", "init"}, {"workerNode-0", "kubeadm", "join"}, {"masterNode-1", "kubeadm", "join"},
	} {
		t.Run(c.program+" "+c.arg+" on "+c.host, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			l := openLab(t, setup{sandbox: sandbox.Config{Takes: 100 * time.Millisecond}})
			ids := make(chan string, 1)
			var m *vnflcm.Manager
			m = l.Process(l.watchHosts(c.host, c.program, c.arg, func() {
				if err := m.Cancel(ctx, <-ids, vnflcm.CancelForceful); err != nil { // the program is about to begin
					t.Error(err)
				}
			}))
			opID, err := m.Instantiate(ctx, l.Created(), l.Request("instantiate_sandbox.json", clustertest.Sized("complex", 0)))
			if err != nil {
				t.Fatal(err)
			}
			ids <- opID
			if err := l.Fails(opID, nil, m); !errors.Is(err, vnflcm.ErrCancelled) {
				t.Fatalf("the error is %v", err)
			}
			if n := l.running(); n != 0 {
				t.Errorf("%d programs still run", n)
			}
			if n := l.World.JoinTokens(); n > 1 || n == 1 && c.arg != "init" {
				t.Errorf("%d tokens are left", n) // resetting the machine ends the token of an interrupted init
			}
			l.Must(opID, m.Retry(ctx, opID), m)
			l.want(3, 1, 0)
			l.onlyOnce(nil)
		})
	}
}

// TestResetCutShort: the process died while it reset a machine on which a join had been cut short. kubeadm reset has ended, and etcd
// has left data, with which kubeadm join does not begin.
func TestResetCutShort(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	l := openLab(t, setup{sandbox: sandbox.Config{Takes: 100 * time.Millisecond}})
	ids := make(chan string, 1)
	var m *vnflcm.Manager
	m = l.Process(l.watchHosts("masterNode-1", "kubeadm", "join", func() {
		if err := m.Cancel(ctx, <-ids, vnflcm.CancelForceful); err != nil {
			t.Error(err)
		}
	}))
	opID, err := l.instantiateBy(m, clustertest.Sized("complex", 0))
	if err != nil {
		t.Fatal(err)
	}
	ids <- opID
	if err := l.Fails(opID, nil, m); !errors.Is(err, vnflcm.ErrCancelled) {
		t.Fatalf("the error is %v", err)
	}
	l.runRoot(l.host("masterNode-1"), "sh", "-c", "mkdir -p /etc/kubernetes && touch /etc/kubernetes/vnfkit-resetting && kubeadm reset --force && mkdir -p /var/lib/etcd && touch /var/lib/etcd/member")
	l.Must(opID, m.Retry(ctx, opID), m)
	l.want(3, 1, 0)
}

// TestRollbackInstantiate checks that rolling back a failed instantiation leaves nothing.
func TestRollbackInstantiate(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"prepare >&2", "init_cluster >&2", "\n  join_cluster >&2"} {
		t.Run(strings.TrimSpace(script), func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{pkg: packageWith(t, func(s string) string { return strings.Replace(s, script, script+"; exit 9", 1) })})
			id, opID, err := l.Begin("instantiate_script.json")
			l.Fails(opID, err)
			l.RollBack(opID)
			if n := len(l.World.Hosts()); n != 0 {
				t.Errorf("%d machines are left", n)
			}
			if err := l.Delete(t.Context(), id, ""); err != nil {
				t.Error(err)
			}
			if _, err := l.VIMs().Get(t.Context(), "", kubeadm.VIMID(id)); !errors.Is(err, vnflcm.ErrNotFound) {
				t.Errorf("the VIM entry: %v", err)
			}
			l.Forgotten()
		})
	}
}

// TestRollbackScaleOut: one new machine has joined, and another one could not. Rolling back removes both; the remaining
// nodes are unchanged.
func TestRollbackScaleOut(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 1))
	before, files := l.outcome(id), l.World.Nodes()
	broken := l.Process(l.watchHosts("workerNode-3", "kubeadm", "join", func() {
		if err := l.World.Stop("workerNode-3"); err != nil {
			t.Error(err)
		}
	}))
	opID, err := broken.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance", NumberOfSteps: 2})
	if err := l.Fails(opID, err, broken); !strings.Contains(err.Error(), "worker-") {
		t.Fatalf("the error names no machine: %v", err)
	}
	if err := broken.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.RollBack(opID)
	if diff := cmp.Diff(before, l.outcome(id)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(files, l.World.Nodes(), cmp.Comparer(func(a, b sandbox.Node) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"masterNode-0", "workerNode-0", "workerNode-1"} {
		for _, r := range l.host(name).Commands() {
			if r.Argv[0] == "kubeadm" && slices.Contains(r.Argv, "reset") {
				t.Errorf("%s was reset", name)
			}
		}
	}
}

// TestHostNeverBoots checks that the error names the machine and the last reason why it could not be reached, and that the
// operation can be retried.
func TestHostNeverBoots(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{sandbox: sandbox.Config{Boot: time.Hour}, driver: kubeadm.Config{Timeouts: kubeadm.Timeouts{Boot: 2 * time.Second}}})
	_, opID, err := l.Begin("instantiate_sandbox.json")
	err = l.Fails(opID, err)
	for _, want := range []string{"worker-198-18-1-11", "master-198-18-0-10", "no success within 2s", "reach"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if !errors.Is(err, sshexec.ErrConnect) {
		t.Errorf("%v", err)
	}
	for _, h := range l.World.Hosts() {
		h.Refuse(false)
	}
	l.driver.Timeouts.Boot = 0
	m := l.Process()
	l.Must(opID, m.Retry(t.Context(), opID), m)
	l.want(1, 1, 0)
}

// TestControlPlaneNodeBootsLate: the join of one control-plane node does not contact another one that is still starting. In a heal of the whole
// VNF a node joins before all machines have been checked.
func TestControlPlaneNodeBootsLate(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("complex", 0))
	node := func(i int) string { // the driver initialises the node that is replaced first
		nodes := slices.DeleteFunc(l.VNFCs(id), func(v vnflcm.VnfcResourceInfo) bool { return v.VduID != "masterNode" })
		return nodes[i].ID
	}
	late := make(chan *sshtest.Host, 1)
	m := l.Process(func(c *vnflcm.Config) {
		c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			switch at := s.Phase + "/" + s.Name; {
			case at == "heal_end/reach" && s.On == node(2):
				h := l.World.Host(s.Host)
				h.Refuse(true)
				late <- h
			case at == "heal_end/join" && s.On == node(1):
				defer func() { (<-late).Refuse(false) }()
			}
			return next(ctx)
		}
	})
	opID, err := m.Heal(t.Context(), id, wholeHeal)
	l.Must(opID, err, m)
	l.want(3, 1, 0)
}

// TestNodeDies kills a machine during its join.
func TestNodeDies(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	m := l.Process(l.watchHosts("workerNode-1", "kubeadm", "join", func() {
		if err := l.World.Stop("workerNode-1"); err != nil {
			t.Error(err)
		}
	}))
	opID, err := m.Instantiate(t.Context(), l.Created(), l.Request("instantiate_sandbox.json", clustertest.Sized("simple", 2)))
	err = l.Fails(opID, err, m)
	if !errors.Is(err, sshexec.ErrDisconnected) || !strings.Contains(err.Error(), "worker-198-18-2-12") {
		t.Errorf("the error is %v", err)
	}
	// The other nodes did not wait for the dead one.
	l.WantNodes(1, 2, 0)
	l.noTokens()
}

// TestWorkerNeverReady checks that the error names the node and the reason why it is not Ready.
func TestWorkerNeverReady(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{driver: kubeadm.Config{Timeouts: kubeadm.Timeouts{Ready: 2 * time.Second}},
		pkg: mgmttest.Package(t, packageDir, noNetwork)})
	_, opID, err := l.Begin("instantiate_sandbox.json")
	err = l.Fails(opID, err)
	for _, want := range []string{"waiting for all nodes to be Ready", "workerNode-0 (worker-198-18-1-11, 198.18.1.11, ", ") is not Ready: container runtime network not ready", "no success within 2s"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if !slices.ContainsFunc(l.Events(), func(e vnflcm.Event) bool {
		return e.Kind == vnflcm.StepProgress && strings.HasPrefix(e.Message, "0 of 2 nodes are Ready; masterNode-0 (")
	}) {
		t.Error("no event says what it waits for")
	}
}

// TestJoinFails checks that the error has kubeadm's reason and not the token, and that a retry succeeds after the clock has
// been corrected.
func TestJoinFails(t *testing.T) {
	t.Parallel()
	var late atomic.Bool // the clock of the cluster is a day ahead, so tokens have expired when nodes use them
	now := func() time.Time {
		if late.Load() {
			return time.Now().Add(24 * time.Hour)
		}
		return time.Now()
	}
	l := openLab(t, setup{sandbox: sandbox.Config{Now: now}})
	m := l.Process(l.watchHosts("workerNode-0", "kubeadm", "join", func() { late.Store(true) }))
	opID, err := m.Instantiate(t.Context(), l.Created(), l.Request("instantiate_sandbox.json"))
	err = l.Fails(opID, err, m)
	exit, ok := errors.AsType[*sshexec.ExitError](err)
	if !ok || exit.Host != "workerNode-0" || !strings.Contains(exit.Stderr, "could not find a JWS signature in the cluster-info ConfigMap") {
		t.Fatalf("the error is %v", err)
	}
	if bootstrapToken.MatchString(err.Error() + exit.Stderr + l.Log()) {
		t.Errorf("a token is told: %v", err)
	}
	late.Store(false)
	l.Must(opID, m.Retry(t.Context(), opID), m)
	l.want(1, 1, 0)
}

// TestHealOneOfTwoDead: another dead machine does not block healing the first one.
func TestHealOneOfTwoDead(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 2))
	for _, name := range []string{"workerNode-0", "workerNode-2"} {
		if err := l.World.Stop(name); err != nil {
			t.Fatal(err)
		}
	}
	for _, dead := range []string{"workerNode-0", "workerNode-2"} {
		for _, v := range l.VNFCs(id) {
			if h := l.World.Host(v.ComputeResource.ResourceID); h != nil && h.Name() == dead {
				l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{v.ID}}))
			}
		}
	}
	l.want(1, 3, 0)
}

// TestParallel: with 3+6 nodes, all nodes are prepared at once, and all workers join at once.
func TestParallel(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // a busy machine may need one
	defer cancel()
	installing, joining := meeting{size: 9}, meeting{size: 6}
	begins := func(h *sshtest.Host) func(sshtest.Record) {
		return func(r sshtest.Record) {
			met := true
			switch {
			case r.BuiltIn:
			case r.Argv[0] == "apt-get" && slices.Contains(r.Argv, "install") && !slices.Contains(r.Argv, "--simulate"):
				met = installing.attend(ctx)
			case r.Argv[0] == "kubeadm" && r.Argv[1] == "join" && strings.HasPrefix(h.Name(), "worker"):
				met = joining.attend(ctx)
			}
			if !met {
				t.Errorf("%s on %s waited in vain for the other nodes", r.Argv[0], h.Name())
			}
		}
	}
	var once sync.Once
	m := l.Process(func(c *vnflcm.Config) {
		c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			if s.Phase == "instantiate_end" {
				once.Do(func() {
					for _, h := range l.World.Hosts() {
						h.OnCommand(begins(h))
					}
				})
			}
			return next(ctx)
		}
	})
	opID, err := m.Instantiate(t.Context(), l.Created(), l.Request("instantiate_sandbox.json", clustertest.Sized("complex", 5)))
	l.Must(opID, err, m)
	l.want(3, 6, 0)
	if installing.came.Load() != 9 || joining.came.Load() != 6 {
		t.Errorf("%d installations and %d joins", installing.came.Load(), joining.came.Load())
	}
}

// meeting is where programs wait until a number of them have begun.
type meeting struct {
	size int32
	came atomic.Int32
}

// attend waits for the whole meeting, and reports whether it met before the context ended.
func (m *meeting) attend(ctx context.Context) bool {
	m.came.Add(1)
	for m.came.Load() < m.size {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(time.Millisecond):
		}
	}
	return true
}

// TestNoEndpoint: no machine has the connection point of the API. The operation fails after the machines have been created
// and before any program runs on them.
func TestNoEndpoint(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	opID, err := l.Instantiate(t.Context(), l.Created(), l.Request("instantiate_complex.json", with(t, `{"master_node":{"cluster_cp_name":"other_CP"}}`)))
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Wait(t.Context(), opID)
	const want = `master_node.cluster_cp_name: "other_CP": neither the VNF nor its first control-plane node has an address`
	if !errors.Is(err, vnflcm.ErrInvalidRequest) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
	for _, h := range l.World.Hosts() {
		if ran := h.Commands(); len(ran) > 0 {
			t.Errorf("%s: %q ran", h.Name(), ran[0].Argv)
		}
	}
}
