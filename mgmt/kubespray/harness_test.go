package kubespray_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/mgmt/kubespray"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // many small worlds, each soon garbage
	goleak.VerifyTestMain(m)
}

const (
	packageDir = "../../examples/packages/k8s-cluster-kubespray"
	driverName = "mgmt-drivers-kubespray"
	root       = "/home/ansible/kubespray"
	inventory  = root + "/inventory/mycluster" // of the sample requests
	// serverPassword is no word that turns up elsewhere, as that of the sample requests does: it is masked in errors.
	serverPassword = "opensesame"
)

var (
	key           = bytes.Repeat([]byte{7}, 32)
	serverAddress = netip.MustParseAddr("10.9.0.1")
)

// ansibleServer is that of the sample requests.
func ansibleServer() sandbox.AnsibleServer {
	return sandbox.AnsibleServer{Address: serverAddress, User: "ansible", Password: serverPassword, Version: "2.14.18", Kubespray: "2.23.3", Posix: true, Sshpass: true}
}

// lab is a sandbox with a Manager on it.
type lab struct {
	*vnflcm.Manager
	t      testing.TB
	world  *sandbox.World
	store  vnflcm.Store
	driver kubespray.Config // without its Pool
	pkg    string           // folder of the VNF package

	mu     sync.Mutex
	log    bytes.Buffer
	events []vnflcm.Event
	names  map[string]string // machine by VNFC
}

// setup says how a lab differs from the usual one.
type setup struct {
	sandbox sandbox.Config
	driver  kubespray.Config
	server  func(*sandbox.AnsibleServer)
	store   vnflcm.Store
	pkg     string
}

func newLab(t testing.TB) *lab { return openLab(t, setup{}) }

func openLab(t testing.TB, s setup) *lab {
	t.Helper()
	server := ansibleServer()
	if s.server != nil {
		s.server(&server)
	}
	s.sandbox.Ansible = []sandbox.AnsibleServer{server}
	s.sandbox.Unexpected = func(host string, argv []string) { t.Errorf("%s: unexpected command %q", host, argv) }
	world, err := sandbox.Open(s.sandbox)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := world.Close(); err != nil {
			t.Error(err)
		}
	})
	l := &lab{t: t, world: world, store: s.store, driver: s.driver, pkg: s.pkg, names: map[string]string{}}
	if l.store == nil {
		l.store = vnflcm.NewMemoryStore()
	}
	if l.pkg == "" {
		l.pkg = packageDir
	}
	l.Manager = l.manager()
	if err := l.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "sandbox", VimType: "sandbox"}); err != nil {
		t.Fatal(err)
	}
	return l
}

// Write implements io.Writer for the log, which several Managers may write.
func (l *lab) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.Write(p)
}

func (l *lab) logged() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.String()
}

func (l *lab) observe(e vnflcm.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
	if e.Host != "" {
		l.names[e.On] = e.Host
	}
}

// nameOf is the machine that a VNFC has had.
func (l *lab) nameOf(vnfc string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.names[vnfc]
}

// dial is how a process reaches machines.
type dial func(ctx context.Context, network, addr string) (net.Conn, error)

// manager returns a new Manager on the world and the store: the next process.
func (l *lab) manager(change ...func(*vnflcm.Config)) *vnflcm.Manager {
	l.t.Helper()
	return l.process(l.world.Dial, change...)
}

// process is a manager whose connections are made by dial.
func (l *lab) process(dial dial, change ...func(*vnflcm.Config)) *vnflcm.Manager {
	l.t.Helper()
	pool := sshexec.NewPool(sshexec.Options{Dial: dial})
	driver := l.driver
	driver.Pool = pool
	config := vnflcm.Config{
		Store: l.store, Key: key, Owner: "test",
		Packages: vnflcm.PackagesFunc(func(ctx context.Context, _ string) (*tosca.Package, error) { return tosca.Open(ctx, l.pkg) }),
		Infra:    map[string]vnflcm.InfraDriver{"sandbox": l.world},
		Mgmt:     map[string]vnflcm.MgmtDriver{driverName: kubespray.New(driver)},
		Observe:  l.observe,
		Logger:   slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug})),
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
	data = bytes.ReplaceAll(data, []byte(`"password": "ansible"`), []byte(`"password": "`+serverPassword+`"`))
	var into T
	if err := json.Unmarshal(data, &into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return into
}

