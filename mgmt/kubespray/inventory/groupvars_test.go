package inventory_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt/kubespray/inventory"
)

// TestHides checks which files Ansible ignores, also with the real Ansible if it is installed.
func TestHides(t *testing.T) {
	files := generate(t, inventory.INI{}, sample())
	want := []string{
		"group_vars/all.json", "group_vars/all.yaml", "group_vars/all.yml", "group_vars/k8s_cluster.json", "group_vars/k8s_cluster.yaml", "group_vars/k8s_cluster.yml",
	}
	if diff := cmp.Diff(want, inventory.Hides(files)); diff != "" {
		t.Error(diff)
	}
	others := []inventory.File{{Path: "hosts.ini"}, {Path: "group_vars/etcd.yml"}, {Path: "host_vars/a/b.yml"}, {Path: "/group_vars/a/b.yml"}}
	if hidden := inventory.Hides(others); len(hidden) > 0 {
		t.Errorf("%v", hidden)
	}
	if _, err := exec.LookPath("ansible-inventory"); err != nil {
		t.Skip("no ansible-inventory on this machine")
	}
	const apart = "group_vars/all/theirs.yml"
	if diff := cmp.Diff([]string{apart}, readByAnsible(t, files, append(want, apart))); diff != "" {
		t.Error(diff)
	}
}

// readByAnsible returns those of the foreign files of variables that Ansible reads beside the generated files.
func readByAnsible(t *testing.T, files []inventory.File, foreign []string) (read []string) {
	t.Helper()
	dir := t.TempDir()
	for i, name := range foreign {
		files = append(files, inventory.File{Path: name, Mode: 0o600, Content: fmt.Appendf(nil, `{"theirs%d": true}`, i)})
	}
	for _, f := range files {
		file := filepath.Join(dir, f.Path)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, f.Content, f.Mode); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), "ansible-inventory", "-i", filepath.Join(dir, "hosts.ini"), "--host", "node1")
	command.Env = append(os.Environ(), "HOME="+dir, "LC_ALL=C.UTF-8")
	out, err := command.Output()
	var vars map[string]any
	if err != nil || json.Unmarshal(out, &vars) != nil || vars["kube_pods_subnet"] != "192.168.0.0/16" {
		t.Fatalf("%v: %s", err, out)
	}
	for i, name := range foreign {
		if vars[fmt.Sprintf("theirs%d", i)] != nil {
			read = append(read, name)
		}
	}
	return read
}
