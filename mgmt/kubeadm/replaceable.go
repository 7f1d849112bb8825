package kubeadm

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// checkControlPlane refuses to heal single control-plane nodes if no other one would remain to serve the cluster, or if one of
// them has the address of the API.
func (p *parameters) checkControlPlane(op *vnflcm.Operation) error {
	var controlPlane, targets []vnflcm.VNFC
	for _, v := range op.VNFCs {
		if _, isControlPlane := v.CP(p.Cluster.Master.SSHCPName); !isControlPlane {
			continue
		}
		controlPlane = append(controlPlane, v)
		if slices.ContainsFunc(op.HealTargets(), func(t vnflcm.VNFC) bool { return t.ID == v.ID }) {
			targets = append(targets, v)
		}
	}
	var faults []error
	for _, v := range targets {
		reason := ""
		switch {
		case p.fromSnapshot() && !p.Cluster.endpointOn(op, controlPlane[0], v):
			continue // control-plane nodes that are lost are made again with the data of the snapshot
		case p.fromSnapshot():
			reason = "has the address of the API, which no node could reach on another machine: heal the whole VNF, with the same restore"
		case len(controlPlane) == 1:
			reason = "is the only control-plane node, and the cluster's data is on it alone: heal the whole VNF, which makes a new cluster"
		case len(targets) == len(controlPlane):
			reason = "would go with all other control-plane nodes, and the cluster's data with them: heal the whole VNF, or some of them at a time"
		case p.Cluster.endpointOn(op, controlPlane[0], v):
			reason = "has the address of the API, which no node could reach while it is replaced: heal the whole VNF, " +
				"and let cluster_cp_name be a virtual address or a load balancer's"
		default:
			continue
		}
		faults = append(faults, &vnflcm.ParamError{Path: "vnfcInstanceId", Value: v.ID, Reason: reason})
	}
	return errors.Join(faults...)
}

// endpointOn reports whether the address of the API is an address of the machine v. It looks for the address as
// findEndpoint does.
func (p *clusterParam) endpointOn(op *vnflcm.Operation, first, v vnflcm.VNFC) bool {
	if p.Balancer != nil {
		return false
	}
	var api netip.Addr
	if endpoint := p.APIEndpoint; endpoint != "" {
		host, _, _ := splitEndpoint(endpoint)
		api, _ = netip.ParseAddr(host) // a host name belongs to a load balancer outside of the VNF
	} else {
		for _, cp := range slices.Backward(slices.Concat(op.ConnectionPoints, first.CPs)) {
			if cp.CPD == p.Master.ClusterCPName && len(cp.Fixed) > 0 {
				api = cp.Fixed[0]
			}
		}
	}
	return api.IsValid() && slices.ContainsFunc(v.CPs, func(cp vnflcm.ConnectionPoint) bool {
		return cp.Floating == api || slices.Contains(cp.Fixed, api)
	})
}
