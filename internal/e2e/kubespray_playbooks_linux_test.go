package e2e_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/e2e/vminfra"
	"github.com/vnfkit/vnfkit/sshexec"
)

// TestKubesprayPlaybooks: the playbooks that stand for kubespray's do what these do, without any of the driver.
func TestKubesprayPlaybooks(t *testing.T) {
	t.Parallel()
	y := yardOf(t, needAnsibleServer(t), nil)
	server := y.newAnsibleServer()
	ctx := within(t, 15*time.Minute)
	for _, name := range []string{"cp", "w1", "w2"} {
		must(t, y.machines.Create(ctx, vminfra.Machine{ID: name, Name: name, Instance: "i"}))
	}
	for _, name := range []string{"cp", "w1", "w2"} {
		must(t, y.login(name).Wait(ctx))
	}
	nodes := func() []string {
		t.Helper()
		out, err := asRoot(y.login("cp"), "kubectl", "--kubeconfig=/etc/kubernetes/admin.conf", "get", "nodes", "-o", "jsonpath={.items[*].metadata.name}")
		must(t, err)
		return slices.Sorted(strings.FieldsSeq(out))
	}
	play := func(inventory []string, args ...string) (string, error) {
		t.Helper()
		y.handInventory(ctx, server, inventory...)
		begin := time.Now()
		out, err := server.play(ctx, append([]string{"-i", "/home/" + ansibleUser + "/hand/hosts.yaml"}, args...)...)
		t.Logf("%v took %s", args, time.Since(begin).Round(100*time.Millisecond))
		return out, err
	}
	refused := func(why string, args ...string) {
		t.Helper()
		if out, err := play([]string{"w1", "w2"}, args...); err == nil || !strings.Contains(out, why) {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}

	_, err := play([]string{"w1"}, "cluster.yml")
	must(t, err)
	if diff := cmp.Diff([]string{"cp", "w1"}, nodes()); diff != "" {
		t.Fatal(diff)
	}
	out, err := play([]string{"w1"}, "cluster.yml")
	must(t, err)
	if strings.Count(out, "changed=0 ") != 3 {
		t.Errorf("the same again has changed something:\n%s", out)
	}
	_, err = play([]string{"w1", "w2"}, "facts.yml")
	must(t, err)
	_, err = play([]string{"w1", "w2"}, "scale.yml", "--limit=w2")
	must(t, err)
	if diff := cmp.Diff([]string{"cp", "w1", "w2"}, nodes()); diff != "" {
		t.Fatal(diff)
	}
	_, err = asRoot(y.login("cp"), "kubectl", "--kubeconfig=/etc/kubernetes/admin.conf", "wait", "--for=condition=Ready", "nodes", "--all", "--timeout=50s")
	must(t, err)

	refused("Say which nodes", "remove-node.yml", "-e", "skip_confirmation=true")
	refused("cannot be removed", "remove-node.yml", "-e", "skip_confirmation=true", "-e", "node=cp")
	refused("not in the inventory", "remove-node.yml", "-e", "skip_confirmation=true", "-e", "node=w1,stranger")
	refused("confirmation failed", "remove-node.yml", "-e", "node=w1")
	_, err = play([]string{"w1", "w2"}, "remove-node.yml", "-e", "skip_confirmation=true", "-e", "node=w1")
	must(t, err)
	if _, err := asRoot(y.login("w1"), "test", "!", "-e", "/etc/kubernetes/kubelet.conf"); err != nil {
		t.Error("the removed node is still a node")
	}
	if err := y.machines.Kill("w2"); err != nil {
		t.Fatal(err)
	}
	_, err = play([]string{"w2"}, "remove-node.yml", "-e", "skip_confirmation=true", "-e", "node=w2", "-e", "reset_nodes=false", "-e", "allow_ungraceful_removal=true")
	must(t, err)
	if diff := cmp.Diff([]string{"cp"}, nodes()); diff != "" {
		t.Fatal(diff)
	}
}

// handInventory writes an inventory of cp and these workers, as an operator would.
func (y *yard) handInventory(ctx context.Context, server *ansibleServer, workers ...string) {
	y.t.Helper()
	hosts, empty := map[string]any{}, func(names ...string) map[string]any {
		out := map[string]any{}
		for _, name := range names {
			out[name] = map[string]any{}
		}
		return map[string]any{"hosts": out}
	}
	for _, name := range append([]string{"cp"}, workers...) {
		hosts[name] = map[string]any{"ansible_host": y.machines.Host(name).Address.String(), "ansible_user": user, "ansible_password": password}
	}
	text, err := json.Marshal(map[string]any{"all": map[string]any{"hosts": hosts, "children": map[string]any{
		"kube_control_plane": empty("cp"), "etcd": empty("cp"), "kube_node": empty(workers...), "calico_rr": empty(),
		"k8s_cluster": map[string]any{"children": map[string]any{"kube_control_plane": nil, "kube_node": nil, "calico_rr": nil}},
	}}})
	must(y.t, err)
	dir := "/home/" + ansibleUser + "/hand"
	must(y.t, server.Exec(ctx, sshexec.Command{Argv: []string{"cp", "-rT", kubesprayRoot + "/inventory/sample", dir}}))
	must(y.t, server.Upload(ctx, strings.NewReader(string(text)), sshexec.File{Path: dir + "/hosts.yaml", Mode: 0o600}))
}
