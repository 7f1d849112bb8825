package inventory_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt/kubespray/inventory"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func forms(o inventory.Options) map[string]inventory.Generator {
	return map[string]inventory.Generator{"ini": inventory.INI{Options: o}, "yaml": inventory.YAML{Options: o}}
}

// sample is the inventory of the specification with fewer nodes.
func sample() inventory.Inventory {
	inv := inventory.Inventory{
		Generation: inventory.Current,
		GroupVars:  map[string]map[string]any{"k8s_cluster": {"kube_pods_subnet": "192.168.0.0/16"}, "all": {"http_proxy": vnflcm.NewSecret("http://u:pä@proxy:3128")}},
	}
	for i, role := range []inventory.Role{inventory.ControlPlane, inventory.Worker, inventory.Worker} {
		n := inventory.Node{
			Name: fmt.Sprintf("node%d", i+1), Address: netip.AddrFrom4([4]byte{95, 54, 0, byte(12 + i)}), IP: netip.AddrFrom4([4]byte{10, 3, 0, byte(1 + i)}),
			User: fmt.Sprintf("user%d", i+1), Password: vnflcm.NewSecret(fmt.Sprintf("password%d", i+1)), Roles: []inventory.Role{role},
		}
		if role == inventory.ControlPlane {
			n.Roles, n.EtcdMember = append(n.Roles, inventory.Etcd), "etcd1"
		}
		inv.Nodes = append(inv.Nodes, n)
	}
	return inv
}

func generate(t testing.TB, g inventory.Generator, inv inventory.Inventory) []inventory.File {
	t.Helper()
	files, err := g.Generate(inv)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func text(files []inventory.File) string {
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "=== %s %04o\n%s", f.Path, f.Mode, f.Content)
	}
	return b.String()
}

const secretsOfSample = `=== group_vars/all/zz_vnfkit_secrets.yml 0600
# Written by vnfkit, which overwrites changes made here.
http_proxy: "http://u:pä@proxy:3128"
vnfkit_secrets:
  node1:
    ansible_password: password1
  node2:
    ansible_password: password2
  node3:
    ansible_password: password3
`

const podsOfSample = " 0644\n# Written by vnfkit, which overwrites changes made here.\nkube_pods_subnet: \"192.168.0.0/16\"\n"

