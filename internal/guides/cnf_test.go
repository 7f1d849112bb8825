package guides_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const cnfVNFD = "b1bb0ce7-0001-4fa7-95ed-4840d70a1177"

// vdu of a CNF: its id, and the name of its workload.
type vdu struct{ id, name string }

// addCNF adds the package of a CNF with 1 to 3 pods of each VDU, whose aspects are named after the VDUs: vdu1_aspect for VDU1. hooks
// are the hooks of the driver, which the VNFD names.
func (l *lab) addCNF(files map[string]string, driver string, hooks []string, vdus ...vdu) {
	l.t.Helper()
	var templates, aspects, policies, interfaces strings.Builder
	for _, v := range vdus {
		aspect := strings.ToLower(v.id) + "_aspect"
		fmt.Fprintf(&templates, "    %s:\n      type: tosca.nodes.nfv.Vdu.Compute\n      properties: {name: %s, description: pods, vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 3}}\n", v.id, v.name)
		fmt.Fprintf(&aspects, "            %s: {name: %[1]s, description: pods, max_scale_level: 2, step_deltas: [delta_1]}\n", aspect)
		fmt.Fprintf(&policies, "    - %s_initial: {type: tosca.policies.nfv.VduInitialDelta, properties: {initial_delta: {number_of_instances: 1}}, targets: [%[1]s]}\n", v.id)
		fmt.Fprintf(&policies, "    - %s_deltas: {type: tosca.policies.nfv.VduScalingAspectDeltas, properties: {aspect: %s, deltas: {delta_1: {number_of_instances: 1}}}, targets: [%[1]s]}\n", v.id, aspect)
	}
	for _, hook := range hooks {
		fmt.Fprintf(&interfaces, "          %s: {implementation: %s}\n", hook, driver)
	}
	driverText := ""
	if len(hooks) > 0 {
		driverText = "      interfaces:\n        Vnflcm:\n" + interfaces.String() + "      artifacts: {" + driver + ": {type: tosca.artifacts.Implementation.Python, file: ../Scripts/driver.txt}}\n"
	}
	all := map[string]string{
		"TOSCA-Metadata/TOSCA.meta": "TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-By: vnfkit\nEntry-Definitions: Definitions/vnfd.yaml\n",
		"Scripts/driver.txt":        "the driver is part of the VNFM\n",
		"Definitions/vnfd.yaml": "tosca_definitions_version: tosca_simple_yaml_1_2\n" +
			"imports: [etsi_nfv_sol001_common_types.yaml, etsi_nfv_sol001_vnfd_types.yaml]\n" +
			"node_types: {company.VNF: {derived_from: tosca.nodes.nfv.VNF}}\n" +
			"topology_template:\n  substitution_mappings: {node_type: company.VNF, properties: {flavour_id: simple}}\n  node_templates:\n    VNF:\n      type: company.VNF\n" +
			"      properties: {descriptor_id: " + cnfVNFD + ", descriptor_version: '1.0', provider: Company, product_name: Sample VNF, software_version: '1.0', vnfm_info: ['0:vnfkit'], flavour_id: simple, flavour_description: pods}\n" +
			driverText + templates.String() +
			"  policies:\n    - aspects:\n        type: tosca.policies.nfv.ScalingAspects\n        properties:\n          aspects:\n" + aspects.String() + policies.String(),
	}
	for name, text := range with(all, files) {
		name = filepath.Join(l.packages, "cnf", name)
		must(l.t, os.MkdirAll(filepath.Dir(name), 0o700))
		must(l.t, os.WriteFile(name, []byte(text), 0o600))
	}
}

// chart is an archive of a chart with a Deployment for each of the values that count pods. Their names end in the suffixes.
func chart(t *testing.T, name string, deployments map[string]string) string {
	t.Helper()
	files := map[string]string{
		"Chart.yaml":  "apiVersion: v2\nname: " + name + "\nversion: 0.1.0\n",
		"values.yaml": "replicaCount: 1\nreplicaCountVdu1: 1\nreplicaCountVdu2: 1\nservice: {type: ClusterIP, port: 80}\n",
		"templates/service.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: '{{ .Release.Name }}'}\n" +
			"spec: {type: '{{ .Values.service.type }}', selector: {release: '{{ .Release.Name }}'}, ports: [{port: {{ .Values.service.port }}}]}\n",
	}
	for workload, value := range deployments {
		files["templates/"+value+".yaml"] = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: '" + workload + "'}\nspec:\n  replicas: {{ .Values." + value + " }}\n" +
			"  selector: {matchLabels: {app: '" + workload + "'}}\n  template:\n    metadata: {labels: {app: '" + workload + "', release: '{{ .Release.Name }}'}}\n" +
			"    spec: {containers: [{name: web, image: nginx}]}\n"
	}
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	archive := tar.NewWriter(packed)
	for file, text := range files {
		must(t, archive.WriteHeader(&tar.Header{Name: name + "/" + file, Mode: 0o644, Size: int64(len(text))}))
		_, err := archive.Write([]byte(text))
		must(t, err)
	}
	must(t, archive.Close())
	must(t, packed.Close())
	return out.String()
}

// vim is the VIM that a cluster has become, as a merge patch of vimConnectionInfo of version 1.
func vim(clusterID string) string {
	return fmt.Sprintf(`{"vimConnectionInfo":[{"id":"817954e4-c321-4a31-ae06-cedcc4ddb85c","vimId":%q,"vimType":"kubernetes"}]`, kubeadm.VIMID(clusterID))
}

