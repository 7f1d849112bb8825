package kubeadm_test

import (
	"cmp"
	"context"
	"flag"
	"net"
	"runtime/debug"
	"slices"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestMain lets four tests run beside each other: they wait for machines that do not answer.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("4")
	}
	debug.SetGCPercent(400) // hundreds of small worlds, each soon garbage
	goleak.VerifyTestMain(m)
}

const (
	packageDir = "../../examples/packages/k8s-cluster"
	driverName = "mgmt-drivers-kubernetes"
	param      = "k8s_cluster_installation_param"
)

// lab runs the kubeadm driver on simulated machines.
type lab struct {
	*clustertest.Lab
	t      testing.TB
	driver kubeadm.Config // configuration of the driver without its Pool
	dials  dials
	plans  sync.Map      // operation and phase: the plan
	opened chan struct{} // closed when Lab is set: the Manager of a snapshot reads certificates from its start
}

// dials reports connections to machines to a test.
type dials struct {
	mu    sync.Mutex
	check func(addr string)
}

func (d *dials) watch(check func(addr string)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.check = check
}

func (l *lab) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	l.dials.mu.Lock()
	if l.dials.check != nil {
		l.dials.check(addr)
	}
	l.dials.mu.Unlock()
	select {
	case <-l.opened:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return l.World.Dial(ctx, network, addr)
}

// setup lists the differences of a lab from the default one.
type setup struct {
	sandbox sandbox.Config
	from    *mgmttest.Snapshot // default: an empty world
	driver  kubeadm.Config
	pkg     string // default: the sample package
	// snapshots keeps snapshots; default: none are kept
	snapshots vnflcm.Snapshots
}

// newLab returns a lab whose programs take long enough to die while they run.
func newLab(t *testing.T) *lab {
	t.Helper()
	return openLab(t, setup{sandbox: sandbox.Config{Takes: takes}})
}

func openLab(t testing.TB, s setup) *lab {
	t.Helper()
	s.sandbox.Virtual = []string{"vip_CP"} // as in the template of the sample package
	l := &lab{t: t, driver: s.driver, opened: make(chan struct{})}
	l.Lab = clustertest.Open(t, mgmttest.Setup{Sandbox: s.sandbox, From: s.from, Package: cmp.Or(s.pkg, packageDir), Requests: packageDir + "/requests", Drivers: l.drivers, Dial: l.dial, Snapshots: s.snapshots})
	close(l.opened)
	return l
}

func (l *lab) drivers(pool *sshexec.Pool) map[string]vnflcm.MgmtDriver {
	driver := l.driver
	driver.Pool = pool
	return map[string]vnflcm.MgmtDriver{driverName: planned{kubeadm.New(driver), l}, balancerDriver: planned{kubeadm.New(driver), l}}
}

// planned is the driver, and compares the plans of a phase: a process that resumes an operation must make the same plan as
// the process before.
type planned struct {
	*kubeadm.Driver
	l *lab
}

func (p planned) Hooks() vnflcm.Hooks {
	hooks := p.Driver.Hooks()
	for name, do := range hooks {
		hooks[name] = func(ctx context.Context, op *vnflcm.Operation) error {
			p.compare(ctx, op)
			return do(ctx, op)
		}
	}
	return hooks
}

func (p planned) Maintain(ctx context.Context, op *vnflcm.Operation) error {
	p.compare(ctx, op)
	return p.Driver.Maintain(ctx, op)
}

func (p planned) BeforeBatch(ctx context.Context, op *vnflcm.Operation) error {
	p.compare(ctx, op)
	return p.Driver.BeforeBatch(ctx, op)
}

func (p planned) AfterBatch(ctx context.Context, op *vnflcm.Operation) error {
	p.compare(ctx, op)
	return p.Driver.AfterBatch(ctx, op)
}

func (p planned) compare(ctx context.Context, op *vnflcm.Operation) {
	tasks, err := p.Preview(ctx, op)
	if err != nil {
		p.l.t.Errorf("%s has no plan: %v", op.Phase(), err)
	}
	plan := (&vnflcm.Preview{Tasks: tasks}).String()
	if first, found := p.l.plans.LoadOrStore(op.ID+"/"+op.Phase(), plan); found && first != plan {
		p.l.t.Errorf("%s has another plan when it is resumed:\n%s", op.Phase(), gocmp.Diff(first, plan))
	}
}

// with changes the cluster parameters by a JSON merge patch.
func with(t testing.TB, patch string) mgmttest.Change { return mgmttest.With(t, param, patch) }

// params returns additionalParams with these cluster parameters.
func params(t testing.TB, patch string) vnflcm.Params {
	t.Helper()
	return mgmttest.Params(t, param, patch)
}

// host returns the machine with this name.
func (l *lab) host(name string) *sshtest.Host {
	l.t.Helper()
	h := l.World.Host(name)
	if h == nil {
		l.t.Fatalf("no machine %s", name)
	}
	return h
}

// when calls do once, when a program with this name and argument begins on a machine.
func (l *lab) when(h *sshtest.Host, program, arg string, do func()) {
	var once sync.Once
	h.OnCommand(func(r sshtest.Record) {
		if !r.BuiltIn && r.Argv[0] == program && slices.Contains(r.Argv, arg) {
			once.Do(do)
		}
	})
}
