// Package nodedrain removes nodes from a cluster: it moves their pods to other nodes, and deletes their Node objects after
// the machines have been deleted.
package nodedrain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/internal/plan"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// leavingState is the prefix of the state keys that record the Node objects of machines that will be removed, by VNFC id.
// The start hook of an operation writes them, and the end hook deletes the Node objects and the keys.
const leavingState = "leaving-node/"

// leavingNode identifies a Node object by its UID, because a replacement machine may have the same name and address.
type leavingNode struct {
	Name string
	UID  types.UID
}

// stopLimit bounds how long a machine may take to stop. Nova cuts the power after one minute by default.
const stopLimit = 2 * time.Minute

// Leaving removes nodes from a cluster in one hook of an operation.
type Leaving struct {
	Op          *vnflcm.Operation
	Kube        *clusternodes.Cluster
	DrainLimit  time.Duration       // how long the pods of a node may take to leave
	DetachLimit time.Duration       // how long the volumes of a node may take to be detached
	Policy      cluster.DrainPolicy // for pods and volumes that stay longer

	silent plan.Result[bool] // set by Record: the node is not Ready
	off    plan.Result[bool] // set by Stop: the VIM has confirmed that the machine is off
}

// Silent reports whether Record has found a node that is not Ready.
func (l *Leaving) Silent(n mgmt.Node) bool { return l.silent.Of(n.ID) }

// Record records the Node object of a machine in the state, and whether the node is not Ready. It is the step "record-node".
func (l *Leaving) Record(ctx context.Context, n mgmt.Node) error {
	silent, err := vnflcm.Run(ctx, l.Op, vnflcm.Step[bool]{Name: "record-node", On: n.ID, Do: func(ctx context.Context) (silent bool, err error) {
		err = mgmt.Within(ctx, time.Minute, func(ctx context.Context) error {
			node, found, err := l.Kube.NodeAt(ctx, n.IP)
			if !found || err != nil {
				return err
			}
			silent = !node.Ready
			return l.Op.State().Put(ctx, leavingState+n.ID, leavingNode{node.Name, node.UID})
		})
		return silent, err
	}})
	l.silent.Set(n.ID, silent)
	return err
}

// stopped is the result of the step "stop-machine". Earlier versions have stored an empty object.
type stopped struct {
	Off bool `json:"off,omitempty"`
}

// Stop stops the machine of a node that is not Ready, if the infrastructure driver supports that. It is the step "stop-machine".
// Otherwise the machine may run until it is removed.
func (l *Leaving) Stop(ctx context.Context, n mgmt.Node) error {
	if !l.Silent(n) {
		return nil
	}
	result, err := vnflcm.Run(ctx, l.Op, vnflcm.Step[stopped]{Name: "stop-machine", On: n.ID, Do: func(ctx context.Context) (stopped, error) {
		err := mgmt.Within(ctx, stopLimit, func(ctx context.Context) error { return l.Op.StopMachine(ctx, n.VNFC) })
		if ctx.Err() != nil {
			return stopped{}, err
		}
		if err != nil && !errors.Is(err, vnflcm.ErrNotSupported) {
			l.Op.Log.WarnContext(ctx, "the machine of a node that is not Ready could not be stopped before it is removed", "host", n.Label(), "error", err)
		}
		return stopped{Off: err == nil}, nil
	}})
	l.off.Set(n.ID, result.Off)
	return err
}

// Delete deletes the Node object that Record has recorded. Call it after the machine has been deleted: without a Node
// object Kubernetes would start the pods elsewhere, while on a node that is not Ready they may still run and write to their
// volumes. It is the step "delete-node".
func (l *Leaving) Delete(ctx context.Context, n mgmt.Node) error {
	return n.Do(ctx, l.Op, "delete-node", time.Minute, func(ctx context.Context) error { return l.delete(ctx, n) })
}

func (l *Leaving) delete(ctx context.Context, n mgmt.Node) error {
	var node leavingNode
	err := l.Op.State().Get(ctx, leavingState+n.ID, &node)
	if errors.Is(err, vnflcm.ErrNotFound) {
		return nil // the machine was not a node
	}
	if err != nil {
		return err
	}
	if err := l.Kube.DeleteNode(ctx, node.Name, node.UID); err != nil {
		return err
	}
	return l.Op.State().Delete(ctx, leavingState+n.ID)
}

// Drain drains a node if it is in the cluster. With force it succeeds even if some pods could not be moved. It is the step "drain".
func (l *Leaving) Drain(ctx context.Context, n mgmt.Node, force bool) error {
	o := cluster.DrainOptions{Timeout: l.DrainLimit, Force: force, Policy: l.Policy}
	if force && o.Policy != cluster.DrainDelete {
		o.Policy = cluster.DrainContinue
	}
	return n.Do(ctx, l.Op, "drain", o.Timeout+time.Minute, func(ctx context.Context) error {
		node, found, err := l.Kube.NodeAt(ctx, n.IP)
		if !found || err != nil {
			return err
		}
		o.Warn = func(err error) {
			l.Op.Log.WarnContext(ctx, "not every pod could be moved", "host", n.Label(), "error", err)
		}
		return l.Kube.Drain(ctx, node.Name, o)
	})
}

// AwaitDetached waits until no volume is attached to a node that has been drained, since other nodes attach most volumes only
// afterwards. It is the step "detach". After l.DetachLimit it logs a warning and succeeds with force, or if the policy is DrainContinue.
// Otherwise the error is cluster.ErrAttached and names the volumes. It does not wait for a machine that is known to be off.
func (l *Leaving) AwaitDetached(ctx context.Context, n mgmt.Node, force bool) error {
	if l.off.Of(n.ID) {
		return nil
	}
	return vnflcm.Do(ctx, l.Op, "detach", n.ID, func(ctx context.Context) error {
		err := mgmt.Within(ctx, l.DetachLimit, func(ctx context.Context) error {
			node, found, err := l.Kube.NodeAt(ctx, n.IP)
			if !found || err != nil {
				return err
			}
			return l.Kube.WaitDetached(ctx, node.Name, func(message string) { l.Op.Report(ctx, message) })
		})
		switch {
		case !errors.Is(err, cluster.ErrAttached) || ctx.Err() != nil:
			return err
		case force || l.Policy == cluster.DrainContinue:
			l.Op.Log.WarnContext(ctx, "the machine of a node is removed while volumes are attached to it; pods that need them may wait for minutes", "host", n.Label(), "error", err)
			return nil
		}
		return fmt.Errorf("%w; detach them and retry, or let drain_policy be Continue", err)
	})
}

// Stay forgets the Node object that Record has recorded: the machine has not been deleted.
func (l *Leaving) Stay(ctx context.Context, n mgmt.Node) error {
	return l.Op.State().Delete(ctx, leavingState+n.ID)
}

// Forget deletes the connections to these machines, and their host keys.
func Forget(ctx context.Context, op *vnflcm.Operation, pool *sshexec.Pool, machines []vnflcm.VNFC) error {
	var errs []error
	for _, v := range machines {
		pool.Forget(v.ResourceID)
		errs = append(errs, mgmt.ForgetHostKey(ctx, op, v.ResourceID))
	}
	return errors.Join(errs...)
}
