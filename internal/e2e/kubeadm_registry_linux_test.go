package e2e_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/internal/e2e/kube"
	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/registry/client"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

const (
	registryCA = "Files/registry-ca.pem"
	helmScript = "Scripts/install_helm_offline.sh"
)

// TestKubeadmRegistry: every worker, also those that come later, runs pods whose image is in a private registry; and
// Helm is installed on the control-plane node from an archive.
func TestKubeadmRegistry(t *testing.T) {
	t.Parallel()
	var private *privateRegistry
	y := newYard(t, func(y *yard, spec *vmhost.Spec) {
		private = newRegistry(t, y.parts)
		archive, script := offlineHelm(t, y.parts)
		spec.Files = map[string]string{archive.name: archive.content}
		y.packages = samplePackage(t, map[string][]byte{registryCA: private.ca, helmScript: script})
	})
	private.push(t, y.parts.Image("pause"), "team/web", "1")
	private.push(t, y.parts.Image("pause"), "team/probe", "1")
	processes := watchProcesses(t, registryCanaries(t))
	ctx := t.Context()

	id, request := y.cluster("simple", private.parameters(t), `{"k8s_cluster_installation_param": {"helm_installation_script_path": "`+helmScript+`"}}`)
	y.must(y.Instantiate(ctx, id, request))
	y.wantNodes(id, 1, 1)
	y.pulls(id, 1)
	y.wantHelm(id)
	y.wantHelmInfo(id, map[string]any{"masternode_username": user, "masternode_password": password})
	t.Run("faults", func(t *testing.T) { y.registryFaults(t, y.vnfcs(id, workerVDU)[0], private) })

	y.must(y.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}))
	y.pulls(id, 2)
	worker := y.vnfcs(id, workerVDU)[0]
	y.kill(worker)
	y.must(y.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{worker.ID}}))
	y.wantNodes(id, 1, 2)
	y.pulls(id, 2)

	processes()
	y.wantCredentials(id)
}

// parameters are those of the request that connect the cluster to the registry.
func (r *privateRegistry) parameters(t *testing.T) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"k8s_cluster_installation_param": map[string]any{"private_registry_connection_info": []any{map[string]string{
		"connection_type": client.HTTPS, "server": registryServer, "username": registryUser, "password": registryPassword,
		"certificate_path": registryCA, "hosts_string": r.hostsString(), "probe_image": "team/probe:1"}}}})
	must(t, err)
	return string(text)
}

func (r *privateRegistry) hostsString() string {
	return r.host.Address.String() + " " + registryName
}

// pulls runs a pod on each of the workers. Only the registry has the image of the pod, and only the node has credentials of
// the registry.
func (y *yard) pulls(id string, workers int) {
	y.t.Helper()
	deployment, _, _ := strings.Cut(fmt.Sprintf(workload, workers), "---")
	deployment = strings.Replace(deployment, `image: "registry.k8s.io/pause:tests"`, `imagePullPolicy: Always, image: "`+registryServer+`/team/web:1"`, 1)
	y.apply(id, "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n---"+deployment)
	y.kubectl(id, "delete", "pods", "-n", "shop", "--all", "--grace-period=1", "--timeout=30s") // what a dead worker has run may still seem to run
	y.kubectl(id, "rollout", "status", "-n", "shop", "deployment/web", "--timeout=60s")
	nodes := strings.Fields(y.kubectl(id, "get", "pods", "-n", "shop", "--field-selector=status.phase=Running", "-o", "jsonpath={.items[*].spec.nodeName}"))
	if len(nodes) != workers {
		y.t.Errorf("pods from the registry run on %v", nodes)
	}
}

// everyNode is a DaemonSet with a pod on every node, control-plane nodes among them, whose image only the private registry has. Another
// round replaces all pods at once.
const everyNode = `
apiVersion: v1
kind: Namespace
metadata: {name: private}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: web, namespace: private}
spec:
  selector: {matchLabels: {app: web}}
  updateStrategy: {rollingUpdate: {maxUnavailable: 100%%}}
  template:
    metadata: {labels: {app: web}, annotations: {round: "%s"}}
    spec:
      terminationGracePeriodSeconds: 1
      tolerations: [{operator: Exists}]
      containers: [{name: web, imagePullPolicy: Always, image: "` + registryServer + `/team/web:1"}]
`

// pullsEverywhere has every node run a new pod whose image it must pull, with no credentials but those of the node.
func (y *yard) pullsEverywhere(id string) {
	y.t.Helper()
	y.apply(id, fmt.Sprintf(everyNode, uuid.NewString()))
	y.kubectl(id, "rollout", "status", "-n", "private", "daemonset/web", "--timeout=60s")
	ready := y.kubectl(id, "get", "daemonset", "-n", "private", "web", "-o", "jsonpath={.status.numberReady}")
	if want := strconv.Itoa(len(y.vnfcs(id, masterVDU)) + len(y.vnfcs(id, workerVDU))); ready != want {
		y.t.Errorf("pods of the private registry run on %s nodes, want %s", ready, want)
	}
}

