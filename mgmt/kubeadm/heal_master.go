package kubeadm

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/members"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// checkMasters refuses to heal single control-plane nodes if no other one would remain to serve the cluster, or if one of
// them has the address of the API.
func (p *parameters) checkMasters(op *vnflcm.Operation) error {
	var masters, targets []vnflcm.VNFC
	for _, v := range op.VNFCs {
		if _, isMaster := v.CP(p.Cluster.Master.SSHCPName); !isMaster {
			continue
		}
		masters = append(masters, v)
		if slices.ContainsFunc(op.HealTargets(), func(t vnflcm.VNFC) bool { return t.ID == v.ID }) {
			targets = append(targets, v)
		}
	}
	var faults []error
	for _, v := range targets {
		reason := ""
		switch {
		case len(masters) == 1:
			reason = "is the only control-plane node, and the cluster's data is on it alone: heal the whole VNF, which makes a new cluster"
		case len(targets) == len(masters):
			reason = "would go with all other control-plane nodes, and the cluster's data with them: heal the whole VNF, or some of them at a time"
		case p.endpointOn(op, masters[0], v):
			reason = "has the address of the API, which no node could reach while it is replaced: heal the whole VNF, " +
				"and let cluster_cp_name be a virtual address or a load balancer's"
		default:
			continue
		}
		faults = append(faults, &vnflcm.ParamError{Path: "vnfcInstanceId", Value: v.ID, Reason: reason})
	}
	return errors.Join(faults...)
}

// endpointOn reports whether the address of the API is an address of the machine v. It looks for the address as
// findEndpoint does.
func (p *parameters) endpointOn(op *vnflcm.Operation, first, v vnflcm.VNFC) bool {
	if p.Cluster.Balancer != nil {
		return false
	}
	var api netip.Addr
	if endpoint := p.Cluster.APIEndpoint; endpoint != "" {
		host, _, _ := splitEndpoint(endpoint)
		api, _ = netip.ParseAddr(host) // a host name belongs to a load balancer outside of the VNF
	} else {
		for _, cp := range slices.Backward(slices.Concat(op.ConnectionPoints, first.CPs)) {
			if cp.CPD == p.Cluster.Master.ClusterCPName && len(cp.Fixed) > 0 {
				api = cp.Fixed[0]
			}
		}
	}
	return api.IsValid() && slices.ContainsFunc(v.CPs, func(cp vnflcm.ConnectionPoint) bool {
		return cp.Floating == api || slices.Contains(cp.Fixed, api)
	})
}

// etcd returns the etcd of the cluster. Requests go through control-plane nodes that stay.
func (d *environment) etcd() members.Etcd { return members.Etcd{Ask: d.up, Op: d.op} }

// runDecideQuorum decides whether etcd keeps its quorum without all control-plane nodes that will be replaced, since
// heal_start removes all of their members. It runs before anything is changed. Its result is the order in which the nodes
// leave, as ids of VNFCs, so that a resumed operation uses the same order.
func runDecideQuorum(ctx context.Context, e *environment, _ mgmt.Node) error {
	ids, err := vnflcm.Run(ctx, e.op, vnflcm.Step[[]string]{Name: "quorum", Do: func(ctx context.Context) ([]string, error) {
		return e.etcd().Order(ctx, e.replaced(e.masters))
	}})
	e.order.Set("", ids)
	return err
}

// runRemoveDeadMember removes the etcd member of a node that is not Ready, before anything else: etcd must not count on it.
func runRemoveDeadMember(ctx context.Context, e *environment, n mgmt.Node) error {
	if !e.silent.Of(n.ID) {
		return nil
	}
	return removeMemberOf(ctx, e, n)
}

// runMoveLeader moves leadership of etcd away from a node that is Ready.
func runMoveLeader(ctx context.Context, e *environment, n mgmt.Node) error {
	if e.silent.Of(n.ID) {
		return nil
	}
	return n.Do(ctx, e.op, "move-leader", twoMinutes(e.config.Timeouts), func(ctx context.Context) error {
		return e.etcd().MoveLeader(ctx, e.leavingFrom(n))
	})
}

// runRemoveLiveMember removes the etcd member of a node that was Ready, after everything else. The API server of the node ends with
// the member, and from Kubernetes 1.35 on the kubelet of a control-plane node asks no other API server: without it the kubelet
// learns of no eviction and reports the end of no pod.
func runRemoveLiveMember(ctx context.Context, e *environment, n mgmt.Node) error {
	if e.silent.Of(n.ID) {
		return nil
	}
	return removeMemberOf(ctx, e, n)
}

// removeMemberOf removes the etcd member of a node, after checking again that this node and those that leave later may leave. It is
// the step "remove-member".
func removeMemberOf(ctx context.Context, e *environment, n mgmt.Node) error {
	return n.Do(ctx, e.op, "remove-member", twoMinutes(e.config.Timeouts), func(ctx context.Context) error {
		return e.etcd().Remove(ctx, e.leavingFrom(n))
	})
}

// runAwaitMembers waits until etcd has a healthy voting member on a node and each control-plane node before it.
func runAwaitMembers(ctx context.Context, e *environment, n mgmt.Node) error {
	joined := slices.Clone(e.up)
	for _, m := range e.replaced(e.masters) {
		if joined = append(joined, m); m.ID == n.ID {
			break
		}
	}
	return e.etcd().Await(ctx, joined, clusternodes.Without(e.masters, joined))
}
