package soak_test

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helmsdk"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/internal/cnftest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/kubespray"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/mgmt/registry"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const packages = "../../examples/packages/"

// driver makes a management driver that waits for so long while a machine refuses its password.
type driver func(p *sshexec.Pool, login time.Duration) vnflcm.MgmtDriver

// lifecycle is the life of a VNF of a sample package.
type lifecycle struct {
	name, pkg, request string
	size               mgmttest.Change
	sandbox            sandbox.Config
	drivers            map[string]driver
	aspect, vdu        string // what is scaled, and of what one VNFC is healed; no aspect: the VNF has one size
}

var ansible = netip.MustParseAddr("10.9.0.1") // as in the sample requests

var clusters = map[string]driver{
	"mgmt-drivers-kubernetes": func(p *sshexec.Pool, login time.Duration) vnflcm.MgmtDriver {
		return kubeadm.New(kubeadm.Config{Pool: p, Timeouts: kubeadm.Timeouts{Login: login}})
	},
}

var lifecycles = []lifecycle{
	{"kubeadm", "k8s-cluster", "instantiate_sandbox.json", clustertest.Sized("simple", 1), sandbox.Config{}, clusters, "worker_instance", "workerNode"},
	{"kubeadm with three control-plane nodes", "k8s-cluster", "instantiate_sandbox.json", clustertest.Sized("complex", 0), sandbox.Config{},
		clusters, "worker_instance", "workerNode"},
	{"kubespray", "k8s-cluster-kubespray", "instantiate_sandbox.json", clustertest.Sized("simple", 1),
		sandbox.Config{Ansible: []sandbox.AnsibleServer{{Address: ansible, User: "ansible", Password: "ansible", Version: "2.14.18", Kubespray: "2.23.3", Sshpass: true}}},
		map[string]driver{
			"mgmt-drivers-kubespray": func(p *sshexec.Pool, login time.Duration) vnflcm.MgmtDriver {
				return kubespray.New(kubespray.Config{Pool: p, Timeouts: kubespray.Timeouts{Login: login}})
			},
		}, "worker_instance", "workerNode"},
	{"registry", "private-registry", "instantiate_pull.json", unchanged, sandbox.Config{PublicImages: []string{"registry:latest"}},
		map[string]driver{
			"mgmt-drivers-private-registry": func(p *sshexec.Pool, login time.Duration) vnflcm.MgmtDriver {
				return registry.New(registry.Config{Pool: p, Timeouts: registry.Timeouts{Login: login, Ready: max(login, 10*time.Second)}})
			},
		}, "", "PrivateRegistryVDU"},
	{"CNF", "cnf", "instantiate_manifests.json", unchanged, sandbox.Config{}, nil, "web_aspect", "web"},
	{"CNF of a chart", "cnf", "instantiate_chart.json", unchanged, sandbox.Config{}, nil, "web_aspect", "web"},
	{"CNF of MCIOPs", "cnf-mciop", "instantiate.json", unchanged, sandbox.Config{}, nil, "web_aspect", "web_vdu"},
}

func unchanged(*vnflcm.InstantiateVnfRequest) {}

// lab is where a lifecycle runs: machines of a sandbox, or for a CNF a simulated cluster.
type lab struct {
	*mgmttest.Lab
	t       *testing.T
	of      lifecycle
	cluster *cnftest.Cluster // nil: machines
	dial    mgmttest.Dial
	dead    map[*sshtest.Host]bool
	cut     bool // something has cut connections
	login   time.Duration
	former  []*process // that have ended, one after the other

	generated map[string]int // secrets that were collected, by kind
}

const cnfVIM = "cluster"

