package expose_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"
	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/vnfkit/vnfkit/internal/cnftest"
	"github.com/vnfkit/vnfkit/mgmt/loadbalancer"
	"github.com/vnfkit/vnfkit/mgmt/loadbalancer/expose"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	vnfdID = "0d4b2f6e-1111-4a68-b1c5-7d2e9a4f6081"
	canary = "canary-5e1f"
)

// vnfd is a CNF whose VNFD names the driver, NAME standing for the hooks.
const vnfd = `tosca_definitions_version: tosca_simple_yaml_1_2
node_types:
  shop.VNF: {derived_from: tosca.nodes.nfv.VNF}
topology_template:
  substitution_mappings: {node_type: shop.VNF, properties: {flavour_id: simple}}
  node_templates:
    VNF:
      type: shop.VNF
      properties: {descriptor_id: ` + vnfdID + `, descriptor_version: '1.0', provider: Shops, product_name: Shop, software_version: '1.0', vnfm_info: ['0:vnfkit'], flavour_id: simple, flavour_description: web}
      interfaces:
        Vnflcm:
HOOKS
      artifacts: {nodeport: {type: tosca.artifacts.Implementation.Python, file: ../driver.txt}}
    WEB:
      type: tosca.nodes.nfv.Vdu.Compute
      properties: {name: web, description: web, vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 3}}
`

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// pods is an infra driver that has pods somewhere, which answer at node ports. Their number is decided elsewhere.
type pods struct {
	mu    sync.Mutex
	ports []vnflcm.NodePort
	heal  func()          // called by Heal
	made  string          // vimId under which Instantiate registers the VIM again
	ended map[string]bool // instances that were terminated
}

func (p *pods) ElasticVDUs(context.Context, *vnflcm.Operation) ([]string, error) {
	return []string{"WEB"}, nil
}
func (p *pods) Plan(context.Context, *vnflcm.Operation) (vnflcm.Change, error) {
	return vnflcm.Change{}, nil
}
func (p *pods) Instantiate(ctx context.Context, op *vnflcm.Operation) error {
	p.end(op.InstanceID, false)
	if p.made == "" {
		return nil
	}
	made := op.VIM
	made.ID, made.VimID = p.made, p.made
	return op.RegisterVIM(ctx, made)
}
func (p *pods) Scale(context.Context, *vnflcm.Operation) error { return nil }
func (p *pods) Terminate(_ context.Context, op *vnflcm.Operation) error {
	p.end(op.InstanceID, true)
	return nil
}

func (p *pods) end(instance string, ended bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended == nil {
		p.ended = map[string]bool{}
	}
	p.ended[instance] = ended
}
func (p *pods) Heal(context.Context, *vnflcm.Operation) error {
	if p.heal != nil {
		p.heal()
	}
	return nil
}

func (p *pods) Resources(_ context.Context, op *vnflcm.Operation) (vnflcm.Resources, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended[op.InstanceID] {
		return vnflcm.Resources{}, nil
	}
	return vnflcm.Resources{NodePorts: slices.Clone(p.ports)}, nil
}

func (p *pods) set(ports ...vnflcm.NodePort) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ports = ports
}

// lab is a CNF, its cluster and the load balancer of that.
type lab struct {
	*vnflcm.Manager
	t       *testing.T
	pods    *pods
	cluster *cnftest.Cluster
	dynamic dynamic.Interface
	lb      *sshtest.Host
	direct  *loadbalancer.Balancer // as the cluster's driver reaches it
	store   store.Store
	hooks   []vnflcm.Hook
	id      string
	cut     func(vnflcm.StepInfo, string) error
	config  expose.Config // without its Pool and Timeouts

	mu  sync.Mutex
	log bytes.Buffer
}

func (l *lab) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.Write(text)
}

func (l *lab) said() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.String()
}

var usual = []vnflcm.Hook{vnflcm.InstantiateEnd, vnflcm.ScaleStart, vnflcm.ScaleEnd, vnflcm.HealStart, vnflcm.HealEnd, vnflcm.TerminateStart, vnflcm.TerminateEnd}