// registryFaults: what containerd says of a wrong password, an unknown CA and a server without TLS is told by its
// cause. The right connection is made again at the end.
func (y *yard) registryFaults(t *testing.T, worker vnflcm.VnfcResourceInfo, r *privateRegistry) {
	plain := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: 10 * time.Second}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", site.network.Gateway().String()+":0")
	must(t, err)
	ended := make(chan error, 1)
	go func() { ended <- plain.Serve(listener) }()
	defer func() { must(t, errors.Join(plain.Close(), errors.Unwrap(<-ended))) }()

	right := client.Connection{Type: client.HTTPS, Server: registryServer, Username: registryUser, Password: vnflcm.NewSecret(registryPassword),
		CertificatePath: registryCA, HostsString: r.hostsString(), ProbeImage: "team/probe:1"}
	wrong, unknown, http := right, right, right
	wrong.Password = vnflcm.NewSecret("wrong")
	unknown.CertificatePath = ""
	http.Server, http.HostsString = listener.Addr().String(), ""
	open := func(path string) (io.ReadCloser, error) { return os.Open(filepath.Join(y.packages, path)) } //nolint:gosec // of the test
	for _, c := range []struct {
		connection client.Connection
		want       error
	}{{wrong, client.ErrLogin}, {unknown, client.ErrUnknownAuthority}, {http, client.ErrPlainHTTP}, {right, nil}} {
		connections := client.Connections{c.connection}
		must(t, client.Connect(t.Context(), y.host(worker), client.Containerd, connections, open))
		if err := client.Probe(t.Context(), y.host(worker), client.Containerd, connections); !errors.Is(err, c.want) {
			t.Errorf("got %v, want %v", err, c.want)
		}
	}
}

// wantCredentials checks where the password is: on machines in the file of the kubelet, which only root can read; with
// us nowhere in the clear.
func (y *yard) wantCredentials(id string) {
	y.t.Helper()
	for _, v := range append(y.vnfcs(id, masterVDU), y.vnfcs(id, workerVDU)...) {
		const file = "/var/lib/kubelet/config.json"
		if diff := cmp.Diff(file+"\n", grep(y.t, y.host(v), registryCanaries(y.t))); diff != "" {
			y.t.Errorf("%s: the password is in:\n%s", v.ID, diff)
		}
		if mode, err := y.on(v, "stat", "-c", "%a %U %G", file); mode != "600 root root\n" || err != nil {
			y.t.Errorf("%s: %s is %q, %v", v.ID, file, mode, err)
		}
	}
	y.keptSecret()
}

// grep names the files of a machine in which one of the texts is, in all directories unless some are named.
func grep(t testing.TB, host *sshexec.Host, texts []string, dirs ...string) string {
	t.Helper()
	if len(dirs) == 0 {
		dirs = []string{"/etc", "/root", "/home", "/tmp", "/run", "/var"}
	}
	var found bytes.Buffer
	// grep exits with 2 if a file is deleted while it runs.
	_ = host.Exec(t.Context(), sshexec.Command{Root: true, Stdin: strings.NewReader(strings.Join(texts, "\n")), Stdout: &found,
		Argv: append([]string{"grep", "-rlaF", "-D", "skip", "--exclude-dir=containerd", "--exclude-dir=netns", "-f", "-"}, dirs...)})
	return found.String()
}

// keptSecret checks that no password of a registry and no private key is in what we keep and tell.
func (y *yard) keptSecret() {
	y.t.Helper()
	y.mu.Lock()
	defer y.mu.Unlock()
	where := map[string]string{"the log": y.log.String(), "the events": fmt.Sprintf("%+v", y.events)}
	for _, kind := range []string{"instance", "operation", "step", "state", "vim"} {
		list, err := y.store.List(y.t.Context(), store.Query{Kind: kind})
		must(y.t, err)
		for _, record := range list {
			where["record "+kind+" "+record.ID] = string(record.Body)
		}
	}
	for place, text := range where {
		if leaked(text, append(registryCanaries(y.t), "PRIVATE KEY")) {
			y.t.Errorf("a secret of the registry is in %s", place)
		}
	}
}

func leaked(text string, canaries []string) bool {
	for _, c := range canaries {
		if strings.Contains(text, c) {
			return true
		}
	}
	return false
}

