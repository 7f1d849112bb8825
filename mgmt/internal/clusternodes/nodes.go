// Package clusternodes selects nodes of a cluster among the machines of its VNF, finds out whether they answer, and waits until they
// are Ready.
package clusternodes

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

// Among returns the nodes whose VNFC is in the list.
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

// Without returns nodes except for those in out.
func Without(nodes, out []mgmt.Node) []mgmt.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n mgmt.Node) bool {
		return slices.ContainsFunc(out, func(o mgmt.Node) bool { return o.ID == n.ID })
	})
}

// Unreachable reports whether err means that the machine could not be reached, so that it may be dead.
func Unreachable(ctx context.Context, err error) bool {
	return errors.Is(err, sshexec.ErrConnect) && !errors.Is(err, sshexec.ErrHostKey) && ctx.Err() == nil
}

// answerLimit bounds how long a machine may take to answer.
const answerLimit = 20 * time.Second

// Alive reports whether the driver can log in to a machine. It is the step "alive".
func Alive(ctx context.Context, op *vnflcm.Operation, n mgmt.Node) (bool, error) {
	return vnflcm.Run(ctx, op, vnflcm.Step[bool]{Name: "alive", On: n.ID, Do: func(ctx context.Context) (bool, error) {
		fault, err := Answers(ctx, n)
		return fault == nil && err == nil, err
	}})
}

// Answers logs in to a machine. fault says why the driver cannot log in; err is the cause of ctx, if ctx has ended.
func Answers(ctx context.Context, n mgmt.Node) (fault, err error) {
	fault = mgmt.Within(ctx, answerLimit, func(ctx context.Context) error { return n.SSH.Run(ctx, []string{"true"}, nil, nil, nil) })
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return fault, nil
}

// AwaitReady waits until all these machines are Ready nodes of the cluster. It is the step "ready".
func AwaitReady(ctx context.Context, op *vnflcm.Operation, kube *Cluster, nodes []mgmt.Node, limit time.Duration) error {
	machines := map[netip.Addr]string{}
	for _, n := range nodes {
		machines[n.IP] = n.String()
	}
	return vnflcm.Do(ctx, op, "ready", "", func(ctx context.Context) error {
		return mgmt.Within(ctx, limit, func(ctx context.Context) error {
			return kube.WaitReady(ctx, machines, func(message string) { op.Report(ctx, message) })
		})
	})
}
