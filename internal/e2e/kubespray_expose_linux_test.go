package e2e_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

const (
	shopVNFD     = "8f0e6a52-51d7-4c0c-9d0e-6d0b2a9f7c31"
	exposeDriver = "mgmt-drivers-cnf-nodeport"
)

// shopPackage is a CNF whose services are to be reached through the load balancer of its cluster.
var shopPackage = map[string]string{
	"TOSCA-Metadata/TOSCA.meta": "TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-By: vnfkit\nEntry-Definitions: Definitions/shop.yaml\n",
	"Scripts/nodeport.py":       "# the driver is " + exposeDriver + "\n",
	"Files/shop.yaml":           shop,
	"Definitions/shop.yaml": `tosca_definitions_version: tosca_simple_yaml_1_2
metadata: {template_name: shop, template_author: lab, template_version: '1.0'}
node_types:
  lab.Shop: {derived_from: tosca.nodes.nfv.VNF}
topology_template:
  substitution_mappings: {node_type: lab.Shop, properties: {flavour_id: simple}}
  node_templates:
    VNF:
      type: lab.Shop
      properties: {descriptor_id: ` + shopVNFD + `, descriptor_version: '1.0', provider: lab, product_name: shop, software_version: '1.0', vnfm_info: ['0:vnfkit'], flavour_id: simple, flavour_description: shop}
      interfaces:
        Vnflcm:
          instantiate_end: {implementation: ` + exposeDriver + `}
          heal_start: {implementation: ` + exposeDriver + `}
          heal_end: {implementation: ` + exposeDriver + `}
          terminate_start: {implementation: ` + exposeDriver + `}
      artifacts: {` + exposeDriver + `: {type: tosca.artifacts.Implementation.Python, file: ../Scripts/nodeport.py}}
    WEB:
      type: tosca.nodes.nfv.Vdu.Compute
      properties: {name: web, description: web, vdu_profile: {min_number_of_instances: 2, max_number_of_instances: 2}}
  policies:
    - initial: {type: tosca.policies.nfv.VduInitialDelta, targets: [WEB], properties: {initial_delta: {number_of_instances: 2}}}
`,
}

// writePackage writes the files of a package to a new folder.
func writePackage(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	return dir
}

// cnfDrivers are what the shop is made with.
func cnfDrivers(t testing.TB) map[string]vnflcm.InfraDriver {
	t.Helper()
	// Kubernetes removes the pods of a DaemonSet up to a minute after their node: Gone keeps its default.
	return map[string]vnflcm.InfraDriver{kubernetes.VimTypeV1: kubernetes.New(kubernetes.Config{Allow: outbound.AllowAny, Dir: t.TempDir(), Ready: 5 * time.Minute})}
}

// exposedShop is the shop as a CNF on a cluster, which the load balancer of the cluster leads to.
func (y *yard) exposedShop(cluster string) (id string) {
	y.t.Helper()
	ctx := y.t.Context()
	vim, err := y.VIMs().Get(ctx, "", kubeadm.VIMID(cluster))
	must(y.t, err)
	inst, err := y.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: shopVNFD})
	must(y.t, err)
	text, err := json.Marshal(map[string]any{"lcm-kubernetes-def-files": []string{"Files/shop.yaml"},
		"lcm-kubernetes-external-lb": map[string]any{"external_lb_param": map[string]any{
			"ssh_ip": y.balancer(cluster), "ssh_username": user, "ssh_password": password}}})
	must(y.t, err)
	request := vnflcm.InstantiateVnfRequest{FlavourID: "simple", VimConnectionInfo: vnflcm.VimConnections{{ID: "1", VimID: vim.VimID, VimType: vim.VimType}}}
	request.AdditionalParams, err = vnflcm.ParseParams(text)
	must(y.t, err)
	y.must(y.Instantiate(ctx, inst.ID, request))
	y.open(cluster)
	y.visited(cluster)
	return inst.ID
}

// visited waits until the services answer at the load balancer.
func (y *yard) visited(cluster string) {
	y.t.Helper()
	y.visitedWithin(cluster, 3*time.Minute)
}

func (y *yard) visitedWithin(cluster string, limit time.Duration) {
	y.t.Helper()
	for _, port := range []int{webPort, localPort} {
		url := fmt.Sprintf("http://%s:%d/health", y.balancer(cluster), port)
		client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
		awaitFor(y.t, limit, url+" to answer", func() bool {
			answer, err := client.Get(url) //nolint:noctx // with a timeout
			if err != nil {
				return false
			}
			must(y.t, answer.Body.Close())
			return answer.StatusCode == http.StatusOK
		})
	}
}

// closedDown terminates the shop: the load balancer serves nothing of it any more.
func (y *yard) closedDown(cluster, id string) {
	y.t.Helper()
	y.must(y.Terminate(y.t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful, GracefulTerminationTimeout: 2}))
	for _, port := range []int{webPort, localPort} {
		conn, err := net.DialTimeout("tcp", fmt.Sprintf("%s:%d", y.balancer(cluster), port), 2*time.Second) //nolint:noctx // with a timeout
		if err == nil {
			y.t.Errorf("the load balancer still serves port %d", port)
			must(y.t, conn.Close())
		}
	}
	if left := y.kubectl(cluster, "get", "configmaps", "-n", "kube-system", "-l", "vnfkit.io/loadbalancer", "-o", "name"); left != "" {
		y.t.Errorf("left in the cluster: %s", left)
	}
}
