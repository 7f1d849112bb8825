package kubeadm

import (
	"context"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/members"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// etcd returns the etcd of the cluster. Requests go through control-plane nodes that stay.
func (e *environment) etcd() members.Etcd { return members.Etcd{Ask: e.up, Op: e.op} }

// runDecideQuorum decides whether etcd keeps its quorum without all control-plane nodes that will be replaced or removed, since
// the start hook removes all of their members. It runs before anything is changed. Its result is the order in which the nodes
// leave, as ids of VNFCs, so that a resumed operation uses the same order.
func runDecideQuorum(ctx context.Context, e *environment, _ mgmt.Node) error {
	ids, err := vnflcm.Run(ctx, e.op, vnflcm.Step[[]string]{Name: "quorum", Do: func(ctx context.Context) ([]string, error) {
		return e.etcd().Order(ctx, e.changing(e.controlPlane))
	}})
	e.order.Set("", ids)
	return err
}

// runRemoveDeadMember removes the etcd member of a node that is not Ready, before anything else: etcd must not count on it.
func runRemoveDeadMember(ctx context.Context, e *environment, n mgmt.Node) error {
	if !e.leave.Silent(n) {
		return nil
	}
	return removeMemberOf(ctx, e, n)
}

// runMoveLeader moves leadership of etcd away from a node that is Ready.
func runMoveLeader(ctx context.Context, e *environment, n mgmt.Node) error {
	if e.leave.Silent(n) {
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
	if e.leave.Silent(n) {
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
	for _, m := range e.changing(e.controlPlane) {
		if joined = append(joined, m); m.ID == n.ID {
			break
		}
	}
	return e.etcd().Await(ctx, joined, clusternodes.Without(e.controlPlane, joined))
}
