package sandbox_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/mgmt/kubespray/inventory"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestKubesprayRefuses: a server refuses wrong arguments, groups, versions, credentials and host keys, as the real programs do.
func TestKubesprayRefuses(t *testing.T) {
	t.Parallel()
	options := func(in *inputs, old, with string) {
		all := in.GroupVars["all"]
		all["ansible_ssh_common_args"] = strings.Replace(all["ansible_ssh_common_args"].(string), old, with, 1)
	}
	for name, test := range map[string]struct {
		config     func(*sandbox.Config)
		inventory  func(*inputs)
		env        map[string]string
		args       []string // default: cluster.yml
		code       int
		want       string
		unexpected bool
	}{
		"wrong password": {inventory: func(in *inputs) { in.Nodes[2].Password = vnflcm.NewSecret("other") }, code: 2, want: "authentication refused"},
		"unknown key":    {inventory: func(in *inputs) { in.known = "" }, code: 2, want: "Host key verification failed."},
		"other proof":    {inventory: func(in *inputs) { options(in, "ssh-ed25519", "ssh-rsa") }, code: 2, want: "Host key verification failed."},
		"keys unchecked": {inventory: func(in *inputs) { options(in, "=yes", "=no") }, code: 2, want: "host keys are not checked", unexpected: true},
		"checks are off": {env: map[string]string{"ANSIBLE_HOST_KEY_CHECKING": "False"}, code: 2, want: "host keys are not checked", unexpected: true},
		"ansible.cfg": {config: func(c *sandbox.Config) { c.Ansible[0].Kubespray, c.Ansible[0].Version = "2.31.0", "2.18.6" },
			env: map[string]string{"ANSIBLE_SSH_ARGS": ""}, code: 2, want: "Host key verification failed."},
		"no sshpass":   {config: func(c *sandbox.Config) { c.Ansible[0].Sshpass = false }, code: 2, want: "you must install the sshpass program"},
		"vault":        {inventory: func(in *inputs) { in.vault = "theirs" }, code: 4, want: "Decryption failed"},
		"too old":      {config: func(c *sandbox.Config) { c.Ansible[0].Version = "2.12.10" }, code: 2, want: "between 2.14.0 and 2.15.0 exclusive - you have 2.12.10"},
		"too new":      {config: func(c *sandbox.Config) { c.Ansible[0].Version = "2.15.0" }, code: 2, want: "you have 2.15.0"},
		"no masters":   {inventory: func(in *inputs) { in.Nodes[0].Roles = []inventory.Role{inventory.Etcd} }, code: 2, want: "0 hosts in the group of control-plane nodes"},
		"even etcd":    {inventory: func(in *inputs) { in.Nodes[1].Roles = []inventory.Role{inventory.Etcd} }, code: 2, want: "2 in etcd"},
		"other groups": {config: func(c *sandbox.Config) { c.Ansible[0].Kubespray, c.Ansible[0].Version = "2.15.1", "2.10.17" }, code: 2, want: "0 hosts"},
		"unknown flag": {args: []string{"cluster.yml", "--limt=x"}, code: 2, want: "unknown flag: --limt"},
		"no host":      {args: []string{"scale.yml", "--limit=absent"}, code: 1, want: "leaves us with no hosts to target"},
		"no playbook":  {args: []string{"clusters.yml"}, code: 1, want: "could not be found"},
		"not root":     {args: []string{"cluster.yml", "--become-user=ubuntu"}, code: 2, want: "This has to be run as root"},
		"no sudo":      {config: func(c *sandbox.Config) { c.SudoPassword = "sudo's" }, code: 2, want: "sudo refused"},
		"wrong sudo": {config: func(c *sandbox.Config) { c.SudoPassword = "sudo's" }, code: 2, want: "sudo refused",
			inventory: func(in *inputs) { become(in, "other") }},
		"sudo":        {config: func(c *sandbox.Config) { c.SudoPassword = "sudo's" }, inventory: func(in *inputs) { become(in, "sudo's") }},
		"bad network": {inventory: func(in *inputs) { in.GroupVars["k8s_cluster"]["kube_service_addresses"] = "10.200.0.0/24" }, code: 2, want: "overlap"},
		"a package":   {config: func(c *sandbox.Config) { c.Missing = []string{"containerd"} }, code: 2, want: "Unable to locate package containerd"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told bool
			k := newControl(t, func(c *sandbox.Config) {
				if test.config != nil {
					test.config(c)
				}
				if test.unexpected {
					c.Unexpected = func(string, []string) { told = true }
				}
			})
			for name, value := range test.env {
				k.env[name] = value
			}
			k.inventory(test.inventory)
			if test.args == nil {
				test.args = []string{"cluster.yml"}
			}
			out, code := k.play(test.args...)
			if code != test.code || !strings.Contains(out, test.want) || told != test.unexpected {
				t.Errorf("ended with %d, want %d and %q:\n%s", code, test.code, test.want, out)
			}
			if got := len(k.ready()); code != 0 && got > 0 || code == 0 && got != 3 {
				t.Errorf("there are %d nodes", got)
			}
		})
	}
}

