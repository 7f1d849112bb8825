package sandbox_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// TestKubesprayRefuses: what a real ansible-playbook and the real kubespray refuse is refused here.
func TestKubesprayRefuses(t *testing.T) {
	t.Parallel()
	replace := func(file, old, with string) func(map[string]string) {
		return func(files map[string]string) { files[file] = strings.Replace(files[file], old, with, 1) }
	}
	const vars, hosts = "group_vars/all/own.yml", "hosts.ini"
	for name, test := range map[string]struct {
		config func(*sandbox.Config)
		files  func(map[string]string)
		env    map[string]string
		args   []string // default: cluster.yml
		code   int
		want   string
	}{
		"wrong password": {files: replace("group_vars/all/secrets.yml", "'ubuntu'", "'other'"), code: 2, want: "UNREACHABLE! => {\"changed\": false, \"msg\": \"Invalid/incorrect username/password."},
		"unknown key":    {files: func(f map[string]string) { f["known_hosts"] = "" }, code: 2, want: "No ED25519 host key is known for"},
		"nobody asks": {files: func(f map[string]string) {
			f["known_hosts"], f[vars] = "", strings.Replace(f[vars], "-o StrictHostKeyChecking=yes", "", 1)
		}, code: 2, want: "FAILED! => {\"changed\": false, \"msg\": \"Using a SSH password instead of a key is not possible"},
		"no checking": {files: func(f map[string]string) {
			f["known_hosts"], f[vars] = "", strings.Replace(f[vars], "-o StrictHostKeyChecking=yes", "", 1)
		}, env: map[string]string{"ANSIBLE_HOST_KEY_CHECKING": "False"}},
		"ansible.cfg":     {config: func(c *sandbox.Config) { c.Ansible[0].Kubespray, c.Ansible[0].Version = "2.31.0", "2.18.6" }, code: 2, want: "Host key verification failed."},
		"own arguments":   {config: func(c *sandbox.Config) { c.Ansible[0].Kubespray, c.Ansible[0].Version = "2.31.0", "2.18.6" }, files: replace(vars, "ansible_ssh_common_args", "ansible_ssh_args: -C\nansible_ssh_common_args")},
		"option of ssh":   {files: replace(vars, "-o StrictHostKeyChecking", "-o StrictHostKeysChecking"), code: 2, want: "Bad configuration option: stricthostkeyschecking"},
		"no sshpass":      {config: func(c *sandbox.Config) { c.Ansible[0].Sshpass = false }, code: 2, want: "you must install the sshpass program"},
		"no dictionary":   {files: replace("group_vars/all/secrets.yml", "secrets:", "others:"), code: 2, want: "The error was: 'secrets' is undefined"},
		"vault":           {files: replace("group_vars/all/secrets.yml", "secrets:", "$ANSIBLE_VAULT;1.1;AES256\n"), code: 4, want: "Attempting to decrypt but no vault secrets found"},
		"too old":         {config: func(c *sandbox.Config) { c.Ansible[0].Version = "2.12.10" }, code: 2, want: "Ansible must be between 2.14.0 and 2.15.0 exclusive - you have 2.12.10"},
		"too new":         {config: func(c *sandbox.Config) { c.Ansible[0].Version = "2.15.0" }, code: 2, want: "you have 2.15.0"},
		"no masters":      {files: replace(hosts, "[kube_control_plane]", "[masters]\n[kube_control_plane]\n[others]"), code: 2, want: "'kube_control_plane' cannot be empty"},
		"even etcd":       {files: replace(hosts, "[etcd]", "[etcd]\nworker-198-18-1-11"), code: 2, want: "Stop if even number of etcd hosts"},
		"undefined group": {files: replace(hosts, "kube_node\n", "kube-nodes\n"), code: 2, want: "includes undefined group: kube-node"},
		"unknown flag":    {args: []string{"cluster.yml", "--limt=x"}, code: 2, want: "unrecognized arguments"},
		"nobody":          {args: []string{"scale.yml", "--limit=nobody"}, code: 1, want: "leaves us with no hosts to target"},
		"no playbook":     {args: []string{"clusters.yml"}, code: 1, want: "could not be found"},
		"not root":        {args: []string{"cluster.yml", "--become-user=ubuntu"}, code: 2, want: "This has to be run as root"},
		"locale":          {env: map[string]string{"LC_ALL": "C"}, code: 1, want: "requires the locale encoding to be UTF-8"},
		"callback":        {env: map[string]string{"ANSIBLE_STDOUT_CALLBACK": "ansible.posix.jsonl"}, config: func(c *sandbox.Config) { c.Ansible[0].Posix = false }, code: 1, want: "Invalid callback for stdout specified"},
		"no sudo":         {config: func(c *sandbox.Config) { c.SudoPassword = "sudo's" }, code: 2, want: "Missing sudo password"},
		"wrong sudo":      {config: func(c *sandbox.Config) { c.SudoPassword = "sudo's" }, files: replace(vars, "ansible_ssh", "ansible_become_password: other\nansible_ssh"), code: 2, want: "Incorrect sudo password"},
		"sudo":            {config: func(c *sandbox.Config) { c.SudoPassword = "sudo's" }, files: replace(vars, "ansible_ssh", "ansible_become_password: \"sudo's\"\nansible_ssh")},
		"needless sudo":   {files: replace(vars, "ansible_ssh", "ansible_become_password: other\nansible_ssh")},
		"bad host name": {files: func(f map[string]string) {
			f[hosts] = strings.ReplaceAll(f[hosts], "worker-198-18-1-11", "Worker_1")
			f["group_vars/all/secrets.yml"] = strings.ReplaceAll(f["group_vars/all/secrets.yml"], "worker-198-18-1-11", "Worker_1")
		}, code: 2, want: "Stop if bad hostname"},
		"bad network": {files: replace(vars, "10.201.0.0/16", "10.200.0.0/24"), code: 2, want: "overlap"},
		"a package":   {config: func(c *sandbox.Config) { c.Missing = []string{"containerd"} }, code: 2, want: "Unable to locate package containerd"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newControl(t, test.config)
			for name, value := range test.env {
				k.env[name] = value
			}
			k.inventory(test.files)
			if test.args == nil {
				test.args = []string{"cluster.yml"}
			}
			out, errs, code := k.play(test.args...)
			if code != test.code || !strings.Contains(out+errs, test.want) {
				t.Errorf("ended with %d, want %d and %q:\n%s%s", code, test.code, test.want, out, errs)
			}
			if got := len(k.ready()); code != 0 && got > 0 || code == 0 && got != 3 {
				t.Errorf("there are %d nodes", got)
			}
		})
	}
}

