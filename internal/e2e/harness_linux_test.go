package e2e_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/e2e/programs"
	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/internal/e2e/vminfra"
	"github.com/vnfkit/vnfkit/internal/kubesim"
	"github.com/vnfkit/vnfkit/internal/tackertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/kubespray"
	"github.com/vnfkit/vnfkit/mgmt/loadbalancer/expose"
	"github.com/vnfkit/vnfkit/mgmt/registry"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

const (
	packageDir = "../../examples/packages/k8s-cluster"
	driverName = "mgmt-drivers-kubernetes"
	vnfdID     = "6a1c2f0e-1d6e-4f4e-9a3c-0d5b6a7c8ea0"
	user       = "ubuntu"
	// password breaks code that quotes it wrongly, and is easy to find in outputs that must not contain it.
	password = `ca'na"ry$(id) \n`
)

var key = bytes.Repeat([]byte{7}, 32)

// scene is a cloud, and a store that successive Managers use.
type scene struct {
	*process
	t     testing.TB
	infra vminfra.Driver
	store store.Store
	// packages is the directory of the VNF package. Default: that of the sample.
	packages string
	// others are the directories of further packages, by VNFD id.
	others map[string]string
	// drivers are the infrastructure drivers of further VIMs, by vimType.
	drivers map[string]vnflcm.InfraDriver
	// conductor runs the hooks of clusters instead of the driver. Default: the driver runs them.
	conductor *tackertest.Conductor
	// wrap wraps the kubeadm driver. Default: the driver is not wrapped.
	wrap func(*kubeadm.Driver) vnflcm.MgmtDriver
	// intercept wraps every step. Default: steps are not wrapped.
	intercept vnflcm.Interceptor
	// maintenance is when certificates are renewed without an order. Default: never.
	maintenance vnflcm.MaintenanceWindow
	// snapshots keeps snapshots. Default: none are kept.
	snapshots vnflcm.Snapshots
	// patience is the longest time of one operation. Default: the constant patience.
	patience time.Duration
	// output returns the writer for the output of kubespray's playbooks. Default: the output is discarded.
	output func(op *vnflcm.Operation, playbook string) io.Writer

	mu     sync.Mutex
	events []vnflcm.Event
	log    bytes.Buffer
}

// lab is a scene on real hosts. A simulation answers the programs of the nodes.
type lab struct {
	*scene
	cloud *vminfra.Hosts
	kube  *kubesim.World

	records []programs.Record     // of programs that ended
	started func(programs.Record) // called for every program before the program does anything
}

type labConfig struct {
	askPassword bool          // sudo asks for the password
	takes       time.Duration // how long kubeadm init and join and apt-get install take
	store       store.Store   // default: in memory
}

func newLab(t *testing.T, c labConfig) *lab {
	t.Helper()
	needSite(t)
	if c.store == nil {
		c.store = store.NewMemory()
	}
	l := &lab{scene: &scene{t: t, store: c.store}, kube: kubesim.NewWorld(kubesim.Options{Takes: c.takes}), started: func(programs.Record) {}}
	l.cloud = &vminfra.Hosts{Network: site.network, Programs: site.programs, Kube: l.kube, Observe: l.observe,
		Spec: vmhost.Spec{User: user, Password: password, AskPassword: c.askPassword, Layer: site.layer}}
	t.Cleanup(func() {
		if t.Failed() {
			l.explain()
		}
		if err := l.cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	l.begin(vminfra.Driver{Cloud: l.cloud})
	return l
}

// begin starts the first process of the scene.
func (s *scene) begin(infra vminfra.Driver) {
	s.t.Helper()
	s.infra = infra
	s.process = s.start(s.store)
	if err := s.VIMs().Put(s.t.Context(), vnflcm.VimConnectionInfo{VimID: "e2e", VimType: "e2e"}); err != nil {
		s.t.Fatal(err)
	}
}

func (l *lab) observe(r programs.Record) {
	if r.End.IsZero() {
		l.mu.Lock()
		started := l.started
		l.mu.Unlock()
		started(r)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, r)
}

// explain logs what failed on the hosts.
func (l *lab) explain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.records {
		if r.Code != 0 || r.Killed {
			l.t.Logf("%s: %s %q ended with %d, killed %t", r.Host, r.User, r.Argv, r.Code, r.Killed)
		}
	}
}

// Write receives the log of the Managers.
func (s *scene) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(p)
}

func (s *scene) event(e vnflcm.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

// process simulates one process of a VNFM: a Manager with its connections.
type process struct {
	*vnflcm.Manager
	pool *sshexec.Pool
	mu   sync.Mutex
	open []net.Conn
}

// start begins the next process.
func (s *scene) start(store store.Store) *process {
	s.t.Helper()
	p := &process{}
	p.pool = sshexec.NewPool(sshexec.Options{Dial: p.dial})
	m, err := vnflcm.New(s.t.Context(), managerConfig(store, s.infra, p.pool, func(c *vnflcm.Config) {
		c.Snapshots = s.snapshots
		if s.patience > 0 {
			c.Mgmt[kubesprayDriver] = kubesprayIn(p.pool, s.patience, s.output)
		}
		c.Observe, c.Logger = s.event, slog.New(slog.NewJSONHandler(s, &slog.HandlerOptions{Level: slog.LevelDebug}))
		c.Intercept, c.Maintenance = s.intercept, s.maintenance
		c.Packages = packagesBy(cmp.Or(s.packages, packageDir), s.others)
		maps.Copy(c.Infra, s.drivers)
		if s.wrap != nil {
			c.Mgmt[driverName] = s.wrap(c.Mgmt[driverName].(*kubeadm.Driver))
		}
		if s.conductor != nil {
			c.Mgmt[driverName] = s.conductor
		}
	}))
	if err != nil {
		s.t.Fatal(err)
	}
	p.Manager = m
	s.t.Cleanup(func() {
		if err := p.close(); err != nil {
			s.t.Error(err)
		}
	})
	return p
}

func (p *process) close() error {
	p.cut()
	if err := p.Close(context.Background()); err != nil {
		return err
	}
	return p.pool.Close()
}

func (p *process) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err == nil {
		p.mu.Lock()
		p.open = append(p.open, conn)
		p.mu.Unlock()
	}
	return conn, err
}

