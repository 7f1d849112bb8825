package kubeadm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	packageDir = "../../examples/packages/k8s-cluster"
	driverName = "mgmt-drivers-kubernetes"
	vnfdID     = "6a1c2f0e-1d6e-4f4e-9a3c-0d5b6a7c8e90"
)

var key = bytes.Repeat([]byte{7}, 32)

// lab is a sandbox with a Manager on it.
type lab struct {
	*vnflcm.Manager
	t      *testing.T
	world  *sandbox.World
	store  vnflcm.Store
	events recorder
	names  names
	log    bytes.Buffer
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

func newLab(t *testing.T, change ...func(*vnflcm.Config)) *lab {
	t.Helper()
	return openLab(t, sandbox.Config{}, change...)
}

// newSlowLab is a lab where there is time to die in the middle of a program.
func newSlowLab(t *testing.T) *lab {
	t.Helper()
	return openLab(t, sandbox.Config{Takes: takes})
}

func openLab(t *testing.T, config sandbox.Config, change ...func(*vnflcm.Config)) *lab {
	t.Helper()
	config.Unexpected = func(host string, argv []string) { t.Errorf("%s: unexpected command %q", host, argv) }
	world, err := sandbox.Open(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := world.Close(); err != nil {
			t.Error(err)
		}
	})
	l := &lab{t: t, world: world, store: vnflcm.NewMemoryStore()}
	l.Manager = l.manager(change...)
	if err := l.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "sandbox", VimType: "sandbox"}); err != nil {
		t.Fatal(err)
	}
	return l
}

// manager returns a new Manager on the world and the store: the next process.
func (l *lab) manager(change ...func(*vnflcm.Config)) *vnflcm.Manager {
	l.t.Helper()
	pool := sshexec.NewPool(sshexec.Options{Dial: l.world.Dial})
	config := vnflcm.Config{
		Store: l.store, Key: key, Owner: "test",
		Packages: vnflcm.PackagesFunc(func(ctx context.Context, _ string) (*tosca.Package, error) {
			return tosca.Open(ctx, packageDir)
		}),
		Infra:   map[string]vnflcm.InfraDriver{"sandbox": l.world},
		Mgmt:    map[string]vnflcm.MgmtDriver{driverName: kubeadm.New(kubeadm.Config{Pool: pool})},
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
func request[T any](t *testing.T, name string) T {
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
	inst, err := l.Create(l.t.Context(), vnflcm.CreateVnfRequest{VnfdID: vnfdID})
	if err != nil {
		l.t.Fatal(err)
	}
	return inst.ID
}

// cluster makes an instance and instantiates it.
func (l *lab) cluster(requestFile string, change ...func(*vnflcm.InstantiateVnfRequest)) string {
	l.t.Helper()
	req := request[vnflcm.InstantiateVnfRequest](l.t, requestFile)
	for _, c := range change {
		c(&req)
	}
	id := l.created()
	l.must(l.Instantiate(l.t.Context(), id, req))
	return id
}

func sandboxVIM(r *vnflcm.InstantiateVnfRequest) {
	r.VimConnectionInfo = vnflcm.VimConnections{{ID: "1", VimID: "sandbox", VimType: "sandbox"}}
}
