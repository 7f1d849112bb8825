package kubeadm_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/crashtest"
)

// scenario is an operation on a small cluster.
type scenario struct {
	name    string
	running bool // the operation needs a running cluster
	begin   func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error)
	flavour string   // of the running cluster; default simple
	only    []string // names of steps that are cut; default all
	but     []string // steps that are not cut; "name/machine": on this machine only
	variant bool     // another scenario has the same operation: runs with VNFKIT_FULL only
	saves   bool     // the composition keeps snapshots
	// restores: there is a snapshot
	restores bool
}

// preparation are the steps that prepare a new machine. Their code depends on this machine only, so two scenarios cut them:
// "instantiate", on a control-plane node of a new cluster, and "scale out", on a worker of a running one. The other
// scenarios run them without cuts.
var preparation = []string{"reach", "preflight", "platform", "package-sources", "hostname", "system", "packages", "runtime", "images"}

// on returns the names of steps, limited to one machine.
func on(machine string, names []string) (out []string) {
	for _, name := range names {
		out = append(out, name+"/"+machine)
	}
	return out
}

var scenarios = []scenario{
	{name: "instantiate", begin: func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error) {
		return m.Instantiate(ctx, id, l.Request("instantiate_sandbox.json"))
	}, but: on("workerNode-0", preparation)},
	{name: "instantiate behind a virtual address", begin: func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error) {
		return m.Instantiate(ctx, id, l.Request("instantiate_sandbox.json", virtual(l.t)...))
	}, only: []string{"load-balancer", "init", "join"}, variant: true},
	{name: "instantiate three control-plane nodes", begin: func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error) {
		return m.Instantiate(ctx, id, l.Request("instantiate_sandbox.json", clustertest.Sized("complex", 0)))
	}, only: []string{"join"}, variant: true},
	{name: "scale out", running: true, begin: func(ctx context.Context, m *vnflcm.Manager, _ *lab, id string) (string, error) {
		return m.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"})
	}},
	{name: "scale in", running: true, begin: func(ctx context.Context, m *vnflcm.Manager, _ *lab, id string) (string, error) {
		return m.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance"})
	}},
	{name: "scale the control plane out", running: true, begin: func(ctx context.Context, m *vnflcm.Manager, _ *lab, id string) (string, error) {
		return m.Scale(ctx, id, masters(vnflcm.ScaleOut, 1))
	}, flavour: "complex", only: []string{"names", "peers", "join", "members"}}, // the other steps are cut in "scale out" and "heal a control-plane node"
	{name: "scale the control plane in", running: true, begin: func(ctx context.Context, m *vnflcm.Manager, _ *lab, id string) (string, error) {
		return m.Scale(ctx, id, masters(vnflcm.ScaleIn, 1))
	}, flavour: "complex", saves: true},
	{name: "heal a worker", running: true, begin: func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error) {
		worker := l.worker(id)
		if err := l.World.Partition(worker.ComputeResource.ResourceID); err != nil {
			return "", err
		}
		return m.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{worker.ID}})
	}, but: preparation, variant: true},
	{name: "heal a control-plane node", running: true, begin: func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error) {
		if err := l.World.Stop("masterNode-0"); err != nil {
			return "", err
		}
		return m.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "masterNode-0")})
	}, flavour: "complex", but: append([]string{"hosts"}, preparation...)}, // the hosts files of other machines are cut in "heal a worker"
	{name: "heal two control-plane nodes and a worker", running: true, begin: func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error) {
		if err := l.World.Stop("masterNode-2"); err != nil {
			return "", err
		}
		return m.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "masterNode-1", "masterNode-2", "workerNode-0")})
	}, flavour: "complex", only: []string{"remove-member", "join", "members"}, variant: true}, // steps that depend on the number of targets
	{name: "heal a live control-plane node", running: true, begin: func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error) {
		return m.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "masterNode-1")})
	}, flavour: "complex", only: []string{"record-node", "move-leader", "drain", "detach", "remove-member"}}, // steps whose order differs from that of a dead node
	{name: "heal the whole VNF", running: true, begin: func(ctx context.Context, m *vnflcm.Manager, _ *lab, id string) (string, error) {
		return m.Heal(ctx, id, wholeHeal)
	}, but: append([]string{"replace-vm", "hosts"}, preparation...)}, // replace-vm and hosts are cut in "heal a worker", the preparation in "instantiate"
	{name: "renew certificates", running: true, begin: func(ctx context.Context, m *vnflcm.Manager, _ *lab, id string) (string, error) {
		return m.Maintain(ctx, id, renewal)
	}, flavour: "complex"},
	{name: "renew certificates that have ended", running: true, begin: func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error) {
		l.endKubelets("masterNode-0", "masterNode-1", "masterNode-2", "workerNode-0")
		l.end("masterNode-0", "masterNode-1", "masterNode-2")
		return m.Maintain(ctx, id, renewal)
	}, flavour: "complex", only: []string{"renew-kubelet", "renew-ended", "start-etcd", "await-etcd", "start-api-server"}}, // the other steps are cut in "renew certificates"
	{name: "upgrade", running: true, begin: func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error) {
		return m.Maintain(ctx, id, upgrading(l.t, `{"kubernetes_version":"1.36.3"}`))
	}, flavour: "complex"},
	{name: "upgrade over two minor versions", running: true, begin: func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error) {
		return m.Maintain(ctx, id, upgrading(l.t, `{"kubernetes_version":"1.37.2"}`))
	}, flavour: "complex", only: []string{"etcd-first-1.37.2", "control-plane-1.37.2"}}, // the other steps are cut in "upgrade"
	{name: "stop", running: true, begin: func(ctx context.Context, m *vnflcm.Manager, _ *lab, id string) (string, error) {
		return m.Operate(ctx, id, gently)
	}, only: []string{"drain"}, variant: true},
	{name: "start", running: true, begin: func(ctx context.Context, m *vnflcm.Manager, _ *lab, id string) (string, error) {
		opID, err := m.Operate(ctx, id, gently)
		if err == nil {
			_, err = m.Wait(ctx, opID)
		}
		if err != nil {
			return "", err
		}
		return m.Operate(ctx, id, vnflcm.OperateVnfRequest{ChangeStateTo: vnflcm.VnfStarted})
	}, only: []string{"reach", "ready", "uncordon"}},
	{name: "snapshot", running: true, begin: func(ctx context.Context, m *vnflcm.Manager, _ *lab, id string) (string, error) {
		info, err := m.CreateSnapshotInfo(ctx, vnflcm.CreateVnfSnapshotInfoRequest{})
		if err != nil {
			return "", err
		}
		return m.CreateSnapshot(ctx, id, vnflcm.CreateVnfSnapshotRequest{VnfSnapshotInfoID: info.ID})
	}, flavour: "complex", saves: true},
	{name: "heal a control-plane node after a snapshot", running: true, begin: func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error) {
		return m.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "masterNode-1")})
	}, flavour: "complex", only: []string{"snapshot"}, variant: true, saves: true},
	{name: "terminate", running: true, begin: func(ctx context.Context, m *vnflcm.Manager, _ *lab, id string) (string, error) {
		return m.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
	}},
}

