package kubeadm

import (
	"context"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/nodedrain"
	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func runJoinWorker(ctx context.Context, e *environment, n mgmt.Node) error {
	return join(ctx, e, n, false)
}

func runJoinMaster(ctx context.Context, e *environment, n mgmt.Node) error {
	if err := join(ctx, e, n, true); err != nil {
		return err
	}
	return e.op.State().Delete(ctx, joiningState+n.ResourceID)
}

// join joins a prepared machine to the cluster, as the step "join".
func join(ctx context.Context, e *environment, n mgmt.Node, controlPlane bool) error {
	_, err := vnflcm.Run(ctx, e.op, vnflcm.Step[struct{}]{
		Name: "join", On: n.ID,
		Probe: func(ctx context.Context) (struct{}, bool, error) {
			joined, err := joined(ctx, e, n, controlPlane)
			return struct{}{}, joined, err
		},
		Do: func(ctx context.Context) (struct{}, error) {
			return struct{}{}, mgmt.Within(ctx, e.config.Timeouts.Install, func(ctx context.Context) error {
				return joinNow(ctx, e, n, controlPlane)
			})
		},
	})
	return err
}

// joiningState is the prefix of the state keys, by resource id, of machines on which the join of a control-plane node has begun
// and may still run, or may have left a member of etcd.
const joiningState = "joining/"

// settleJoins waits until no join of a control-plane node that an earlier process has started is running, and removes the members
// of etcd that such joins have left. Nodes join after that: kubeadm waits for the status of each member that it has found, as long
// as etcdAPICall is. It contacts only machines where a join has begun: other machines may still be starting, or may be dead.
func settleJoins(ctx context.Context, e *environment) error {
	noted, err := e.op.State().Keys(ctx, joiningState)
	if err != nil {
		return err
	}
	for _, n := range e.masters {
		if e.begun.Of(n.ID) || !slices.Contains(noted, joiningState+n.ResourceID) {
			continue
		}
		if err := settle(ctx, e, n); err != nil {
			return err
		}
		if err := settleMember(ctx, e, n); err != nil {
			return err
		}
	}
	return nil
}

// settleMember removes the member of a node whose join has ended without making it a node.
func settleMember(ctx context.Context, e *environment, n mgmt.Node) error {
	e.beginning.Lock()
	defer e.beginning.Unlock()
	if e.begun.Of(n.ID) {
		return nil // another task has settled it, and the next join runs
	}
	joined, err := isNode(ctx, e, n, true)
	if err != nil {
		return err
	}
	if !joined {
		if err := clearMembers(ctx, e, n); err != nil {
			return err
		}
	}
	return e.op.State().Delete(ctx, joiningState+n.ResourceID)
}

// joined reports whether the machine is a node already, in the right role.
func joined(ctx context.Context, e *environment, n mgmt.Node, controlPlane bool) (bool, error) {
	if controlPlane {
		if err := settleJoins(ctx, e); err != nil {
			return false, err
		}
	}
	if err := settle(ctx, e, n); err != nil {
		return false, err
	}
	return isNode(ctx, e, n, controlPlane)
}

// isNode reports whether the machine is a node in the right role. kubeadm sets the label of a control-plane node last.
func isNode(ctx context.Context, e *environment, n mgmt.Node, controlPlane bool) (bool, error) {
	node, found, err := e.kube.NodeAt(ctx, n.IP)
	if !found || err != nil || node.ControlPlane != controlPlane {
		return false, err
	}
	return linux.On(n.SSH).Succeeds(ctx, "test", "-e", "/etc/kubernetes/kubelet.conf")
}

func joinNow(ctx context.Context, e *environment, n mgmt.Node, controlPlane bool) error {
	if controlPlane {
		if err := beginJoin(ctx, e, n); err != nil {
			return err
		}
	}
	if err := clean(ctx, e, n); err != nil {
		return err
	}
	// Delete the Node object of an interrupted attempt.
	if err := nodedrain.ForgetNode(ctx, e.kube, n); err != nil {
		return err
	}
	c, err := e.tokens.Credentials(ctx, controlPlane)
	if err != nil {
		return err
	}
	err = e.program().Join(ctx, n, e.running.Of(""), c, controlPlane)
	if controlPlane && err != nil && ctx.Err() == nil {
		e.etcd().Release(ctx, n)
		e.begun.Set(n.ID, false)
	}
	return err
}

// beginJoin removes what interrupted joins have left in etcd, and notes that this one begins.
func beginJoin(ctx context.Context, e *environment, n mgmt.Node) error {
	e.beginning.Lock()
	defer e.beginning.Unlock()
	if err := clearMembers(ctx, e, n); err != nil {
		return err
	}
	e.begun.Set(n.ID, true)
	return e.op.State().Put(ctx, joiningState+n.ResourceID, time.Now())
}

// clearMembers removes the member of a node and the learners of interrupted joins, but not the learner of a join that runs.
func clearMembers(ctx context.Context, e *environment, n mgmt.Node) error {
	running := slices.DeleteFunc(slices.Clone(e.masters), func(m mgmt.Node) bool { return !e.begun.Of(m.ID) })
	return e.etcd().Clear(ctx, n, running)
}