func newLab(t *testing.T, hooks ...vnflcm.Hook) *lab {
	t.Helper()
	l := &lab{t: t, cluster: cnftest.Start(t), lb: newBalancer(t), store: store.NewMemory(), hooks: hooks, pods: &pods{}}
	if len(hooks) == 0 {
		l.hooks = usual
	}
	l.pods.set(port("web", "http", "TCP", 30080), port("dns", "", "UDP", 30053), port("api", "", "TCP", 30081))
	var err error
	if l.dynamic, err = dynamic.NewForConfig(l.cluster.Config()); err != nil {
		t.Fatal(err)
	}
	l.direct = loadbalancer.On(l.host(l.pool(), l.lb.Addr()))
	node := func(name, address string) []loadbalancer.Server {
		return []loadbalancer.Server{{ID: name, Name: name, Address: netip.MustParseAddr(address)}}
	}
	if err := l.direct.Put(t.Context(), loadbalancer.ClusterOwner("c"), loadbalancer.Cluster(0, node("m1", "10.10.0.1"), node("w1", "10.10.0.2"))); err != nil {
		t.Fatal(err)
	}
	l.Manager = l.start()
	at, err := vnflcm.NewParams(map[string]string{"endpoint": l.cluster.URL(), "ssl_ca_cert": l.cluster.CA()})
	who, err2 := vnflcm.NewParams(map[string]string{"bearer_token": l.cluster.Token()})
	err3 := l.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "vim", VimType: "kubernetes", InterfaceInfo: at, AccessInfo: who})
	inst, err4 := l.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: vnfdID})
	if err := errors.Join(err, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	l.id = inst.ID
	return l
}

func port(service, name, protocol string, number int) vnflcm.NodePort {
	return vnflcm.NodePort{Namespace: "shop", Service: service, Port: name, Protocol: protocol, NodePort: number}
}

func (l *lab) pool() *sshexec.Pool {
	pool := sshexec.NewPool(sshexec.Options{})
	l.t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			l.t.Error(err)
		}
	})
	return pool
}

func (l *lab) host(pool *sshexec.Pool, addr string) *sshexec.Host {
	return pool.Host(sshexec.Target{Addr: addr, User: "ubuntu", Auth: []sshexec.Auth{sshexec.Password(canary)}, Sudo: sshexec.SudoPassword(canary),
		HostKeys: sshexec.AcceptNewHostKeys(new(sshtest.HostKeyStore))})
}

// start begins a process.
func (l *lab) start() *vnflcm.Manager {
	l.t.Helper()
	var hooks strings.Builder
	for _, h := range l.hooks {
		fmt.Fprintf(&hooks, "          %s: {implementation: nodeport}\n", h)
	}
	files := fstest.MapFS{
		"TOSCA-Metadata/TOSCA.meta": {Data: []byte("TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-By: shop\nEntry-Definitions: Definitions/top.yaml\n")},
		"driver.txt":                {},
		"Definitions/top.yaml":      {Data: []byte(strings.Replace(vnfd, "HOOKS\n", hooks.String(), 1))},
	}
	config := l.config
	config.Pool, config.Timeouts = l.pool(), expose.Timeouts{Reach: cmp.Or(l.config.Timeouts.Reach, time.Minute), Change: cmp.Or(l.config.Timeouts.Change, time.Minute)}
	m, err := vnflcm.New(l.t.Context(), vnflcm.Config{Store: l.store, Key: bytes.Repeat([]byte{1}, 32), Logger: slog.New(slog.NewTextHandler(l, nil)),
		Packages: vnflcm.PackagesFunc(func(context.Context, string, string) (tosca.Source, error) { return tosca.FS(files), nil }),
		Infra:    map[string]vnflcm.InfraDriver{"kubernetes": l.pods},
		Mgmt:     map[string]vnflcm.MgmtDriver{"nodeport": expose.New(config)},
		Intercept: func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			if l.cut == nil {
				return next(ctx)
			}
			if err := l.cut(s, "before"); err != nil {
				return err
			}
			return cmp.Or(next(ctx), l.cut(s, "after"))
		},
	})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			l.t.Error(err)
		}
	})
	return m
}

// giveUpSoon starts a process that gives the load balancer up after a second in which no login succeeds.
func (l *lab) giveUpSoon() {
	l.t.Helper()
	l.config.Timeouts.Reach = time.Second
	l.Manager = l.start()
}

// params are the additionalParams, changed.
func (l *lab) params(change func(lb, access map[string]any)) vnflcm.Params {
	l.t.Helper()
	access := map[string]any{"ssh_ip": l.lb.Addr(), "ssh_username": "ubuntu", "ssh_password": canary}
	lb := map[string]any{"external_lb_param": access}
	if change != nil {
		change(lb, access)
	}
	p, err := vnflcm.NewParams(map[string]any{"lcm-kubernetes-def-files": []string{"Files/shop.yaml"}, "lcm-kubernetes-external-lb": lb})
	if err != nil {
		l.t.Fatal(err)
	}
	return p
}

