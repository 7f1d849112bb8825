package e2e_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/mgmt/kubespray"
	"github.com/vnfkit/vnfkit/mgmt/loadbalancer"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const (
	kubesprayDir    = "../../examples/packages/k8s-cluster-kubespray"
	kubesprayVNFD   = "1b7a4b52-4c1f-4f0e-8c43-6f2e1a9d5c70"
	kubesprayDriver = "mgmt-drivers-kubespray"
)

// newKubesprayYard makes machines for clusters by kubespray, and the Ansible server.
func newKubesprayYard(t testing.TB, change func(*yard, *vmhost.Spec)) (*yard, *ansibleServer) {
	t.Helper()
	y := yardOf(t, needAnsibleServer(t), func(y *yard, spec *vmhost.Spec) {
		y.others = map[string]string{kubesprayVNFD: kubesprayDir}
		if change != nil {
			change(y, spec)
		}
	})
	y.balancers()
	t.Cleanup(func() {
		if t.Failed() {
			y.showMachines()
		}
	})
	return y, y.newAnsibleServer()
}

// showMachines shows what the processes of all machines wait for, and the last that their kubelets have said. It does not log in: a
// machine that lets no one log in is shown too. The context of the test has ended by then.
func (y *yard) showMachines() {
	const show = `cat /proc/loadavg /proc/pressure/io; ps -eo pid,ppid,stat,etimes,wchan:24,args --cols 160
		for p in $(ps -eo pid,stat | awk '$2 ~ /^D/ { print $1 }'); do echo "stack of $p"; cat /proc/$p/stack; done 2>&1
		ls -l /etc/kubernetes; journalctl -u kubelet --no-pager -n 60 2>&1`
	ctx := context.WithoutCancel(y.t.Context())
	for _, instance := range y.instances {
		machines, err := y.machines.Machines(ctx, instance)
		if err != nil {
			y.t.Log(err)
		}
		for _, m := range machines {
			limited, cancel := context.WithTimeout(ctx, time.Minute)
			out, err := y.machines.Host(m.ID).Exec(limited, "sh", "-c", show)
			cancel()
			y.t.Log(m.Name, m.Address, out, err)
		}
	}
}

// kubesprayed makes an instance and the request to make it a cluster with one control-plane node; each of more is laid over its
// parameters.
func (y *yard) kubesprayed(server *ansibleServer, more ...string) (string, vnflcm.InstantiateVnfRequest) {
	y.t.Helper()
	return y.kubesprayedIn("simple", server, more...)
}

// kubesprayedIn makes an instance and the request to make it a cluster in a flavour.
func (y *yard) kubesprayedIn(flavour string, server *ansibleServer, more ...string) (string, vnflcm.InstantiateVnfRequest) {
	y.t.Helper()
	id, r := y.createdOf(kubesprayDir, kubesprayVNFD, "instantiate_sandbox.json", flavour)
	y.instances = append(y.instances, id)
	r.ExtVirtualLinks = nil
	r.InstantiationLevelID = "instantiation_level_2"
	r.AdditionalParams = y.laid(r.AdditionalParams, append([]string{server.parameters(y.t)}, more...)...)
	return id, r
}

// parameters say where the Ansible server is.
func (s *ansibleServer) parameters(t testing.TB) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"k8s_cluster_installation_param": map[string]any{"ansible": map[string]any{
		"ip_address": s.machine.Address, "username": ansibleUser, "password": ansiblePassword,
		"kubespray_root_path": kubesprayRoot, "transferring_inventory_path": nil,
	}, "external_lb_param": map[string]any{"script_path": nil}}})
	must(t, err)
	return string(text)
}

// TestKubesprayLife takes a cluster behind a load balancer, which a script of the package installs, through its life; a CNF has
// its services exposed there. It is alone: clients count what fails.
func TestKubesprayLife(t *testing.T) {
	y, server := newKubesprayYard(t, func(y *yard, _ *vmhost.Spec) {
		y.others = map[string]string{shopVNFD: writePackage(t, shopPackage),
			kubesprayVNFD: packageWith(t, kubesprayDir, map[string][]byte{balancerScript: []byte(balancerInstaller)})}
		y.drivers = cnfDrivers(t)
	})
	secrets := server.watch(t)
	ctx := t.Context()
	id, request := y.kubesprayed(server, `{"k8s_cluster_installation_param": {"external_lb_param": {"script_path": "`+balancerScript+`"}}}`)
	y.must(y.Instantiate(ctx, id, request))
	y.wantNodes(id, 1, 2)
	y.wantVIM(id)
	y.wantScriptRun(id)
	cnf := y.exposedShop(id)

	y.must(y.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}))
	y.wantNodes(id, 1, 3)
	y.open(id)
	clients := y.customers(id)
	y.must(y.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance"}))
	for _, c := range clients {
		c.none("scale-in")
	}
	y.wantNodes(id, 1, 2)

	alive := y.vnfcs(id, workerVDU)[0]
	clients = y.customers(id)
	y.must(y.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{alive.ID}}))
	for _, c := range clients {
		c.none("heal of a live worker")
	}
	y.wantNodes(id, 1, 2)
	y.open(id)

	dead := y.vnfcs(id, workerVDU)[1]
	clients = y.customers(id)
	y.kill(dead)
	y.must(y.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{dead.ID}}))
	for _, c := range clients {
		c.bounded("heal of a dead worker")
	}
	y.wantNodes(id, 1, 2)
	y.open(id)

	balancer := y.vnfcs(id, balancerVDU)[0]
	y.kill(balancer)
	y.must(y.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{balancer.ID}}))
	y.wantVIM(id)
	y.wantScriptRun(id)
	y.visited(id)
	y.closedDown(id, cnf)

	master := y.vnfcs(id, masterVDU)[0]
	op, err := y.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{master.ID}})
	t.Logf("heal of a control-plane node alone: %v", y.failure(op, err))
	if op != "" {
		must(t, y.Fail(ctx, op))
	}
	y.must(y.Heal(ctx, id, vnflcm.HealVnfRequest{}))
	y.wantNodes(id, 1, 2)
	y.wantVIM(id)

	y.must(y.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful, GracefulTerminationTimeout: 2}))
	y.gone(id)
	server.clean(t)
	secrets()
}

