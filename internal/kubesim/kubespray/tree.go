package kubespray

import (
	"fmt"
	"strconv"
	"strings"
)

// minor is the second number of its version.
func (s Server) minor() int {
	parts := strings.Split(s.Kubespray, ".")
	if len(parts) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(parts[1])
	return n
}

// wants are the Ansible versions that a version of kubespray runs with, the second exclusive.
func (s Server) wants() (least, below string) {
	switch n := s.minor(); {
	case n >= 31:
		return "2.18.0", "2.19.0"
	case n >= 29:
		return "2.17.3", "2.18.0"
	case n >= 25:
		return "2.16.4", "2.17.0"
	case n == 24:
		return "2.15.5", "2.17.0"
	case n == 23:
		return "2.14.0", "2.15.0"
	case n >= 20:
		return "2.11.0", "2.13.0"
	}
	return "2.9.0", "2.11.0"
}

// Since 2.22 the playbooks are in a folder, of which some are at the top too.
func (s Server) inFolder() bool { return s.minor() >= 22 }

func (s Server) factsPath() string {
	if s.inFolder() {
		return "playbooks/facts.yml"
	}
	return "facts.yml"
}

// tree are the files of kubespray that matter to those who run it.
func (s Server) tree() map[string]string {
	least, below := s.wants()
	versions := "ansible_version.yml"
	if s.inFolder() {
		versions = "playbooks/" + versions
	}
	const book = "---\n# simulated\n- name: %s\n  hosts: all\n  gather_facts: false\n  tasks: []\n"
	return map[string]string{
		"galaxy.yml":      fmt.Sprintf("---\nnamespace: kubernetes_sigs\nname: kubespray\nversion: %s\n", s.Kubespray),
		"ansible.cfg":     s.config(),
		"cluster.yml":     fmt.Sprintf(book, "Install Kubernetes"),
		"scale.yml":       fmt.Sprintf(book, "Scale the cluster"),
		"remove-node.yml": fmt.Sprintf(book, "Remove node"),
		s.factsPath():     fmt.Sprintf(book, "Gather facts"),
		versions: fmt.Sprintf("---\n- name: Check Ansible version\n  hosts: all\n  gather_facts: false\n  become: false\n  vars:\n"+
			"    minimal_ansible_version: %s\n    maximal_ansible_version: %s\n  tasks: []\n", least, below),
		"inventory/sample/group_vars/all/all.yml":                 "---\n# simulated\nloadbalancer_apiserver_port: 6443\n",
		"inventory/sample/group_vars/k8s_cluster/k8s-cluster.yml": "---\n# simulated\nkube_network_plugin: calico\nkube_service_addresses: 10.233.0.0/18\nkube_pods_subnet: 10.233.64.0/18\n",
	}
}

// config is what matters of its ansible.cfg: it switches the checking of host keys off. Up to some version before 2.31 the key of the ssh arguments
// had a name that Ansible does not know.
func (s Server) config() string {
	key := "ssh_args"
	if s.minor() < 31 {
		key = "ansible_ssh_args"
	}
	return "# simulated\n[ssh_connection]\npipelining = True\n" + key + " = -o ControlMaster=auto -o ControlPersist=30m -o ConnectionAttempts=100 -o UserKnownHostsFile=/dev/null\n" +
		"[defaults]\nhost_key_checking = False\nstdout_callback = default\ndisplay_skipped_hosts = no\n"
}

// older reports whether a version is less than another one.
func older(a, b string) bool {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		x, _ := strconv.Atoi(as[i])
		y, _ := strconv.Atoi(bs[i])
		if x != y {
			return x < y
		}
	}
	return len(as) < len(bs)
}
