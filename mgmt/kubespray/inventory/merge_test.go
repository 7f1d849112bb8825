package inventory_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vnfkit/vnfkit/mgmt/kubespray/inventory"
)

// ours are a master and two workers of which one is new; old was there before.
func ours() inventory.Inventory {
	node := func(name, address string, roles ...inventory.Role) inventory.Node {
		return inventory.Node{Name: name, Address: netip.MustParseAddr(address), User: "ubuntu", Roles: roles}
	}
	return inventory.Inventory{Nodes: []inventory.Node{
		node("m1", "10.0.0.1", inventory.ControlPlane, inventory.Etcd), node("w1", "10.0.0.11", inventory.Worker), node("w2", "10.0.0.12", inventory.Worker),
	}}
}

var former = []string{"m1", "w1", "old"}

func TestMergeINI(t *testing.T) {
	for name, test := range map[string]struct{ existing, want string }{
		"what others wrote stays": {
			existing: `# kept by the operator;	tabs and	blanks too
jump ansible_host=192.0.2.1   # the way in
[all]
m1 ansible_host=10.0.0.1 rack="a 1" ansible_user='ubuntu'  etcd_member_name=etcd1  # first rack
old ansible_host=10.0.0.9
  w1   ansible_host=10.9.9.9 ansible_ssh_pass=gone ansible_port=2222	labels='{"a": "b"}' # second
gpu[01:03].example.org

; about workers
[kube_control_plane]
m1

[etcd:children]
kube_control_plane

[kube_node]   # workers
w1 note=mine
old
gpu02.example.org

# about the cluster
[k8s_cluster:children]
kube_control_plane
kube_node
calico_rr # may be empty

[calico_rr]
[gpu]
gpu[01:03].example.org
old
w1
[gpu:vars]
driver = 535 # not a comment
`,
			want: `# kept by the operator;	tabs and	blanks too
jump ansible_host=192.0.2.1   # the way in
[all]
m1 ansible_host=10.0.0.1 rack="a 1" ansible_user='ubuntu'  etcd_member_name=etcd1  # first rack
  w1   ansible_host=10.0.0.11	labels='{"a": "b"}' ansible_user=ubuntu # second
gpu[01:03].example.org
w2 ansible_host=10.0.0.12 ansible_user=ubuntu

; about workers
[kube_control_plane]
m1

[etcd:children]
kube_control_plane

[kube_node]   # workers
w1 note=mine
gpu02.example.org
w2

# about the cluster
[k8s_cluster:children]
kube_control_plane
kube_node
calico_rr # may be empty

[calico_rr]
[gpu]
gpu[01:03].example.org
w1
[gpu:vars]
driver = 535 # not a comment

[etcd]
`,
		},
		"without [all], other line ends, no end": {
			existing: "[kube-node]\r\nold\r\nw1:2222 x=1 ansible_user=root\r\nfriend\r\n[k8s-cluster:children]\r\nkube-node",
			want: "[kube-node]\r\nfriend\r\n[k8s-cluster:children]\r\nkube-node\r\n" +
				"\r\n[all]\r\nm1 ansible_host=10.0.0.1 etcd_member_name=etcd1 ansible_user=ubuntu\r\nw1 ansible_host=10.0.0.11 ansible_user=ubuntu x=1\r\nw2 ansible_host=10.0.0.12 ansible_user=ubuntu\r\n" +
				"\r\n[kube_control_plane]\r\nm1\r\n\r\n[etcd]\r\nm1\r\n\r\n[kube_node]\r\nw1\r\nw2\r\n\r\n[calico_rr]\r\n\r\n[k8s_cluster:children]\r\nkube_control_plane\r\nkube_node\r\ncalico_rr\r\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := inventory.INI{}.Merge([]byte(test.existing), ours(), former)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(files[0].Content)); diff != "" {
				t.Error(diff)
			}
			again, err := inventory.INI{}.Merge(files[0].Content, ours(), former)
			if err != nil || text(again) != text(files) {
				t.Errorf("not idempotent: %v\n%s", err, text(again))
			}
		})
	}
}

