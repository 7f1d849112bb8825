package e2e_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/internal/e2e/kube"
	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

// shopVNFDs are the VNFDs of the versions of the shop, from charts and from manifests. The pods of the last version never become ready.
var shopVNFDs = map[string][]string{
	"charts":    {"7a0c7e52-14a1-4b8e-9d55-0f9b3c2a6e01", "7a0c7e52-14a1-4b8e-9d55-0f9b3c2a6e02", "7a0c7e52-14a1-4b8e-9d55-0f9b3c2a6e03"},
	"manifests": {"7a0c7e52-14a1-4b8e-9d55-0f9b3c2a6e11", "7a0c7e52-14a1-4b8e-9d55-0f9b3c2a6e12", "7a0c7e52-14a1-4b8e-9d55-0f9b3c2a6e13"},
}

// frontPort and plainPort are those of nodes at which the shop of charts and that of manifests answer.
const (
	frontPort = 30090
	plainPort = 30091
)

// shopNodes are two MCIOPs; the front depends on the back.
const shopNodes = `    FRONT: {type: tosca.nodes.nfv.Vdu.OsContainerDeployableUnit, properties: {name: front, description: x, vdu_profile: {min_number_of_instances: 2, max_number_of_instances: 4}}}
    BACK: {type: tosca.nodes.nfv.Vdu.OsContainerDeployableUnit, properties: {name: back, description: x, vdu_profile: {min_number_of_instances: 2, max_number_of_instances: 4}}}
    front:
      type: tosca.nodes.nfv.Mciop
      requirements: [associatedVdu: FRONT, dependency: back]
      artifacts: {helm_chart: {type: tosca.artifacts.nfv.HelmChart, file: front.tgz}}
    back:
      type: tosca.nodes.nfv.Mciop
      requirements: [associatedVdu: BACK]
      artifacts: {helm_chart: {type: tosca.artifacts.nfv.HelmChart, file: back.tgz}}
`

// shopDeployment is two pods behind a Service, with a budget. The server is the health endpoint of CoreDNS, as in shop.
const shopDeployment = `apiVersion: v1
kind: ConfigMap
metadata: {name: NAME}
data:
  Corefile: |
    .:5300 {
      health :8080 {
        lameduck 10s
      }
    }
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME}
spec:
  replicas: 2
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME, app.kubernetes.io/component: COMPONENT, release: RELEASE}}
    spec:
      containers:
      - name: web
        image: registry.k8s.io/coredns/coredns:tests
        args: [-conf, /etc/coredns/Corefile]
        env: [{name: RELEASE, value: RELEASE}]
        readinessProbe: {httpGet: {path: PATH, port: 8080}, periodSeconds: 1}
        volumeMounts: [{name: config, mountPath: /etc/coredns}]
      volumes: [{name: config, configMap: {name: NAME}}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: NAME}
spec: {minAvailable: 1, selector: {matchLabels: {app: NAME}}}
---
apiVersion: v1
kind: Service
metadata: {name: NAME}
spec: {type: NodePort, selector: {app: NAME}, ports: [{port: 80, targetPort: 8080 PORT}]}
`

// shopObjects are the objects of one part of the shop, in a version that counts from 0.
func shopObjects(name, component string, port, version int) string {
	path, node := "/health", ""
	if version == 2 && component != "BACK" {
		path = "/never"
	}
	if port > 0 {
		node = fmt.Sprintf(", nodePort: %d", port)
	}
	return strings.NewReplacer("NAME", name, "COMPONENT", component, "RELEASE", fmt.Sprintf("v%d", version+1), "PATH", path, " PORT", node).Replace(shopDeployment)
}

