package guides_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/tackertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const cnfVNFD = "b1bb0ce7-0001-4fa7-95ed-4840d70a1177"

// addCNF adds the package of a CNF. hooks are the hooks of the driver, which the VNFD names.
func (l *lab) addCNF(files map[string]string, driver string, hooks []string, vdus ...tackertest.VDU) {
	l.t.Helper()
	must(l.t, tackertest.CNF{VNFD: cnfVNFD, VDUs: vdus, Files: files, Driver: driver, Hooks: hooks}.Write(filepath.Join(l.packages, "cnf")))
}

// chart is an archive of a chart with a Deployment for each of the values that count pods.
func chart(t *testing.T, name string, deployments map[string]string) string {
	t.Helper()
	archive, err := tackertest.Chart(name, deployments)
	must(t, err)
	return archive
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

	l.addCNF(map[string]string{"Files/kubernetes/localhelm-0.1.0.tgz": chart(t, "localhelm", map[string]string{"{{ .Release.Name }}-localhelm": "replicaCount"})}, "", nil, tackertest.VDU{ID: "VDU1", Name: "vdu1-localhelm"})
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
		"", nil, tackertest.VDU{ID: "VDU1", Name: "vdu1"}, tackertest.VDU{ID: "VDU2", Name: "vdu2"})
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
