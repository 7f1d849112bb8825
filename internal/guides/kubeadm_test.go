package guides_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/infra/sandbox"
)

// proxy takes the place of http://user1:password1@host1:port1 and the like.
const proxy = `{"additionalParams":{"k8s_cluster_installation_param":{"proxy":{"http_proxy":"http://user1:password1@192.0.2.1:3128","https_proxy":"http://user1:password1@192.0.2.1:3128"}}}}`

// script is the script of the sample package with a separate CNI file, as Tacker's script has one.
func script(t *testing.T) map[string]string {
	t.Helper()
	const name = "Scripts/install_k8s_cluster.sh"
	text, err := os.ReadFile(filepath.Join(samples, "k8s-cluster", name))
	must(t, err)
	cni, err := os.ReadFile(filepath.Join(samples, "k8s-cluster/Files/kubernetes/cni.yaml"))
	must(t, err)
	options, rest, found := strings.Cut(string(text), "set -euo pipefail\n")
	if !found {
		t.Fatal("the script has changed")
	}
	return map[string]string{name: options + "set -euo pipefail\ncat >/tmp/cni.yaml <<'CNI'\n" + string(cni) + "\nCNI\n" + rest}
}

// with adds files to other files.
func with(files, others map[string]string) map[string]string {
	maps.Copy(files, others)
	return files
}

// TestKubeadmV1 is mgmt_driver_deploy_k8s_usage_guide: one control-plane node, then three.
func TestKubeadmV1(t *testing.T) {
	t.Parallel()
	l := newLab(t, sandbox.Config{Virtual: []string{"vip_CP"}})
	l.addVIM("05ef7ca5-7e32-4a6b-a03d-52f811f04496", "openstack")
	vnfd := l.addPackage("k8s-cluster", script(t))
	uri, _ := l.instantiated("v1", vnfd, "kubeadm_v1_simple", proxy)
	l.wantNodes(1, 1)
	l.run(uri+"/scale", l.body("kubeadm_v1_scale_out", ""))
	l.wantNodes(1, 2)
	l.run(uri+"/scale", l.body("kubeadm_v1_scale_in", ""))
	l.wantNodes(1, 1)
	l.run(uri+"/heal", l.body("heal_v1", fmt.Sprintf(`{"vnfcInstanceId":%q}`, l.vnfcs(uri, "workerNode")[0])))
	l.wantNodes(1, 1)
	l.run(uri+"/terminate", []byte(`{"terminationType":"GRACEFUL"}`))
	uri, _ = l.instantiated("v1", vnfd, "kubeadm_v1_complex", proxy)
	l.wantNodes(3, 1)
	l.run(uri+"/heal", l.body("heal_v1", fmt.Sprintf(`{"vnfcInstanceId":%q}`, l.vnfcs(uri, "masterNode")[1])))
	l.wantNodes(3, 1)
	l.stop("masterNode")
	l.run(uri+"/heal", []byte(`{}`))
	l.wantNodes(3, 1)
}

// TestPodAffinity is the same guide's flavour podaffinity: the sample's flavour complex, whose nodes are on different hosts, under another name.
func TestPodAffinity(t *testing.T) {
	t.Parallel()
	l := newLab(t, sandbox.Config{Virtual: []string{"vip_CP"}})
	l.addVIM("05ef7ca5-7e32-4a6b-a03d-52f811f04496", "openstack")
	vnfd := l.addPackage("k8s-cluster", with(script(t), replaceIn(t, "k8s-cluster", "flavour_id: complex", "flavour_id: podaffinity", "[ simple, complex ]", "[ simple, podaffinity ]")))
	uri, _ := l.instantiated("v1", vnfd, "kubeadm_v1_podaffinity", proxy)
	l.wantNodes(3, 1)
	l.run(uri+"/scale", l.body("kubeadm_v1_scale_out", ""))
	l.wantNodes(3, 2)
}

// TestKubeadmV2 is mgmt_driver_deploy_k8s_with_cilium_cni: nodes are logged in to by floating addresses, and every request repeats the
// parameters of the cluster.
func TestKubeadmV2(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flavour string
		masters int
	}{{"simple", 1}, {"complex", 3}} {
		t.Run(c.flavour, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, sandbox.Config{Virtual: []string{"vip_CP"}, Floating: map[string]string{
				"masterNode_CP1_floating_ip": "masterNode_CP1", "workerNode_CP1_floating_ip": "workerNode_CP1", "vip_CP_floating_ip": "vip_CP"}})
			vnfd := l.addPackage("k8s-cluster", with(script(t), replaceIn(t, "k8s-cluster", "workerNode_CP2", "workerNode_CP1", "worker_instance", "workerNode_scale")))
			uri, _ := l.instantiated("v2", vnfd, "kubeadm_v2_"+c.flavour, "")
			l.wantNodes(c.masters, 1)
			params := "kubeadm_v2_" + c.flavour + "_params"
			// The client adds its options to the parameters of the file.
			l.run(uri+"/scale", l.body(params, `{"type":"SCALE_OUT","aspectId":"workerNode_scale","numberOfSteps":1}`))
			l.wantNodes(c.masters, 2)
			l.run(uri+"/scale", l.body(params, `{"type":"SCALE_IN","aspectId":"workerNode_scale","numberOfSteps":1}`))
			l.wantNodes(c.masters, 1)
			l.run(uri+"/heal", l.body(params, fmt.Sprintf(`{"vnfcInstanceId":[%q]}`, l.vnfcs(uri, "workerNode")[0])))
			if c.masters > 1 {
				l.run(uri+"/heal", l.body(params, fmt.Sprintf(`{"vnfcInstanceId":[%q]}`, l.vnfcs(uri, "masterNode")[0])))
			}
			l.wantNodes(c.masters, 1)
			l.stop("masterNode")
			l.run(uri+"/heal", l.body(params, `{"additionalParams":{"all":true}}`))
			l.wantNodes(c.masters, 1)
		})
	}
}
