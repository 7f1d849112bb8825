package ansiblesim

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

const hostile = `# a comment
[all]
a ansible_host=10.0.0.1 n=12345 f=1.50 yes=True no=False none=None zero=007 text="1 2" quoted="'123'" hash="a#b" list="['x', 'y']" esc="'a\\'b'"   # the end
b ansible_host=10.0.0.2 eq=a=b back=a\ b brace="{'k': 'v'}" tab="'a\\tb'" uni="'\\u00e4'"

[kube_control_plane]
a

[kube-node]
b
[kube-node:vars]
who=group
num = 5
all=group
[k8s-cluster:children]
kube_control_plane
kube-node
[k8s-cluster:vars]
who=parent
parent=True
[all:vars]
who=all
all=all
`

const hostileYAML = `all:
  hosts:
    a: {n: 12345, s: "12345", y: yes, "on": off, f: 1.5, nothing: }
    b:
  vars: {who: all}
  children:
    kube_node:
      hosts: {b: {x: "{{ who }}", u: !unsafe '{{ no }}'}}
      vars: {who: group}
    etcd:
      children: {kube_node: }
      vars: {who: parent, etcd: true}
`

var layouts = map[string]map[string]string{
	"ini": {"inv.ini": hostile, "group_vars/all/b.yml": "who: file\nfrom: b\n", "group_vars/all/a.yaml": "from: a\nonly: a\n", "group_vars/kube-node.yml": "all: its file\n", "host_vars/a.yml": "n: 7\n",
		"group_vars/all/.hidden.yml": "from: hidden\n", "group_vars/all/c.txt": "from: txt\n"},
	"yaml": {"inv.yaml": hostileYAML, "group_vars/kube_node/x.json": `{"j": [1, {"a": "b"}]}`},
}

func read(t *testing.T, files map[string]string) *variables {
	t.Helper()
	disk := afero.NewMemMapFs()
	inv := ""
	for name, content := range files {
		if err := afero.WriteFile(disk, "/i/"+name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if filepath.Dir(name) == "." {
			inv = "/i/" + name
		}
	}
	var warnings bytes.Buffer
	p := &sshtest.Process{FS: disk, Dir: "/i", Stderr: &warnings, Stdout: &warnings, Env: func(string) string { return "" }}
	parsed, err := readInventory(p, []string{inv}, nil)
	if err != nil || warnings.Len() > 0 {
		t.Fatal(err, warnings.String())
	}
	v, err := readVariables(p, parsed, vars{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestRealInventory: the real Ansible reads the same hosts, groups and variables.
func TestRealInventory(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("ansible-inventory")
	if err != nil {
		t.Skip("ansible-inventory is not in the PATH")
	}
	for name, files := range layouts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, inv := t.TempDir(), ""
			for name, content := range files {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
				if filepath.Dir(name) == "." {
					inv = filepath.Join(dir, name)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			command := exec.CommandContext(ctx, program, "-i", inv, "--list")
			command.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "HOME="+dir)
			out, err := command.Output()
			if err != nil {
				t.Fatal(err)
			}
			var real struct {
				Meta struct {
					HostVars map[string]map[string]any `json:"hostvars"`
				} `json:"_meta"`
			}
			if err := json.Unmarshal(out, &real); err != nil {
				t.Fatal(err)
			}
			v := read(t, files)
			for _, host := range v.inv.order {
				ours := v.of(host)
				delete(ours, "inventory_hostname")
				delete(ours, "groups")
				if diff := cmp.Diff(real.Meta.HostVars[host], roundTrip(t, ours)); diff != "" {
					t.Errorf("%s (-Ansible +simulated):\n%s", host, diff)
				}
			}
		})
	}
}

// roundTrip shows variables as ansible-inventory does.
func roundTrip(t *testing.T, v vars) map[string]any {
	t.Helper()
	shown := map[string]any{}
	for name, value := range v {
		if text, isUnsafe := value.(unsafe); isUnsafe {
			value = map[string]any{"__ansible_unsafe": string(text)}
		}
		shown[name] = value
	}
	raw, err := json.Marshal(shown)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