// prepared is the state in which all cases of a scenario begin. Each scenario creates it once.
type prepared struct {
	from     *mgmttest.Snapshot // nil: an empty world
	instance string
	setup    *setup     // of the empty world, and the package; nil: the defaults
	check    func(*lab) // checks the end, in addition to the outcome
	onboard  string     // another package that the labs know
}

// size returns the changes for the size of the running cluster, and for its version if it is upgraded. Several control-plane nodes share
// a virtual address.
func (s scenario) size(t *testing.T) (changes []mgmttest.Change) {
	if strings.HasPrefix(s.name, "upgrade") {
		changes = append(changes, oldVersion(t))
	}
	if s.flavour == "complex" {
		return append(append(changes, virtual(t)...), clustertest.Sized("complex", 1))
	}
	return append(changes, clustertest.Sized("simple", 1))
}

// prepare creates a cluster of one control-plane node (flavour simple) and two workers, if the scenario needs one. kept keeps snapshots if the
// scenario takes some.
func (s scenario) prepare(t *testing.T, kept vnflcm.Snapshots) prepared {
	t.Helper()
	if !s.running {
		return prepared{}
	}
	of := setup{sandbox: sandbox.Config{Takes: takes}}
	if s.saves {
		of.snapshots = kept
	}
	l := openLab(t, of)
	id := l.Instantiated("instantiate_sandbox.json", s.size(t)...)
	l.RunStatefulSet(kubeadm.VIMID(id), 2)
	if s.restores {
		l.saved(id)
	}
	return prepared{instance: id, from: l.Snapshot(), setup: &of}
}

// open returns a separate lab that begins with the prepared state.
func (p prepared) open(t *testing.T) (l *lab, instance string) {
	t.Helper()
	of := setup{sandbox: sandbox.Config{Takes: takes}}
	if p.setup != nil {
		of = *p.setup
	}
	of.from = p.from
	l = openLab(t, of)
	if p.onboard != "" {
		l.Onboard(p.onboard)
	}
	if p.from == nil {
		return l, l.Created()
	}
	return l, p.instance
}

