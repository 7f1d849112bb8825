package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

// TestKubeadmHelmChain is the chain of Tacker's specification of Helm charts: a cluster of three control-plane nodes with Helm,
// and a CNF by the helm program on these nodes, of a chart of the package and of one of a repository. A control-plane node dies
// and is healed with its Helm repositories; meanwhile and afterwards the CNF is scaled and healed by way of other nodes. The whole
// cluster is healed at the end, and gets a CNF again. Its machines let in keys only.
func TestKubeadmHelmChain(t *testing.T) {
	c := newChain(t)
	ctx := t.Context()
	c.makeCluster()
	c.addOperatorRepository()
	masters := c.vnfcs(c.cluster, masterVDU)
	first, last := c.address(masters[0]), c.address(masters[2])

	c.gate.only(first)
	c.makeCNF()
	c.pods(map[string]int{"WEB": 1, "EXT": 1})
	c.gate.only(netip.Addr{})
	c.must(c.Scale(ctx, c.cnf, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "ext"}))
	c.pods(map[string]int{"WEB": 1, "EXT": 2})

	c.kill(masters[0])
	c.must(c.Scale(ctx, c.cnf, webScale(vnflcm.ScaleOut, 1)))
	c.pods(map[string]int{"WEB": 2, "EXT": 2})
	c.healMaster(masters[0])

	c.gate.only(first)
	three := c.pods(map[string]int{"WEB": 2, "EXT": 2})
	sick := c.vnfcs(c.cnf, "EXT")[0].ID
	c.must(c.Heal(ctx, c.cnf, vnflcm.HealVnfRequest{VnfcInstanceID: []string{sick}}))
	if healed := c.pods(map[string]int{"WEB": 2, "EXT": 2}); healed[sick] == three[sick] {
		t.Errorf("pod %s is healed, and as before", three[sick])
	}
	c.must(c.Scale(ctx, c.cnf, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "ext"}))
	c.pods(map[string]int{"WEB": 2, "EXT": 3})
	c.gate.only(last)
	c.must(c.Heal(ctx, c.cnf, vnflcm.HealVnfRequest{}))
	c.pods(map[string]int{"WEB": 2, "EXT": 3})

	c.gate.only(netip.Addr{})
	c.terminateCNF()
	for _, m := range c.vnfcs(c.cluster, masterVDU) {
		c.finds(m) // the operator's own repository stays
	}

	c.must(c.Heal(ctx, c.cluster, wholeHeal(t)))
	c.wantNodes(c.cluster, 3, 1)
	c.wantHelmInfo()
	c.makeCNF()
	c.pods(map[string]int{"WEB": 1, "EXT": 1})
	c.terminateCNF()
	c.must(c.Terminate(ctx, c.cluster, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	c.gone(c.cluster)
}

// chain is the scene of a cluster and a CNF on it.
type chain struct {
	*yard
	gate         *gate // for the helm program of the CNF
	url          string
	ca           []byte
	key          string // of the login user
	cluster, cnf string
}

func newChain(t *testing.T) *chain {
	t.Helper()
	parts := needParts(t, "kubeadm-full")
	files := maps.Clone(web)
	files["templates/web.yaml"] = strings.Replace(files["templates/web.yaml"], "imagePullPolicy: Always", "imagePullPolicy: Never", 1)
	chart := chartOf(t, "web", "1.0.0", files)
	c := &chain{gate: &gate{}}
	_, c.url, c.ca = chartRepository(t, map[string][]byte{"1.0.0": chart})
	pool := newPool(t, sshexec.Options{Dial: c.gate.dial})
	c.yard = yardOf(t, parts, func(y *yard, spec *vmhost.Spec) {
		c.key = y.keysOnly(spec)
		archive, script := offlineHelm(t, parts)
		spec.Files = map[string]string{archive.name: archive.content}
		y.packages = samplePackage(t, map[string][]byte{helmScript: script})
		y.infra.Shared = map[string]netip.Addr{"vip_CP": site.network.Reserve()}
		cnf := twoVDUs(t)
		cnf["Files/web.tgz"] = string(chart)
		y.others = map[string]string{cnfVNFD: writePackage(t, cnf)}
		y.drivers = map[string]vnflcm.InfraDriver{kubernetes.VimTypeV1: kubernetes.New(kubernetes.Config{Allow: outbound.AllowAny, SSH: pool, Ready: 5 * time.Minute, Gone: 5 * time.Minute})}
	})
	return c
}

// twoVDUs is the package of the CNF with a second VDU, EXT, and its aspect.
func twoVDUs(t *testing.T) map[string]string {
	t.Helper()
	files := maps.Clone(cnfPackage)
	const flavour = "Definitions/simple.yaml"
	more := map[string]string{
		"  policies:\n": `    EXT:
      type: tosca.nodes.nfv.Vdu.Compute
      properties: {name: ext, description: ext, vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 4}}
`,
		"    - initial:": `    - more_initial: {type: tosca.policies.nfv.VduInitialDelta, targets: [EXT], properties: {initial_delta: {number_of_instances: 1}}}
    - more_deltas: {type: tosca.policies.nfv.VduScalingAspectDeltas, targets: [EXT], properties: {aspect: ext, deltas: {one: {number_of_instances: 1}}}}
`,
		"web: {name: web, description: web, max": "ext: {name: ext, description: ext, max_scale_level: 3, step_deltas: [one]}, ",
	}
	for before, text := range more {
		if !strings.Contains(files[flavour], before) {
			t.Fatalf("the package has no %q", before)
		}
		files[flavour] = strings.Replace(files[flavour], before, text+before, 1)
	}
	return files
}

func (c *chain) makeCluster() {
	c.t.Helper()
	login := map[string]string{"private_key": c.key} // the password of the request is for sudo, which does not ask
	params, err := json.Marshal(map[string]any{"k8s_cluster_installation_param": map[string]any{
		"helm_installation_script_path": helmScript, "master_node": login, "worker_node": login}})
	must(c.t, err)
	id, request := c.yard.cluster("complex", highlyAvailable, string(params))
	c.cluster = id
	c.must(c.Instantiate(c.t.Context(), id, request))
	c.wantNodes(id, 3, 1)
	c.wantHelmInfo()
}

func (c *chain) address(master vnflcm.VnfcResourceInfo) netip.Addr {
	return c.machines.Host(master.ComputeResource.ResourceID).Address
}

// wantHelmInfo checks the VIM entry: it has the key of the login user, and no password, since sudo does not ask.
func (c *chain) wantHelmInfo() {
	c.t.Helper()
	c.yard.wantHelmInfo(c.cluster, map[string]any{"masternode_username": user, "masternode_private_key": c.key})
}

// addOperatorRepository lets root and the login user know a repository on every control-plane node, with its password.
func (c *chain) addOperatorRepository() {
	c.t.Helper()
	for _, m := range c.vnfcs(c.cluster, masterVDU) {
		for _, root := range []bool{true, false} {
			must(c.t, c.host(m).Exec(within(c.t, time.Minute), sshexec.Command{Root: root, Stdin: strings.NewReader(repositoryPassword), Env: homeOf(root),
				Argv: []string{"helm", "repo", "add", "operator", c.url, "--insecure-skip-tls-verify", "--username=" + repositoryUser, "--password-stdin"}}))
		}
	}
}

// homeOf is the environment of root or of the login user: sudo may leave HOME as it was.
func homeOf(root bool) map[string]string {
	if root {
		return map[string]string{"HOME": "/root"}
	}
	return nil
}

func (c *chain) makeCNF() {
	c.t.Helper()
	ctx := c.t.Context()
	vim, err := c.VIMs().Get(ctx, "", kubeadm.VIMID(c.cluster))
	must(c.t, err)
	cnf, err := c.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: cnfVNFD})
	must(c.t, err)
	c.cnf = cnf.ID
	image := []string{"image=registry.k8s.io/pause:tests"}
	params, err := json.Marshal(map[string]any{
		"namespace": "shop", "use_helm": "true", "helm_replica_values": map[string]string{"web": "replicas", "ext": "replicas"},
		"using_helm_install_param": []any{
			map[string]any{"exthelmchart": "false", "helmchartfile_path": "Files/web.tgz", "helmreleasename": "web", "helmparameter": image},
			map[string]any{"exthelmchart": "true", "helmrepositoryname": "lab", "helmchartname": "web", "exthelmrepo_url": c.url, "exthelmrepo_ca_cert": string(c.ca),
				"exthelmrepo_username": repositoryUser, "exthelmrepo_password": repositoryPassword, "helmreleasename": "ext", "helmparameter": image},
		},
		"vdu_mapping": map[string]any{"WEB": map[string]string{"kind": "Deployment", "name": "web", "helmreleasename": "web"},
			"EXT": map[string]string{"kind": "Deployment", "name": "ext", "helmreleasename": "ext"}},
	})
	must(c.t, err)
	request := vnflcm.InstantiateVnfRequest{FlavourID: "simple", VimConnectionInfo: vnflcm.VimConnections{{ID: "1", VimID: vim.VimID, VimType: vim.VimType}}}
	request.AdditionalParams, err = vnflcm.ParseParams(params)
	must(c.t, err)
	c.must(c.Instantiate(ctx, c.cnf, request))
}

