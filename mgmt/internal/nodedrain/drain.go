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

// RecordNode records the Node object of a machine in the state, and reports whether the node is not Ready. It is the step
// "record-node".
func RecordNode(ctx context.Context, op *vnflcm.Operation, kube *clusternodes.Cluster, n mgmt.Node) (silent bool, err error) {
	return vnflcm.Run(ctx, op, vnflcm.Step[bool]{Name: "record-node", On: n.ID, Do: func(ctx context.Context) (silent bool, err error) {
		err = mgmt.Within(ctx, time.Minute, func(ctx context.Context) error {
			node, found, err := kube.NodeAt(ctx, n.IP)
			if !found || err != nil {
				return err
			}
			silent = !node.Ready
			return op.State().Put(ctx, leavingState+n.ID, leavingNode{node.Name, node.UID})
		})
		return silent, err
	}})
}

// stopped is the result of the step "stop-machine". Earlier versions have stored an empty object.
type stopped struct {
	Off bool `json:"off,omitempty"`
}

// StopMachine stops a machine, if the infrastructure driver supports that, and reports whether the VIM has confirmed that the machine
// is off. It is the step "stop-machine". Otherwise the machine may run until it is removed.
func StopMachine(ctx context.Context, op *vnflcm.Operation, n mgmt.Node) (off bool, err error) {
	result, err := vnflcm.Run(ctx, op, vnflcm.Step[stopped]{Name: "stop-machine", On: n.ID, Do: func(ctx context.Context) (stopped, error) {
		err := mgmt.Within(ctx, stopLimit, func(ctx context.Context) error { return op.StopMachine(ctx, n.VNFC) })
		if ctx.Err() != nil {
			return stopped{}, err
		}
		if err != nil && !errors.Is(err, vnflcm.ErrNotSupported) {
			op.Log.WarnContext(ctx, "the machine of a node that is not Ready could not be stopped before it is removed", "host", n.HostName, "error", err)
		}
		return stopped{Off: err == nil}, nil
	}})
	return result.Off, err
}

// DeleteNode deletes the Node object that RecordNode has recorded. Call it after the machine has been deleted: without a Node
// object Kubernetes would start the pods elsewhere, while on a node that is not Ready they may still run and write to their
// volumes. It is the step "delete-node".
func DeleteNode(ctx context.Context, op *vnflcm.Operation, kube *clusternodes.Cluster, v vnflcm.VNFC) error {
	return vnflcm.Do(ctx, op, "delete-node", v.ID, func(ctx context.Context) error {
		return mgmt.Within(ctx, time.Minute, func(ctx context.Context) error { return deleteNode(ctx, op, kube, v) })
	})
}

func deleteNode(ctx context.Context, op *vnflcm.Operation, kube *clusternodes.Cluster, v vnflcm.VNFC) error {
	var node leavingNode
	err := op.State().Get(ctx, leavingState+v.ID, &node)
	if errors.Is(err, vnflcm.ErrNotFound) {
		return nil // the machine was not a node
	}
	if err != nil {
		return err
	}
	if err := kube.DeleteNode(ctx, node.Name, node.UID); err != nil {
		return err
	}
	return op.State().Delete(ctx, leavingState+v.ID)
}

// Drain drains a node if it is in the cluster. It is the step "drain". With o.Force, Drain succeeds even if some pods could
// not be moved.
func Drain(ctx context.Context, op *vnflcm.Operation, kube *clusternodes.Cluster, n mgmt.Node, o cluster.DrainOptions) error {
	if o.Force && o.Policy != cluster.DrainDelete {
		o.Policy = cluster.DrainContinue
	}
	return n.Do(ctx, op, "drain", o.Timeout+time.Minute, func(ctx context.Context) error {
		node, found, err := kube.NodeAt(ctx, n.IP)
		if !found || err != nil {
			return err
		}
		o.Warn = func(err error) {
			op.Log.WarnContext(ctx, "not every pod could be moved", "host", node.Name, "error", err)
		}
		return kube.Drain(ctx, node.Name, o)
	})
}

// AwaitDetached waits until no volume is attached to a node that has been drained, for at most o.Timeout, since other nodes attach most
// volumes only afterwards. It is the step "detach". After that time it logs a warning and succeeds with o.Force, or if the policy is
// DrainContinue. Otherwise the error is cluster.ErrAttached and names the volumes.
func AwaitDetached(ctx context.Context, op *vnflcm.Operation, kube *clusternodes.Cluster, n mgmt.Node, o cluster.DrainOptions) error {
	return vnflcm.Do(ctx, op, "detach", n.ID, func(ctx context.Context) error {
		err := mgmt.Within(ctx, o.Timeout, func(ctx context.Context) error {
			node, found, err := kube.NodeAt(ctx, n.IP)
			if !found || err != nil {
				return err
			}
			return kube.WaitDetached(ctx, node.Name, func(message string) { op.Report(ctx, message) })
		})
		switch {
		case !errors.Is(err, cluster.ErrAttached) || ctx.Err() != nil:
			return err
		case o.Force || o.Policy == cluster.DrainContinue:
			op.Log.WarnContext(ctx, "the machine of a node is removed while volumes are attached to it; pods that need them may wait for minutes", "host", n.HostName, "error", err)
			return nil
		}
		return fmt.Errorf("%w; detach them and retry, or let drain_policy be Continue", err)
	})
}

// ForgetNode deletes the Node object that has the address of a machine, if the cluster has one.
func ForgetNode(ctx context.Context, kube *clusternodes.Cluster, n mgmt.Node) error {
	node, found, err := kube.NodeAt(ctx, n.IP)
	if !found || err != nil {
		return err
	}
	return kube.DeleteNode(ctx, node.Name, node.UID)
}
