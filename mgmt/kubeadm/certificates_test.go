package kubeadm_test

import (
	"crypto/tls"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/internal/kubesim/kubeapi"
	"github.com/vnfkit/vnfkit/internal/kubesim/pki"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

var renewal = vnflcm.MaintainVnfRequest{Task: vnflcm.RenewCertificates}

var staticPods = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}

const kubernetesDir = "/etc/kubernetes/"

// controlPlane returns the control-plane nodes.
func (l *lab) controlPlane() (out []*sshtest.Host) {
	for _, h := range l.World.Hosts() {
		if strings.HasPrefix(h.Name(), "masterNode-") {
			out = append(out, h)
		}
	}
	return out
}

// renewed reports which static pods have been restarted for a renewal.
func (l *lab) renewed() (out []string) {
	for _, h := range l.controlPlane() {
		for _, pod := range staticPods {
			text, err := afero.ReadFile(h.FS(), kubernetesDir+"manifests/"+pod+".yaml")
			out = append(out, fmt.Sprint(h.Name(), " ", pod, " ", err == nil && strings.Contains(string(text), "vnfkit.io/certificates")))
		}
	}
	slices.Sort(out)
	return out
}

// serials returns the serial numbers of the certificates on the control-plane nodes.
func (l *lab) serials() map[string]string {
	l.t.Helper()
	out := map[string]string{}
	for _, h := range l.controlPlane() {
		for _, name := range []string{"pki/apiserver.crt", "pki/apiserver-kubelet-client.crt", "pki/apiserver-etcd-client.crt", "pki/front-proxy-client.crt",
			"pki/etcd/server.crt", "pki/etcd/peer.crt", "pki/etcd/healthcheck-client.crt", "admin.conf", "controller-manager.conf", "scheduler.conf"} {
			text := l.file(h.Name(), kubernetesDir+name)
			if strings.HasSuffix(name, ".conf") {
				text, _, _ = kubeapi.UserOf([]byte(text))
			}
			cert, err := pki.Parse([]byte(text))
			if err != nil {
				l.t.Fatalf("%s on %s: %v", name, h.Name(), err)
			}
			out[h.Name()+" "+name] = cert.SerialNumber.String()
		}
	}
	return out
}

// served returns the serial number of the certificate that the API server of a machine serves.
func (l *lab) served(id, name string) string {
	l.t.Helper()
	for _, v := range l.VNFCs(id) {
		if l.World.Host(v.ComputeResource.ResourceID).Name() != name {
			continue
		}
		for _, node := range l.World.Nodes() {
			if node.Machine != v.ComputeResource.ResourceID {
				continue
			}
			conn, err := l.World.Dial(l.t.Context(), "tcp", node.Address.String()+":6443")
			if err != nil {
				l.t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			secure := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // the certificate is what the test compares
			if err := secure.HandshakeContext(l.t.Context()); err != nil {
				l.t.Fatal(err)
			}
			return secure.ConnectionState().PeerCertificates[0].SerialNumber.String()
		}
	}
	l.t.Fatalf("no node %s", name)
	return ""
}

// TestRenewCertificates: every certificate is renewed and in use, one node after the other, while clients of the API are led to
// the other nodes.
func TestRenewCertificates(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		setup        setup
		cluster      []mgmttest.Change
		controlPlane int
		led          string // beginning of the names of the machines that lead clients to the API
	}{
		"virtual address": {setup{}, append(virtual(t), clustertest.Sized("complex", 0)), 3, "masterNode-"},
		"load balancer":   {setup{pkg: balancerPackage}, behind(t, "complex", 0), 3, "externalLB-"},
		"one node":        {setup{}, []mgmttest.Change{clustertest.Sized("simple", 0)}, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, c.setup)
			id := l.Instantiated("instantiate_sandbox.json", c.cluster...)
			before := l.serials()
			admin := l.file("masterNode-0", kubernetesDir+"admin.conf")
			l.copyKubeconfig("masterNode-0", admin, false)
			l.copyKubeconfig("masterNode-0", admin, true)
			led := l.whileRenewed(c.led)
			opID, err := l.Maintain(t.Context(), id, renewal)
			occ, err := l.End(opID, err)
			if err != nil {
				t.Fatal(err)
			}
			if occ.Operation != vnflcm.OpModifyInfo || occ.OperationState != vnflcm.Completed || occ.GrantID != "" {
				t.Errorf("the operation is %+v", occ)
			}
			after := l.serials()
			for file, serial := range before {
				if after[file] == serial {
					t.Errorf("%s was not renewed", file)
				}
			}
			for _, line := range l.renewed() {
				if !strings.HasSuffix(line, " true") {
					t.Errorf("not restarted: %s", line)
				}
			}
			for i := range c.controlPlane {
				name := fmt.Sprintf("masterNode-%d", i)
				if served := l.served(id, name); served != after[name+" pki/apiserver.crt"] {
					t.Errorf("%s serves another certificate than in its file", name)
				}
			}
			if c.led != "" && len(led()) > 0 {
				t.Errorf("clients were led to nodes that were renewed: %q", led())
			}
			for _, home := range []string{l.home("masterNode-0"), "/root"} {
				if copied := l.file("masterNode-0", home+"/.kube/config"); copied == admin || copied != l.file("masterNode-0", kubernetesDir+"admin.conf") {
					t.Errorf("the copy of admin.conf in %s is outdated", home)
				}
			}
			l.want(c.controlPlane, 1, 0)
			if code, _, err := l.Ask(first(l.Entry(kubeadm.VIMID(id))), "GET", "/api/v1/nodes", ""); err != nil || code != 200 {
				t.Errorf("the entry of the VIM: %d, %v", code, err)
			}
		})
	}
}

