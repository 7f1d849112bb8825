package kubespraysim

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/vnfkit/vnfkit/internal/kubesim/ansiblesim"
)

// nodes are the hosts of a run by what kubespray takes them for.
type nodes struct {
	masters, etcd, workers, all []string
}

// begin checks what kubespray checks before it touches a host.
func (s Server) begin(r *ansiblesim.Run) (n nodes, err error) {
	const play, task = "Check Ansible version", "Check %s <= Ansible version < %s"
	least, below := s.wants()
	if v := s.Version; older(v, least) || !older(v, below) {
		return n, r.Fail(play, fmt.Sprintf(task, least, below), "Ansible must be between %s and %s exclusive - you have %s", least, below, v)
	}
	r.Local(play, fmt.Sprintf(task, least, below))
	n = nodes{masters: hostsOf(r, "kube_control_plane", "kube-master"), etcd: hostsOf(r, "etcd"), workers: hostsOf(r, "kube_node", "kube-node")}
	n.all = hostsOf(r, "k8s_cluster", "k8s-cluster")
	if s.minor() >= 29 { // dynamic_groups: this group has the hosts of all groups
		n.all = merged(n.masters, n.workers, n.all)
	}
	all := merged(n.all, n.etcd)
	const check = "Check the inventory"
	switch {
	case len(n.masters) == 0:
		return n, r.Fail(check, "Stop if kube_control_plane group is empty", "Group 'kube_control_plane' cannot be empty")
	case len(n.etcd) == 0 && s.minor() < 29:
		return n, r.Fail(check, "Stop if etcd group is empty in external etcd mode", "Group 'etcd' cannot be empty in external etcd mode")
	case len(n.etcd)%2 == 0 && len(n.etcd) > 0:
		return n, r.Fail(check, "Stop if even number of etcd hosts", "Assertion failed")
	}
	for _, host := range merged(n.masters, n.workers) {
		if !slices.Contains(n.all, host) {
			return n, r.Fail(check, "Check the groups", "ansiblesim: %s is in no group k8s_cluster: kubespray would do only half of it", host)
		}
	}
	for _, host := range all {
		if !nodeNames.MatchString(host) || len(host) > 63 {
			return n, r.Fail(check, "Stop if bad hostname", "Hostname must consist of lower case alphanumeric characters, '.' or '-', and must start and end with an alphanumeric character")
		}
	}
	n.all = all
	return n, nil
}

func hostsOf(r *ansiblesim.Run, groups ...string) (out []string) {
	for _, name := range groups {
		out = merged(out, r.Group(name))
	}
	return out
}

func merged(lists ...[]string) (out []string) {
	for _, name := range slices.Concat(lists...) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// nodeNames matches names of nodes that Kubernetes accepts.
var nodeNames = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)
