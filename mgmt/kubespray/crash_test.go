package kubespray_test

import (
	"context"
	"errors"
	"fmt"
	"net"
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
	"github.com/vnfkit/vnfkit/mgmt/kubespray"
	"github.com/vnfkit/vnfkit/mgmt/loadbalancer"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/crashtest"
	"github.com/vnfkit/vnfkit/vnflcm/store/storetest"
)

// scenario is an operation on a small cluster.
type scenario struct {
	name    string
	running bool // the operation needs a running cluster
	begin   func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error)
	variant bool // another scenario has the same operation: runs with VNFKIT_FULL only
}

var scenarios = []scenario{
	{"instantiate", false, func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error) {
		return m.Instantiate(ctx, id, l.Request(sample))
	}, false},
	{"instantiate into a directory of others", false, func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error) {
		return m.Instantiate(ctx, id, l.Request(sample, with(l.t, `{"ansible":{"transferring_inventory_path":"/home/ansible/hosts.yml"}}`)))
	}, true},
	{"scale out", true, func(ctx context.Context, m *vnflcm.Manager, _ *lab, id string) (string, error) {
		return m.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"})
	}, false},
	{"scale in", true, func(ctx context.Context, m *vnflcm.Manager, _ *lab, id string) (string, error) {
		return m.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance"})
	}, false},
	{"heal a partitioned worker and the load balancer", true, func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error) {
		worker := l.vnfcs(id, "workerNode")[0]
		if err := l.World.Partition(worker.ComputeResource.ResourceID); err != nil {
			return "", err
		}
		return m.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{worker.ID, l.vnfcs(id, "externalLB")[0].ID}})
	}, false},
	{"heal the whole VNF", true, func(ctx context.Context, m *vnflcm.Manager, _ *lab, id string) (string, error) {
		return m.Heal(ctx, id, vnflcm.HealVnfRequest{})
	}, true},
	{"terminate", true, func(ctx context.Context, m *vnflcm.Manager, _ *lab, id string) (string, error) {
		return m.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
	}, false},
}

// prepared is the state in which all cases of a scenario begin. Each scenario creates it once.
type prepared struct {
	from     *mgmttest.Snapshot // nil: an empty world
	instance string
}

// takes is how long simulated playbooks run: long enough for the process to die meanwhile.
const takes = 10 * time.Millisecond

func (s scenario) prepare(t *testing.T) prepared {
	t.Helper()
	if !s.running {
		return prepared{}
	}
	l := openLab(t, setup{sandbox: sandbox.Config{Takes: takes}})
	id := l.Instantiated(sample, clustertest.Sized("simple", 1))
	l.RunStatefulSet(kubespray.VIMID(id), 2)
	return prepared{instance: id, from: l.Snapshot()}
}

// open returns a separate lab that begins with the prepared state.
func (p prepared) open(t *testing.T) (l *lab, instance string) {
	t.Helper()
	l = openLab(t, setup{sandbox: sandbox.Config{Takes: takes}, from: p.from})
	if p.from == nil {
		return l, l.Created()
	}
	return l, p.instance
}

// outcome is the end state in terms that are the same in every run.
type outcome struct {
	Nodes    []string // machine, role, readiness
	Files    []string // files of the Ansible server
	Hosts    []string // hosts in its inventory
	Known    int      // number of host keys
	Routes   []string // servers in haproxy.cfg
	Instance vnflcm.InstantiationState
	VIMs     int
	Records  map[string]int
}