// shopVersion writes the package of a version.
func shopVersion(t testing.TB, kind string, version int) string {
	t.Helper()
	number := fmt.Sprintf("%d.0.0", version+1)
	files := map[string]string{}
	nodes := "    FRONT: {type: tosca.nodes.nfv.Vdu.OsContainerDeployableUnit, properties: {name: front, description: x, vdu_profile: {min_number_of_instances: 2, max_number_of_instances: 4}}}\n"
	if kind == "charts" {
		nodes = shopNodes
		files["front.tgz"] = string(chartOf(t, "front", number, map[string]string{"templates/all.yaml": shopObjects("{{ .Release.Name }}", "FRONT", frontPort, version)}))
		files["back.tgz"] = string(chartOf(t, "back", number, map[string]string{"templates/all.yaml": shopObjects("{{ .Release.Name }}", "BACK", 0, version)}))
	} else {
		files["Files/plain.yaml"] = shopObjects("plain", "FRONT", plainPort, version)
		if version == 0 {
			files["Files/plain.yaml"] += "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain-old}\n"
		}
	}
	files["vnfd.yaml"] = `tosca_definitions_version: tosca_simple_yaml_1_3
imports: [etsi_nfv_sol001_vnfd_types.yaml]
topology_template:
  substitution_mappings: {node_type: tosca.nodes.nfv.VNF, properties: {flavour_id: simple}}
  node_templates:
    VNF:
      type: tosca.nodes.nfv.VNF
      properties: {descriptor_id: ` + shopVNFDs[kind][version] + `, descriptor_version: '1.0', provider: lab, product_name: shop, software_version: '` + number + `', vnfm_info: ['0:vnfkit'],
        flavour_id: simple, flavour_description: one}
` + nodes
	return writePackage(t, files)
}

// changeYard is a yard for a cluster and CNFs of the versions of the shop.
func changeYard(t testing.TB, parts kube.Parts) *yard {
	t.Helper()
	return yardOf(t, parts, func(y *yard, _ *vmhost.Spec) {
		y.others = map[string]string{}
		for kind, vnfds := range shopVNFDs {
			for version, vnfd := range vnfds {
				y.others[vnfd] = shopVersion(t, kind, version)
			}
		}
		driver := kubernetes.New(kubernetes.Config{Allow: outbound.AllowAny, Dir: t.TempDir(), Helm: helmInProcess, Ready: 75 * time.Second, Gone: 2 * time.Minute})
		y.drivers = map[string]vnflcm.InfraDriver{kubernetes.VimTypeV1: driver, kubernetes.VimTypeV2: driver, kubernetes.VimTypeHelm: driver}
	})
}