func first[A, B any](a A, _ B) A { return a }

func (l *lab) home(name string) string {
	l.t.Helper()
	for _, r := range l.host(name).Commands() {
		if r.User != "root" && r.User != "" {
			return "/home/" + r.User
		}
	}
	l.t.Fatalf("no user has logged in to %s", name)
	return ""
}

func (l *lab) copyKubeconfig(name, content string, root bool) {
	l.t.Helper()
	_, err := mgmttest.Run(l.t.Context(), l.host(name), sshexec.Command{Shell: `mkdir -p ~/.kube && cat > ~/.kube/config`, Stdin: strings.NewReader(content), Root: root})
	if err != nil {
		l.t.Fatal(err)
	}
}

// whileRenewed returns what returns the machines whose haproxy leads to a node while kubeadm renews its certificates.
func (l *lab) whileRenewed(led string) func() []string {
	var mu sync.Mutex
	var wrong []string
	addresses := map[string]string{}
	for _, n := range l.World.Nodes() {
		addresses[l.World.Host(n.Machine).Name()] = n.Address.String()
	}
	for _, h := range l.controlPlane() {
		h.OnCommand(func(r sshtest.Record) {
			if r.BuiltIn || r.Argv[0] != "kubeadm" || !slices.Contains(r.Argv, "renew") || led == "" {
				return
			}
			for _, other := range l.World.Hosts() {
				conf, err := afero.ReadFile(other.FS(), "/etc/haproxy/haproxy.cfg")
				if strings.HasPrefix(other.Name(), led) && (err != nil || strings.Contains(string(conf), addresses[h.Name()]+":6443")) {
					mu.Lock()
					wrong = append(wrong, other.Name()+" to "+h.Name())
					mu.Unlock()
				}
			}
		})
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return wrong
	}
}

// impatient is a driver that does not wait long for nodes.
var impatient = kubeadm.Config{Timeouts: kubeadm.Timeouts{Ready: 20 * time.Second}}

