package kubeadm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func runJoinWorker(ctx context.Context, e *environment, n mgmt.Node) error {
	return join(ctx, e, n, false, func(ctx context.Context) error { return joinNow(ctx, e, n, false) })
}

// runJoinControlPlane joins a control-plane node. Joins take turns: the next one begins when the member of this one votes in etcd, which
// accepts no further member before. A node that kubeadm started earlier would not be Ready earlier, but later: its kubelet and API
// server, which need its member, try again after growing pauses.
func runJoinControlPlane(ctx context.Context, e *environment, n mgmt.Node) error {
	select {
	case e.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	pass := sync.OnceFunc(func() { <-e.turn })
	defer pass()
	err := join(ctx, e, n, true, func(ctx context.Context) error { return joinControlPlaneNow(ctx, e, n, pass) })
	if err != nil {
		return err
	}
	return e.op.State().Delete(ctx, joiningState+n.ResourceID)
}

// join joins a prepared machine to the cluster by do, as the step "join".
func join(ctx context.Context, e *environment, n mgmt.Node, controlPlane bool, do func(context.Context) error) error {
	_, err := vnflcm.Run(ctx, e.op, vnflcm.Step[struct{}]{
		Name: "join", On: n.ID,
		Probe: func(ctx context.Context) (struct{}, bool, error) {
			joined, err := joined(ctx, e, n, controlPlane)
			return struct{}{}, joined, err
		},
		Do: func(ctx context.Context) (struct{}, error) {
			return struct{}{}, mgmt.Within(ctx, e.config.Timeouts.Install, do)
		},
	})
	return err
}

// joiningState is the prefix of the state keys, by resource id, of machines on which the join of a control-plane node has begun
// and may still run, or may have left a member of etcd.
const joiningState = "joining/"

// settleJoins waits until no join of a control-plane node that an earlier process has started is running, and removes the members
// of etcd that such joins have left. Nodes join after that: kubeadm waits for the status of each member that it has found, for two
// minutes. It contacts only machines where a join has begun: other machines may still be starting, or may be dead.
func settleJoins(ctx context.Context, e *environment) error {
	noted, err := e.op.State().Keys(ctx, joiningState)
	if err != nil {
		return err
	}
	for _, n := range e.controlPlane {
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
	joined, err := isNode(ctx, e, n, true)
	if err != nil {
		return err
	}
	if !joined {
		if err := e.etcd().Clear(ctx, n); err != nil {
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
	if controlPlane && e.op.ChangeVnfPkg != nil {
		// A change that is rolled back may have removed the member of a machine that it has not changed.
		if votes, err := e.etcd().HasVoter(ctx, n); !votes || err != nil {
			return false, err
		}
	}
	return n.Root().Succeeds(ctx, "test", "-e", "/etc/kubernetes/kubelet.conf")
}

// joinControlPlaneNow removes what interrupted joins have left in etcd, notes that this one begins, and passes the turn on as soon as its
// member votes.
func joinControlPlaneNow(ctx context.Context, e *environment, n mgmt.Node, pass func()) error {
	if err := e.etcd().Clear(ctx, n); err != nil {
		return err
	}
	e.begun.Set(n.ID, true)
	if err := e.op.State().Put(ctx, joiningState+n.ResourceID, time.Now()); err != nil {
		return err
	}
	watched, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		if e.etcd().AwaitVoter(watched, n) == nil {
			pass()
		}
	})
	err := joinNow(ctx, e, n, true)
	stop()
	watching.Wait()
	if err != nil && ctx.Err() == nil {
		e.etcd().Release(ctx, n)
	}
	return err
}

func joinNow(ctx context.Context, e *environment, n mgmt.Node, controlPlane bool) error {
	if err := clean(ctx, e, n); err != nil {
		return err
	}
	if err := deleteUnfinishedNode(ctx, e, n); err != nil {
		return err
	}
	if controlPlane {
		if err := restoreFiles(ctx, e, n); err != nil {
			return err
		}
	}
	c, err := e.tokens.Credentials(ctx, controlPlane)
	if err != nil {
		return err
	}
	return e.program().Join(ctx, n, e.running.Of(""), c, controlPlane)
}

// deleteUnfinishedNode deletes the Node object of an interrupted join.
func deleteUnfinishedNode(ctx context.Context, e *environment, n mgmt.Node) error {
	node, found, err := e.kube.NodeAt(ctx, n.IP)
	if !found || err != nil {
		return err
	}
	return e.kube.DeleteNode(ctx, node.Name, node.UID)
}

// runAwaitReady waits until the new nodes are Ready. In a new cluster these are all nodes.
func runAwaitReady(ctx context.Context, e *environment, _ mgmt.Node) error {
	nodes := e.nodes()
	if !e.makesCluster() && e.op.Operate == nil {
		nodes = clusternodes.Among(nodes, slices.Concat(e.op.Change.Added, e.op.Change.Replaced))
	}
	err := clusternodes.AwaitReady(ctx, e.op, e.kube, nodes, e.config.Timeouts.Ready)
	if err != nil && e.p.ScriptPath != "" && strings.Contains(err.Error(), "cni plugin not initialized") { // kubelet's words
		err = fmt.Errorf("%w. The script must install a network plugin (docs/tacker.md#a-script-without-network-plugin)", err)
	}
	return err
}
