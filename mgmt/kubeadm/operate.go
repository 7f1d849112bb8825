package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/internal/vnfbalancer"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/controlplane"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// This file has the tasks around a stop and a start of the machines of a cluster (OPERATE).

var (
	routeAway     = task{Name: "routes", Why: "the load balancer leads no clients to services on workers", Do: runRouteAway}
	drainToStop   = task{Name: "drain", Why: "the pods of the node end as they would like to", Do: runDrainToStop}
	awaitStarted  = task{Name: "ready", Why: "every node is Ready", Do: runAwaitReady}
	copyEnded     = task{Name: "kubeconfig", Why: "copies of admin.conf of root and the login user have the new certificate", If: ifEnded, Do: runCopyEnded}
	uncordon      = step("uncordon", "the node takes pods again, if the stop has cordoned it", oneMinute, func(ctx context.Context, e *environment, n mgmt.Node) error { return runUncordon(ctx, e, n, "") })
	registerEnded = task{Name: "register-vim", Why: "clients of the VIM entry have valid credentials", If: "certificates of control-plane nodes have ended", Do: runRegisterEnded}
)

// operate empties the nodes before a graceful stop, and takes the nodes into service after a start.
func operate(c clusterShape) *operationPlan {
	p := &planner{clusterShape: c}
	if c.Stopping {
		p.Begin(vnflcm.OperateStart)
		if c.Graceful {
			p.Each(c.Workers, drainToStop, p.Each(c.Balancers, routeAway))
		}
		return &p.operationPlan
	}
	p.Begin(vnflcm.OperateEnd)
	ended := p.Once(findEnded, p.Each(slices.Concat(c.nodes(), c.Storage, c.Balancers), reach))
	p.renewEnded(ended)
	p.Each(c.Workers, renewKubelet, ended)
	ready := p.Once(awaitStarted, p.All())
	p.Each(c.ControlPlane, copyEnded, ready)
	p.Each(c.Workers, uncordon, ready)
	p.Each(c.Balancers, route, ready)
	p.Once(registerEnded, ready)
	p.Once(forgetEnded, p.All())
	return &p.operationPlan
}

// isStop reports whether the operation stops the machines.
func isStop(op *vnflcm.Operation) bool {
	return op.Operate != nil && op.Operate.ChangeStateTo == vnflcm.VnfStopped
}

// isGraceful reports whether the pods get time to end before the machines are stopped or removed.
func isGraceful(op *vnflcm.Operation) bool {
	return op.Terminate != nil && op.Terminate.TerminationType == vnflcm.TerminateGraceful || op.Operate != nil && op.Operate.StopType == vnflcm.StopGraceful
}

// runRouteAway ends the routes of a load balancer to workers. Connections that exist end with the pods. The VNF is stopped in any case.
func runRouteAway(ctx context.Context, e *environment, n mgmt.Node) error {
	return e.despite(ctx, n, e.balancing().Route(ctx, "routes", n, vnfbalancer.Lead{ControlPlane: e.controlPlane}))
}

// drainMargin is the time beside that of the pods, for the requests of a drain.
const drainMargin = 10 * time.Second

// runDrainToStop cordons a worker and gives its pods as much time to end as the request allows: no other node could take them. The VNF is stopped
// in any case, also if the cluster does not answer.
func runDrainToStop(ctx context.Context, e *environment, n mgmt.Node) error {
	grace := time.Duration(e.op.Operate.GracefulStopTimeout) * time.Second
	return e.despite(ctx, n, n.Do(ctx, e.op, "drain", grace+drainMargin, func(ctx context.Context) error {
		node, found, err := e.kube.NodeAt(ctx, n.IP)
		if !found || err != nil {
			return err
		}
		if !node.Spec.Unschedulable {
			if err := e.op.State().Put(ctx, cordonedState+n.ID, node.UID); err != nil {
				return err
			}
		}
		return e.kube.Drain(ctx, node.Name, cluster.DrainOptions{Timeout: grace, Force: true, Policy: cluster.DrainContinue, Warn: func(err error) {
			e.op.Warn(ctx, fmt.Sprintf("%s is stopped with pods on it: %v", n.Label(), err))
		}})
	}))
}

// despite returns the error that has stopped the operation. Other errors of a machine that is about to be stopped are warnings.
func (e *environment) despite(ctx context.Context, n mgmt.Node, err error) error {
	if ctx.Err() != nil || errors.Is(err, vnflcm.ErrStore) {
		return err
	}
	if err != nil {
		e.op.Warn(ctx, fmt.Sprintf("%s is stopped although it was not emptied: %v", n.Label(), err))
	}
	return nil
}

func runCopyEnded(ctx context.Context, e *environment, n mgmt.Node) error {
	return ifControlPlaneEnded(ctx, e, n, "kubeconfig", time.Minute, func(ctx context.Context) error { return controlplane.CopyAdmin(ctx, n) })
}

func runRegisterEnded(ctx context.Context, e *environment, n mgmt.Node) error {
	if !slices.ContainsFunc(e.controlPlane, func(n mgmt.Node) bool { return e.ended.Of(n.ID).ControlPlane() }) {
		return nil
	}
	return runRegisterVIM(ctx, e, n)
}
