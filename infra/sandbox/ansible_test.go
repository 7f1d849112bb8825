package sandbox_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/netip"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/mgmt/kubespray/inventory"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

var ansibleAddress = netip.MustParseAddr("10.9.0.1")

func ansibleServer() sandbox.AnsibleServer {
	return sandbox.AnsibleServer{Address: ansibleAddress, User: "ansible", Password: "secret", Version: "2.14.18", Kubespray: "2.23.3", Sshpass: true}
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
	k.env = map[string]string{"ANSIBLE_HOST_KEY_CHECKING": "True", "ANSIBLE_SSH_ARGS": "-C", "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.jsonl"}
	k.inventory(nil)
	return k
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

const directory = "/home/ansible/inv/"

// inputs are what the files of an inventory are made from.
type inputs struct {
	inventory.Inventory
	yaml  bool
	vault string
	known string
}

// inventory writes what the machines are now, changed as told, with the package that the driver uses.
func (k *control) inventory(change func(*inputs), without ...string) {
	k.t.Helper()
	names, by := k.nodes(without...)
	in := &inputs{Inventory: inventory.Inventory{GroupVars: map[string]map[string]any{
		"all":         {"ansible_ssh_common_args": "-o UserKnownHostsFile=" + directory + "known_hosts -o StrictHostKeyChecking=yes -o HostKeyAlgorithms=ssh-ed25519"},
		"k8s_cluster": {"kube_pods_subnet": "10.200.0.0/16", "kube_service_addresses": "10.201.0.0/16"},
	}}}
	for _, name := range names {
		address := netip.MustParseAddr(by[name].Address)
		node := inventory.Node{Name: name, Address: address, IP: address, User: "ubuntu", Password: vnflcm.NewSecret("ubuntu"), Roles: []inventory.Role{inventory.Worker}}
		if strings.HasPrefix(name, "master") {
			node.Roles = []inventory.Role{inventory.ControlPlane, inventory.Etcd}
		}
		in.Nodes = append(in.Nodes, node)
		in.known += by[name].Address + " " + by[name].Key + "\n"
	}
	if change != nil {
		change(in)
	}
	var generator inventory.Generator = inventory.INI{Options: inventory.Options{VaultPassword: vnflcm.NewSecret(in.vault)}}
	if in.yaml {
		generator = inventory.YAML{}
	}
	files, err := generator.Generate(in.Inventory)
	if err != nil {
		k.t.Fatal(err)
	}
	for _, f := range append(files, inventory.File{Path: "known_hosts", Content: []byte(in.known)}) {
		k.put(directory+f.Path, string(f.Content))
	}
}

// put writes a file on the Ansible server.
func (k *control) put(name, content string) {
	k.t.Helper()
	if err := errors.Join(k.host.FS().MkdirAll(path.Dir(name), 0o700), afero.WriteFile(k.host.FS(), name, []byte(content), 0o600)); err != nil {
		k.t.Fatal(err)
	}
}

// play runs a playbook and returns what it wrote and its exit code.
func (k *control) play(args ...string) (output string, code int) {
	k.t.Helper()
	var out bytes.Buffer
	err := k.ssh.Exec(k.t.Context(), sshexec.Command{Dir: k.root, Env: k.env, Stdout: &out, Stderr: &out,
		Argv: append([]string{"ansible-playbook", "-i", directory + "hosts.ini", "--become", "--become-user=root"}, args...)})
	if exit, ok := errors.AsType[*sshexec.ExitError](err); ok {
		return out.String(), exit.Code
	}
	if err != nil {
		k.t.Fatal(err)
	}
	return out.String(), 0
}

func (k *control) mustPlay(args ...string) string {
	k.t.Helper()
	out, code := k.play(args...)
	if code != 0 {
		k.t.Fatalf("%q ended with %d:\n%s", args, code, out)
	}
	return out
}

// remove returns the arguments that run remove-node.yml with these variables.
func (k *control) remove(vars map[string]any) []string {
	k.t.Helper()
	text, err := json.Marshal(vars)
	if err != nil {
		k.t.Fatal(err)
	}
	k.put(directory+"vars.json", string(text))
	return []string{"remove-node.yml", "-e", "@" + directory + "vars.json"}
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

// TestKubesprayLife makes a cluster, takes a node out, and adds it again, with both forms of inventories.
func TestKubesprayLife(t *testing.T) {
	t.Parallel()
	k := newControl(t, nil)
	k.mustPlay("cluster.yml")
	names, _ := k.nodes()
	if diff := cmp.Diff(names, k.ready()); diff != "" {
		t.Fatalf("nodes (-want +got):\n%s", diff)
	}
	if again := k.mustPlay("cluster.yml"); strings.Contains(again, `"changed":true`) {
		t.Error("cluster.yml changes a cluster that is complete:\n" + again)
	}
	worker := names[len(names)-1]
	k.mustPlay(k.remove(map[string]any{"node": worker, "skip_confirmation": true, "delete_nodes_confirmation": "yes"})...)
	if diff := cmp.Diff(names[:len(names)-1], k.ready()); diff != "" {
		t.Fatalf("nodes after remove-node.yml (-want +got):\n%s", diff)
	}
	k.inventory(func(in *inputs) { in.yaml = true })
	k.mustPlay("playbooks/facts.yml", "-i", directory+"hosts.yaml")
	k.mustPlay("--limit="+worker, "scale.yml", "-i", directory+"hosts.yaml")
	if diff := cmp.Diff(names, k.ready()); diff != "" {
		t.Fatalf("nodes after scale.yml (-want +got):\n%s", diff)
	}
}
