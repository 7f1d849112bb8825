package kubespray

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/sshexec"
)

// removeNode is remove-node.yml. It requires the variables with which each release of kubespray confirms a removal.
func (s Server) removeNode(ctx context.Context, r *run) error {
	const play = "Confirm node removal"
	named, _ := r.extra["node"].(string)
	if named == "" { // up to 2.23 the default is every node
		s.unexpected("remove-node.yml", "without node: it would remove every node")
		return r.fail(play, "Assert that nodes are specified for removal", "No nodes specified for removal.")
	}
	n, err := s.begin(ctx, r)
	if err != nil {
		return err
	}
	if r.extra["skip_confirmation"] != true || r.extra["delete_nodes_confirmation"] != "yes" {
		return r.fail(play, "Fail if user does not confirm deletion", "Delete nodes confirmation failed")
	}
	hosts := strings.Split(named, ",")
	for _, name := range hosts {
		if name == n.masters[0] || !slices.Contains(n.all, name) {
			s.unexpected("remove-node.yml", "with "+name)
			return r.fail(play, "Check the nodes", "%s is no host, or the first control-plane node, which cannot be removed", name)
		}
	}
	if err := r.gather(ctx, n.all); err != nil {
		return err
	}
	master, err := r.host(n.masters[0])
	if err != nil {
		return err
	}
	r.play("Reset node")
	_, ungraceful := r.extra["allow_ungraceful_removal"]
	if err := r.serial(ctx, "remove-node/pre-remove : Remove-node | Drain node except daemonsets resource", hosts, func(ctx context.Context, h host) (bool, error) {
		if is, err := master.does(ctx, "kubectl", "--kubeconfig", adminConf, "get", "node", h.name); !is || err != nil {
			return false, err
		}
		changed, err := master.changes(ctx, "kubectl", "--kubeconfig", adminConf, "drain", "--force", "--ignore-daemonsets", "--grace-period", "300", "--timeout", "360s", "--delete-emptydir-data", h.name)
		if _, ended := errors.AsType[*sshexec.ExitError](err); ended && ungraceful {
			return true, nil
		}
		return changed, err
	}); err != nil {
		return err
	}
	if err := r.task(ctx, "reset : Reset | kubeadm reset", hosts, func(ctx context.Context, h host) (bool, error) {
		return h.changes(ctx, "kubeadm", "reset", "-f")
	}); err != nil {
		return err
	}
	r.play("Post node removal")
	return r.serial(ctx, "remove-node/post-remove : Remove-node | Delete node", hosts, func(ctx context.Context, h host) (bool, error) {
		if is, err := master.does(ctx, "kubectl", "--kubeconfig", adminConf, "get", "node", h.name); !is || err != nil {
			return false, err
		}
		return master.changes(ctx, "kubectl", "--kubeconfig", adminConf, "delete", "node", h.name)
	})
}
