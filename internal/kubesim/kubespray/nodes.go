package kubespray

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/vnfkit/vnfkit/internal/kubesim/program"
)

// playbooks are what the playbooks do, by their path in the tree.
func (s Server) books() map[string]func(context.Context, *run) error {
	return map[string]func(context.Context, *run) error{"cluster.yml": s.cluster, "scale.yml": s.scale, "remove-node.yml": s.removeNode, s.factsPath(): s.facts}
}

// nodes are the hosts of a run by their groups.
type nodes struct {
	masters, etcd, workers, all []string
}

// begin checks what kubespray checks before it contacts a host.
func (s Server) begin(ctx context.Context, r *run) (n nodes, err error) {
	const play = "Check Ansible version"
	least, below := s.wants()
	task := fmt.Sprintf("Check %s <= Ansible version < %s", least, below)
	if v := s.Version; older(v, least) || !older(v, below) {
		return n, r.fail(play, task, "Ansible must be between %s and %s exclusive - you have %s", least, below, v)
	}
	r.play(play)
	of := func(groups ...string) (out []string) {
		for _, name := range groups {
			out = merged(out, r.inventory.members(name))
		}
		return out
	}
	n = nodes{masters: of("kube_control_plane"), etcd: of("etcd"), workers: of("kube_node"), all: of("k8s_cluster")}
	if s.minor() < 16 { // kubespray renamed its groups
		n = nodes{masters: of("kube-master"), etcd: of("etcd"), workers: of("kube-node"), all: of("k8s-cluster")}
	}
	if len(n.masters) == 0 || len(n.etcd)%2 == 0 {
		return n, r.fail("Check the inventory", "Stop if the groups are wrong", "%d hosts in the group of control-plane nodes, %d in etcd", len(n.masters), len(n.etcd))
	}
	for _, host := range merged(n.masters, n.workers, n.etcd) {
		if !slices.Contains(n.all, host) || !nodeNames.MatchString(host) || len(host) > 63 {
			return n, r.fail("Check the inventory", "Stop if a host is wrong", "%s is not in k8s_cluster, or no node can have this name", host)
		}
	}
	return n, program.Pause(ctx, s.Takes)
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
