package kubespray

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/internal/plan"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// runFindDown finds the workers that are left out of the inventory of this hook, because one host that does not answer fails a
// playbook for all: workers without a Ready node, and workers that do not let the driver log in. It is a step, so that resuming
// leaves out the same workers.
//
// The option --limit does not suffice: kubespray asks hosts of the inventory outside of the limit for facts that it has not cached
// (roles/kubespray-defaults, fallback_ips.yml, which fails before kubespray 2.24 if a host is unreachable; no_proxy.yml).
func runFindDown(ctx context.Context, d *deployment, _ mgmt.Node) (err error) {
	d.down, err = vnflcm.Run(ctx, d.op, vnflcm.Step[[]string]{Name: "down", Do: func(ctx context.Context) (ids []string, err error) {
		err = mgmt.Within(ctx, d.config.Timeouts.Ready, func(ctx context.Context) error {
			ids, err = d.findDown(ctx)
			return err
		})
		return ids, err
	}})
	return err
}

// findDown returns the ids of the workers that are down. It ignores machines that the operation is setting up.
func (d *deployment) findDown(ctx context.Context) (ids []string, err error) {
	nodes, err := d.kube.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	workers := clusternodes.Without(d.workers, d.joining())
	var faults plan.Result[error]
	err = vnflcm.Each(ctx, d.config.Parallel, workers, func(ctx context.Context, n mgmt.Node) error {
		fault, err := d.faultOf(ctx, nodes, n)
		faults.Set(n.ID, fault)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, n := range workers {
		if fault := faults.Of(n.ID); fault != nil {
			ids = append(ids, n.ID)
			d.op.Log.WarnContext(ctx, "a worker is left out of the playbooks: heal it", "host", n.Label(), "vnfc", n.ID, "reason", fault)
		}
	}
	return ids, nil
}

var errNotJoined = errors.New("the cluster has no node with its address")

// faultOf returns why a worker is down, or nil. The step "alive" asks workers that leave whether they let the driver log in.
func (d *deployment) faultOf(ctx context.Context, nodes []cluster.Node, n mgmt.Node) (fault, err error) {
	i := slices.IndexFunc(nodes, func(node cluster.Node) bool { return node.Address == n.IP })
	switch {
	case i < 0:
		return errNotJoined, nil
	case !nodes[i].Ready:
		return fmt.Errorf("its node is not Ready: %s", nodes[i].Reason), nil
	case len(clusternodes.Among(d.leaving(), []vnflcm.VNFC{n.VNFC})) > 0:
		return nil, nil
	}
	return clusternodes.Answers(ctx, n)
}

func (d *deployment) isDown(n mgmt.Node) bool { return slices.Contains(d.down, n.ID) }

// withoutDown returns those of the workers that are not down.
func (d *deployment) withoutDown(workers []mgmt.Node) []mgmt.Node {
	return slices.DeleteFunc(slices.Clone(workers), d.isDown)
}
