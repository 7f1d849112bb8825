package sandbox_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

var ansibleAddress = netip.MustParseAddr("10.9.0.1")

func ansibleServer() sandbox.AnsibleServer {
	return sandbox.AnsibleServer{Address: ansibleAddress, User: "ansible", Password: "secret", Version: "2.14.18", Kubespray: "2.23.3", Posix: true, Sshpass: true}
}

// control is an Ansible server with an inventory for the machines of an instance.
type control struct {
	*site
	t    *testing.T
	id   string
	ssh  *sshexec.Host
	host *sshtest.Host
	env  map[string]string
	root string
}

func newControl(t *testing.T, change func(*sandbox.Config)) *control {
	t.Helper()
	c := sandbox.Config{Ansible: []sandbox.AnsibleServer{ansibleServer()}, Unexpected: func(host string, argv []string) { t.Errorf("%s: unexpected %q", host, argv) }}
	if change != nil {
		change(&c)
	}
	s := open(t, c)
	k := &control{site: s, t: t, id: s.instance(1), root: "/home/ansible/kubespray"}
	k.ssh, k.host = s.login(ansibleAddress.String(), "ansible", "secret"), s.world.AnsibleHost(ansibleAddress)
	k.env = map[string]string{"LC_ALL": "C.UTF-8", "ANSIBLE_HOST_KEY_CHECKING": "True"}
	k.inventory(nil)
	return k
}

// put writes a file on the Ansible server as its user.
func (k *control) put(name, content string) {
	k.t.Helper()
	if err := k.ssh.Run(k.t.Context(), []string{"mkdir", "-p", path.Dir(name)}, nil, nil, nil); err != nil {
		k.t.Fatal(err)
	}
	if err := k.ssh.Upload(k.t.Context(), strings.NewReader(content), sshexec.File{Path: name, Mode: 0o600}); err != nil {
		k.t.Fatal(err)
	}
}

// nodes are the machines by the names of their nodes, but for those that are left out.
func (k *control) nodes(without ...string) (names []string, by map[string]machine) {
	by = map[string]machine{}
	for name, m := range k.machines(k.id) {
		role, _, _ := strings.Cut(name, "Node")
		node := role + "-" + strings.ReplaceAll(m.Address, ".", "-")
		if !slices.Contains(without, node) {
			names, by[node] = append(names, node), m
		}
	}
	slices.Sort(names)
	return names, by
}

// inventory writes what the machines are now, changed as told.
func (k *control) inventory(change func(files map[string]string), without ...string) {
	k.t.Helper()
	names, by := k.nodes(without...)
	var hosts, masters, workers, known strings.Builder
	for _, name := range names {
		m := by[name]
		fmt.Fprintf(&hosts, "%s ansible_host=%s ansible_user=ubuntu ip=%s\n", name, m.Address, m.Address)
		fmt.Fprintf(&known, "%s %s\n", m.Address, m.Key)
		if strings.HasPrefix(name, "master") {
			fmt.Fprintln(&masters, name)
		} else {
			fmt.Fprintln(&workers, name)
		}
	}
	secrets := "secrets:\n"
	for _, name := range names {
		secrets += fmt.Sprintf("  %s: {password: !unsafe 'ubuntu'}\n", name)
	}
	files := map[string]string{
		"hosts.ini": "[all]\n" + hosts.String() + "\n[kube_control_plane]\n" + masters.String() + "\n[etcd]\n" + masters.String() +
			"\n[kube_node]\n" + workers.String() + "\n[k8s_cluster:children]\nkube_control_plane\nkube_node\n",
		"known_hosts": known.String(),
		"group_vars/all/own.yml": "ansible_password: \"{{ secrets[inventory_hostname].password }}\"\n" +
			"ansible_ssh_common_args: -o UserKnownHostsFile=\"/home/ansible/inv/known_hosts\" -o GlobalKnownHostsFile=/dev/null -o StrictHostKeyChecking=yes\n" +
			"supplementary_addresses_in_ssl_keys: [198.18.0.250]\nkube_pods_subnet: 10.200.0.0/16\nkube_service_addresses: 10.201.0.0/16\n",
		"group_vars/all/secrets.yml": secrets,
	}
	if change != nil {
		change(files)
	}
	for name, content := range files {
		k.put("/home/ansible/inv/"+name, content)
	}
}

// play runs a playbook and returns what it wrote and its exit code.
func (k *control) play(args ...string) (stdout, stderr string, code int) {
	k.t.Helper()
	var out, errs bytes.Buffer
	err := k.ssh.Exec(k.t.Context(), sshexec.Command{Dir: k.root, Env: k.env, Stdout: &out, Stderr: &errs,
		Argv: append([]string{"ansible-playbook", "-i", "/home/ansible/inv/hosts.ini", "--become", "--become-user=root"}, args...)})
	if exit, ok := errors.AsType[*sshexec.ExitError](err); ok {
		return out.String(), errs.String(), exit.Code
	}
	if err != nil {
		k.t.Fatal(err)
	}
	return out.String(), errs.String(), 0
}

func (k *control) mustPlay(args ...string) string {
	k.t.Helper()
	out, errs, code := k.play(args...)
	if code != 0 {
		k.t.Fatalf("%q ended with %d:\n%s%s", args, code, out, errs)
	}
	return out
}

func (k *control) ready() []string {
	var out []string
	for _, n := range k.world.Nodes() {
		if n.Ready {
			out = append(out, n.Name)
		}
	}
	return out
}

func TestKubesprayLife(t *testing.T) {
	t.Parallel()
	k := newControl(t, nil)
	k.mustPlay("cluster.yml")
	names, by := k.nodes()
	if diff := cmp.Diff(names, k.ready()); diff != "" {
		t.Fatalf("nodes (-want +got):\n%s", diff)
	}
	if again := k.mustPlay("cluster.yml"); strings.Contains(again, "changed: [") {
		t.Error("cluster.yml changes a cluster that is there:\n" + again)
	}
	worker := names[len(names)-1]
	k.mustPlay("remove-node.yml", "-e", "node="+worker, "-e", "skip_confirmation=true", "-e", "delete_nodes_confirmation=yes")
	if diff := cmp.Diff(names[:len(names)-1], k.ready()); diff != "" {
		t.Fatalf("nodes after remove-node.yml (-want +got):\n%s", diff)
	}
	k.mustPlay("playbooks/facts.yml")
	k.mustPlay("--limit="+worker, "scale.yml")
	if diff := cmp.Diff(names, k.ready()); diff != "" {
		t.Fatalf("nodes after scale.yml (-want +got):\n%s", diff)
	}
	if err := k.world.Stop(by[worker].Resource); err != nil {
		t.Fatal(err)
	}
	dead := []string{"remove-node.yml", "-e", "node=" + worker, "-e", "skip_confirmation=true", "-e", "reset_nodes=false"}
	if out, _, code := k.play(dead...); code != 2 || !strings.Contains(out, "timed out") {
		t.Errorf("a dead node left gracefully: %d\n%s", code, out)
	}
	k.mustPlay(append(dead, "-e", "allow_ungraceful_removal=true")...)
	if diff := cmp.Diff(names[:len(names)-1], k.ready()); diff != "" {
		t.Fatalf("nodes after the dead one was removed (-want +got):\n%s", diff)
	}
}
