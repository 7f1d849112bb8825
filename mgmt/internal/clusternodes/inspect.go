package clusternodes

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Known returns the nodes whose host key an earlier operation has recorded: a node that an operation is adding now must be verified by that
// operation first. It returns an error if there are none.
func Known(ctx context.Context, op *vnflcm.Operation, controlPlane []mgmt.Node) (known []mgmt.Node, err error) {
	for _, n := range controlPlane {
		key, err := mgmt.HostKey(ctx, op, n.ResourceID)
		if err != nil {
			return nil, err
		}
		if key != "" {
			known = append(known, n)
		}
	}
	if len(known) == 0 {
		return nil, errors.New("no operation has logged in to a control-plane node of the VNF yet")
	}
	return known, nil
}

// Inspect compares the machines of the VNF that are to be nodes with the nodes of the cluster, by their addresses. It asks only control-plane
// nodes whose host key an earlier operation has recorded.
func Inspect(ctx context.Context, op *vnflcm.Operation, controlPlane, workers []mgmt.Node) ([]vnflcm.Finding, error) {
	known, err := Known(ctx, op, controlPlane)
	if err != nil {
		return nil, err
	}
	kube := cluster.New(known)
	defer kube.Close()
	nodes, err := kube.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	return compare(slices.Concat(controlPlane, workers), nodes), nil
}

func compare(machines []mgmt.Node, nodes []cluster.Node) (out []vnflcm.Finding) {
	byAddress := map[netip.Addr]cluster.Node{}
	for _, n := range nodes {
		byAddress[n.Address] = n
	}
	for _, m := range machines {
		found := vnflcm.Finding{Resource: "node", ID: m.ID, Name: m.Name}
		switch n, exists := byAddress[m.IP]; {
		case !exists:
			found.Kind, found.Detail = vnflcm.Missing, "the cluster has no node with the address "+m.IP.String()
		case !n.Ready:
			found.Kind, found.Detail = vnflcm.Differs, "the node "+n.Name+" is not ready: "+n.Reason
		case n.Spec.Unschedulable:
			found.Kind, found.Detail = vnflcm.Differs, "the node "+n.Name+" takes no pods: it is cordoned"
		}
		if found.Kind != "" {
			out = append(out, found)
		}
		delete(byAddress, m.IP)
	}
	for _, n := range nodes {
		if _, left := byAddress[n.Address]; left {
			out = append(out, vnflcm.Finding{Kind: vnflcm.Stray, Resource: "node", ID: string(n.UID), Name: n.Name,
				Detail: "no machine of the VNF has the address " + n.Address.String()})
		}
	}
	return out
}