func (l *lab) request(change func(lb, access map[string]any)) vnflcm.InstantiateVnfRequest {
	return vnflcm.InstantiateVnfRequest{FlavourID: "simple", AdditionalParams: l.params(change), VimConnectionInfo: vnflcm.VimConnections{{VimID: "vim"}}}
}

func (l *lab) wait(opID string, err error) *vnflcm.VnfLcmOpOcc {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(l.t.Context(), 5*time.Minute)
	defer cancel()
	occ, err := l.Wait(ctx, opID)
	if occ == nil {
		l.t.Fatal(err)
	}
	return occ
}

func (l *lab) must(opID string, err error) {
	l.t.Helper()
	if occ := l.wait(opID, err); occ.OperationState != vnflcm.Completed {
		l.t.Fatalf("%s: %v", occ.OperationState, occ.Error)
	}
}

// want compares what the load balancer serves, and what is kept in the cluster, with these frontends: port and name.
func (l *lab) want(frontends map[int]string) {
	l.t.Helper()
	parts, err := l.direct.Parts(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	got := map[int]string{}
	part, known := parts[loadbalancer.CNFOwner(l.id)]
	for _, f := range part.Frontends {
		if f.Toward != f.Port || !slices.Equal(f.To, []string{"masters", "workers"}) {
			l.t.Errorf("%+v", f)
		}
		got[f.Port] = f.Name
	}
	if diff := gocmp.Diff(frontends, got); diff != "" {
		l.t.Errorf("the load balancer serves:\n%s", diff)
	}
	kept, err := l.dynamic.Resource(configMaps).Namespace("kube-system").
		Get(l.t.Context(), "vnfkit-lb-"+l.id, metav1.GetOptions{})
	if !known {
		if !apierrors.IsNotFound(err) {
			l.t.Errorf("the cluster keeps it still: %v", err)
		}
		return
	}
	if err != nil || kept.GetLabels()["vnfkit.io/loadbalancer"] != "part" {
		l.t.Fatalf("%v, %v", kept, err)
	}
	data, _, err := unstructured.NestedStringMap(kept.Object, "data")
	owner, again, err2 := loadbalancer.ParseStored(kept.GetName(), data)
	if err := errors.Join(err, err2); err != nil || owner != loadbalancer.CNFOwner(l.id) {
		l.t.Fatal(owner, err)
	}
	if diff := gocmp.Diff(part, again); diff != "" {
		l.t.Errorf("the cluster keeps something else:\n%s", diff)
	}
}

var both = map[int]string{30080: "shop.web.http", 30081: "shop.api"}

// newBalancer is a machine with a haproxy that serves what is in its file since the last reload.
func newBalancer(t *testing.T) *sshtest.Host {
	t.Helper()
	var mu sync.Mutex
	serving, pid := "", 0
	bind := regexp.MustCompile(`(?m)^    bind 0\.0\.0\.0:(\d+)$`)
	program := func(run func(p *sshtest.Process) error) sshtest.Command {
		return func(_ context.Context, p *sshtest.Process) int {
			mu.Lock()
			defer mu.Unlock()
			if err := run(p); err != nil {
				_, _ = io.WriteString(p.Stderr, err.Error()+"\n")
				return 1
			}
			return 0
		}
	}
	return sshtest.Start(t, sshtest.Config{Name: "lb", Password: canary, SudoPassword: canary, Commands: map[string]sshtest.Command{
		"haproxy": program(func(p *sshtest.Process) error {
			_, err := afero.ReadFile(p.FS, p.Args[len(p.Args)-1])
			return err
		}),
		"systemctl": program(func(p *sshtest.Process) error {
			if path.Base(p.Args[1]) != "reload-or-restart" {
				return nil
			}
			text, err := afero.ReadFile(p.FS, loadbalancer.ConfigFile)
			serving, pid = string(text), pid+1
			return err
		}),
		"ss": program(func(p *sshtest.Process) error {
			for _, m := range bind.FindAllStringSubmatch(serving, -1) {
				_, _ = fmt.Fprintf(p.Stdout, "LISTEN 0 4096 0.0.0.0:%s 0.0.0.0:* users:((\"haproxy\",pid=%d,fd=6))\n", m[1], pid)
			}
			return nil
		}),
	}})
}
