// Package nodedrain lets nodes leave a cluster: their pods move to other nodes, and their Node objects are deleted when the machines are gone.
package nodedrain

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// leavingState is where the Node objects of machines that will be removed are noted, by VNFC id. The start hook of an
// operation writes them and the end hook deletes them.
const leavingState = "leaving-node/"

// leavingNode identifies a Node object. The machine that takes the place of the old one may have its name and address.
type leavingNode struct {
	Name string
	UID  types.UID
}

// stopLimit bounds how long a machine may take to stop. Nova cuts the power after one minute by default.
const stopLimit = 2 * time.Minute

// Withdraw empties a node whose machine will be removed: steps "record-node", "stop-machine" (unless the node is Ready)
// and "drain". The Node object stays until DeleteNodes: without it Kubernetes starts the pods of the node elsewhere, and
// on a node that is not Ready they may still run and write to their volumes.
func Withdraw(ctx context.Context, op *vnflcm.Operation, kube *clusternodes.Cluster, n mgmt.Node, o cluster.DrainOptions) error {
	silent, err := RecordNode(ctx, op, kube, n)
	if err != nil {
		return err
	}
	if silent {
		if err := StopMachine(ctx, op, n); err != nil {
			return err
		}
	}
	return Drain(ctx, op, kube, n, o)
}

// RecordNode notes the Node object of a machine: step "record-node". It reports whether the node is not Ready.
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

// StopMachine turns a machine off where the infrastructure driver can: step "stop-machine". Otherwise the machine runs until it is removed.
func StopMachine(ctx context.Context, op *vnflcm.Operation, n mgmt.Node) error {
	return vnflcm.Do(ctx, op, "stop-machine", n.ID, func(ctx context.Context) error {
		err := mgmt.Within(ctx, stopLimit, func(ctx context.Context) error { return op.StopMachine(ctx, n.VNFC) })
		if ctx.Err() != nil {
			return err
		}
		if err != nil && !errors.Is(err, vnflcm.ErrNotSupported) {
			op.Log.WarnContext(ctx, "the machine of a node that is not Ready could not be stopped before it is removed", "host", n.HostName, "error", err)
		}
		return nil
	})
}

// DeleteNodes deletes the Node objects of VNFCs whose machines are gone: DeleteNode for each.
func DeleteNodes(ctx context.Context, op *vnflcm.Operation, kube *clusternodes.Cluster, parallel int, gone []vnflcm.VNFC) error {
	return vnflcm.Each(ctx, parallel, gone, func(ctx context.Context, v vnflcm.VNFC) error { return DeleteNode(ctx, op, kube, v) })
}

// DeleteNode deletes the Node object that RecordNode has noted of a VNFC whose machine is gone: step "delete-node".
func DeleteNode(ctx context.Context, op *vnflcm.Operation, kube *clusternodes.Cluster, v vnflcm.VNFC) error {
	return vnflcm.Do(ctx, op, "delete-node", v.ID, func(ctx context.Context) error {
		return mgmt.Within(ctx, time.Minute, func(ctx context.Context) error { return deleteNode(ctx, op, kube, v) })
	})
}

func deleteNode(ctx context.Context, op *vnflcm.Operation, kube *clusternodes.Cluster, v vnflcm.VNFC) error {
	var node leavingNode
	err := op.State().Get(ctx, leavingState+v.ID, &node)
	if errors.Is(err, vnflcm.ErrNotFound) {
		return nil // the machine was no node
	}
	if err != nil {
		return err
	}
	if err := kube.DeleteNode(ctx, node.Name, node.UID); err != nil {
		return err
	}
	return op.State().Delete(ctx, leavingState+v.ID)
}

// Drain empties a node, if the cluster has it: step "drain". With force, pods that do not leave do not keep it from
// going.
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

// ForgetNode deletes the Node object that has the address of a machine, if the cluster has one.
func ForgetNode(ctx context.Context, kube *clusternodes.Cluster, n mgmt.Node) error {
	node, found, err := kube.NodeAt(ctx, n.IP)
	if !found || err != nil {
		return err
	}
	return kube.DeleteNode(ctx, node.Name, node.UID)
}