func TestMergeYAML(t *testing.T) {
	existing := `---
# kept by the operator
all:
  hosts:
    # first rack
    old:
      ansible_host: 10.0.0.9
    m1: # mine
      ansible_host: 10.0.0.1
      rack: "a 1" # of the operator
      yes: on
    jump: {ansible_host: 192.0.2.1, labels: [a, b]}
  vars:
    ntp: !unsafe "{{ x }}"
  children:
    gpu:
      hosts:
        gpu[01:03]:
        w1:
        old:
      vars: &v
        driver: 535
    kube_node:
      hosts:
        w1:
          ansible_host: 10.9.9.9
          ansible_port: 2222
          note: mine
        # the old one
        old:
    etcd:
      children:
        kube_control_plane:
    kube_control_plane:
      hosts: {}
other:
  vars: *v
`
	want := `---
# kept by the operator
all:
  hosts:
    # first rack
    m1: # mine
      ansible_host: 10.0.0.1
      rack: "a 1" # of the operator
      yes: on
      etcd_member_name: etcd1
      ansible_user: ubuntu
    jump: {ansible_host: 192.0.2.1, labels: [a, b]}
    w2:
      ansible_host: 10.0.0.12
      ansible_user: ubuntu
  vars:
    ntp: !unsafe "{{ x }}"
  children:
    gpu:
      hosts:
        gpu[01:03]:
        w1:
      vars: &v
        driver: 535
    kube_node:
      hosts:
        w1:
          ansible_host: 10.0.0.11
          note: mine
          ansible_user: ubuntu
        # the old one

        w2:
    etcd:
      children:
        kube_control_plane:
    kube_control_plane:
      hosts:
        m1:
    calico_rr: {}
    k8s_cluster:
      children:
        kube_control_plane:
        kube_node:
        calico_rr:
other:
  vars: *v
`
	files, err := inventory.YAML{}.Merge([]byte(existing), ours(), former)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(files[0].Content)); diff != "" {
		t.Error(diff)
	}
	again, err := inventory.YAML{}.Merge(files[0].Content, ours(), former)
	if err != nil || text(again) != text(files) {
		t.Errorf("not idempotent: %v\n%s", err, cmp.Diff(text(files), text(again)))
	}
}

// TestMergeRefuses: what others wrote of our hosts where nothing of ours can be changed is an error, and names what to do.
func TestMergeRefuses(t *testing.T) {
	for name, test := range map[string]struct{ ini, yaml, want string }{
		"a range with one that goes":  {"[all]\nol[a:e]\n", "all: {hosts: {'ol[a:e]': {}}}", "host old cannot be removed"},
		"a range that adds a role":    {"[etcd]\nw[1:2]\n", "etcd: {hosts: {'w[1:2]': }}", "host w1 would be in etcd"},
		"a group that adds a role":    {"[etcd:children]\nkube_node\n[kube_node]\n", "etcd: {children: {kube_node: {hosts: {}}}}", "host w1 would be in etcd"},
		"a variable through a range":  {"[all]\nw1\n[x]\nw[1:3] ansible_host=1.1.1.1\n", "all: {hosts: {w1: }, children: {x: {hosts: {'w[1:3]': {ansible_host: 1.1.1.1}}}}}", "ansible_host is set by others"},
		"a variable that we have not": {"[x]\nw[1:3] ansible_port=7\n", "x: {hosts: {'w[1:3]': {ansible_port: 7}}}", "ansible_port is set by others"},
		"what cannot be read":         {"[x y]\n", "all: {", "existing inventory"},
		"two documents":               {"[a:b]\n", "a: {}\n---\nb: {}\n", "existing inventory"},
	} {
		for form, existing := range map[string]string{"ini": test.ini, "yaml": test.yaml} {
			_, err := forms(inventory.Options{})[form].Merge([]byte(existing), ours(), []string{"old"})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s, %s: %v", name, form, err)
			}
		}
	}
}

func TestMergeIntoNothing(t *testing.T) {
	for name, f := range forms(inventory.Options{}) {
		want := text(generate(t, f, ours()))
		for _, existing := range []string{"", " \n"} {
			files, err := f.Merge([]byte(existing), ours(), nil)
			if err != nil || text(files) != want {
				t.Errorf("%s: %v\n%s", name, err, text(files))
			}
		}
		files, err := f.Merge(generate(t, f, ours())[0].Content, ours(), nil)
		if err != nil || text(files) != want {
			t.Errorf("%s: %v\n%s", name, err, text(files))
		}
	}
}

// TestMergeHostile: secrets, templates and hostile values survive a merge as they survive Generate.
func TestMergeHostile(t *testing.T) {
	for name, f := range forms(inventory.Options{}) {
		files, err := f.Merge(generate(t, f, ours())[0].Content, hostile(), []string{"m1", "w1", "w2"})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := f.Parse(files)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(hostile(), got, cmpopts.EquateComparable(netip.Addr{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
