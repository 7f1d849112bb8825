package kubeadm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// nameLocalVolumes never fails the operation: the machine of a local volume may be dead already.
var nameLocalVolumes = repeated("local-volumes", "warnings name the claims whose data end with the disk of a machine", runNameLocalVolumes)

func runNameLocalVolumes(ctx context.Context, e *environment, _ mgmt.Node) error {
	for _, text := range e.localLosses(ctx) {
		e.op.Warn(ctx, text)
	}
	return context.Cause(ctx)
}

// endsMachines reports whether an operation may end local volumes of nodes. A change of the package has its own plan of losses. A heal of the
// whole VNF without restore is accepted only if no control-plane node answers with data of etcd: then the cluster has no answer either.
func endsMachines(op *vnflcm.Operation) bool {
	if op.Heal == nil {
		return op.Scale != nil || op.ScaleToLevel != nil
	}
	restore := restoreParamOf(op)
	return !restore.restores() && (!op.WholeVNF() || restore.Restore != "")
}

// localLosses returns a sentence for each machine that the operation removes or replaces, and whose node has local volumes.
func (e *environment) localLosses(ctx context.Context) (out []string) {
	ends := clusternodes.Among(e.nodes(), slices.Concat(e.op.Change.Removed, e.op.Change.Replaced))
	if len(ends) == 0 || !endsMachines(e.op) {
		return nil
	}
	volumes, err := e.localVolumes(ctx, ends, lookLimit)
	if err != nil {
		return []string{"it is not known which local volumes end: " + err.Error()}
	}
	for _, v := range volumes {
		out = append(out, fmt.Sprintf("%s end with the machine: %s", v, strings.Join(v.claims, ", ")))
	}
	return out
}

// localVolumes are the persistent volumes that may be on the disk of a node.
type localVolumes struct {
	node   mgmt.Node
	claims []string // volumes with their claims
}

func (v localVolumes) String() string { return "the local volumes of the node of " + v.node.Label() }

// localVolumes asks the cluster for the local volumes of machines. Machines without local volumes are left out.
func (e *environment) localVolumes(ctx context.Context, machines []mgmt.Node, limit time.Duration) (out []localVolumes, err error) {
	return out, mgmt.Within(ctx, limit, func(ctx context.Context) error {
		nodes, err := e.kube.Nodes(ctx)
		if err != nil {
			return err
		}
		volumes, err := e.kube.LocalVolumes(ctx)
		if err != nil {
			return err
		}
		for _, m := range machines {
			at := slices.IndexFunc(nodes, func(n cluster.Node) bool { return n.Address == m.IP })
			if at < 0 {
				continue
			}
			found := localVolumes{node: m}
			for _, v := range volumes {
				if v.IsOn(nodes[at]) {
					found.claims = append(found.claims, "PersistentVolume "+v.Name+" of the claim "+v.Claim)
				}
			}
			if len(found.claims) > 0 {
				out = append(out, found)
			}
		}
		return nil
	})
}