// wantVIM checks that the API is reached through the load balancer, whose address its certificate names.
func (y *yard) wantVIM(id string) {
	y.t.Helper()
	vim, err := y.VIMs().Get(y.t.Context(), "", kubespray.VIMID(id))
	must(y.t, err)
	var access struct {
		URL string `json:"auth_url"`
	}
	_, err = vim.AccessInfo.Decode(&access)
	must(y.t, err)
	if want := fmt.Sprintf("https://%s:%d", y.balancer(id), loadbalancer.DefaultPort); access.URL != want {
		y.t.Errorf("the API is at %s, want %s", access.URL, want)
	}
	if code, err := y.viaVIM(id, "/api/v1/namespaces/kube-system/secrets"); code != http.StatusOK || err != nil {
		y.t.Errorf("through the VIM entry: %d, %v", code, err)
	}
}

// balancer is the address of the load balancer.
func (y *yard) balancer(id string) string {
	y.t.Helper()
	list := y.vnfcs(id, balancerVDU)
	if len(list) != 1 {
		y.t.Fatalf("%d load balancers", len(list))
	}
	return y.machines.Host(list[0].ComputeResource.ResourceID).Address.String()
}

// open waits until all pods of the service are there.
func (y *yard) open(id string) {
	y.t.Helper()
	for _, what := range []string{"deployment/web", "daemonset/local"} {
		y.kubectl(id, "rollout", "status", "-n", "shop", what, "--timeout=50s")
	}
}

// customers begin to use the API and the service through the load balancer.
func (y *yard) customers(id string) []*traffic {
	y.t.Helper()
	vim, err := y.VIMs().Get(y.t.Context(), "", kubespray.VIMID(id))
	must(y.t, err)
	var access struct {
		CA string `json:"ssl_ca_cert"`
	}
	_, err = vim.AccessInfo.Decode(&access)
	must(y.t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(access.CA))
	lb := y.balancer(id)
	return []*traffic{
		request(y.t, pace, "API", fmt.Sprintf("https://%s:%d/readyz", lb, loadbalancer.DefaultPort), &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12, ClientSessionCache: tls.NewLRUClientSessionCache(0)}),
		request(y.t, pace, "pods anywhere", fmt.Sprintf("http://%s:%d/health", lb, webPort), nil),
		request(y.t, pace, "pods of the node", fmt.Sprintf("http://%s:%d/health", lb, localPort), nil),
	}
}

// watch looks for passwords where everybody on the Ansible server may look, until the function that it returns is called.
func (s *ansibleServer) watch(t testing.TB) func() {
	t.Helper()
	stop, found := make(chan struct{}), make(chan map[string]bool)
	go func() {
		seen := map[string]bool{}
		for {
			select {
			case <-stop:
				found <- seen
				return
			case <-time.After(20 * time.Millisecond):
			}
			processes, err := s.machine.Processes()
			if err != nil {
				seen[err.Error()] = true
			}
			for _, line := range processes {
				if tells(line) {
					seen[line] = true
				}
			}
		}
	}()
	return func() {
		t.Helper()
		close(stop)
		for line := range <-found {
			t.Errorf("a process of the Ansible server tells a password: %s", line)
		}
	}
}

// tells reports whether a text has a password in it, as it is or quoted somehow.
func tells(text string) bool {
	plain := strings.NewReplacer(`\`, "", `'`, "", `"`, "").Replace(text)
	for _, secret := range []string{password, ansiblePassword} {
		if strings.Contains(plain, strings.NewReplacer(`\`, "", `'`, "", `"`, "").Replace(secret)) {
			return true
		}
	}
	return false
}

// clean checks that nothing of ours is left on the Ansible server, and that all else is as it was.
func (s *ansibleServer) clean(t testing.TB) {
	t.Helper()
	if now := s.files(t); now != s.before {
		t.Errorf("files of the Ansible server before:\n%s\nand after:\n%s", s.before, now)
	}
	for _, line := range s.runs(t) {
		if tells(line) {
			t.Errorf("a password is in the arguments of %s", line)
		}
	}
	out, err := s.machine.Exec(within(t, time.Minute), "sh", "-c", `grep -rlFe "ca'na" -e "se'cr" /home /tmp /var/log/ansible-runs /var/tmp 2>/dev/null; true`)
	if err != nil || out != "" {
		t.Errorf("files with passwords are left: %s, %v", out, err)
	}
}

// bounded ends the requests. Only those may have failed that began before the load balancer had found the server dead.
func (w *traffic) bounded(during string) {
	w.t.Helper()
	const found = 30 * time.Second
	w.end(during)
	for _, f := range w.failures {
		if w.name != "pods anywhere" && f.at > found {
			w.t.Errorf("%s: a request to %s failed that began after %s: %v", during, w.name, f.at, f.err)
			return
		}
	}
}
