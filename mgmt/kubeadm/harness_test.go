package kubeadm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func TestMain(m *testing.M) {
	// Hundreds of small worlds, each soon garbage: collecting less often halves the time of the package.
	debug.SetGCPercent(400)
	goleak.VerifyTestMain(m)
}

const (
	packageDir = "../../examples/packages/k8s-cluster"
	driverName = "mgmt-drivers-kubernetes"
	vnfdID     = "6a1c2f0e-1d6e-4f4e-9a3c-0d5b6a7c8e90"
)

var key = bytes.Repeat([]byte{7}, 32)

// lab is a sandbox with a Manager on it.
type lab struct {
	*vnflcm.Manager
	t      testing.TB
	world  *sandbox.World
	store  vnflcm.Store
	driver kubeadm.Config // without its Pool
	pkg    string         // folder of the VNF package
	// balancer says that this is the package with one.
	balancer bool
	events   recorder
	names    names
	log      logBuffer
	dials    dials
}

// dials lets a test watch, or refuse, the connections to machines.
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
	return l.world.Dial(ctx, network, addr)
}

// logBuffer is what several Managers may log to.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// names remembers what the VNFCs are called.
type names struct{ byID sync.Map }

func (n *names) observe(e vnflcm.Event) {
	if e.Host != "" {
		n.byID.Store(e.On, e.Host)
	}
}

func (n *names) of(vnfc string) string {
	name, _ := n.byID.Load(vnfc)
	return fmt.Sprint(name)
}

// recorder keeps events.
type recorder struct {
	mu   sync.Mutex
	list []vnflcm.Event
}

func (r *recorder) observe(e vnflcm.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, e)
}

func (r *recorder) all() []vnflcm.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

// setup says how a lab differs from the usual one.
type setup struct {
	sandbox sandbox.Config
	driver  kubeadm.Config
	pkg     string // default: the sample package
	// balancer has the sample package with a load balancer, or pkg made from it, be used.
	balancer bool
	store    vnflcm.Store // default: an empty one
	// unexpected programs are allowed: the test runs a script of its own.
	unexpected bool
}

// newLab is a lab where there is time to die in the middle of a program.
func newLab(t *testing.T) *lab {
	t.Helper()
	return openLab(t, setup{sandbox: sandbox.Config{Takes: takes}})
}

func openLab(t testing.TB, s setup) *lab {
	t.Helper()
	if !s.unexpected {
		s.sandbox.Unexpected = func(host string, argv []string) { t.Errorf("%s: unexpected command %q", host, argv) }
	}
	s.sandbox.Virtual = []string{"vip_CP"} // as the template of the sample package has it
	world, err := sandbox.Open(s.sandbox)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := world.Close(); err != nil {
			t.Error(err)
		}
	})
	l := &lab{t: t, world: world, store: s.store, driver: s.driver, pkg: s.pkg, balancer: s.balancer}
	if l.store == nil {
		l.store = vnflcm.NewMemoryStore()
	}
	switch {
	case l.pkg != "":
	case l.balancer:
		l.pkg = balancerPackage
	default:
		l.pkg = packageDir
	}
	l.Manager = l.manager()
	if err := l.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "sandbox", VimType: "sandbox"}); err != nil {
		t.Fatal(err)
	}
	return l
}

// manager returns a new Manager on the world and the store: the next process.
func (l *lab) manager(change ...func(*vnflcm.Config)) *vnflcm.Manager {
	l.t.Helper()
	pool := sshexec.NewPool(sshexec.Options{Dial: l.dial})
	driver := l.driver
	driver.Pool = pool
	config := vnflcm.Config{
		Store: l.store, Key: key, Owner: "test",
		Packages: vnflcm.PackagesFunc(func(ctx context.Context, _ string) (*tosca.Package, error) {
			return tosca.Open(ctx, l.pkg)
		}),
		Infra:   map[string]vnflcm.InfraDriver{"sandbox": l.world},
		Mgmt:    map[string]vnflcm.MgmtDriver{driverName: kubeadm.New(driver), balancerDriver: kubeadm.New(driver)},
		Observe: func(e vnflcm.Event) { l.events.observe(e); l.names.observe(e) },
		Logger:  slog.New(slog.NewJSONHandler(&l.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, c := range change {
		c(&config)
	}
	m, err := vnflcm.New(config)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		if err := m.Close(context.WithoutCancel(l.t.Context())); err != nil {
			l.t.Error(err)
		}
		if err := pool.Close(); err != nil {
			l.t.Error(err)
		}
	})
	return m
}

// request reads a sample request of the package.
func request[T any](t testing.TB, name string) T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(packageDir, "requests", name))
	if err != nil {
		t.Fatal(err)
	}
	var into T
	if err := json.Unmarshal(data, &into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return into
}