// outcome is the end state in terms that are the same in every run.
type outcome struct {
	Nodes     []string // machine, role, readiness
	Etcd      []string // machine, whether its member votes and is healthy
	Versions  []string // machine: versions on it
	Renewed   []string // machine, static pod: whether its manifest was changed by a renewal
	HostFiles []string // machine: the machines that its hosts file names
	Instance  vnflcm.InstantiationState
	VIMs      int
	Records   map[string]int
	Tokens    int
}

func (l *lab) outcome(id string) outcome {
	l.t.Helper()
	ctx := l.t.Context()
	out := outcome{Records: l.Counted(), Tokens: l.World.JoinTokens()}
	byAddr := map[string]string{}
	for _, n := range l.World.Nodes() {
		name := l.World.Host(n.Machine).Name()
		byAddr[n.Address.String()] = name
		out.Nodes = append(out.Nodes, fmt.Sprint(name, " control plane:", n.ControlPlane, " ready:", n.Ready, " cordoned:", n.Unschedulable))
	}
	slices.Sort(out.Nodes)
	for _, m := range l.World.EtcdMembers() {
		out.Etcd = append(out.Etcd, fmt.Sprint(byAddr[m.Address.String()], " learner:", m.Learner, " alive:", m.Alive))
	}
	slices.Sort(out.Etcd)
	for _, h := range l.World.Hosts() {
		out.HostFiles = append(out.HostFiles, h.Name()+": "+strings.Join(knownHosts(l.t, h, byAddr), " "))
	}
	slices.Sort(out.HostFiles)
	out.Renewed, out.Versions = l.renewed(), l.versions()
	inst, err := l.Get(ctx, id)
	if err != nil {
		l.t.Fatal(err)
	}
	out.Instance, out.VIMs = inst.InstantiationState, len(inst.VimConnectionInfo)
	return out
}

func knownHosts(t testing.TB, h *sshtest.Host, byAddr map[string]string) []string {
	t.Helper()
	data, err := afero.ReadFile(h.FS(), "/etc/hosts")
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for line := range strings.Lines(string(data)) {
		addr, _, _ := strings.Cut(line, " ")
		if name := byAddr[addr]; name != "" {
			known = append(known, name)
		}
	}
	slices.Sort(known)
	return known
}

// doomed returns a process that dies at a point of a step. All of its connections are cut, as at the end of a real process.
func (l *lab) doomed(step string, point crashtest.Point) *crashtest.Process {
	return l.dying(crashtest.Death{Step: func(s vnflcm.StepInfo) bool { return l.stepName(s) == step }, Point: point})
}

// dying returns a process that dies as d says.
func (l *lab) dying(d crashtest.Death) *crashtest.Process {
	d.Inside = func(s vnflcm.StepInfo, die func()) (undo func()) {
		hosts := l.World.Hosts()
		for _, h := range hosts {
			h.OnCommand(inTheMiddle(die))
		}
		// Die before the API answers a request other than /readyz, unless the step sends no other.
		l.World.OnRequest(func(_, _, path string) {
			if path != "/readyz" || s.Name == "cluster" {
				die()
			}
		})
		return func() {
			for _, h := range hosts {
				h.OnCommand(nil)
			}
			l.World.OnRequest(nil)
		}
	}
	d.End = func() {
		for _, h := range l.World.Hosts() {
			h.CutConnections()
		}
	}
	return crashtest.New(d)
}

// inTheMiddle returns a command hook that calls die while a slow program runs, or before another program.
func inTheMiddle(die func()) func(sshtest.Record) {
	return func(r sshtest.Record) {
		slow := slices.Contains([]string{"init", "join", "install", "upgrade"}, slices.Concat(r.Argv, []string{"", ""})[1])
		switch {
		case slow && !r.BuiltIn:
			time.AfterFunc(takes/2, die)
		case !r.BuiltIn || r.Argv[0] == "mv": // uploads end with mv
			die()
		}
	}
}

// takes is how long simulated slow programs take: long enough for the process to die meanwhile.
const takes = 10 * time.Millisecond

// stepName returns the name of a step in terms that are the same in every run.
func (l *lab) stepName(s vnflcm.StepInfo) string {
	name := s.Name
	if strings.HasPrefix(name, "balance-") {
		name = "balance" // the rest of the name is a hash of resource ids, which differ in every run; the step occurs once in a phase
	}
	return s.Phase + "/" + name + "/" + l.NameOf(s.On)
}

