package clustervnf

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Cluster is a cluster whose control-plane nodes are machines of the VNF.
type Cluster = cluster.Cluster[mgmt.Node]

// Among keeps the nodes that are in the list of VNFCs.
func Among(nodes []mgmt.Node, vnfcs []vnflcm.VNFC) []mgmt.Node {
	var out []mgmt.Node
	for _, n := range nodes {
		for _, v := range vnfcs {
			if v.ID == n.ID {
				out = append(out, n)
			}
		}
	}
	return out
}

// VNFCs are the VNFCs of nodes.
func VNFCs(nodes []mgmt.Node) (out []vnflcm.VNFC) {
	for _, n := range nodes {
		out = append(out, n.VNFC)
	}
	return out
}

// Without leaves nodes out.
func Without(nodes, out []mgmt.Node) []mgmt.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n mgmt.Node) bool {
		return slices.ContainsFunc(out, func(o mgmt.Node) bool { return o.ID == n.ID })
	})
}

// Unreachable reports whether a machine could not be reached, and may be dead.
func Unreachable(ctx context.Context, err error) bool {
	return errors.Is(err, sshexec.ErrConnect) && !errors.Is(err, sshexec.ErrHostKey) && ctx.Err() == nil
}

// Drain empties a node, if the cluster has it: step "drain". With force, pods that do not leave do not keep it from
// going.
func Drain(ctx context.Context, op *vnflcm.Operation, kube *Cluster, n mgmt.Node, o cluster.DrainOptions) error {
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
func ForgetNode(ctx context.Context, kube *Cluster, n mgmt.Node) error {
	node, found, err := kube.NodeAt(ctx, n.IP)
	if !found || err != nil {
		return err
	}
	return kube.DeleteNode(ctx, node.Name, node.UID)
}

// AwaitReady waits until these machines are nodes that are Ready: step "ready".
func AwaitReady(ctx context.Context, op *vnflcm.Operation, kube *Cluster, nodes []mgmt.Node, limit time.Duration) error {
	var addrs []netip.Addr
	for _, n := range nodes {
		addrs = append(addrs, n.IP)
	}
	return vnflcm.Do(ctx, op, "ready", "", func(ctx context.Context) error {
		return mgmt.Within(ctx, limit, func(ctx context.Context) error {
			return kube.WaitReady(ctx, addrs, func(message string) { op.Report(ctx, message) })
		})
	})
}