// must waits for an operation that must succeed.
func (l *lab) must(opID string, err error, manager ...*vnflcm.Manager) *vnflcm.VnfLcmOpOcc {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
	defer cancel()
	m := l.Manager
	if len(manager) > 0 {
		m = manager[0]
	}
	occ, err := m.Wait(ctx, opID)
	if err != nil {
		l.t.Fatalf("operation: %v", err)
	}
	return occ
}

// created makes an instance.
func (l *lab) created() string {
	l.t.Helper()
	vnfd := vnfdID
	if l.balancer {
		vnfd = balancerVNFD
	}
	inst, err := l.Create(l.t.Context(), vnflcm.CreateVnfRequest{VnfdID: vnfd})
	if err != nil {
		l.t.Fatal(err)
	}
	return inst.ID
}

// cluster makes an instance and instantiates it.
func (l *lab) cluster(requestFile string, change ...func(*vnflcm.InstantiateVnfRequest)) string {
	l.t.Helper()
	id, opID, err := l.instantiate(requestFile, change...)
	l.must(opID, err)
	return id
}

func sandboxVIM(r *vnflcm.InstantiateVnfRequest) {
	r.VimConnectionInfo = vnflcm.VimConnections{{ID: "1", VimID: "sandbox", VimType: "sandbox"}}
}

// sized asks for that flavour with so many workers beyond the first.
func sized(flavour string, moreWorkers int) func(*vnflcm.InstantiateVnfRequest) {
	return func(r *vnflcm.InstantiateVnfRequest) {
		r.FlavourID, r.InstantiationLevelID = flavour, ""
		r.TargetScaleLevelInfo = []vnflcm.ScaleInfo{{AspectID: "worker_instance", ScaleLevel: moreWorkers}}
	}
}

// with changes the cluster parameters by a JSON merge patch.
func with(t testing.TB, patch string) func(*vnflcm.InstantiateVnfRequest) {
	return func(r *vnflcm.InstantiateVnfRequest) {
		t.Helper()
		over, err := vnflcm.ParseParams([]byte(`{"k8s_cluster_installation_param":` + patch + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if r.AdditionalParams, err = r.AdditionalParams.Merge(over); err != nil {
			t.Fatal(err)
		}
	}
}

// instantiate begins an instantiation.
func (l *lab) instantiate(requestFile string, change ...func(*vnflcm.InstantiateVnfRequest)) (id, opID string, err error) {
	l.t.Helper()
	req := request[vnflcm.InstantiateVnfRequest](l.t, requestFile)
	sandboxVIM(&req)
	for _, c := range change {
		c(&req)
	}
	id = l.created()
	opID, err = l.Instantiate(l.t.Context(), id, req)
	return id, opID, err
}

// fails waits for an operation that must end in FAILED_TEMP, and returns why.
func (l *lab) fails(opID string, err error) error {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
	defer cancel()
	occ, err := l.Wait(ctx, opID)
	if err == nil || occ == nil || occ.OperationState != vnflcm.FailedTemp {
		l.t.Fatalf("it should be FAILED_TEMP: %+v, %v", occ, err)
	}
	return err
}

// host is the machine of that name.
func (l *lab) host(name string) *sshtest.Host {
	l.t.Helper()
	h := l.world.Host(name)
	if h == nil {
		l.t.Fatalf("no machine %s", name)
	}
	return h
}

// when has do called, once, when the program of that name begins with that argument on a machine.
func (l *lab) when(h *sshtest.Host, program, arg string, do func()) {
	var once sync.Once
	h.OnCommand(func(r sshtest.Record) {
		if !r.BuiltIn && r.Argv[0] == program && slices.Contains(r.Argv, arg) {
			once.Do(do)
		}
	})
}