// TestKubesprayRemoves: remove-node.yml never without its answers.
func TestKubesprayRemoves(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args       []string
		want       string
		code       int
		unexpected bool
	}{
		"everything":   {nil, "No nodes specified for removal", 2, true},
		"unconfirmed":  {[]string{"-e", "node=worker-198-18-1-11"}, "Delete nodes confirmation failed", 2, false},
		"the first":    {[]string{"-e", "node=master-198-18-0-10", "-e", "skip_confirmation=true"}, "cannot be removed", 2, true},
		"nobody":       {[]string{"-e", "node=worker", "-e", "skip_confirmation=true"}, "Could not match supplied host pattern, ignoring: worker", 0, false},
		"from a file":  {[]string{"-e", "@/home/ansible/inv/vars.json"}, "changed: [worker-198-18-1-11 -> master-198-18-0-10]", 0, false},
		"no such file": {[]string{"-e", "@/home/ansible/inv/none.json"}, "Could not find or access", 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told := false
			k := newControl(t, func(c *sandbox.Config) { c.Unexpected = func(string, []string) { told = true } })
			k.mustPlay("cluster.yml")
			k.put("/home/ansible/inv/vars.json", `{"node": "worker-198-18-1-11", "skip_confirmation": true}`)
			out, errs, code := k.play(append([]string{"remove-node.yml"}, test.args...)...)
			if code != test.code || !strings.Contains(out+errs, test.want) || told != test.unexpected {
				t.Errorf("ended with %d, told %v:\n%s%s", code, told, out, errs)
			}
		})
	}
}

// TestKubesprayHosts: hosts that are down, replaced, full, or lose the connection.
func TestKubesprayHosts(t *testing.T) {
	t.Parallel()
	const sick = "worker-198-18-1-11"
	for name, test := range map[string]struct {
		do   func(k *control, m machine)
		want string
	}{
		"down":     {func(k *control, m machine) { _ = k.world.Stop(m.Resource) }, "UNREACHABLE! => {\"changed\": false, \"msg\": \"Failed to connect to the host via ssh: "},
		"replaced": {func(k *control, m machine) { _ = k.world.Host(m.Resource).ReplaceHostKey() }, "REMOTE HOST IDENTIFICATION HAS CHANGED"},
		"full":     {func(k *control, m machine) { k.world.Host(m.Resource).SetFaults(sshtest.Faults{DiskFull: true}) }, "fatal: [" + sick + "]: FAILED!"},
		"cut": {func(k *control, m machine) {
			h := k.world.Host(m.Resource)
			h.OnCommand(func(r sshtest.Record) {
				if slices.Contains(r.Argv, "apt-get") {
					h.CutConnections()
				}
			})
		}, "UNREACHABLE! => {\"changed\": false, \"msg\": \"Failed to connect to the host via ssh: Shared connection to 198.18.1.11 closed."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newControl(t, nil)
			_, by := k.nodes()
			test.do(k, by[sick])
			out, _, code := k.play("cluster.yml")
			if code != 2 || !strings.Contains(out, test.want) || !strings.Contains(out, "NO MORE HOSTS LEFT") {
				t.Errorf("ended with %d, want 2 and %q:\n%s", code, test.want, out)
			}
			if name == "cut" { // the next run finds what this one has left
				k.world.Host(by[sick].Resource).OnCommand(nil)
				k.mustPlay("cluster.yml")
			}
		})
	}
}