// wantPods makes sure that a CNF has that many pods.
func (l *lab) wantPods(uri, vdu string, n int) {
	l.t.Helper()
	if got := len(l.vnfcs(uri, vdu)); got != n {
		l.t.Errorf("%d pods of %s, want %d", got, vdu, n)
	}
}

// TestHelmV1 is mgmt_driver_deploy_k8s_and_cnf_with_helm: a cluster of several control-plane nodes with Helm, and a chart in the package
// and in a repository.
func TestHelmV1(t *testing.T) {
	t.Parallel()
	l := newLab(t, sandbox.Config{Virtual: []string{"vip_CP"}})
	l.addVIM("8343f55f-6bdf-4c5f-91c4-f6dd145c616d", "openstack")
	cluster := l.addPackage("k8s-cluster", with(script(t), map[string]string{"Scripts/install_helm.sh": "mkdir -p /usr/local/bin && echo v3.18.4 >/usr/local/bin/helm && chmod 755 /usr/local/bin/helm\n"}))
	_, clusterID := l.instantiated("v1", cluster, "helm_v1_cluster", proxy)
	l.wantNodes(3, 1)

	l.addCNF(map[string]string{"Files/kubernetes/localhelm-0.1.0.tgz": chart(t, "localhelm", map[string]string{"{{ .Release.Name }}-localhelm": "replicaCount"})}, "", nil, vdu{"VDU1", "vdu1-localhelm"})
	uri, _ := l.instantiated("v1", cnfVNFD, "helm_v1_local", vim(clusterID)+"}")
	l.wantPods(uri, "VDU1", 1)
	l.run(uri+"/scale", []byte(`{"type":"SCALE_OUT","aspectId":"vdu1_aspect","numberOfSteps":"1"}`))
	l.wantPods(uri, "VDU1", 2)
	l.run(uri+"/heal", fmt.Appendf(nil, `{"vnfcInstanceId":[%q]}`, l.vnfcs(uri, "VDU1")[0]))
	l.wantPods(uri, "VDU1", 2)
	l.run(uri+"/terminate", []byte(`{"terminationType":"FORCEFUL"}`))

	archive := chart(t, "externalhelm", map[string]string{"{{ .Release.Name }}-externalhelm": "replicaCount"})
	repository := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/sample-charts/index.yaml":
			_, _ = fmt.Fprint(w, "apiVersion: v1\nentries: {externalhelm: [{apiVersion: v2, name: externalhelm, version: 0.1.0, urls: [externalhelm-0.1.0.tgz]}]}\n")
		case "/sample-charts/externalhelm-0.1.0.tgz":
			_, _ = fmt.Fprint(w, archive)
		default:
			http.NotFound(w, r)
		}
	}))
	defer repository.Close()
	url := fmt.Sprintf(`,"additionalParams":{"using_helm_install_param":[{"exthelmchart":"true","helmreleasename":"vdu1","helmparameter":["key1=value1","key2=value2"],
		"helmrepositoryname":"mychart","helmchartname":"externalhelm","exthelmrepo_url":"%s/sample-charts"}]}}`, repository.URL)
	uri, _ = l.instantiated("v1", cnfVNFD, "helm_v1_repository", vim(clusterID)+url)
	l.wantPods(uri, "VDU1", 1)
}

// TestHelmV2 is v2/cnf/deployment_using_helm.
func TestHelmV2(t *testing.T) {
	t.Parallel()
	l := newLab(t, sandbox.Config{})
	l.addVIM("05ef7ca5-7e32-4a6b-a03d-52f811f04496", "openstack")
	_, clusterID := l.instantiated("v1", l.addPackage("k8s-cluster", script(t)), "kubeadm_v1_simple", proxy)
	l.addCNF(map[string]string{"Files/kubernetes/test-chart-0.1.0.tgz": chart(t, "test-chart", map[string]string{"vdu1-{{ .Release.Name }}": "replicaCountVdu1", "vdu2-{{ .Release.Name }}": "replicaCountVdu2"})},
		"", nil, vdu{"VDU1", "vdu1"}, vdu{"VDU2", "vdu2"})
	entry, err := l.manager.VIMs().Get(t.Context(), "", kubeadm.VIMID(clusterID)) // the guide registers it with use_helm
	must(t, err)
	useHelm, err := vnflcm.ParseParams([]byte(`{"use_helm":true}`))
	must(t, err)
	entry.Extra, err = entry.Extra.Merge(useHelm)
	must(t, err)
	entry.VimID = "9c37f36f-f569-4259-b388-d550e55dd65c"
	must(t, l.manager.VIMs().Put(t.Context(), entry))
	uri, _ := l.instantiated("v2", cnfVNFD, "helm_v2", `{"vimConnectionInfo":{"vim1":{"vimId":"9c37f36f-f569-4259-b388-d550e55dd65c"}}}`)
	l.wantPods(uri, "VDU1", 1)
	l.wantPods(uri, "VDU2", 1)
	l.run(uri+"/scale", []byte(`{"type":"SCALE_OUT","aspectId":"vdu2_aspect","numberOfSteps":1}`))
	l.wantPods(uri, "VDU2", 2)
	l.run(uri+"/heal", fmt.Appendf(nil, `{"vnfcInstanceId":[%q]}`, l.vnfcs(uri, "VDU1")[0]))
	l.wantPods(uri, "VDU1", 1)
	l.run(uri+"/terminate", []byte(`{"terminationType":"FORCEFUL"}`))
}
