package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/examples/internal/samples"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
)

// TestSettingsForGuides checks that with tacker-guides.yaml the sandbox has the VIMs, floating addresses and Ansible server of Tacker's
// user guides. internal/guides runs all of the guides.
func TestSettingsForGuides(t *testing.T) {
	t.Parallel()
	packages, kubespray := t.TempDir(), samples.Package("k8s-cluster-kubespray")
	const flavour = "Definitions/k8s_cluster_kubespray_df_simple.yaml"
	text, err := os.ReadFile(filepath.Join(kubespray, flavour))
	must(t, err)
	files := map[string]string{flavour: strings.ReplaceAll(string(text), "externalLB_CP1", "externalLB_CP3")} // as in the guide
	must(t, os.Rename(mgmttest.Package(t, kubespray, files), filepath.Join(packages, "kubespray")))
	must(t, os.Rename(mgmttest.Package(t, samples.Package("k8s-cluster"), nil), filepath.Join(packages, "kubeadm")))
	p := start(t, t.TempDir(), "-config=tacker-guides.yaml", "-packages="+packages)

	guide := guideBody(t, "kubespray")
	delete(guide["additionalParams"].(map[string]any)["k8s_cluster_installation_param"].(map[string]any), "proxy") // a placeholder
	instance := strings.Replace(p.create("1b7a4b52-4c1f-4f0e-8c43-6f2e1a9d5c70"), "/v2/", "/v1/", 1)
	p.do(instance+"/instantiate", guide)
	p.do(instance+"/terminate", map[string]any{"terminationType": "FORCEFUL"})

	second := request(t, "instantiate_sandbox.json")
	second["vimConnectionInfo"] = map[string]any{"vim1": map[string]any{"vimType": "ETSINFV.OPENSTACK_KEYSTONE.V_3",
		"interfaceInfo": map[string]any{"endpoint": "http://127.0.0.1/identity"}, "accessInfo": map[string]any{"username": "u", "password": "p", "project": "nfv"}}}
	for _, node := range []string{"master", "worker"} {
		params := second["additionalParams"].(map[string]any)["k8s_cluster_installation_param"].(map[string]any)
		params[node+"_node"].(map[string]any)["ssh_cp_name"] = node + "Node_FloatingIP"
	}
	instance = p.create(sampleVNFD)
	p.do(instance+"/instantiate", second)
	p.do(instance+"/terminate", map[string]any{"terminationType": "FORCEFUL"})
}