// pods checks that the VNFCs of the CNF are pods that run, and returns their names by VNFC.
func (c *chain) pods(want map[string]int) map[string]string {
	c.t.Helper()
	all, told, count := map[string]string{}, []string{}, map[string]int{}
	for vdu := range want {
		for _, v := range c.vnfcs(c.cnf, vdu) {
			all[v.ID] = v.ComputeResource.ResourceID
			told = append(told, v.ComputeResource.ResourceID)
			count[vdu]++
		}
	}
	var there []string
	for line := range strings.Lines(c.kubectl(c.cluster, "get", "pods", "-n", "shop", "--field-selector=status.phase=Running", "-o",
		`jsonpath={range .items[*]}{.metadata.name} {.metadata.deletionTimestamp}{"\n"}{end}`)) {
		if fields := strings.Fields(line); len(fields) == 1 {
			there = append(there, fields[0])
		}
	}
	slices.Sort(told)
	slices.Sort(there)
	if diff := cmp.Diff(want, count) + cmp.Diff(there, told); diff != "" {
		c.t.Fatalf("VNFCs and running pods:\n%s", diff)
	}
	return all
}

// healMaster heals a dead control-plane node and checks that it has the same Helm as a node that was not replaced.
func (c *chain) healMaster(master vnflcm.VnfcResourceInfo) {
	c.t.Helper()
	c.must(c.Heal(c.t.Context(), c.cluster, vnflcm.HealVnfRequest{VnfcInstanceID: []string{master.ID}}))
	c.wantNodes(c.cluster, 3, 1)
	c.wantMembers(c.cluster)
	c.wantHelmInfo()
	var listings []string
	var healed string
	for _, m := range c.vnfcs(c.cluster, masterVDU) {
		listing, err := c.on(m, "sh", "-c", "cd "+helmDir+" && find . -type f -not -path '*/cache/*' -exec sha256sum {} + | sort")
		must(c.t, err)
		if m.ID == master.ID {
			healed = listing
			c.finds(m)
		} else {
			listings = append(listings, listing)
		}
	}
	if !slices.Contains(listings, healed) || !strings.Contains(healed, c.cnf+"/repositories.yaml") {
		c.t.Errorf("the healed node has\n%s\nthe others have\n%s", healed, strings.Join(listings, "\n"))
	}
}