func (c lifecycle) open(t *testing.T) *lab {
	t.Helper()
	p := &lab{t: t, of: c, dead: map[*sshtest.Host]bool{}, login: time.Minute, generated: map[string]int{}}
	c.sandbox.Virtual = []string{"vip_CP"}
	c.sandbox.Unexpected = func(string, []string) {} // programs are also asked whether they are there
	p.Lab = mgmttest.Open(t, mgmttest.Setup{Sandbox: c.sandbox, Package: packages + c.pkg, Drivers: p.drivers})
	p.dial = p.World.Dial
	if c.drivers == nil {
		p.cluster, p.dial = cnftest.Start(t), new(net.Dialer).DialContext
		at, err1 := vnflcm.NewParams(map[string]string{"endpoint": p.cluster.URL(), "ssl_ca_cert": p.cluster.CA()})
		who, err2 := vnflcm.NewParams(map[string]string{"bearer_token": p.cluster.Token()})
		err3 := p.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: cnfVIM, VimType: kubernetes.VimTypeV1, InterfaceInfo: at, AccessInfo: who})
		must(t, errors.Join(err1, err2, err3))
	}
	return p
}

func (p *lab) drivers(pool *sshexec.Pool) map[string]vnflcm.MgmtDriver {
	out := map[string]vnflcm.MgmtDriver{}
	for name, driver := range p.of.drivers {
		out[name] = driver(pool, p.login)
	}
	return out
}

// addCNF adds the driver of CNFs, with any lab.
func (p *lab) addCNF(c *vnflcm.Config, dial mgmttest.Dial) {
	c.Infra[kubernetes.VimTypeV1] = kubernetes.New(kubernetes.Config{Dial: dial, Dir: p.t.TempDir(), Helm: func(cluster *rest.Config, dir string) (helmclient.Client, error) {
		return helmsdk.New(helmsdk.Config{Cluster: cluster, Dir: dir})
	}})
}

// living are the machines but those that have died.
func (p *lab) living() []*sshtest.Host {
	return slices.DeleteFunc(p.hosts(), func(h *sshtest.Host) bool { return p.dead[h] })
}

// operation is one of a lifecycle.
type operation struct {
	name  string
	begin func(p *lab, m *vnflcm.Manager, id string) (opID string, err error)
}

// operations are those of a lifecycle, in order.
func (c lifecycle) operations() []operation {
	scale := func(kind vnflcm.ScaleType) func(*lab, *vnflcm.Manager, string) (string, error) {
		return func(p *lab, m *vnflcm.Manager, id string) (string, error) {
			return m.Scale(p.t.Context(), id, vnflcm.ScaleVnfRequest{Type: kind, AspectID: c.aspect})
		}
	}
	all := []operation{
		{"instantiate", (*lab).instantiate},
		{"scale out", scale(vnflcm.ScaleOut)},
		{"heal one VNFC", (*lab).healOne},
		{"scale in", scale(vnflcm.ScaleIn)},
		{"heal the whole VNF", func(p *lab, m *vnflcm.Manager, id string) (string, error) {
			return m.Heal(p.t.Context(), id, wholeHeal(p.t))
		}},
		{"terminate", func(p *lab, m *vnflcm.Manager, id string) (string, error) {
			return m.Terminate(p.t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
		}},
	}
	if c.aspect == "" {
		return []operation{all[0], all[2], all[4], all[5]}
	}
	return all
}

func (p *lab) instantiate(m *vnflcm.Manager, id string) (string, error) {
	request := p.Request(p.of.request, p.of.size)
	if p.cluster != nil {
		request.VimConnectionInfo = vnflcm.VimConnections{{VimID: cnfVIM}}
	}
	return m.Instantiate(p.t.Context(), id, request)
}

// healOne replaces a VNFC, whose machine has died.
func (p *lab) healOne(m *vnflcm.Manager, id string) (string, error) {
	for _, v := range p.VNFCs(id) {
		if v.VduID != p.of.vdu {
			continue
		}
		if p.cluster == nil {
			p.dead[p.World.Host(v.ComputeResource.ResourceID)] = true
			must(p.t, p.World.Stop(v.ComputeResource.ResourceID))
		}
		return m.Heal(p.t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{v.ID}})
	}
	return "", errors.New("the VNF has no VNFC of " + p.of.vdu)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wholeHeal returns a request to heal the whole VNF that gives up the data of a cluster.
func wholeHeal(t testing.TB) vnflcm.HealVnfRequest {
	t.Helper()
	params, err := vnflcm.ParseParams([]byte(`{"restore": "none"}`))
	if err != nil {
		t.Fatal(err)
	}
	return vnflcm.HealVnfRequest{AdditionalParams: params}
}