func (l *lab) outcome(id string) outcome {
	l.t.Helper()
	inst, err := l.Get(l.t.Context(), id)
	if err != nil {
		l.t.Fatal(err)
	}
	out := outcome{Records: l.Counted(), Instance: inst.InstantiationState, VIMs: len(inst.VimConnectionInfo)}
	var names []string
	for _, n := range l.World.Nodes() {
		name := l.World.Host(n.Machine).Name()
		names = append(names, n.Name, name)
		out.Nodes = append(out.Nodes, fmt.Sprint(name, " control plane:", n.ControlPlane, " ready:", n.Ready, " cordoned:", n.Unschedulable))
	}
	slices.Sort(out.Nodes)
	plain := strings.NewReplacer(names...)
	for name, content := range files(l.t, l.server()) {
		if strings.Contains(name, "/logs/") || strings.Contains(name, "/sshexec/jobs/.new-") {
			continue // job directories are named by the operation; sshexec removes jobs that never began after some time
		}
		if strings.Contains(name, "/.vnfkit/cp/") && out.Instance == vnflcm.Instantiated {
			continue // sockets of connections, which exist only for some time
		}
		out.Files = append(out.Files, strings.ReplaceAll(name, id, "ID"))
		switch {
		case strings.HasSuffix(name, "/known_hosts"):
			out.Known = strings.Count(content, "\n")
		case strings.HasSuffix(name, "mycluster/hosts.ini"):
			for line := range strings.Lines(content) {
				if host, _, is := strings.Cut(line, " ansible_host="); is {
					out.Hosts = append(out.Hosts, plain.Replace(host))
				}
			}
		}
	}
	slices.Sort(out.Files)
	slices.Sort(out.Hosts)
	for _, h := range l.World.Hosts() {
		if data, err := afero.ReadFile(h.FS(), loadbalancer.ConfigFile); err == nil {
			for line := range strings.Lines(string(data)) {
				if words := strings.Fields(line); len(words) > 1 && words[0] == "server" {
					out.Routes = append(out.Routes, h.Name()+": "+plain.Replace(words[1]))
				}
			}
		}
	}
	slices.Sort(out.Routes)
	return out
}

// connections records the connections of one process.
type connections struct {
	mu     sync.Mutex
	closed bool
	list   []net.Conn
}

// over returns a dial function whose connections are recorded in c.
func (c *connections) over(dial mgmttest.Dial) mgmttest.Dial {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.closed {
			return nil, errors.Join(storetest.ErrCut, conn.Close())
		}
		c.list = append(c.list, conn)
		return conn, nil
	}
}

func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, conn := range c.list {
		_ = conn.Close() // many have been closed before
	}
}

// doomed returns a process that dies at the cut. Its connections end. Jobs on the hosts continue, and so do the connections
// of Ansible.
func (l *lab) doomed(c cut, conns *connections) *crashtest.Process {
	return crashtest.New(crashtest.Death{
		Step:  func(s vnflcm.StepInfo) bool { return l.stepName(s) == c.step },
		Point: c.point,
		End:   conns.close,
		Inside: func(s vnflcm.StepInfo, die func()) (undo func()) {
			h := l.server()
			if machine := l.World.Host(l.NameOf(s.On)); s.On != "" && machine != nil { // nil: the machine has been deleted
				h = machine
			}
			once := new(sync.Once)
			h.OnCommand(inTheMiddle(h, once, die))
			l.World.OnRequest(func(_, _, path string) {
				if path != "/readyz" {
					once.Do(die)
				}
			})
			return func() {
				h.OnCommand(nil)
				l.World.OnRequest(nil)
			}
		},
	})
}

// inTheMiddle returns a command hook that kills the process while a playbook runs, or before another program changes
// something. That other program does not run.
func inTheMiddle(h *sshtest.Host, once *sync.Once, die func()) func(sshtest.Record) {
	return func(r sshtest.Record) {
		switch {
		case r.Argv[0] == "ansible-playbook" && !slices.Contains(r.Argv, "--version"):
			time.AfterFunc(takes/2, func() { once.Do(die) })
		case !r.BuiltIn || slices.Contains([]string{"mv", "rm", "cp", "mkdir", "rmdir"}, r.Argv[0]):
			once.Do(func() {
				die()
				h.CutConnections()
			})
		}
	}
}

// stepName returns the name of a step in terms that are the same in every run.
func (l *lab) stepName(s vnflcm.StepInfo) string {
	return s.Phase + "/" + s.Name + "/" + l.NameOf(s.On)
}

// undisturbed runs the scenario to its end without a crash, and returns its steps and its end state.
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

// crashed runs the scenario in a process that dies, resumes the operation in another process, and returns the end state.
func (s scenario) crashed(t *testing.T, p prepared, c cut) outcome {
	t.Helper()
	ctx := t.Context()
	l, id := p.open(t)
	before, conns := len(l.runs()), new(connections)
	doomed := l.doomed(c, conns)
	opID, err := doomed.Run(ctx, l.ProcessOver(conns.over(l.World.Dial), doomed.Attach), func(m *vnflcm.Manager) (string, error) {
		return s.begin(ctx, m, l, id)
	})
	if err == nil {
		_, err = doomed.Resume(ctx, l.Process(doomed.AttachNext), opID)
	}
	if err != nil {
		t.Fatal(err)
	}
	if c.point != crashtest.JournalLost {
		l.onlyOnce(before)
	}
	return l.outcome(id)
}