func TestGenerate(t *testing.T) {
	legacy := sample()
	legacy.Generation = inventory.Legacy
	for _, test := range []struct {
		name string
		g    inventory.Generator
		inv  inventory.Inventory
		want string
	}{
		{"ini, the specification's groups", inventory.INI{}, legacy, `=== hosts.ini 0644
[all]
node1 ansible_host=95.54.0.12 ip=10.3.0.1 etcd_member_name=etcd1 ansible_user=user1 ansible_password='"{{ vnfkit_secrets[\x27node1\x27][\x27ansible_password\x27] | string }}"'
node2 ansible_host=95.54.0.13 ip=10.3.0.2 ansible_user=user2 ansible_password='"{{ vnfkit_secrets[\x27node2\x27][\x27ansible_password\x27] | string }}"'
node3 ansible_host=95.54.0.14 ip=10.3.0.3 ansible_user=user3 ansible_password='"{{ vnfkit_secrets[\x27node3\x27][\x27ansible_password\x27] | string }}"'

[kube_control_plane]
node1

[etcd]
node1

[kube-node]
node2
node3

[calico-rr]

[k8s-cluster:children]
kube_control_plane
kube-node
calico-rr

[kube-master:children]
kube_control_plane

[kube_node:children]
kube-node

[calico_rr:children]
calico-rr

[k8s_cluster:children]
k8s-cluster
=== group_vars/k8s-cluster/zz_vnfkit.yml` + podsOfSample + secretsOfSample},
		{"ini, secrets on the lines", inventory.INI{Options: inventory.Options{Secrets: inventory.SecretsInline}}, inventory.Inventory{Nodes: sample().Nodes[:1]}, `=== hosts.ini 0600
[all]
node1 ansible_host=95.54.0.12 ip=10.3.0.1 etcd_member_name=etcd1 ansible_user=user1 ansible_password=password1

[kube_control_plane]
node1

[etcd]
node1

[kube_node]

[calico_rr]

[k8s_cluster:children]
kube_control_plane
kube_node
calico_rr
`},
		{"yaml", inventory.YAML{}, sample(), `=== hosts.yaml 0644
all:
  hosts:
    node1:
      ansible_host: 95.54.0.12
      ip: 10.3.0.1
      etcd_member_name: etcd1
      ansible_user: user1
      ansible_password: "{{ vnfkit_secrets['node1']['ansible_password'] | string }}"
    node2:
      ansible_host: 95.54.0.13
      ip: 10.3.0.2
      ansible_user: user2
      ansible_password: "{{ vnfkit_secrets['node2']['ansible_password'] | string }}"
    node3:
      ansible_host: 95.54.0.14
      ip: 10.3.0.3
      ansible_user: user3
      ansible_password: "{{ vnfkit_secrets['node3']['ansible_password'] | string }}"
  children:
    kube_control_plane:
      hosts:
        node1:
    etcd:
      hosts:
        node1:
    kube_node:
      hosts:
        node2:
        node3:
    calico_rr:
      hosts: {}
    k8s_cluster:
      children:
        kube_control_plane:
        kube_node:
        calico_rr:
=== group_vars/k8s_cluster/zz_vnfkit.yml` + podsOfSample + secretsOfSample},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, text(generate(t, test.g, test.inv))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// hostile has values that inventories often fail to quote.
func hostile() inventory.Inventory {
	inv := sample()
	words := []string{"12345", "True", "none", "yes", "#a", "a=b c", `'"\`, "{{ 1 + 1 }}", "{% raw %}", "[1, 2]", "{'a': 1}", " x ", "ä\u2028\x01", "1:30", "0x10", "1e3", "!vault", "@x", "$HOME `id`", "~", "a: b", "{#", "\u0085", "😀"}
	inv.Nodes[0].Password = vnflcm.NewSecret("{{ 7 * 7 }}#' \"\\")
	inv.Nodes[0].BecomePassword = vnflcm.NewSecret("[1]")
	inv.Nodes[0].User = "{{ x }} #'"
	inv.Nodes[1].Password = vnflcm.NewSecret("True")
	inv.Nodes[1].KeyFile = "/keys/a b#c"
	inv.Nodes[1].Address, inv.Nodes[1].IP = netip.MustParseAddr("2001:db8::7"), netip.MustParseAddr("1:2:3:4:5:6:7:8")
	inv.Nodes[2].Password = vnflcm.NewSecret("0123")
	inv.Nodes[2].Port = 2222
	inv.Nodes[2].Groups = []string{"bastion", "no-floating"}
	vars := map[string]any{}
	list := []any{}
	for i, word := range words {
		vars[fmt.Sprintf("word%02d", i)] = word
		list = append(list, word)
	}
	vars["list"] = list
	vars["mixed"] = map[string]any{"a b": 1, "yes": nil, "1": []any{true, false, 1.5, 1e30, -7, map[string]any{}, []any{}}}
	vars["secret"] = vnflcm.NewSecret("{{ s }}")
	vars["evaluated"] = inventory.Template("{{ inventory_hostname }}'\"")
	vars["big"] = uint64(1 << 63)
	vars["lines"] = "a\nb\r\n"
	inv.Nodes[2].Vars = vars
	inv.GroupVars["kube_node"] = map[string]any{"words": list, "evaluated": inventory.Template("{{ 1 + 1 }}")}
	return inv
}

func TestFaults(t *testing.T) {
	inv := sample()
	inv.Generation = "new"
	inv.Nodes[0].Name = "Node_1"
	inv.Nodes[1].Name = "node3"
	inv.Nodes[1].Address = netip.MustParseAddr("fe80::1%eth0")
	inv.Nodes[1].Port = 70000
	inv.Nodes[1].User = "a\nb"
	inv.Nodes[1].KeyFile = `x" -o ProxyCommand=id`
	inv.Nodes[1].Password = vnflcm.NewSecret("canary\n")
	inv.Nodes[1].Roles = []inventory.Role{"master", inventory.Worker, inventory.Worker}
	inv.Nodes[1].EtcdMember = "etcd1"
	inv.Nodes[1].Groups = []string{"kube-node", "a b"}
	inv.Nodes[1].Vars = map[string]any{"a b": 1, "c": struct{}{}, "ansible_port": 1}
	inv.GroupVars = map[string]map[string]any{"../etc": {}, "kube-node": {}, "all": {"vnfkit_secrets": 1}}
	for name, f := range forms(inventory.Options{Secrets: "nowhere", VaultPassword: vnflcm.NewSecret("x\n")}) {
		_, err := f.Generate(inv)
		var fault *vnflcm.ParamError
		if !errors.As(err, &fault) || !errors.Is(err, vnflcm.ErrInvalidRequest) {
			t.Fatalf("%s: %v", name, err)
		}
		for _, path := range []string{
			"generation: ", "secrets: ", "vault_password: ", "nodes[0].name: ", "nodes[2].name: ", "nodes[1].address: ", "nodes[1].port: ", "nodes[1].user: ", "nodes[1].key_file: ",
			"nodes[1].password: ", "nodes[1].roles[0]: ", "nodes[1].roles[2]: ", "nodes[1].etcd_member_name: ", "nodes[1].groups[0]: ", "nodes[1].groups[1]: ",
			"nodes[1].vars.a b: ", "nodes[1].vars.c: ", "nodes[1].vars.ansible_port: ", "group_vars.../etc: ", "group_vars.kube-node: ", "group_vars.all.vnfkit_secrets: ",
		} {
			if !strings.Contains(err.Error(), path) {
				t.Errorf("%s: nothing at %s\n%v", name, path, err)
			}
		}
		if strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestModes(t *testing.T) {
	for name, f := range forms(inventory.Options{}) {
		for _, file := range generate(t, f, hostile()) {
			for _, secret := range []string{"7 * 7", "0123", "u:pä"} {
				if file.Mode != fs.FileMode(0o600) && strings.Contains(string(file.Content), secret) {
					t.Errorf("%s: %s of mode %o has %q", name, file.Path, file.Mode, secret)
				}
			}
		}
	}
}
