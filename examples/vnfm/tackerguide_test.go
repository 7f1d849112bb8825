package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/examples/internal/samples"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
)

// guidePackage creates the package of Tacker's guides for kubeadm from the sample package, with replaced names (pairs for
// strings.NewReplacer) and with a network plugin in the script.
func guidePackage(t *testing.T, names ...string) (dir string) {
	t.Helper()
	sample, files := samples.Package("k8s-cluster"), map[string]string{}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(sample, name))
		must(t, err)
		return string(text)
	}
	must(t, fs.WalkDir(os.DirFS(sample), ".", func(name string, entry fs.DirEntry, err error) error {
		if folder, _, _ := strings.Cut(name, "/"); err == nil && !entry.IsDir() && (folder == "Definitions" || folder == "BaseHOT") {
			files[name] = strings.NewReplacer(names...).Replace(read(name))
		}
		return err
	}))
	const script, options = "Scripts/install_k8s_cluster.sh", "set -euo pipefail\n"
	files[script] = strings.Replace(read(script), options, options+"cat >/tmp/cni.yaml <<'CNI'\n"+read("Files/kubernetes/cni.yaml")+"\nCNI\n", 1)
	return mgmttest.Package(t, sample, files)
}

// guideBody reads a request of a guide.
func guideBody(t *testing.T, name string) (out map[string]any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../internal/guides/testdata", name+".json"))
	must(t, err)
	must(t, json.Unmarshal(text, &out))
	return out
}

// guide is a guide of Tacker for a cluster by kubeadm.
type guide struct {
	dir, vnfdID string
	aspect      string         // scaling aspect of the workers
	instantiate map[string]any // request, without the id of the VIM
	params      map[string]any // additionalParams of each further operation
	authURL     string         // URL of the VIM
}

// guides returns the guides for both versions of the API.
func guides(t *testing.T) map[string]guide {
	t.Helper()
	first, second := guideBody(t, "kubeadm_v1_simple"), guideBody(t, "kubeadm_v2_simple")
	proxy := first["additionalParams"].(map[string]any)["k8s_cluster_installation_param"].(map[string]any)["proxy"].(map[string]any)
	proxy["http_proxy"], proxy["https_proxy"] = "http://user1:password1@192.0.2.1:3128", "http://user2:password2@192.0.2.1:3128" // placeholders
	return map[string]guide{
		"1": {dir: guidePackage(t), vnfdID: "93d4b8f1-2a6c-4e07-9d15-6b0c7e2f4a11", aspect: "worker_instance", instantiate: first, authURL: "http://127.0.0.1/identity"},
		"2": {dir: guidePackage(t, "workerNode_CP2", "workerNode_CP1", "worker_instance", "workerNode_scale"), vnfdID: "93d4b8f1-2a6c-4e07-9d15-6b0c7e2f4a22",
			aspect: "workerNode_scale", instantiate: second, params: guideBody(t, "kubeadm_v2_simple_params"), authURL: "http://localhost/identity/v3"},
	}
}

// on returns the request with the id of a VIM: a list of VIMs in version 1, a map in version 2.
func (g *guide) on(vim string) map[string]any {
	switch list := g.instantiate["vimConnectionInfo"].(type) {
	case []any:
		list[0].(map[string]any)["vimId"] = vim
	case map[string]any:
		list["vim1"].(map[string]any)["vimId"] = vim
	}
	return g.instantiate
}

// follow runs the commands of a guide.
func (c *tackerClient) follow(g guide) {
	c.t.Helper()
	name := "hellovim" + c.version
	vim := fmt.Sprint(c.vim("register", name, "--description", "my first vim", "--config-file", c.vimFile("vim_config.yaml", "auth_url: '"+g.authURL+
		"'\nusername: 'nfv_user'\npassword: 'devstack'\nproject_name: 'nfv'\nproject_domain_name: 'Default'\nuser_domain_name: 'Default'\ncert_verify: 'True'\n"))["id"])
	id := c.onboard(g.dir, g.vnfdID)
	if c.version == "1" { // the commands for packages are the same in both versions
		c.lists(g.vnfdID, id)
		c.files(id, g.dir)
		c.fromURI("a" + g.vnfdID[1:])
	}

	instance := fmt.Sprint(c.object("create", g.vnfdID, "--name", "guide")["ID"])
	if shown := c.shown("vnf", "package", "show", id); shown["Usage State"] != "IN_USE" {
		c.t.Errorf("with an instance: %v", shown)
	}
	c.run("instantiate", instance, c.file("instantiate.json", g.on(vim)))
	c.ends(instance, "COMPLETED")
	c.vimRefused("VNF instances are on the VIM", "delete", name)
	cluster := kubeadm.VIMID(instance)
	if shown := c.vim("show", cluster); shown["type"] != "kubernetes" {
		c.t.Errorf("the cluster is registered as %v", shown)
	}

	var params []string
	if g.params != nil {
		params = []string{"--additional-param-file", c.file("params.json", g.params)}
	}
	for _, direction := range []string{"SCALE_OUT", "SCALE_IN"} {
		c.run(append([]string{"scale", "--type", direction, "--aspect-id", g.aspect, "--number-of-steps", "1", instance}, params...)...)
		c.ends(instance, "COMPLETED")
	}
	c.run(append([]string{"heal", instance, "--cause", "alarm", "--vnfc-instance", c.worker(instance)}, params...)...)
	c.ends(instance, "COMPLETED")
	c.run("terminate", instance, "--termination-type", "GRACEFUL")
	c.ends(instance, "COMPLETED")
	c.run("delete", instance)
	c.remove(id)
	if list := c.command("vnf", "package", "list", "-f", "value", "-c", "Id"); strings.Contains(list, id) {
		c.t.Errorf("the package is still listed: %s", list)
	}
	c.command("vim", "delete", name)
	for _, vim := range []string{name, vim, cluster} {
		if out, _, err := c.tryVIM("show", vim); err == nil {
			c.t.Errorf("the VIM %s is still registered: %s", vim, out)
		}
	}
}

// TestTackerGuide runs Tacker's first guide in both versions of the API, from the registration of the VIM and the package to the deletion
// of the VNF.
func TestTackerGuide(t *testing.T) {
	needTackerClient(t)
	p := start(t, t.TempDir(), "-config=tacker-guides.yaml")
	for version, g := range guides(t) {
		t.Run("version "+version, func(t *testing.T) {
			t.Parallel()
			own := *p
			own.t = t
			(&tackerClient{program: &own, t: t, version: version, dir: t.TempDir()}).follow(g)
		})
	}
}