// TestRenewUnhealthy: nothing is renewed while a member of etcd is not healthy, and a member that fails meanwhile stops the renewal
// before another member is restarted.
func TestRenewUnhealthy(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{driver: impatient})
	id := l.Instantiated("instantiate_sandbox.json", append(virtual(t), clustertest.Sized("complex", 0))...)
	before := l.serials()
	l.when(l.host("masterNode-1"), "kubeadm", "renew", func() { l.stop("masterNode-2") })
	opID, err := l.Maintain(t.Context(), id, renewal)
	if err := l.Fails(opID, err); !strings.Contains(err.Error(), "not healthy") {
		t.Errorf("the error is %v", err)
	}
	renewed := l.renewed()
	if !slices.Contains(renewed, "masterNode-0 etcd true") || !slices.Contains(renewed, "masterNode-1 etcd false") || !slices.Contains(renewed, "masterNode-2 etcd false") {
		t.Errorf("restarted: %q", renewed)
	}
	if err := l.Fail(t.Context(), opID); err != nil {
		t.Fatal(err)
	}
	after := l.serials()
	opID, err = l.Maintain(t.Context(), id, renewal)
	if err := l.Fails(opID, err); !strings.Contains(err.Error(), "not healthy") {
		t.Errorf("the error of the next renewal is %v", err)
	}
	if diff := cmp.Diff(after, l.serials()); diff != "" {
		t.Errorf("renewed while a member is not healthy:\n%s", diff)
	}
	if err := l.Fail(t.Context(), opID); err != nil {
		t.Fatal(err)
	}
	l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "masterNode-2")}))
	l.Must(l.Maintain(t.Context(), id, renewal))
	for file, serial := range l.serials() {
		if before[file] == serial {
			t.Errorf("%s was not renewed", file)
		}
	}
}

// TestOtherKubeconfig: a kubeconfig that is no copy of admin.conf stays as it is.
func TestOtherKubeconfig(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{})
	id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 0))
	admin := l.file("masterNode-0", kubernetesDir+"admin.conf")
	moved := regexp.MustCompile(`server: .*`).ReplaceAllString(admin, "server: https://lb.example.org:6443")
	other := l.file("masterNode-0", kubernetesDir+"scheduler.conf")
	l.copyKubeconfig("masterNode-0", moved, false)
	l.copyKubeconfig("masterNode-0", other, true)
	l.Must(l.Maintain(t.Context(), id, renewal))
	if l.file("masterNode-0", l.home("masterNode-0")+"/.kube/config") != moved {
		t.Error("a kubeconfig for another address was replaced")
	}
	if l.file("masterNode-0", "/root/.kube/config") != other {
		t.Error("a kubeconfig of another user was replaced")
	}
}

// TestRenewNothing: kubeadm ends with success although the key of the CA is missing.
func TestRenewNothing(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{})
	id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 0))
	h := l.host("masterNode-0")
	key := l.file(h.Name(), kubernetesDir+"pki/ca.key")
	if err := h.FS().Remove(kubernetesDir + "pki/ca.key"); err != nil {
		t.Fatal(err)
	}
	opID, err := l.Maintain(t.Context(), id, renewal)
	if err := l.Fails(opID, err); !strings.Contains(err.Error(), "pki/apiserver.crt was not renewed") || strings.Contains(err.Error(), "etcd/server.crt") {
		t.Errorf("the error is %v", err)
	}
	if err := afero.WriteFile(h.FS(), kubernetesDir+"pki/ca.key", []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	l.Must(opID, l.Retry(t.Context(), opID))
	l.want(1, 1, 0)
}

// TestRenewWithoutAPI: the API of the only control-plane node ends while kubeadm renews its certificates. kubeadm has the configuration
// of the cluster, and a retry completes the renewal.
func TestRenewWithoutAPI(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{driver: impatient})
	id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 0))
	h := l.host("masterNode-0")
	kubelet := func(verb string) {
		if _, err := mgmttest.Run(t.Context(), h, sshexec.Command{Argv: []string{"systemctl", verb, "kubelet"}, Root: true}); err != nil {
			t.Error(err)
		}
	}
	l.when(h, "kubeadm", "renew", func() { kubelet("stop") })
	opID, err := l.Maintain(t.Context(), id, renewal)
	_ = l.Fails(opID, err)
	kubelet("start")
	l.Must(opID, l.Retry(t.Context(), opID))
	l.want(1, 1, 0)
}

