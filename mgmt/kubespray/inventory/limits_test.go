package inventory_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/mgmt/kubespray/inventory"
)

// TestParseLimits: small files that stand for much are refused before it is made.
func TestParseLimits(t *testing.T) {
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for _, pair := range []string{"ba", "cb", "dc", "ed", "fe", "gf", "hg"} {
		bomb += pair[:1] + ": &" + pair[:1] + " [" + strings.Repeat("*"+pair[1:]+", ", 10) + "]\n"
	}
	for name, test := range map[string]struct{ form, content, want string }{
		"a range":                {"ini", "a[0:99999999]\n", "more than"},
		"ranges of ranges":       {"ini", "a" + strings.Repeat("[1:9]", 40) + "\n", "more than"},
		"hosts":                  {"ini", strings.Repeat("a[0:9999]\nb[0:9999]\nc[0:9999]\n", 2), "more than"},
		"hosts in groups":        {"ini", strings.Repeat("a[0:9999]\n", 30), "more than"},
		"variables of a range":   {"ini", "a[1:9999]" + variables(999) + "\n", "more than 400000 values"},
		"a value of a range":     {"ini", "a[1:9999] v=[" + strings.Repeat("1,", 999) + "]\n", "more than 400000 values"},
		"a value of a YAML one":  {"yaml", "a: {hosts: {'a[1:9999]': {v: [" + strings.Repeat("1,", 999) + "]}}}\n", "more than 400000 values"},
		"groups of groups":       {"ini", "[a0]\nh[1:9999]\n" + chain(1000), "too many groups"},
		"aliases":                {"yaml", "all: {vars: {x: *h}}\n", "unknown anchor"},
		"aliases of aliases":     {"yaml", "x:\n  vars:\n    " + strings.ReplaceAll(strings.TrimSpace(bomb), "\n", "\n    ") + "\n", "more than"},
		"a group in itself":      {"yaml", "a: &a {children: {b: *a}}\n", "nested"},
		"deep":                   {"yaml", "a: {vars: {x: " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "}}\n", "nested"},
		"a merge key":            {"yaml", "a: {vars: {<<: {x: 1}}}\n", "merge keys"},
		"a host that is no word": {"ini", "[a]\n'b\n", "quotation"},
		"what is no variable":    {"ini", "a b\n", "name=value"},
		"an undeclared group":    {"ini", "[a:children]\nb\n", `no group "b"`},
		"a section of another":   {"ini", "[a:b]\n", ":children"},
		"bytes":                  {"ini", "\xff", "UTF-8"},
	} {
		_, err := forms(inventory.Options{})[test.form].Parse([]inventory.File{{Path: "hosts", Content: []byte(test.content)}})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// variables are so many of a host.
func variables(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " v%d=1", i)
	}
	return b.String()
}

// chain puts the group a0 into a1, that into a2, and so on.
func chain(n int) string {
	var b strings.Builder
	name := "a0"
	for i := range n {
		b.WriteString("[a" + strings.Repeat("x", i+1) + ":children]\n" + name + "\n")
		name = "a" + strings.Repeat("x", i+1)
	}
	return b.String()
}

func TestParseOthers(t *testing.T) {
	for name, test := range map[string]struct{ ini, yaml string }{
		"kubespray's sample": {
			"[all]\nnode1 ansible_host=95.54.0.12 # ip=10.3.0.1\nn[2:3]\n[kube-master]\nnode1\n[etcd:children]\nkube-master\n[kube-node]\nn[2:3]\n[gpu]\nn3\n[racks:children]\ngpu\n" +
				"[k8s-cluster:children]\nkube-master\nkube-node\n[all:vars]\na = \"b\" # c\nn=010\nl=[1, 'x', None]\n",
			"all:\n  hosts:\n    node1: {ansible_host: 95.54.0.12}\n    'n[2:3]':\n  vars: {a: '\"b\" # c', n: '010', l: [1, x, ~]}\n  children:\n    kube-master: {hosts: {node1: }}\n    etcd: {children: {kube-master: }}\n" +
				"    kube-node: {hosts: {'n[2:3]': }}\n    racks: {children: {gpu: {hosts: n3}}}\n    k8s-cluster: {children: {kube-master: , kube-node: }}\n",
		},
	} {
		for form, content := range map[string]string{"ini": test.ini, "yaml": test.yaml} {
			inv, err := forms(inventory.Options{})[form].Parse([]inventory.File{{Path: "hosts", Content: []byte(content)}})
			if err != nil {
				t.Errorf("%s, %s: %v", name, form, err)
				continue
			}
			if got := describe(inv); got != "legacy\nnode1 95.54.0.12 [control-plane etcd] []\nn2 invalid IP [worker] []\nn3 invalid IP [worker] [gpu racks]\nmap[all:map[a:\"b\" # c l:[1 x <nil>] n:010]]" {
				t.Errorf("%s, %s:\n%s", name, form, got)
			}
		}
	}
}

func describe(inv inventory.Inventory) string {
	out := string(inv.Generation) + "\n"
	for _, n := range inv.Nodes {
		out += fmt.Sprintln(n.Name, n.Address, n.Roles, n.Groups)
	}
	return out + fmt.Sprint(inv.GroupVars)
}
