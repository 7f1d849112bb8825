package kubespray_test

import (
	"cmp"
	"net/netip"
	"runtime/debug"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubespray"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // many small worlds, each soon garbage
	goleak.VerifyTestMain(m)
}

const (
	packageDir = "../../examples/packages/k8s-cluster-kubespray"
	sample     = "instantiate_sandbox.json" // sample is the name of the request file to instantiate the sandbox package
	driverName = "mgmt-drivers-kubespray"
	root       = "/home/ansible/kubespray"
	inventory  = root + "/inventory/mycluster" // inventory directory of the sample requests
	// serverPassword is a word that occurs in no other text. Errors mask secrets, so the password of the sample requests, a
	// common word, would mask other words too.
	serverPassword = "opensesame"
)

var serverAddress = netip.MustParseAddr("10.9.0.1")

// ansibleServer returns the Ansible server that the sample requests name.
func ansibleServer() sandbox.AnsibleServer {
	return sandbox.AnsibleServer{Address: serverAddress, User: "ansible", Password: serverPassword, Version: "2.14.18", Kubespray: "2.23.3", Sshpass: true}
}

// lab runs the kubespray driver on simulated machines.
type lab struct {
	*clustertest.Lab
	t      testing.TB
	driver kubespray.Config // configuration of the driver without its Pool
}

// setup lists the differences of a lab from the default one.
type setup struct {
	sandbox sandbox.Config
	from    *mgmttest.Snapshot
	driver  kubespray.Config
	server  func(*sandbox.AnsibleServer)
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
	l := &lab{t: t, driver: s.driver}
	l.Lab = clustertest.Open(t, mgmttest.Setup{
		Sandbox: s.sandbox, From: s.from, Package: cmp.Or(s.pkg, packageDir), Requests: packageDir + "/requests", Drivers: l.drivers,
		Change: with(t, `{"ansible":{"password":"`+serverPassword+`"}}`),
	})
	return l
}

func (l *lab) drivers(pool *sshexec.Pool) map[string]vnflcm.MgmtDriver {
	driver := l.driver
	driver.Pool = pool
	return map[string]vnflcm.MgmtDriver{driverName: kubespray.New(driver)}
}

const param = "k8s_cluster_installation_param"

// with changes the cluster parameters by a JSON merge patch.
func with(t testing.TB, patch string) mgmttest.Change { return mgmttest.With(t, param, patch) }

// params returns additionalParams with these cluster parameters.
func params(t testing.TB, patch string) vnflcm.Params {
	t.Helper()
	return mgmttest.Params(t, param, patch)
}

// server returns the simulated Ansible server.
func (l *lab) server() *sshtest.Host { return l.World.AnsibleHost(serverAddress) }

// vnfcs returns the VNFCs of a VDU.
func (l *lab) vnfcs(id, vdu string) (out []vnflcm.VnfcResourceInfo) {
	l.t.Helper()
	for _, v := range l.VNFCs(id) {
		if v.VduID == vdu {
			out = append(out, v)
		}
	}
	if len(out) == 0 {
		l.t.Fatalf("no VNFC of %s", vdu)
	}
	return out
}

// runs returns the playbook runs that the server has started, each with its arguments.
func (l *lab) runs() (out [][]string) {
	for _, r := range l.server().Commands() {
		if !r.BuiltIn && r.Argv[0] == "ansible-playbook" && !slices.Contains(r.Argv, "--version") {
			out = append(out, r.Argv)
		}
	}
	return out
}

func (l *lab) scaleOut(id string) {
	l.t.Helper()
	l.Must(l.Scale(l.t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}))
}
