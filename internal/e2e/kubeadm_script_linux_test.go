package e2e_test

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const contractScript = "Scripts/contract.sh"

// TestKubeadmScripts takes clusters of three control-plane nodes through their life whose nodes a script of the package makes,
// of machines without anything of Kubernetes: the script of the sample package, and one by Tacker's contract.
func TestKubeadmScripts(t *testing.T) {
	for _, c := range []struct{ name, script string }{{"sample", "Scripts/install_k8s_cluster.sh"}, {"contract", contractScript}} {
		t.Run(c.name, func(t *testing.T) { scriptLife(t, c.script) })
	}
}

func scriptLife(t *testing.T, script string) {
	t.Helper()
	y, virtual := newScriptYard(t)
	ctx := t.Context()
	id, request := y.created("instantiate_script.json", "complex")
	y.instances = append(y.instances, id)
	params, err := json.Marshal(map[string]any{"k8s_cluster_installation_param": map[string]any{
		"script_path": script, "master_node": map[string]any{"cluster_cp_name": "vip_CP"}}})
	must(t, err)
	request.AdditionalParams = y.laid(request.AdditionalParams, string(params))
	y.must(y.Instantiate(ctx, id, request))
	y.wantNodes(id, 3, 1)
	y.wantMembers(id)
	y.must(y.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}))
	y.wantNodes(id, 3, 2)
	y.work(id, 2) // needs the pod network on both workers

	worker := y.vnfcs(id, workerVDU)[0]
	y.kill(worker)
	y.must(y.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{worker.ID}}))
	y.wantNodes(id, 3, 2)
	y.kubectl(id, "rollout", "status", "-n", "shop", "deployment/web", "--timeout=50s")

	victim := y.holder(id, virtual.String())
	y.kill(victim)
	y.must(y.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{victim.ID}}))
	y.wantNodes(id, 3, 2)
	y.wantMembers(id)
	if code, err := y.viaVIM(id, "/version"); code != 200 || err != nil {
		t.Errorf("through the VIM entry: %d, %v", code, err)
	}
	y.wantNoToken()
	y.must(y.Scale(ctx, id, scaleIn(t, "Delete"))) // the budget of the workload forbids to evict its pod
	y.wantNodes(id, 3, 1)

	y.must(y.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	y.gone(id)
}

// newScriptYard makes machines that know the sources of all packages, and have none of Kubernetes. It returns the address that
// control-plane nodes share.
func newScriptYard(t *testing.T) (y *yard, virtual netip.Addr) {
	t.Helper()
	y = yardOf(t, needParts(t, "kubeadm-full"), func(y *yard, spec *vmhost.Spec) {
		virtual = site.network.Reserve()
		y.infra.Shared = map[string]netip.Addr{"vip_CP": virtual}
		repositories := serveRepositories(t, y.parts)
		bare(y.parts, repositories, read(t, y.parts.Key()), spec)
		spec.Files[sources] += "deb [signed-by=/etc/apt/keyrings/distribution.asc] " + repositories + "/kubernetes/ /\n"
		spec.Layer = sharedKernelLayer(t)
		script := bytes.ReplaceAll(read(t, "testdata/script/install_k8s_cluster.sh"), []byte("repository=REPOSITORY"), []byte("repository="+repositories))
		y.packages = samplePackage(t, map[string][]byte{contractScript: script})
	})
	return y, virtual
}

// sharedKernel are files of machines that share a kernel with cgroup v1 and may not change its limits. Drivers get the settings
// for such machines as parameters. Scripts have no parameters for them, so the image of the machines brings them along.
var sharedKernel = map[string]string{
	"/etc/default/kubelet": "KUBELET_EXTRA_ARGS=--cgroup-driver=cgroupfs --fail-swap-on=false --fail-cgroupv1=false " +
		"--local-storage-capacity-isolation=false --feature-gates=KubeletInUserNamespace=true\n",
	"/etc/systemd/system/containerd.service.d/shared-kernel.conf": "[Service]\nExecStartPre=/usr/local/sbin/shared-kernel-containerd\n" +
		"ExecStart=\nExecStart=/usr/bin/containerd --config /run/containerd.toml\n",
	// The configuration of the script with other settings for the kernel.
	"/usr/local/sbin/shared-kernel-containerd": `#!/bin/sh
sed -e 's/SystemdCgroup = true/SystemdCgroup = false/' -e /restrict_oom_score_adj/d \
  -e '/^ *\[plugins."io.containerd.grpc.v1.cri"\]$/a restrict_oom_score_adj = true' /etc/containerd/config.toml >/run/containerd.toml
`,
	// kubeadm without the checks that machines of the tests fail. kube-proxy leaves the kernel's limit of connections as it is.
	"/usr/local/bin/kubeadm": `#!/bin/bash
ignore=--ignore-preflight-errors=SystemVerification,NumCPU,Mem
case "${1-} ${2-}" in
"init phase") exec /usr/bin/kubeadm "$@" ;;
"join "*) exec /usr/bin/kubeadm "$@" $ignore ;;
"init "*)
  /usr/bin/kubeadm "$@" $ignore || exit
  export KUBECONFIG=/etc/kubernetes/admin.conf
  kubectl get configmap -n kube-system kube-proxy -o yaml | sed -e 's/maxPerCore: null/maxPerCore: 0/' -e 's/ min: null/ min: 0/' | kubectl replace -f - >&2 &&
    exec kubectl rollout restart -n kube-system daemonset/kube-proxy >&2 ;;
*) exec /usr/bin/kubeadm "$@" ;;
esac
`,
}

// sharedKernelLayer is a directory with these files, and with wget.
func sharedKernelLayer(t *testing.T) string {
	t.Helper()
	layer := t.TempDir()
	write := func(name string, content []byte) {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(layer, name)), 0o755)) //nolint:gosec // for all users of the machine
		must(t, os.WriteFile(filepath.Join(layer, name), content, 0o755))     //nolint:gosec // for all users of the machine
	}
	for name, content := range sharedKernel {
		write(name, []byte(content))
	}
	busybox, err := exec.LookPath("busybox")
	must(t, err)
	write("/usr/local/bin/wget", read(t, busybox))
	return layer
}

// wantNoToken checks that the log has no token which lets machines join. A script that traces its commands prints them.
func (y *yard) wantNoToken() {
	y.t.Helper()
	y.mu.Lock()
	defer y.mu.Unlock()
	if token := regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b`).FindString(y.log.String()); token != "" {
		y.t.Errorf("the log has the token %s", token)
	}
}