// onlyOnce fails the test if a playbook was started more than once. It skips the first runs of the server, as many as
// before.
func (l *lab) onlyOnce(before int) {
	l.t.Helper()
	seen := map[string]int{}
	for _, argv := range l.runs()[before:] {
		seen[argv[len(argv)-1]]++
	}
	for playbook, n := range seen {
		if n > 1 {
			l.t.Errorf("%s ran %d times", playbook, n)
		}
	}
}

// crashCase is a scenario in which the process dies, and the end that it has without the crash.
type crashCase struct {
	scenario
	prepared
	cut
	want outcome
}

func (c crashCase) String() string { return c.name + "/" + c.cut.String() }

// TestCrash kills the process in every step, at alternating points. The process that resumes the operation must reach the
// same end state. Unless VNFKIT_FULL is set, it runs one case of each step, whatever the scenario, the phase and the machine.
func TestCrash(t *testing.T) {
	t.Parallel()
	var cases []crashCase
	for i, s := range scenarios {
		t.Run("undisturbed "+s.name, func(t *testing.T) { // the subtest closes its labs
			if s.variant {
				fulltest.SkipVariant(t)
			}
			p := s.prepare(t)
			steps, want := s.undisturbed(t, p)
			for _, c := range s.cuts(steps, i) {
				cases = append(cases, crashCase{s, p, c, want})
			}
		})
	}
	if !fulltest.Enabled() {
		cases = crashtest.Sample(cases, func(c crashCase) (step, name string) { return strings.Split(c.step, "/")[1], c.String() })
	}
	for _, c := range cases {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, c.crashed(t, c.prepared, c.cut)); diff != "" {
				t.Errorf("another end than without the crash:\n%s", diff)
			}
		})
	}
}

// cut is the point of a step at which the process dies.
type cut struct {
	step  string
	point crashtest.Point
}

func (c cut) String() string { return c.step + " " + string(c.point) }

// turns are the points at which the steps of an operation are cut, in turn.
var turns = []crashtest.Point{crashtest.BeforeJournal, crashtest.AfterJournal, crashtest.JournalLost}

// cuts returns the cuts of a scenario: one of turns for every step; before Do of the first step of each phase (for a later
// step this equals "after the journal" of the step before it), and inside Do of each step in which a program changes
// something, both on one of its machines. On which of them a step begins first is chance, and makes no difference.
func (s scenario) cuts(steps []string, turn int) (out []cut) {
	begun, first, inside := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, step := range steps {
		if phase, _, _ := strings.Cut(step, "/"); !begun[phase] {
			begun[phase], first[step[:strings.LastIndex(step, "/")]] = true, true
		}
	}
	steps = slices.Sorted(slices.Values(steps))
	for i, step := range steps {
		name := step[:strings.LastIndex(step, "/")]
		if first[name] {
			first[name] = false
			out = append(out, cut{step, crashtest.BeforeDo})
		}
		if !inside[name] && s.changes(step) {
			inside[name] = true
			out = append(out, cut{step, crashtest.InsideDo})
		}
		out = append(out, cut{step, turns[(turn+i)%len(turns)]})
	}
	return out
}

// TestCutsAreNotChance has a step begin on two machines in either order: the cases are the same.
func TestCutsAreNotChance(t *testing.T) {
	s := scenarios[0]
	one := s.cuts([]string{"heal/replace-vm/b", "heal/replace-vm/a", "heal_end/reach/a", "heal_end/reach/b"}, 0)
	other := s.cuts([]string{"heal/replace-vm/a", "heal/replace-vm/b", "heal_end/reach/b", "heal_end/reach/a"}, 0)
	if diff := cmp.Diff(one, other, cmp.AllowUnexported(cut{})); diff != "" {
		t.Error(diff)
	}
}

// changes reports whether programs on machines change something in a step. Some steps change only the sandbox, or nothing.
func (s scenario) changes(step string) bool {
	name := strings.Split(step, "/")[1]
	if name == "directory" && s.running && s.name != "heal the whole VNF" {
		return false // the directory exists already
	}
	if name == "delete-node" && s.name == "scale in" {
		return false // remove-node.yml has deleted it
	}
	return !slices.Contains(still, name)
}

var still = []string{"create-vm", "replace-vm", "delete-vm", "stop-machine", "remove-vim", "reach", "ansible", "alive", "find-facts", "mtu", "members", "down"}