// undisturbed runs the scenario to its end without a crash, and returns its steps in the order in which they began.
func (s scenario) undisturbed(t *testing.T, p prepared) (steps []string, want outcome) {
	t.Helper()
	l, id := p.open(t)
	recorded := new(crashtest.Steps)
	m := l.Process(recorded.Record)
	opID, err := s.begin(t.Context(), m, l, id)
	l.Must(opID, err, m)
	for _, info := range recorded.List() {
		steps = append(steps, l.stepName(info))
	}
	return steps, l.outcome(id)
}

// firstOf returns the first step of each phase, as phase/name.
func firstOf(steps []string) map[string]bool {
	begun, first := map[string]bool{}, map[string]bool{}
	for _, step := range steps {
		phase, rest, _ := strings.Cut(step, "/")
		if name, _, _ := strings.Cut(rest, "/"); !begun[phase] {
			begun[phase], first[phase+"/"+name] = true, true
		}
	}
	return first
}

// cut is a point at which the process dies: a step as phase/name/machine, and a point of the step.
type cut struct {
	step  string
	point crashtest.Point
}

func (c cut) String() string { return c.step + " " + string(c.point) }

// cutsAt cuts a step at each of these points.
func cutsAt(step string, points []crashtest.Point) (cuts []cut) {
	for _, point := range points {
		cuts = append(cuts, cut{step, point})
	}
	return cuts
}

// crashed runs the scenario in processes that die one after the other, each at the first of the cuts that it reaches, until a process
// ends the operation. It returns the end state, and the cuts of steps that were done when the process before died.
func (s scenario) crashed(t *testing.T, p prepared, cuts []cut) (end outcome, left []cut) {
	t.Helper()
	ctx := t.Context()
	l, id := p.open(t)
	nodes := map[string]bool{}
	for _, h := range l.World.Hosts() {
		nodes[h.PublicKey()] = true
	}
	begin := func(m *vnflcm.Manager) (string, error) { return s.begin(ctx, m, l, id) }
	left = slices.Clone(cuts)
	var died []cut
	var last *crashtest.Process
	for {
		next := l.dying(crashtest.Death{After: last, PointIn: func(s vnflcm.StepInfo) crashtest.Point {
			i := slices.IndexFunc(left, func(c cut) bool { return c.step == l.stepName(s) })
			if i < 0 {
				return ""
			}
			died, left = append(died, left[i]), slices.Delete(left, i, i+1)
			return died[len(died)-1].point
		}})
		before := len(died)
		m := l.Process(next.Attach, func(c *vnflcm.Config) { c.MaxTakeovers = len(cuts) + 2 })
		opID, err := next.Run(ctx, m, begin)
		if err != nil {
			t.Fatalf("deaths %q: %v", died, err)
		}
		if !next.Dead() {
			if len(died) > before {
				t.Fatalf("the process did not die at the last of %q", died)
			}
			break
		}
		last, begin = next, func(*vnflcm.Manager) (string, error) { return opID, nil }
	}
	l.onlyOnce(nodes)
	if p.check != nil {
		p.check(l)
	}
	return l.outcome(id), left
}

// crashCase is a scenario in which the process dies, and the end that it has without the crash.
type crashCase struct {
	scenario
	prepared
	cut
	want outcome
}

func (c crashCase) String() string { return c.name + "/" + c.cut.String() }

// dying returns a case for each cut.
func (s scenario) dying(p prepared, cuts []cut, want outcome) (cases []crashCase) {
	for _, c := range cuts {
		cases = append(cases, crashCase{s, p, c, want})
	}
	return cases
}

// crash runs the cases: the process dies, and the resumed operation must reach the same end state as without the crash.
// Unless VNFKIT_FULL is set, it runs one case of each step, whatever the scenario, the phase and the machine, and the deaths of a scenario
// come one after the other in one operation.
func crash(t *testing.T, cases []crashCase) {
	t.Helper()
	if fulltest.Enabled() {
		for _, c := range cases {
			t.Run(c.String(), func(t *testing.T) {
				t.Parallel()
				c.die(t, []cut{c.cut})
			})
		}
		return
	}
	cases = crashtest.Sample(cases, func(c crashCase) (step, name string) { return stepKind(c.step), c.String() })
	for len(cases) > 0 {
		first := cases[0]
		var cuts []cut
		for len(cases) > 0 && cases[0].name == first.name {
			cuts, cases = append(cuts, cases[0].cut), cases[1:]
		}
		t.Run(first.name, func(t *testing.T) {
			t.Parallel()
			first.die(t, cuts)
		})
	}
}

