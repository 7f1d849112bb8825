package e2e_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clientcmd "k8s.io/client-go/tools/clientcmd/api"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/internal/e2e/controlplane"
	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

const cnfVNFD = "4b0f7a53-9f2e-4e26-8c1d-77d5c1a0e9b4"

// cnfPackage has a chart, and manifests of the same.
var cnfPackage = map[string]string{
	"TOSCA-Metadata/TOSCA.meta": "TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-By: vnfkit\nEntry-Definitions: Definitions/top.yaml\n",
	"Definitions/top.yaml": `tosca_definitions_version: tosca_simple_yaml_1_2
imports: [simple.yaml]
node_types:
  lab.CNF: {derived_from: tosca.nodes.nfv.VNF}
topology_template:
  node_templates:
    VNF:
      type: lab.CNF
      properties: {descriptor_id: ` + cnfVNFD + `, descriptor_version: '1.0', provider: lab, product_name: web, software_version: '1.0', vnfm_info: ['0:vnfkit']}
`,
	"Definitions/simple.yaml": `tosca_definitions_version: tosca_simple_yaml_1_2
topology_template:
  substitution_mappings: {node_type: lab.CNF, properties: {flavour_id: simple}}
  node_templates:
    VNF: {type: lab.CNF, properties: {flavour_id: simple, flavour_description: web}, interfaces: {Vnflcm: {instantiate: []}}}
    WEB:
      type: tosca.nodes.nfv.Vdu.Compute
      properties: {name: web, description: web, vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 4}}
  policies:
    - aspects: {type: tosca.policies.nfv.ScalingAspects, properties: {aspects: {web: {name: web, description: web, max_scale_level: 3, step_deltas: [one]}}}}
    - initial: {type: tosca.policies.nfv.VduInitialDelta, targets: [WEB], properties: {initial_delta: {number_of_instances: 1}}}
    - deltas: {type: tosca.policies.nfv.VduScalingAspectDeltas, targets: [WEB], properties: {aspect: web, deltas: {one: {number_of_instances: 1}}}}
`,
	"Files/web.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {text: none}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {terminationGracePeriodSeconds: 1, containers: [{name: web, image: "registry.example/web:1"}]}
`,
}

// cnfDir writes the package.
func cnfDir(t testing.TB) string {
	t.Helper()
	files := maps.Clone(cnfPackage)
	files["Files/web.tgz"] = string(chartOf(t, "web", "1.0.0", web))
	return writePackage(t, files)
}

// cnfMode is a way to make a CNF.
type cnfMode struct {
	name     string
	masters  bool // the VIM names machines with Helm
	supplied bool // the program rather than the VIM has the credentials
	helm4    bool // on these machines or in this process
	params   string
}

// program is the helm that machines have.
func (m cnfMode) program(t testing.TB) string {
	t.Helper()
	if m.helm4 {
		return helm4Program(t)
	}
	return helm3Program(t)
}

// cnfModes are those of Helm 3, which all scenarios run with, and the one without Helm. helm4Modes are those of Helm 4.
var (
	cnfModes = []cnfMode{
		{"chart by CLI", true, false, false, chartParams},
		{"chart by SDK", false, false, false, chartParams},
		{"manifests", false, true, false, `{"namespace": %q, "lcm-kubernetes-def-files": ["Files/web.yaml"]}`},
	}
	helm4Modes = []cnfMode{
		{"chart by CLI of Helm 4", true, false, true, chartParams},
		{"chart by SDK of Helm 4", false, false, true, chartParams},
	}
)

const chartParams = `{"namespace": %q, "use_helm": "true", "helm_replica_values": {"web": "replicas"},
	"using_helm_install_param": [{"exthelmchart": "false", "helmchartfile_path": "Files/web.tgz", "helmreleasename": "web"}],
	"vdu_mapping": {"WEB": {"kind": "Deployment", "name": "web", "helmreleasename": "web"}}}`

// cnfSite is what a process needs to work on a CNF.
type cnfSite struct {
	Dir      string            // of Helm
	Packages map[string]string // directories, by VNFD id
	// Cluster is the function for the field Cluster of the driver's Config.
	Cluster func(context.Context, vnflcm.VimConnectionInfo) (*rest.Config, error) `json:"-"`
	// Only is the one machine that can be connected to. Default: all can.
	Only netip.Addr
	// Helm4 is whether Helm in this process is of version 4. Default: of version 3.
	Helm4 bool
	// Limit is the driver's Ready and Gone. Default 5 minutes.
	Limit time.Duration
}

// dial connects as the firewall of the site allows.
func (s cnfSite) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if host, _, _ := net.SplitHostPort(address); s.Only.IsValid() && host != s.Only.String() {
		return nil, errors.New("the firewall of the test refuses " + address)
	}
	return (&net.Dialer{Timeout: 3 * time.Second}).DialContext(ctx, network, address)
}

// config composes a Manager. The pool ends with the caller.
func (s cnfSite) config(store store.Store, pool *sshexec.Pool) vnflcm.Config {
	helm := helmInProcess
	if s.Helm4 {
		helm = helm4InProcess
	}
	driver := kubernetes.New(kubernetes.Config{Allow: outbound.AllowAny, SSH: pool, Dial: s.dial, Cluster: s.Cluster, Dir: s.Dir, Helm: helm,
		Ready: cmp.Or(s.Limit, 5*time.Minute), Gone: cmp.Or(s.Limit, 5*time.Minute)})
	return vnflcm.Config{Store: store, Key: key, Packages: packagesBy("", s.Packages),
		Mgmt: map[string]vnflcm.MgmtDriver{"sample-script": scriptless{}, "mgmt-container-update": scriptless{}}, Infra: map[string]vnflcm.InfraDriver{
			kubernetes.VimTypeV1: driver, kubernetes.VimTypeV2: driver, kubernetes.VimTypeHelm: driver}}
}

func (s cnfSite) pool() *sshexec.Pool {
	return sshexec.NewPool(sshexec.Options{KeepAlive: 3 * time.Second, Dial: s.dial})
}

// cnfVIM is the VIM entry of a cluster.
func cnfVIM(t testing.TB, vimType string, c *rest.Config, masters []*master) vnflcm.VimConnectionInfo {
	t.Helper()
	entry := map[string]any{"id": "1", "vimId": "cnf", "vimType": vimType, "interfaceInfo": map[string]any{"endpoint": c.Host, "ssl_ca_cert": string(c.CAData)},
		"accessInfo": map[string]any{"bearer_token": c.BearerToken}}
	if len(masters) > 0 {
		info := maps.Clone(masters[0].login)
		var addresses []string
		for _, m := range masters {
			addresses = append(addresses, m.machine.Address.String())
		}
		info["masternode_ip"] = addresses
		entry["extra"] = map[string]any{"helm_info": info}
	}
	text, err := json.Marshal(entry)
	must(t, err)
	var vim vnflcm.VimConnectionInfo
	must(t, json.Unmarshal(text, &vim))
	return vim
}

// cnf is a CNF in a separate namespace, and the process that runs its operations.
type cnf struct {
	*vnflcm.Manager
	t         testing.TB
	cluster   *controlplane.Cluster
	namespace string
	id        string
	request   vnflcm.InstantiateVnfRequest

	mu  sync.Mutex
	log bytes.Buffer
}

// Write takes the log.
func (c *cnf) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.Write(p)
}

func newCNF(t testing.TB, store store.Store, site cnfSite, vim vnflcm.VimConnectionInfo, vnfd, flavour, params string) *cnf {
	t.Helper()
	c := &cnf{t: t, cluster: needCluster(t)}
	c.namespace = newNamespace(t, c.cluster.Client())
	pool := site.pool()
	cfg := site.config(store, pool)
	cfg.Logger = slog.New(slog.NewTextHandler(c, nil))
	var err error
	c.Manager, err = vnflcm.New(t.Context(), cfg)
	must(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.pods())
			t.Log(c.log.String())
		}
		if err := errors.Join(c.Close(context.Background()), pool.Close()); err != nil {
			t.Error(err)
		}
	})
	must(t, c.VIMs().Put(t.Context(), vim))
	inst, err := c.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: vnfd})
	must(t, err)
	c.id = inst.ID
	c.request = vnflcm.InstantiateVnfRequest{FlavourID: flavour, VimConnectionInfo: vnflcm.VimConnections{{ID: vim.ID, VimID: vim.VimID, VimType: vim.VimType}}}
	if strings.Contains(params, "%q") {
		params = fmt.Sprintf(params, c.namespace)
	}
	c.request.AdditionalParams, err = vnflcm.ParseParams([]byte(params))
	must(t, err)
	return c
}

// must waits for an operation that must succeed.
func (c *cnf) must(opID string, err error) {
	c.t.Helper()
	must(c.t, err)
	begin := time.Now()
	occ, err := c.Wait(within(c.t, patience), opID)
	must(c.t, err)
	c.t.Logf("%s took %s", occ.Operation, time.Since(begin).Round(10*time.Millisecond))
}

// vnfcs are the names of the pods by the ids of the VNFCs, which must be those of the namespace.
func (c *cnf) vnfcs(want int) map[string]string {
	c.t.Helper()
	inst, err := c.Get(c.t.Context(), c.id)
	must(c.t, err)
	out, there := map[string]string{}, []string{}
	for _, v := range inst.InstantiatedVnfInfo.VnfcResourceInfo {
		out[v.ID] = v.ComputeResource.ResourceID
	}
	pods, err := typed(c.t, c.cluster.Client()).CoreV1().Pods(c.namespace).List(c.t.Context(), meta.ListOptions{})
	must(c.t, err)
	for _, p := range pods.Items {
		if p.DeletionTimestamp == nil {
			there = append(there, p.Name)
		}
	}
	slices.Sort(there)
	if told := slices.Sorted(maps.Values(out)); !slices.Equal(told, there) || len(out) != want {
		c.t.Fatalf("VNFCs %v, pods %v, want %d", told, there, want)
	}
	return out
}

// pods says of each pod on which node it is, and in which state, in a line.
func (c *cnf) pods() string {
	list, err := typed(c.t, c.cluster.Client()).CoreV1().Pods(c.namespace).List(context.Background(), meta.ListOptions{})
	if err != nil {
		return err.Error()
	}
	var text strings.Builder
	for _, p := range list.Items {
		fmt.Fprintf(&text, "pod %s on %q, created %s, deleted %v, is %s: %v\n", p.Name, p.Spec.NodeName, p.CreationTimestamp, p.DeletionTimestamp, p.Status.Phase, p.Status.Conditions)
	}
	return text.String()
}

// wantNothing checks that nothing of the CNF is left.
func (c *cnf) wantNothing() {
	c.t.Helper()
	api, ctx := typed(c.t, c.cluster.Client()), c.t.Context()
	deployments, err := api.AppsV1().Deployments(c.namespace).List(ctx, meta.ListOptions{})
	must(c.t, err)
	pods, err := api.CoreV1().Pods(c.namespace).List(ctx, meta.ListOptions{})
	must(c.t, err)
	secrets, err := api.CoreV1().Secrets(c.namespace).List(ctx, meta.ListOptions{LabelSelector: "owner=helm"})
	must(c.t, err)
	maps, err := api.CoreV1().ConfigMaps(c.namespace).List(ctx, meta.ListOptions{})
	must(c.t, err)
	for _, m := range maps.Items {
		if m.Name != "kube-root-ca.crt" {
			c.t.Errorf("ConfigMap %s is left", m.Name)
		}
	}
	if n := len(deployments.Items) + len(pods.Items) + len(secrets.Items); n > 0 {
		c.t.Errorf("left: %d Deployments, %d Pods, %d records of Helm", len(deployments.Items), len(pods.Items), len(secrets.Items))
	}
}

func webScale(kind vnflcm.ScaleType, steps int) vnflcm.ScaleVnfRequest {
	return vnflcm.ScaleVnfRequest{Type: kind, AspectID: "web", NumberOfSteps: steps}
}

// TestCNFBehindJumpHost is a CNF of a cluster whose API and control-plane nodes only a jump host reaches, which takes a key.
func TestCNFBehindJumpHost(t *testing.T) {
	cluster := needCluster(t)
	for _, mode := range cnfModes[:2] {
		t.Run(mode.name, func(t *testing.T) {
			ctx, key := t.Context(), keygen(t, t.TempDir(), "key", "", "-t", "ed25519")
			jump := newHosts(t, 1, vmhost.Spec{Config: []string{"PasswordAuthentication no"}, AuthorizedKeys: []string{string(read(t, key+".pub"))}})[0]
			var masters []*master
			if mode.masters {
				masters = newMasters(t, cluster.Client(), 1, helm3Program(t))
			}
			vim := cnfVIM(t, kubernetes.VimTypeV1, cluster.Client(), masters)
			behind, err := vnflcm.NewParams(map[string]any{"jump_host": map[string]any{"address": jump.Address.String(), "username": user, "private_key": string(read(t, key))}})
			must(t, err)
			vim.Extra, err = vim.Extra.Merge(behind)
			must(t, err)
			c := newCNF(t, store.NewMemory(), cnfSite{Dir: t.TempDir(), Packages: map[string]string{cnfVNFD: cnfDir(t)}, Only: jump.Address},
				vim, cnfVNFD, "simple", mode.params)
			c.must(c.Instantiate(ctx, c.id, c.request))
			c.vnfcs(1)
			c.must(c.Scale(ctx, c.id, webScale(vnflcm.ScaleOut, 1)))
			c.vnfcs(2)
			c.must(c.Terminate(ctx, c.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
			c.wantNothing()
		})
	}
}

// byPlugin reaches a cluster with the token that a program prints.
func byPlugin(t testing.TB, c *rest.Config) func(context.Context, vnflcm.VimConnectionInfo) (*rest.Config, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "credentials")
	must(t, os.WriteFile(file, []byte(`{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "`+c.BearerToken+`"}}`), 0o600))
	return func(context.Context, vnflcm.VimConnectionInfo) (*rest.Config, error) {
		return &rest.Config{Host: c.Host, TLSClientConfig: rest.TLSClientConfig{CAData: c.CAData}, ExecProvider: &clientcmd.ExecConfig{
			APIVersion: "client.authentication.k8s.io/v1", Command: "cat", Args: []string{file}, InteractiveMode: clientcmd.NeverExecInteractiveMode}}, nil
	}
}

// TestCNFLife takes CNFs through their life: made, scaled, one pod healed, healed as a whole, scaled in, gone. The machines with Helm
// let in an encrypted key only.
func TestCNFLife(t *testing.T) {
	cluster := needCluster(t)
	for _, mode := range slices.Concat(cnfModes, helm4Modes) {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			var masters []*master
			if mode.masters {
				masters = newKeyMasters(t, cluster.Client(), 2, mode.program(t))
			}
			site, vim := cnfSite{Dir: t.TempDir(), Helm4: mode.helm4, Packages: map[string]string{cnfVNFD: cnfDir(t)}}, cnfVIM(t, kubernetes.VimTypeV1, cluster.Client(), masters)
			if mode.supplied {
				site.Cluster, vim.InterfaceInfo, vim.AccessInfo = byPlugin(t, cluster.Client()), vnflcm.Params{}, vnflcm.Params{}
			}
			c := newCNF(t, store.NewMemory(), site, vim, cnfVNFD, "simple", mode.params)
			c.must(c.Instantiate(ctx, c.id, c.request))
			one := c.vnfcs(1)
			c.must(c.Scale(ctx, c.id, webScale(vnflcm.ScaleOut, 2)))
			three := c.vnfcs(3)
			for id, pod := range one {
				if three[id] != pod {
					t.Errorf("VNFC %s was pod %s, and is %s", id, pod, three[id])
				}
			}
			if mode.masters { // Helm fails over
				must(t, masters[0].machine.Kill())
			}
			c.must(c.Scale(ctx, c.id, webScale(vnflcm.ScaleIn, 1)))
			two := c.vnfcs(2)

			for id, pod := range two {
				c.must(c.Heal(ctx, c.id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{id}}))
				healed := c.vnfcs(2)
				if healed[id] == pod || healed[id] == "" {
					t.Errorf("VNFC %s is healed, and its pod is %q, which was %s", id, healed[id], pod)
				}
				break
			}
			before := c.vnfcs(2)
			c.must(c.Heal(ctx, c.id, vnflcm.HealVnfRequest{}))
			after := c.vnfcs(2)
			for id, pod := range before {
				if after[id] == pod {
					t.Errorf("all is healed, and pod %s is as before", pod)
				}
			}
			c.must(c.Terminate(ctx, c.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful, GracefulTerminationTimeout: 2}))
			c.wantNothing()
			if mode.masters {
				left, err := masters[1].machine.Exec(within(t, time.Minute), "ls", "-A", helmDir)
				if err != nil || strings.TrimSpace(left) != "" {
					t.Errorf("left on the second master: %q, %v", left, err)
				}
			}
			must(t, c.Delete(ctx, c.id, ""))
		})
	}
}
