package ansible_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt/kubespray/ansible"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

const limitsOfTree = `---
- name: Check Ansible version
  hosts: all
  vars:
    minimal_ansible_version: 2.16.4  # text
    maximal_ansible_version: "2.17.0"
  tasks: []
`

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*ansibleHost)
		config func(*sshtest.Config)
		needs  ansible.Requirements
		want   ansible.Versions
		kinds  []error
		says   []string
	}{
		"good":   {want: ansible.Versions{Ansible: "2.14.18", Kubespray: "2.23.3"}},
		"table":  {change: func(h *ansibleHost) { h.version = "2.16.1" }, want: ansible.Versions{Ansible: "2.16.1", Kubespray: "2.23.3"}, kinds: []error{ansible.ErrVersion}, says: []string{"2.16.1", "at least 2.14.0 and below 2.15.0"}},
		"odd":    {change: func(h *ansibleHost) { h.put(root+"/galaxy.yml", "version: 2.22.1") }, want: ansible.Versions{Ansible: "2.14.18", Kubespray: "2.22.1"}},
		"newest": {change: func(h *ansibleHost) { h.put(root+"/galaxy.yml", "version: 3.1.0") }, want: ansible.Versions{Ansible: "2.14.18", Kubespray: "3.1.0"}, kinds: []error{ansible.ErrVersion}},
		"oldest": {change: func(h *ansibleHost) { h.put(root+"/galaxy.yml", "version: 2.9.0") }, want: ansible.Versions{Ansible: "2.14.18", Kubespray: "2.9.0"}},
		"tree":   {change: func(h *ansibleHost) { h.put(root+"/playbooks/ansible_version.yml", limitsOfTree) }, want: ansible.Versions{Ansible: "2.14.18", Kubespray: "2.23.3"}, kinds: []error{ansible.ErrVersion}, says: []string{"at least 2.16.4 and below 2.17.0", "virtual environment"}},
		"old tree": {
			change: func(h *ansibleHost) {
				h.put(root+"/ansible_version.yml", limitsOfTree)
				h.version = "2.16.10"
			}, want: ansible.Versions{Ansible: "2.16.10", Kubespray: "2.23.3"},
		},
		"exclusive": {
			change: func(h *ansibleHost) {
				h.put(root+"/ansible_version.yml", limitsOfTree)
				h.version = "2.17.0"
			}, want: ansible.Versions{Ansible: "2.17.0", Kubespray: "2.23.3"}, kinds: []error{ansible.ErrVersion},
		},
		"hostile tree": {
			change: func(h *ansibleHost) {
				h.put(root+"/playbooks/ansible_version.yml", "- &a [x, x]\n- &b [*a, *a]\n- *b\n- vars: 7\n")
				h.put(root+"/galaxy.yml", "version: \"2.14\\e[31m\\n\"\n"+strings.Repeat("#", 100_000))
			}, want: ansible.Versions{Ansible: "2.14.18"},
		},
		"no tree of kubespray": {change: func(h *ansibleHost) {
			_ = h.FS().Remove(root + "/galaxy.yml")
		}, want: ansible.Versions{Ansible: "2.14.18"}},
		"absent": {
			config: func(c *sshtest.Config) { c.Commands["ansible-playbook"], c.Commands["sshpass"] = nil, nil },
			needs:  ansible.Requirements{Root: root, Playbooks: []string{"cluster.yml", "remove node.yml", "facts.yml"}, Passwords: true},
			kinds:  []error{ansible.ErrAbsent, ansible.ErrNoSSHPass, ansible.ErrTree},
			says:   []string{"requirements.txt", "package sshpass", root + " without remove node.yml, facts.yml"},
		},
		"no directory": {needs: ansible.Requirements{Root: "/nowhere", Playbooks: []string{"cluster.yml"}}, want: ansible.Versions{Ansible: "2.14.18"}, kinds: []error{ansible.ErrTree}, says: []string{"no directory /nowhere"}},
		"broken": {
			config: func(c *sshtest.Config) {
				for name, program := range sshtest.Script(t, sshtest.Call{
					Argv: []string{"ansible-playbook", "--version"}, Code: 1,
					Stderr: "ERROR: Ansible requires the locale encoding to be UTF-8; Detected None.\n",
				}) {
					c.Commands[name] = program
				}
			},
			want: ansible.Versions{Kubespray: "2.23.3"}, kinds: []error{ansible.ErrBroken}, says: []string{"UTF-8", "install that locale"},
		},
		"old Ansible": {
			config: func(c *sshtest.Config) {
				for name, program := range sshtest.Script(t, sshtest.Call{Argv: []string{"ansible-playbook", "--version"}, Stdout: "ansible-playbook 2.9.27\n  config file\n"}) {
					c.Commands[name] = program
				}
			},
			want: ansible.Versions{Ansible: "2.9.27", Kubespray: "2.23.3"}, kinds: []error{ansible.ErrVersion}, says: []string{"2.9.27"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newAnsibleHost(t, test.config)
			if test.change != nil {
				test.change(h)
			}
			if test.needs.Root == "" {
				test.needs = ansible.Requirements{Root: root, Playbooks: []string{"cluster.yml", "scale.yml"}, Passwords: true}
			}
			server, _ := h.connect(sshexec.Options{})
			got, err := server.Check(within(t), test.needs)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if (err != nil) != (len(test.kinds) > 0) {
				t.Fatalf("got %v", err)
			}
			for _, kind := range test.kinds {
				if !errors.Is(err, kind) {
					t.Errorf("%v is not %v", err, kind)
				}
			}
			for _, part := range test.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in %q", part, err)
				}
			}
		})
	}
}

func TestCheckRoot(t *testing.T) {
	t.Parallel()
	server, _ := newAnsibleHost(t, nil).connect(sshexec.Options{})
	if _, err := server.Check(t.Context(), ansible.Requirements{Root: "kubespray"}); err == nil {
		t.Error("a relative root is taken")
	}
}