// cut closes the connections of a process that dies.
func (p *process) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.open {
		_ = conn.Close()
	}
}

// loginGrace is how long machines of registries may refuse the password. It is short, because these machines have their
// users before sshd starts.
const loginGrace = 15 * time.Second

// managerConfig returns the configuration of a Manager for the sample package on a cloud.
func managerConfig(store store.Store, infra vminfra.Driver, pool *sshexec.Pool, change func(*vnflcm.Config)) vnflcm.Config {
	c := vnflcm.Config{
		Store: store, Key: key,
		Packages: packagesBy(packageDir, nil),
		Infra:    map[string]vnflcm.InfraDriver{"e2e": infra},
		Mgmt: map[string]vnflcm.MgmtDriver{driverName: kubeadm.New(kubeadm.Config{Allow: outbound.AllowAny, Pool: pool, ShortCertificates: true,
			Timeouts: kubeadm.Timeouts{Drain: 30 * time.Second}}),
			kubesprayDriver: kubesprayIn(pool, patience, nil),
			exposeDriver:    expose.New(expose.Config{Allow: outbound.AllowAny, Pool: pool}),
			registryDriver:  registry.New(registry.Config{Allow: outbound.AllowAny, Pool: pool, Timeouts: registry.Timeouts{Login: loginGrace}})},
	}
	change(&c)
	return c
}

// kubesprayIn returns a kubespray driver with a time limit for each playbook.
func kubesprayIn(pool *sshexec.Pool, playbook time.Duration, output func(*vnflcm.Operation, string) io.Writer) *kubespray.Driver {
	return kubespray.New(kubespray.Config{Allow: outbound.AllowAny, Pool: pool, Output: output,
		Timeouts: kubespray.Timeouts{Login: loginGrace, Drain: 30 * time.Second, Playbook: playbook, Ready: 5 * time.Minute}})
}

// packagesBy returns the packages of others by VNFD id, and the package in dir for every other VNFD.
func packagesBy(dir string, others map[string]string) vnflcm.Packages {
	return vnflcm.PackagesFunc(func(_ context.Context, _, vnfd string) (tosca.Source, error) {
		return tosca.File(cmp.Or(others[vnfd], dir)), nil
	})
}

// instantiation reads a sample request of a package, for a flavour and our hosts.
func instantiation(dir, file, flavour string) (vnflcm.InstantiateVnfRequest, error) {
	var r vnflcm.InstantiateVnfRequest
	data, err := os.ReadFile(filepath.Join(dir, "requests", file)) //nolint:gosec // constants
	if err != nil {
		return r, err
	}
	quoted, err := json.Marshal(password)
	if err != nil {
		return r, err
	}
	text := strings.ReplaceAll(string(data), `password": "ubuntu"`, `password": `+string(quoted))
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return r, fmt.Errorf("%s: %w", file, err)
	}
	r.FlavourID = flavour
	r.VimConnectionInfo = vnflcm.VimConnections{{ID: "1", VimID: "e2e", VimType: "e2e"}}
	return r, nil
}

// created creates an instance and returns its id and the request to instantiate it.
func (s *scene) created(file, flavour string) (string, vnflcm.InstantiateVnfRequest) {
	s.t.Helper()
	return s.createdOf(packageDir, vnfdID, file, flavour)
}

// createdOf creates an instance of a sample package and returns its id and the request to instantiate it.
func (s *scene) createdOf(dir, vnfd, file, flavour string) (string, vnflcm.InstantiateVnfRequest) {
	s.t.Helper()
	r, err := instantiation(dir, file, flavour)
	if err != nil {
		s.t.Fatal(err)
	}
	inst, err := s.Create(s.t.Context(), vnflcm.CreateVnfRequest{VnfdID: vnfd})
	if err != nil {
		s.t.Fatal(err)
	}
	return inst.ID, r
}

// must waits for an operation and fails the test unless the operation succeeds.
func (s *scene) must(opID string, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), cmp.Or(s.patience, patience))
	defer cancel()
	begin := time.Now()
	occ, err := s.Wait(ctx, opID)
	if err != nil {
		s.t.Fatalf("operation: %v", err)
	}
	s.t.Logf("%s took %s: %s", occ.Operation, time.Since(begin).Round(10*time.Millisecond), s.slowest(opID))
}

// patience is the longest time of one operation.
const patience = 10 * time.Minute

// slowest names the steps of an operation that took more than two seconds.
func (s *scene) slowest(opID string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, e := range s.events {
		if e.OperationID == opID && e.Duration > 2*time.Second {
			out = append(out, fmt.Sprintf("%s %s %.1fs", e.Name, e.Host, e.Duration.Seconds()))
		}
	}
	return strings.Join(out, ", ")
}