// TestChangeUnderLoad: a CNF of two charts and one of manifests run on a cluster of real pods. A client asks for each through its Service, every
// 20 ms, while the package changes, and while an upgrade whose pods never become ready stops and is rolled back. No request fails.
func TestChangeUnderLoad(t *testing.T) {
	y := changeYard(t, needParts(t, "all"))
	ctx := t.Context()
	cluster, request := y.cluster("simple")
	y.must(y.Instantiate(ctx, cluster, request))
	y.wantNodes(cluster, 1, 1)
	vim, err := y.VIMs().Get(ctx, "", kubeadm.VIMID(cluster))
	must(t, err)
	shops := map[string]string{}
	for kind, params := range map[string]string{"charts": `{"namespace": "shop"}`, "manifests": `{"namespace": "plain", "lcm-kubernetes-def-files": ["Files/plain.yaml"]}`} {
		inst, err := y.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: shopVNFDs[kind][0]})
		must(t, err)
		shops[kind] = inst.ID
		given, err := vnflcm.ParseParams([]byte(params))
		must(t, err)
		y.must(y.Instantiate(ctx, inst.ID, vnflcm.InstantiateVnfRequest{FlavourID: "simple", AdditionalParams: given,
			VimConnectionInfo: vnflcm.VimConnections{{ID: "1", VimID: vim.VimID, VimType: vim.VimType}}}))
	}
	y.changesUnasked(cluster, "charts", shops["charts"], frontPort)
	y.changesUnasked(cluster, "manifests", shops["manifests"], plainPort)
	if left := strings.TrimSpace(y.kubectl(cluster, "get", "configmap", "-n", "plain", "plain-old", "--ignore-not-found", "-o", "name")); left != "" {
		t.Errorf("left of the first package: %s", left)
	}
	for _, kind := range slices.Sorted(maps.Keys(shops)) {
		y.must(y.Terminate(ctx, shops[kind], vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	}
	y.must(y.Terminate(ctx, cluster, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
}

// changesUnasked changes a shop to its second version, and to the third one in vain, while a client asks.
func (y *yard) changesUnasked(cluster, kind, id string, port int) {
	t := y.t
	t.Helper()
	ctx := t.Context()
	worker := y.vnfcs(cluster, workerVDU)[0]
	url := fmt.Sprintf("http://%s:%d/health", y.machines.Host(worker.ComputeResource.ResourceID).Address, port)
	namespace := map[string]string{"charts": "shop", "manifests": "plain"}[kind]
	const every = 20 * time.Millisecond

	client := request(t, every, "the service of "+kind, url, nil)
	began := time.Now()
	op, err := y.ChangeVnfPkg(ctx, id, vnflcm.ChangeCurrentVnfPkgRequest{VnfdID: shopVNFDs[kind][1]})
	y.must(op, err)
	t.Logf("%s: changed in %s", kind, time.Since(began).Round(time.Second))
	y.settled(cluster, namespace)
	client.none("a change of the package of " + kind)
	y.wantReleases(cluster, namespace, "v2")

	client = request(t, every, "the service of "+kind, url, nil)
	asks, err := vnflcm.ParseParams([]byte(`{"rollback_on_failure": true}`))
	must(t, err)
	op, err = y.ChangeVnfPkg(ctx, id, vnflcm.ChangeCurrentVnfPkgRequest{VnfdID: shopVNFDs[kind][2], AdditionalParams: asks})
	must(t, err)
	occ, err := y.Wait(ctx, op)
	if occ == nil || occ.OperationState != vnflcm.RolledBack || err == nil || !strings.Contains(err.Error(), "Deployment") {
		t.Fatalf("%s: %+v, %v", kind, occ, errors.Join(err))
	}
	t.Logf("%s: rolled back because of: %v", kind, err)
	y.settled(cluster, namespace)
	client.none("a change of the package of " + kind + " that is rolled back")
	y.wantReleases(cluster, namespace, "v2")
	inst, err := y.Get(ctx, id)
	must(t, err)
	if inst.VnfdID != shopVNFDs[kind][1] {
		t.Errorf("%s: VNFD %s", kind, inst.VnfdID)
	}
}

// settled waits until the Deployments of a namespace have rolled out, and no pod is ending.
func (y *yard) settled(cluster, namespace string) {
	y.t.Helper()
	awaitFor(y.t, 2*time.Minute, "pods to end", func() bool {
		return !strings.Contains(y.kubectl(cluster, "get", "pods", "-n", namespace, "-o", `jsonpath={range .items[*]}{.metadata.deletionTimestamp}{end}`), "T")
	})
}

// wantReleases checks by which version the pods of a namespace run: two for each Deployment.
func (y *yard) wantReleases(cluster, namespace, want string) {
	y.t.Helper()
	got := map[string]int{}
	for line := range strings.Lines(y.kubectl(cluster, "get", "pods", "-n", namespace, "-o", `jsonpath={range .items[*]}{.metadata.labels.release} {.metadata.labels.app\.kubernetes\.io/component}{"\n"}{end}`)) {
		got[strings.TrimSpace(line)]++
	}
	all := map[string]int{want + " FRONT": 2}
	if namespace == "shop" {
		all[want+" BACK"] = 2
	}
	if diff := cmp.Diff(all, got); diff != "" {
		y.t.Errorf("pods by version:\n%s", diff)
	}
}
