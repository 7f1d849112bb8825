package inventory_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt/kubespray/inventory"
)

// The groups that the inventories below have beside their hosts.
const (
	restOfINI  = "\n[kube_control_plane]\n\n[calico_rr]\n\n[k8s_cluster:children]\nkube_control_plane\nkube_node\ncalico_rr\n"
	restOfYAML = "    kube_control_plane:\n    calico_rr:\n    k8s_cluster:\n      children: {kube_control_plane: null, kube_node: null, calico_rr: null}\n"
)

// TestMergeHost: what becomes of the lines of a host that others wrote, too. The host is the worker w1, 10.0.0.11.
func TestMergeHost(t *testing.T) {
	inv := inventory.Inventory{Nodes: ours().Nodes[1:2]}
	for name, test := range map[string]struct{ form, rest, existing, want string }{
		"variables of others move to the line that stays": {
			"ini", restOfINI,
			"[all]\nw1 ansible_host=10.0.0.11 ansible_user=ubuntu\n[etcd]\nw1 ansible_host=1.1.1.1 rack='a 1' # was a member\n[kube_node]\nw1 note=mine\n",
			"[all]\nw1 ansible_host=10.0.0.11 ansible_user=ubuntu rack='a 1'\n[etcd]\n[kube_node]\nw1 note=mine\n",
		},
		"at home in all": {
			"ini", restOfINI,
			"[gpu]\nw1 a=1\n[all]\nw1\n[kube_node]\nw1\n[etcd]\n",
			"[gpu]\nw1 a=1\n[all]\nw1 ansible_host=10.0.0.11 ansible_user=ubuntu\n[kube_node]\nw1\n[etcd]\n",
		},
		"from two lines that go": {
			"ini", restOfINI,
			"[etcd]\nw1 rack=1\nw1 floor=2\n[kube_node]\n[all]\n",
			"[etcd]\n[kube_node]\nw1\n[all]\nw1 ansible_host=10.0.0.11 ansible_user=ubuntu rack=1 floor=2\n",
		},
		"said twice on one line": {
			"ini", restOfINI,
			"[all]\nw1 ansible_host=10.0.0.1 ansible_host=10.0.0.2\n[kube_node]\nw1\n[etcd]\n",
			"[all]\nw1 ansible_host=10.0.0.11 ansible_user=ubuntu\n[kube_node]\nw1\n[etcd]\n",
		},
		"a port before the variables": {
			"ini", restOfINI,
			"[all]\nw1:2222 rack=1\n[kube_node]\nw1:2222\n[etcd]\n",
			"[all]\nw1 rack=1 ansible_host=10.0.0.11 ansible_user=ubuntu\n[kube_node]\nw1\n[etcd]\n",
		},
		"a section twice": {
			"ini", restOfINI,
			"[kube_node]\na\n[all]\nw1\n[kube_node]\nb\n[etcd]\n",
			"[kube_node]\na\nw1\n[all]\nw1 ansible_host=10.0.0.11 ansible_user=ubuntu\n[kube_node]\nb\n[etcd]\n",
		},
		"a range of one is not ours": {
			"ini", restOfINI,
			"[all]\nw[1:1] rack=1\n[kube_node]\nw[1:1]\n[etcd]\n",
			"[all]\nw[1:1] rack=1\nw1 ansible_host=10.0.0.11 ansible_user=ubuntu\n[kube_node]\nw[1:1]\nw1\n[etcd]\n",
		},
		"YAML: variables of others move": {
			"yaml", restOfYAML,
			"all:\n  hosts:\n    w1: {ansible_host: 10.0.0.11, ansible_user: ubuntu, floor: 1}\n  children:\n    etcd:\n      hosts:\n        w1: {ansible_host: 1.1.1.1, rack: a, floor: 2}\n    kube_node:\n      hosts:\n        w1: {note: mine, ansible_user: root}\n",
			"all:\n  hosts:\n    w1: {ansible_host: 10.0.0.11, ansible_user: ubuntu, floor: 1, rack: a}\n  children:\n    etcd:\n      hosts: {}\n    kube_node:\n      hosts:\n        w1: {note: mine}\n",
		},
		"YAML: from the only place": {
			"yaml", restOfYAML,
			"all:\n  hosts:\n  children:\n    etcd:\n      hosts:\n        w1: {rack: a} # mine\n    kube_node:\n",
			"all:\n  hosts:\n    w1: {rack: a, ansible_host: 10.0.0.11, ansible_user: ubuntu} # mine\n  children:\n    etcd:\n      hosts: {}\n    kube_node:\n      hosts:\n        w1:\n",
		},
		"YAML: comments stay": {
			"yaml", restOfYAML,
			"all:\n  hosts:\n    w1:\n      # where it is\n      ansible_host: 10.9.9.9 # since May\n      # about ports\n      ansible_port: 22\n      # about racks\n      rack: a\n  children:\n    etcd:\n    kube_node:\n      hosts: w1\n",
			"all:\n  hosts:\n    w1:\n      # where it is\n      ansible_host: 10.0.0.11 # since May\n      # about ports\n      # about racks\n      rack: a\n      ansible_user: ubuntu\n  children:\n    etcd:\n    kube_node:\n      hosts:\n        w1:\n",
		},
		"YAML: one host, written as a string": {
			"yaml", restOfYAML,
			"all:\n  hosts: jump\n  children:\n    etcd:\n    kube_node:\n      hosts: friend\n",
			"all:\n  hosts:\n    jump:\n    w1:\n      ansible_host: 10.0.0.11\n      ansible_user: ubuntu\n  children:\n    etcd:\n    kube_node:\n      hosts:\n        friend:\n        w1:\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			// The encoder would make empty strings of these.
			existing := test.existing + strings.ReplaceAll(test.rest, "null", "")
			files, err := forms(inventory.Options{})[test.form].Merge([]byte(existing), inv, []string{"w1"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want+test.rest, string(files[0].Content)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