// die runs the scenario until a process has died at each of the cuts, and compares the end of each operation.
func (c crashCase) die(t *testing.T, cuts []cut) {
	t.Helper()
	for len(cuts) > 0 {
		end, left := c.crashed(t, c.prepared, cuts)
		if diff := cmp.Diff(c.want, end); diff != "" {
			t.Errorf("another end than without the crash:\n%s", diff)
		}
		if len(left) == len(cuts) {
			t.Fatalf("no process died at %q", cuts)
		}
		t.Logf("%d of %d deaths in one operation", len(cuts)-len(left), len(cuts))
		cuts = left
	}
}

// onlyOnce fails the test if a machine was made a node twice. nodes has the keys of machines that were nodes before.
func (l *lab) onlyOnce(nodes map[string]bool) {
	l.t.Helper()
	for _, h := range l.World.Hosts() {
		made := 0
		if nodes[h.PublicKey()] {
			made = 1
		}
		for _, r := range h.Commands() {
			if r.Finished && r.Code == 0 && r.Argv[0] == "kubeadm" && (r.Argv[1] == "join" || r.Argv[1] == "init" && r.Argv[2] == "--config") {
				made++
			}
		}
		if made > 1 {
			l.t.Errorf("%s was made a node %d times", h.Name(), made)
		}
	}
}

// cuts reports whether the scenario is cut in the step: phase/name/machine.
func (s scenario) cuts(step string) bool {
	_, step, _ = strings.Cut(step, "/")
	name, _, _ := strings.Cut(step, "/")
	return (len(s.only) == 0 || slices.Contains(s.only, name)) && !slices.Contains(s.but, name) && !slices.Contains(s.but, step)
}

// cutPoints returns the points at which the scenario cuts a step. "Before Do" is left out if the step before is cut too:
// nothing is stored in between, so it equals "after the journal" of that step. The first step of a phase has no step before
// it, and the steps before init and join may be cut in another scenario.
func (s scenario) cutPoints(step string, first map[string]bool) []crashtest.Point {
	points := cutPointsOf(step)
	phase, rest, _ := strings.Cut(step, "/")
	name, _, _ := strings.Cut(rest, "/")
	if len(s.only) > 0 || first[phase+"/"+name] || name == "init" || name == "join" {
		return points
	}
	return points[1:]
}

// cutPointsOf leaves out the middle of steps that run no program on a machine.
func cutPointsOf(step string) []crashtest.Point {
	return slices.DeleteFunc(slices.Clone(crashtest.Points), func(p crashtest.Point) bool {
		return p == crashtest.InsideDo && slices.Contains(still, stepKind(step))
	})
}

// stepKind returns the name of a step, phase/name/machine, without the version at the end of steps of an upgrade.
func stepKind(step string) string {
	name, _, _ := strings.Cut(strings.Split(step, "/")[1], "-1.")
	return name
}

var still = []string{"create-vm", "replace-vm", "change-vm", "delete-vm", "stop-machine", "staying", "remove-vim", "reach", "platform", "quorum", "move-leader", "remove-member", "members", "alive", "kubeconfig", "await-etcd", "begin", "begin-etcd", "begin-kubelet", "restore-copy", "restore-members",
	"move-leader-kubelet", "static-pods", "members-kubelet"}

// matrix returns the cases of the scenario: every point of every step that it cuts.
func (s scenario) matrix(t *testing.T, kept vnflcm.Snapshots) []crashCase {
	t.Helper()
	p := s.prepare(t, kept)
	steps, want := s.undisturbed(t, p)
	first := firstOf(steps)
	slices.Sort(steps)
	var cuts []cut
	for _, step := range steps {
		if s.cuts(step) {
			cuts = append(cuts, cutsAt(step, s.cutPoints(step, first))...)
		}
	}
	return s.dying(p, cuts, want)
}

// TestCrash kills the process at every point of every step. The process that resumes must reach the same end state.
func TestCrash(t *testing.T) {
	t.Parallel()
	crashIn(t, scenarios)
}

// crashIn crashes in every scenario. A subtest prepares each one and closes its labs: those of all scenarios at once would take most of the
// memory of the package.
func crashIn(t *testing.T, list []scenario) {
	t.Helper()
	var cases []crashCase
	kept := archives(t)
	for _, s := range list {
		t.Run("undisturbed "+s.name, func(t *testing.T) {
			if s.variant {
				fulltest.SkipVariant(t)
			}
			cases = append(cases, s.matrix(t, kept)...)
		})
	}
	crash(t, cases)
}