func become(in *inputs, password string) {
	for i := range in.Nodes {
		in.Nodes[i].BecomePassword = vnflcm.NewSecret(password)
	}
}

// TestKubesprayRemoves: remove-node.yml removes only nodes that are named and confirmed.
func TestKubesprayRemoves(t *testing.T) {
	t.Parallel()
	const worker = "worker-198-18-1-11"
	for name, test := range map[string]struct {
		vars       map[string]any
		want       string
		code       int
		unexpected bool
	}{
		"everything":  {map[string]any{}, "No nodes specified for removal", 2, true},
		"unconfirmed": {map[string]any{"node": worker, "skip_confirmation": true}, "Delete nodes confirmation failed", 2, false},
		"the first":   {map[string]any{"node": "master-198-18-0-10", "skip_confirmation": true, "delete_nodes_confirmation": "yes"}, "cannot be removed", 2, true},
		"no host":     {map[string]any{"node": "worker", "skip_confirmation": true, "delete_nodes_confirmation": "yes"}, "worker is no host", 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told := false
			k := newControl(t, func(c *sandbox.Config) { c.Unexpected = func(string, []string) { told = true } })
			k.mustPlay("cluster.yml")
			out, code := k.play(k.remove(test.vars)...)
			if code != test.code || !strings.Contains(out, test.want) || told != test.unexpected || len(k.ready()) != 3 {
				t.Errorf("ended with %d, told %v:\n%s", code, told, out)
			}
		})
	}
}

// TestKubesprayHosts: hosts that are down, replaced, full, or lose the connection in a task. The next run completes what a run that
// was cut has left.
func TestKubesprayHosts(t *testing.T) {
	t.Parallel()
	const sick = "worker-198-18-1-11"
	for name, test := range map[string]struct {
		do    func(k *control, m machine)
		event string
	}{
		"down":     {func(k *control, m machine) { _ = k.world.Stop(m.Resource) }, "v2_runner_on_unreachable"},
		"replaced": {func(k *control, m machine) { _ = k.world.Host(m.Resource).ReplaceHostKey() }, "v2_runner_on_unreachable"},
		"full":     {func(k *control, m machine) { k.world.Host(m.Resource).SetFaults(sshtest.Faults{DiskFull: true}) }, "v2_runner_on_failed"},
		"cut": {func(k *control, m machine) {
			h := k.world.Host(m.Resource)
			h.OnCommand(func(r sshtest.Record) {
				if slices.Contains(r.Argv, "apt-get") {
					h.CutConnections()
				}
			})
		}, "v2_runner_on_unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newControl(t, nil)
			_, by := k.nodes()
			test.do(k, by[sick])
			out, code := k.play("cluster.yml")
			if code != 2 || !strings.Contains(out, `"_event":"`+test.event+`","hosts":{"`+sick) {
				t.Errorf("ended with %d:\n%s", code, out)
			}
			if name == "cut" {
				k.world.Host(by[sick].Resource).OnCommand(nil)
				k.mustPlay("cluster.yml")
			}
		})
	}
}
