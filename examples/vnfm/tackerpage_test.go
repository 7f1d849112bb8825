package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/examples/internal/samples"
	"github.com/vnfkit/vnfkit/internal/tackertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/tosca"
)

// pageCommands returns the commands in docs/tacker.md that prepare packages of Tacker: the functions, then the commands that call them.
func pageCommands(t *testing.T) (functions, commands string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/tacker.md")
	must(t, err)
	_, section, _ := strings.Cut(string(text), "\n## Try your own packages\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for block := range strings.SplitSeq(section, "```sh\n") {
		code, _, _ := strings.Cut(block, "```")
		switch {
		case strings.HasPrefix(code, "with_"):
			functions += code
		case strings.HasPrefix(code, "samples="):
			commands = code
		}
	}
	if strings.Count(functions, "with_") != 3 || commands == "" {
		t.Fatalf("docs/tacker.md has not the expected commands:\n%s\n%s", functions, commands)
	}
	return functions, commands
}

// runPage runs commands of the page in the root of this module.
func runPage(t *testing.T, commands string, env ...string) {
	t.Helper()
	bash := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", commands) //nolint:gosec // the commands of the page
	bash.Dir, bash.Env = "../..", append(os.Environ(), env...)
	if out, err := bash.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestTackerPageFunctions runs the functions of the page on a package with another script, a wrong digest and another id.
func TestTackerPageFunctions(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bash", "awk", "sed", "sha256sum"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("this machine has no " + program)
		}
	}
	functions, _ := pageCommands(t)
	dir := filepath.Join(t.TempDir(), "package")
	must(t, os.CopyFS(dir, os.DirFS(samples.Package("k8s-cluster"))))
	script := filepath.Join(dir, "Scripts/install_k8s_cluster.sh")
	must(t, os.WriteFile(script, []byte("exit 1\n"), 0o600))
	const id = "93d4b8f1-2a6c-4e07-9d15-6b0c7e2f4a77"
	runPage(t, functions+fmt.Sprintf("with_script %q; with_id %q %s %s; with_digests %q", dir, dir, sampleVNFD, id, dir))
	pkg, err := tosca.Open(context.WithoutCancel(t.Context()), dir)
	must(t, err)
	defer pkg.Close()
	text, err := os.ReadFile(script) //nolint:gosec // of the test
	must(t, err)
	if pkg.VNFD().ID != id || !strings.Contains(string(text), "cat >/tmp/cni.yaml <<'CNI'\n") || !strings.Contains(string(text), "\nCNI\n") {
		t.Errorf("the package has the id %s and the script\n%s", pkg.VNFD().ID, text)
	}
}

// TestTackerPackages runs the five Kubernetes packages of a checkout of Tacker, prepared by the commands of the page, on the sandbox.
func TestTackerPackages(t *testing.T) {
	tacker := os.Getenv(tackertest.TackerEnv)
	if tacker == "" {
		t.Skip(tackertest.TackerEnv + " names no checkout of Tacker")
	}
	packages := t.TempDir()
	functions, commands := pageCommands(t)
	runPage(t, functions+commands, "tacker="+tacker, "packages="+packages)
	p := start(t, t.TempDir(), "-config=tacker-guides.yaml", "-packages="+packages)
	instantiate := func(vnfdID string, body map[string]any) (instance string) {
		t.Helper()
		instance = p.create(vnfdID)
		p.do(strings.Replace(instance, "/v2/", "/v1/", 1)+"/instantiate", body)
		return instance
	}
	withoutProxy := func(name, param string) map[string]any {
		body := guideBody(t, name)
		delete(body["additionalParams"].(map[string]any)[param].(map[string]any), "proxy")
		return body
	}
	instantiate("b1db0ce7-ebca-1fb7-95ed-4840d70a1163", withoutProxy("kubeadm_v1_simple", "k8s_cluster_installation_param"))
	instantiate("d34ac189-5376-493f-828f-224dd5fe7393", guideBody(t, "kubeadm_v2_simple"))
	instantiate("b1bb0ce7-ebca-4fa7-95ed-4840d70a1189", withoutProxy("registry", "private_registry_installation_param"))
	cluster := instantiate("b1db0ce7-ebca-1fb7-95ed-4840d70a1164", withoutProxy("kubespray", "k8s_cluster_installation_param"))
	vim := kubeadm.VIMID(path.Base(cluster))
	_, shown := p.send("GET", strings.TrimSuffix(p.api, "/vnflcm/v2")+"/v1.0/vims/"+vim, nil, 200)
	address, err := url.Parse(fmt.Sprint(shown["vim"].(map[string]any)["auth_url"]))
	must(t, err)
	body := guideBody(t, "nodeport")
	body["vimConnectionInfo"].([]any)[0].(map[string]any)["vimId"] = vim
	body["additionalParams"].(map[string]any)["lcm-kubernetes-external-lb"].(map[string]any)["external_lb_param"].(map[string]any)["ssh_ip"] = address.Hostname()
	instantiate("b1bb0ce7-ebca-4fa7-95ed-4840d70a1177", body)
}