type change = func(*vnflcm.InstantiateVnfRequest)

// with changes the cluster parameters by a JSON merge patch.
func with(t testing.TB, patch string) change {
	return func(r *vnflcm.InstantiateVnfRequest) {
		t.Helper()
		var err error
		if r.AdditionalParams, err = r.AdditionalParams.Merge(params(t, patch)); err != nil {
			t.Fatal(err)
		}
	}
}

// params are additionalParams with these cluster parameters.
func params(t testing.TB, patch string) vnflcm.Params {
	t.Helper()
	p, err := vnflcm.ParseParams([]byte(`{"k8s_cluster_installation_param":` + patch + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sized asks for so many workers beyond the first.
func sized(flavour string, moreWorkers int) change {
	return func(r *vnflcm.InstantiateVnfRequest) {
		r.FlavourID, r.InstantiationLevelID = flavour, ""
		r.TargetScaleLevelInfo = []vnflcm.ScaleInfo{{AspectID: "worker_instance", ScaleLevel: moreWorkers}}
	}
}

func (l *lab) created() string {
	l.t.Helper()
	pkg, err := tosca.Open(l.t.Context(), l.pkg)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = pkg.Close() }()
	inst, err := l.Create(l.t.Context(), vnflcm.CreateVnfRequest{VnfdID: pkg.VNFD().ID})
	if err != nil {
		l.t.Fatal(err)
	}
	return inst.ID
}

// instantiate begins an instantiation.
func (l *lab) instantiate(changes ...change) (id, opID string, err error) {
	l.t.Helper()
	req := request[vnflcm.InstantiateVnfRequest](l.t, "instantiate_sandbox.json")
	for _, c := range changes {
		c(&req)
	}
	id = l.created()
	opID, err = l.Instantiate(l.t.Context(), id, req)
	return id, opID, err
}

// cluster makes an instance and instantiates it.
func (l *lab) cluster(changes ...change) string {
	l.t.Helper()
	id, opID, err := l.instantiate(changes...)
	l.must(opID, err)
	return id
}

// must waits for an operation that must succeed.
func (l *lab) must(opID string, err error, manager ...*vnflcm.Manager) {
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
	if _, err := m.Wait(ctx, opID); err != nil {
		l.t.Fatalf("operation: %v", err)
	}
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

// count says how many nodes are control-plane nodes, workers, and not Ready.
type count struct{ Masters, Workers, NotReady int }

func (l *lab) want(want count) {
	l.t.Helper()
	var got count
	for _, n := range l.world.Nodes() {
		if n.ControlPlane {
			got.Masters++
		} else {
			got.Workers++
		}
		if !n.Ready || n.Unschedulable {
			got.NotReady++
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		l.t.Fatalf("cluster:\n%s\n%+v", diff, l.world.Nodes())
	}
}

// server is the Ansible server.
func (l *lab) server() *sshtest.Host { return l.world.AnsibleHost(serverAddress) }

// vnfcs are those of a VDU.
func (l *lab) vnfcs(id, vdu string) (out []vnflcm.VnfcResourceInfo) {
	l.t.Helper()
	inst, err := l.Get(l.t.Context(), id)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, v := range inst.InstantiatedVnfInfo.VnfcResourceInfo {
		if v.VduID == vdu {
			out = append(out, v)
		}
	}
	if len(out) == 0 {
		l.t.Fatalf("no VNFC of %s", vdu)
	}
	return out
}

// runs are the playbooks that the server has run, with their arguments.
func (l *lab) runs() (out [][]string) {
	for _, r := range l.server().Commands() {
		if !r.BuiltIn && r.Argv[0] == "ansible-playbook" && !slices.Contains(r.Argv, "--version") {
			out = append(out, r.Argv)
		}
	}
	return out
}

func (l *lab) scaleOut(id string, changes ...vnflcm.Params) {
	l.t.Helper()
	req := vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}
	if len(changes) > 0 {
		req.AdditionalParams = changes[0]
	}
	l.must(l.Scale(l.t.Context(), id, req))
}