// finds checks that root and the login user of a machine find the chart in the operator's repository.
func (c *chain) finds(m vnflcm.VnfcResourceInfo) {
	c.t.Helper()
	for _, root := range []bool{true, false} {
		for _, args := range [][]string{{"search", "repo", "operator/web"}, {"show", "chart", "operator/web", "--insecure-skip-tls-verify"}} {
			out, err := c.host(m).Output(within(c.t, time.Minute), sshexec.Command{Root: root, Env: homeOf(root), Argv: append([]string{"helm"}, args...)})
			if err != nil || !strings.Contains(string(out), "1.0.0") {
				c.t.Errorf("helm %q, as root %t: %s, %v", args, root, out, err)
			}
		}
	}
}

// terminateCNF terminates the CNF and checks that it has left nothing in the cluster and no file on its nodes.
func (c *chain) terminateCNF() {
	c.t.Helper()
	c.must(c.Terminate(c.t.Context(), c.cnf, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful, GracefulTerminationTimeout: 2}))
	if left := strings.TrimSpace(c.kubectl(c.cluster, "get", "pods,deployments,secrets", "-n", "shop", "-o", "name")); left != "" {
		c.t.Errorf("left in the namespace: %s", left)
	}
	for _, m := range c.vnfcs(c.cluster, masterVDU) {
		if left, err := c.on(m, "ls", "-A", helmDir); left != "" || err != nil {
			c.t.Errorf("left on %s: %s, %v", c.address(m), left, err)
		}
	}
}

// gate lets a pool connect to one machine only, or to all.
type gate struct {
	mu      sync.Mutex
	address netip.Addr
	open    []net.Conn
}

// only ends all connections. New ones are made to this machine, or to all without an address.
func (g *gate) only(address netip.Addr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.address = address
	for _, conn := range g.open {
		_ = conn.Close()
	}
	g.open = nil
}

func (g *gate) dial(ctx context.Context, network, address string) (net.Conn, error) {
	g.mu.Lock()
	only := g.address
	g.mu.Unlock()
	if host, _, _ := net.SplitHostPort(address); only.IsValid() && host != only.String() {
		return nil, errors.New("the gate refuses " + address)
	}
	conn, err := (&net.Dialer{Timeout: 3 * time.Second}).DialContext(ctx, network, address)
	if err == nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.open = append(g.open, conn)
	}
	return conn, err
}