// TestCertificates reads the certificates of every node that answers.
func TestCertificates(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{})
	id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 1))
	names := func(list []vnflcm.Certificate) (out []string) {
		for _, c := range list {
			if until := time.Until(c.NotAfter); c.IsCA != (until > 9*365*24*time.Hour) || !c.IsCA && until < 364*24*time.Hour {
				t.Errorf("%+v", c)
			}
			out = append(out, c.Machine+" "+c.Name)
		}
		slices.Sort(out)
		return out
	}
	want := []string{"masterNode-0 admin.conf", "masterNode-0 controller-manager.conf", "masterNode-0 kubelet", "masterNode-0 pki/apiserver-etcd-client.crt",
		"masterNode-0 pki/apiserver-kubelet-client.crt", "masterNode-0 pki/apiserver.crt", "masterNode-0 pki/ca.crt", "masterNode-0 pki/etcd/ca.crt",
		"masterNode-0 pki/etcd/healthcheck-client.crt", "masterNode-0 pki/etcd/peer.crt", "masterNode-0 pki/etcd/server.crt", "masterNode-0 pki/front-proxy-ca.crt",
		"masterNode-0 pki/front-proxy-client.crt", "masterNode-0 scheduler.conf", "workerNode-0 kubelet", "workerNode-1 kubelet"}
	list, err := l.Certificates(t.Context(), id)
	if diff := cmp.Diff(want, names(list)); diff != "" || err != nil {
		t.Errorf("error %v:\n%s", err, diff)
	}
	l.stop("workerNode-1")
	list, err = l.Certificates(t.Context(), id)
	if diff := cmp.Diff(want[:len(want)-1], names(list)); diff != "" || err == nil || !strings.Contains(err.Error(), "workerNode-1") {
		t.Errorf("error %v:\n%s", err, diff)
	}
}

// TestShortCertificates: certificates of new nodes and renewed ones are valid for the time in the request.
func TestShortCertificates(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{driver: kubeadm.Config{ShortCertificates: true}})
	id := l.Instantiated("instantiate_sandbox.json", append(virtual(t), clustertest.Sized("complex", 0), with(t, `{"certificate_validity":"10m"}`))...)
	check := func() {
		list, err := l.Certificates(t.Context(), id)
		if err != nil || len(list) == 0 {
			t.Errorf("%d certificates, %v", len(list), err)
		}
		for _, c := range list {
			if until := time.Until(c.NotAfter); !c.IsCA && (until > 10*time.Minute || until < 0) {
				t.Errorf("%s on %s is valid for %s", c.Name, c.Machine, until)
			}
		}
	}
	check()
	l.Must(l.Maintain(t.Context(), id, renewal))
	check()
}

// TestCertificateWarnings: a renewal warns of kubelets that do not renew their certificates, and other operations of certificates that end
// soon.
func TestCertificateWarnings(t *testing.T) {
	t.Parallel()
	var clock clustertest.Clock
	clock.Set(-350 * 24 * time.Hour)
	l := openLab(t, setup{sandbox: sandbox.Config{Now: clock.Now}})
	id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 0), oldVersion(t)) // no warning of containerd
	warnings := func(opID string, err error) string {
		occ, err := l.End(opID, err)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(occ.Warnings, "\n")
	}
	clock.Set(0)
	opID, err := l.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"})
	if text := warnings(opID, err); !strings.Contains(text, "the certificates of masterNode-0 end on ") {
		t.Errorf("the warnings are %q", text)
	}
	if err := l.host("workerNode-1").FS().Remove("/var/lib/kubelet/pki/kubelet-client-current.pem"); err != nil {
		t.Fatal(err)
	}
	opID, err = l.Maintain(t.Context(), id, renewal)
	if text := warnings(opID, err); !strings.Contains(text, "the kubelet of workerNode-0 has not renewed its certificate") ||
		!strings.Contains(text, "the certificate of the kubelet of workerNode-1 cannot be read") {
		t.Errorf("the warnings are %q", text)
	}
	opID, err = l.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"})
	if text := warnings(opID, err); text != "" {
		t.Errorf("after the renewal the warnings are %q", text)
	}
}