// watchProcesses looks at all command lines again and again, those of all machines among them. The function that it
// returns ends that, and says on which there was a secret.
func watchProcesses(t testing.TB, canaries []string) (end func()) {
	t.Helper()
	stop, found := make(chan struct{}), make(chan map[string]bool)
	go func() {
		seen := map[string]bool{}
		for {
			files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
			for _, name := range files {
				line, err := os.ReadFile(name) //nolint:gosec // below /proc
				if text := strings.ReplaceAll(string(line), "\x00", " "); err == nil && leaked(text, canaries) {
					seen[text] = true
				}
			}
			select {
			case <-stop:
				found <- seen
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	var lines map[string]bool
	end = func() {
		if lines == nil {
			close(stop)
			lines = <-found
		}
		for line := range lines {
			t.Errorf("a secret is on a command line: %s", line)
		}
	}
	t.Cleanup(end)
	return end
}

type imageFile struct{ name, content string }

// offlineHelm packs Helm as its project does, for the image of machines, and returns the sample's script with the
// version and the digest of that.
func offlineHelm(t *testing.T, parts kube.Parts) (imageFile, []byte) {
	t.Helper()
	program := read(t, filepath.Join(parts.Programs(), "helm"))
	const version = "3.22.0"
	var packed bytes.Buffer
	zip, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	must(t, err)
	pack := tar.NewWriter(zip)
	must(t, pack.WriteHeader(&tar.Header{Name: "linux-" + runtime.GOARCH + "/helm", Mode: 0o755, Size: int64(len(program))}))
	_, err = pack.Write(program)
	must(t, errors.Join(err, pack.Close(), zip.Close()))
	digest := fmt.Sprintf("%x", sha256.Sum256(packed.Bytes()))
	script := read(t, packageDir+"/Scripts/install_helm.sh")
	for form, value := range map[string]string{`(?m)^pinned=.*$`: "pinned=" + version, `(?m)^sha256_` + runtime.GOARCH + `=.*$`: "sha256_" + runtime.GOARCH + "=" + digest} {
		script = regexp.MustCompile(form).ReplaceAll(script, []byte(value))
	}
	// Beside the script, as the driver puts it on machines.
	return imageFile{"/var/lib/vnfkit/helm-v" + version + "-linux-" + runtime.GOARCH + ".tar.gz", packed.String()}, script
}

// wantHelmInfo checks that helm_info in the VIM entry is this login, the control-plane nodes, and the host keys that they have now.
func (y *yard) wantHelmInfo(id string, login map[string]any) {
	y.t.Helper()
	vim, err := y.VIMs().Get(y.t.Context(), "", kubeadm.VIMID(id))
	must(y.t, err)
	var extra struct {
		HelmInfo map[string]any `json:"helm_info"`
	}
	must(y.t, json.Unmarshal(vim.Extra.Reveal(), &extra))
	var addresses, keys []any
	for _, m := range y.vnfcs(id, masterVDU) {
		host := y.machines.Host(m.ComputeResource.ResourceID)
		key, err := host.HostKey()
		must(y.t, err)
		fields := strings.Fields(key)
		addresses = append(addresses, host.Address.String())
		keys = append(keys, strings.Join([]string{host.Address.String(), fields[0], fields[1]}, " "))
	}
	want := maps.Clone(login)
	want["masternode_ip"], want["masternode_host_keys"] = addresses, keys
	if len(addresses) == 1 {
		want["masternode_ip"] = addresses[0]
	}
	sorted := cmpopts.SortSlices(func(a, b any) bool { return fmt.Sprint(a) < fmt.Sprint(b) })
	if diff := cmp.Diff(want, extra.HelmInfo, sorted); diff != "" {
		y.t.Errorf("helm_info:\n%s", diff)
	}
}

// wantHelm checks that a chart which the login user puts where charts are kept can be installed.
func (y *yard) wantHelm(id string) {
	y.t.Helper()
	master := y.vnfcs(id, masterVDU)[0]
	host := y.host(master)
	const chart = "/var/tacker/helm/mini"
	must(y.t, host.Run(y.t.Context(), []string{"mkdir", "-p", chart + "/templates"}, nil, nil, nil))
	for name, content := range map[string]string{
		"/Chart.yaml":           "apiVersion: v2\nname: mini\nversion: 1.0.0\n",
		"/templates/thing.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: thing}\ndata: {from: {{ .Release.Name }}}\n",
	} {
		must(y.t, host.Upload(y.t.Context(), strings.NewReader(content), sshexec.File{Path: chart + name, Mode: 0o644}))
	}
	if out, err := y.on(master, "env", "KUBECONFIG=/etc/kubernetes/admin.conf", "helm", "install", "first", chart); err != nil {
		y.t.Fatalf("%v: %s", err, out)
	}
	if got := y.kubectl(id, "get", "configmap", "thing", "-o", "jsonpath={.data.from}"); got != "first" {
		y.t.Errorf("the chart gave %q", got)
	}
}
