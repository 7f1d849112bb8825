package e2e_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/e2e/kube"
	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// parts are built when the first scenario needs them.
var parts = sync.OnceValues(func() (kube.Parts, error) { return kube.Build(context.Background()) })

// needKubeadm skips the test when the run is not about real clusters, and returns what machines are made from.
func needKubeadm(t testing.TB) kube.Parts {
	t.Helper()
	return needParts(t, "kubeadm")
}

// needParts skips the test when the run is not about this part, and returns what machines are made from.
func needParts(t testing.TB, part string) kube.Parts {
	t.Helper()
	needPart(t, part)
	p, err := parts()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// yard is a scene of machines that real Kubernetes clusters run on.
type yard struct {
	*scene
	parts    kube.Parts
	machines *kube.Machines
	ssh      *sshexec.Pool // the test's own
	auth     sshexec.Auth  // how the test logs in

	instances []string
}

// newYard makes machines whose image is ready for kubeadm, unless change says otherwise.
func newYard(t testing.TB, change func(*yard, *vmhost.Spec)) *yard {
	t.Helper()
	return yardOf(t, needKubeadm(t), change)
}

func yardOf(t testing.TB, parts kube.Parts, change func(*yard, *vmhost.Spec)) *yard {
	t.Helper()
	y := &yard{parts: parts, scene: &scene{t: t, store: store.NewMemory()}, ssh: sshexec.NewPool(sshexec.Options{}), auth: sshexec.Password(password)}
	spec := vmhost.Spec{User: user, Password: password, Tree: y.parts.NodeTree(),
		Data: map[string]string{"/var/lib/containerd": y.parts.Images()}}
	if change != nil {
		change(y, &spec)
	}
	y.machines = &kube.Machines{Network: site.network, Spec: spec}
	t.Cleanup(func() {
		if t.Failed() {
			y.explain()
		}
		if err := y.ssh.Close(); err != nil {
			t.Error(err)
		}
		if err := y.machines.Close(); err != nil {
			t.Error(err)
		}
	})
	y.infra.Cloud = y.machines
	y.begin(y.infra)
	return y
}

// explain logs what the Manager has said, but for what it says all the time, and the state of the clusters.
func (y *yard) explain() {
	for _, id := range y.instances {
		for _, m := range y.vnfcs(id, masterVDU) {
			if y.machines.Host(m.ComputeResource.ResourceID) == nil {
				continue // a server whose machine has not begun to boot
			}
			for _, what := range [][]string{{"get", "nodes,pods", "-A", "-o", "wide"}, {"get", "events", "-A", "--field-selector=type!=Normal"}} {
				out, err := y.on(m, append([]string{"kubectl", "--kubeconfig=/etc/kubernetes/admin.conf", "--request-timeout=5s"}, what...)...)
				y.t.Log(m.ID, out, err)
			}
		}
	}
	for line := range strings.Lines(y.log.String()) {
		if !strings.Contains(line, `"level":"DEBUG"`) {
			y.t.Log(strings.TrimSpace(line))
		}
	}
}

// testbed returns parameters of nodes that share a kernel with others and lack CAP_SYS_RESOURCE, as ours do, and the version of the
// parts.
func (y *yard) testbed() string {
	return `{"k8s_cluster_installation_param": {
	"kubernetes_version": "` + y.parts.Version() + `",
	"packages": {"source": "installed"},
	"kubelet_configuration": {"cgroupDriver": "cgroupfs", "failSwapOn": false, "failCgroupV1": false, "localStorageCapacityIsolation": false,
		"featureGates": {"KubeletInUserNamespace": true}},
	"kube_proxy_configuration": {"conntrack": {"maxPerCore": 0, "min": 0}},
	"ignore_preflight_errors": ["SystemVerification", "NumCPU", "Mem"]
}}`
}

// cluster makes an instance and the request to make it a cluster; each of more is laid over its parameters.
func (y *yard) cluster(flavour string, more ...string) (string, vnflcm.InstantiateVnfRequest) {
	y.t.Helper()
	id, r := y.created("instantiate_sandbox.json", flavour)
	y.instances = append(y.instances, id)
	r.AdditionalParams = y.laid(r.AdditionalParams, append([]string{y.testbed()}, more...)...)
	return id, r
}

// laid lays parameters over others.
func (y *yard) laid(p vnflcm.Params, more ...string) vnflcm.Params {
	y.t.Helper()
	for _, text := range more {
		over, err := vnflcm.ParseParams([]byte(text))
		if err == nil {
			p, err = p.Merge(over)
		}
		if err != nil {
			y.t.Fatal(err)
		}
	}
	return p
}

// vnfcs lists the VNFCs of a VDU.
func (y *yard) vnfcs(id, vdu string) (out []vnflcm.VnfcResourceInfo) {
	y.t.Helper()
	inst, err := y.Get(context.WithoutCancel(y.t.Context()), id)
	if err != nil {
		y.t.Fatal(err)
	}
	if inst.InstantiatedVnfInfo == nil {
		return nil
	}
	for _, v := range inst.InstantiatedVnfInfo.VnfcResourceInfo {
		if v.VduID == vdu {
			out = append(out, v)
		}
	}
	return out
}

const (
	masterVDU = "masterNode"
	workerVDU = "workerNode"
)

// host is a machine, as the test logs in to it.
func (y *yard) host(v vnflcm.VnfcResourceInfo) *sshexec.Host {
	y.t.Helper()
	return y.login(v.ComputeResource.ResourceID)
}

func (y *yard) login(id string) *sshexec.Host {
	y.t.Helper()
	h := y.machines.Host(id)
	if h == nil {
		y.t.Fatalf("there is no machine %s", id)
	}
	key, err := h.HostKey()
	if err != nil {
		y.t.Fatal(err)
	}
	pinned, err := sshexec.PinnedHostKeys(key)
	if err != nil {
		y.t.Fatal(err)
	}
	return y.ssh.Host(sshexec.Target{ID: id, Name: h.Name, Addr: h.Address.String() + ":22", User: user, Sudo: sshexec.SudoPassword(password),
		Auth: []sshexec.Auth{y.auth}, HostKeys: pinned})
}

// on runs a command on a machine as root, and returns what it printed.
func (y *yard) on(v vnflcm.VnfcResourceInfo, argv ...string) (string, error) {
	return asRoot(y.host(v), argv...)
}

// everywhere runs a command on each machine of a VNF as root, also on those of one that is not instantiated yet, and returns what
// it printed.
func (y *yard) everywhere(id string, argv ...string) (printed string) {
	y.t.Helper()
	machines, err := y.machines.Machines(y.t.Context(), id)
	must(y.t, err)
	if len(machines) == 0 {
		y.t.Fatalf("%s has no machines", id)
	}
	for _, m := range machines {
		out, err := asRoot(y.login(m.ID), argv...)
		must(y.t, err)
		printed += out
	}
	return printed
}

func asRoot(host *sshexec.Host, argv ...string) (string, error) {
	var out bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // also when the test has ended
	defer cancel()
	err := host.Exec(ctx, sshexec.Command{Argv: argv, Root: true, Stdout: &out})
	return out.String(), err
}

// kubectl runs kubectl on a control-plane node that is alive.
func (y *yard) kubectl(id string, args ...string) string {
	y.t.Helper()
	var errs []error
	for _, m := range y.vnfcs(id, masterVDU) {
		if y.machines.Dead(m.ComputeResource.ResourceID) {
			continue
		}
		out, err := y.on(m, append([]string{"kubectl", "--kubeconfig=/etc/kubernetes/admin.conf"}, args...)...)
		if err == nil {
			return out
		}
		errs = append(errs, err)
	}
	y.t.Fatalf("kubectl %q: %v", args, errs)
	return ""
}

// apply applies a manifest.
func (y *yard) apply(id, manifest string) {
	y.t.Helper()
	err := y.host(y.vnfcs(id, masterVDU)[0]).Exec(y.t.Context(), sshexec.Command{Root: true, Stdin: strings.NewReader(manifest),
		Argv: []string{"kubectl", "--kubeconfig=/etc/kubernetes/admin.conf", "apply", "-f", "-"}})
	if err != nil {
		y.t.Fatal(err)
	}
}

// wantNodes checks the nodes of the cluster: as many as there are machines, all Ready, and no way left to join.
func (y *yard) wantNodes(id string, masters, workers int) {
	y.t.Helper()
	y.wantReadyNodes(id, masters, workers)
	if tokens := y.kubectl(id, "get", "secrets", "-n", "kube-system", "--field-selector=type=bootstrap.kubernetes.io/token", "-o", "name"); tokens != "" {
		y.t.Errorf("join tokens are left: %s", tokens)
	}
}

// wantReadyNodes checks the nodes of the cluster: as many as there are machines, all Ready.
func (y *yard) wantReadyNodes(id string, masters, workers int) {
	y.t.Helper()
	var list struct {
		Items []struct {
			Metadata struct {
				Name   string
				Labels map[string]string
			}
			Spec   struct{ Unschedulable bool }
			Status struct {
				Conditions []struct{ Type, Status string }
			}
		}
	}
	if err := json.Unmarshal([]byte(y.kubectl(id, "get", "nodes", "-o", "json")), &list); err != nil {
		y.t.Fatal(err)
	}
	type count struct{ Masters, Workers, NotReady, Machines int }
	got := count{Machines: len(y.vnfcs(id, masterVDU)) + len(y.vnfcs(id, workerVDU))}
	for _, n := range list.Items {
		if _, master := n.Metadata.Labels["node-role.kubernetes.io/control-plane"]; master {
			got.Masters++
		} else {
			got.Workers++
		}
		ready := !n.Spec.Unschedulable
		for _, c := range n.Status.Conditions {
			ready = ready && (c.Type != "Ready" || c.Status == "True")
		}
		if !ready {
			got.NotReady++
		}
	}
	if diff := cmp.Diff(count{masters, workers, 0, masters + workers}, got); diff != "" {
		y.t.Errorf("nodes:\n%s\n%s", diff, y.kubectl(id, "get", "nodes", "-o", "wide"))
	}
}

// wantMembers checks that the voters of etcd are the control-plane nodes, as etcd itself tells them.
func (y *yard) wantMembers(id string) {
	y.t.Helper()
	// The cluster can still have the pods of nodes that have left.
	first := y.machines.Host(y.vnfcs(id, masterVDU)[0].ComputeResource.ResourceID).Address.String()
	pods := strings.Fields(y.kubectl(id, "get", "pods", "-n", "kube-system", "-l", "component=etcd", "-o", `jsonpath={.items[?(@.status.hostIP=="`+first+`")].metadata.name}`))
	if len(pods) == 0 {
		y.t.Fatalf("no pod of etcd runs on %s", first)
	}
	const pki = "/etc/kubernetes/pki/etcd/"
	text := y.kubectl(id, "exec", "-n", "kube-system", pods[0], "--", "etcdctl", "--cacert="+pki+"ca.crt", "--cert="+pki+"server.crt", "--key="+pki+"server.key",
		"member", "list", "-w", "json")
	var list struct {
		Members []struct {
			PeerURLs  []string `json:"peerURLs"`
			IsLearner bool     `json:"isLearner"`
		}
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		y.t.Fatal(err)
	}
	var want, got []string
	for _, v := range y.vnfcs(id, masterVDU) {
		want = append(want, "https://"+y.machines.Host(v.ComputeResource.ResourceID).Address.String()+":2380")
	}
	for _, m := range list.Members {
		if m.IsLearner {
			y.t.Errorf("a learner is left: %v", m.PeerURLs)
		}
		got = append(got, m.PeerURLs...)
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		y.t.Errorf("etcd members:\n%s", diff)
	}
}

// viaVIM sends a request to the API server as a client outside of the cluster: with the address and credentials in the
// VIM registry.
func (y *yard) viaVIM(id, path string) (int, error) {
	vim, err := y.VIMs().Get(y.t.Context(), "", kubeadm.VIMID(id))
	if err != nil {
		return 0, err
	}
	var access struct {
		URL   string        `json:"auth_url"`
		Token vnflcm.Secret `json:"bearer_token"`
		CA    string        `json:"ssl_ca_cert"`
	}
	if _, err := vim.AccessInfo.Decode(&access); err != nil {
		return 0, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(access.CA)) {
		return 0, fmt.Errorf("no CA in the VIM entry: %q", access.CA)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(y.t.Context(), http.MethodGet, access.URL+path, nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+access.Token.Reveal())
	answer, err := (&http.Client{Transport: transport, Timeout: 3 * time.Second}).Do(request)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

// watchAPI asks the API through the VIM entry without end. The function that it returns ends that, and returns the
// longest time between two answers.
func (y *yard) watchAPI(id string) (longest func() time.Duration) {
	stop, gap := make(chan struct{}), make(chan time.Duration)
	go func() {
		last, worst := time.Now(), time.Duration(0)
		for {
			select {
			case <-stop:
				gap <- worst
				return
			case <-time.After(100 * time.Millisecond):
			}
			if code, err := y.viaVIM(id, "/readyz"); code == http.StatusOK && err == nil {
				worst = max(worst, time.Since(last))
				last = time.Now()
			}
		}
	}()
	return func() time.Duration { close(stop); return <-gap }
}

// holder is the control-plane node that has an address.
func (y *yard) holder(id, address string) vnflcm.VnfcResourceInfo {
	y.t.Helper()
	for _, m := range y.vnfcs(id, masterVDU) {
		if y.machines.Dead(m.ComputeResource.ResourceID) {
			continue
		}
		out, err := y.on(m, "ip", "-o", "addr")
		if err != nil {
			y.t.Fatal(err)
		}
		if strings.Contains(out, " "+address+"/") {
			return m
		}
	}
	y.t.Fatalf("no control-plane node has %s", address)
	return vnflcm.VnfcResourceInfo{}
}

// kill ends a machine as a power cut does.
func (y *yard) kill(v vnflcm.VnfcResourceInfo) {
	y.t.Helper()
	if err := y.machines.Kill(v.ComputeResource.ResourceID); err != nil {
		y.t.Fatal(err)
	}
}

// wholeHeal returns a request to heal the whole VNF that gives up the data of a cluster.
func wholeHeal(t *testing.T) vnflcm.HealVnfRequest {
	t.Helper()
	params, err := vnflcm.ParseParams([]byte(`{"restore": "none"}`))
	must(t, err)
	return vnflcm.HealVnfRequest{AdditionalParams: params}
}

// gone checks that a terminated instance has left nothing with us.
func (y *yard) gone(id string) {
	y.t.Helper()
	if left, err := y.machines.Machines(y.t.Context(), id); err != nil || len(left) != 0 {
		y.t.Errorf("machines are left: %v, %v", left, err)
	}
	if _, err := y.VIMs().Get(y.t.Context(), "", kubeadm.VIMID(id)); err == nil {
		y.t.Error("the VIM entry is left")
	}
}
