package kubeadm

import (
	"errors"
	"fmt"

	"github.com/vnfkit/vnfkit/mgmt/internal/plan"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// mostMembers is the largest number of members that etcd advises (etcd.io, "FAQ: What is maximum cluster size?").
const mostMembers = 7

// otherEndpoint is the remedy for an API at an address of one node.
const otherEndpoint = "instantiate a VNF whose cluster_cp_name is a virtual address, or one with a load balancer"

// checkScaling finds the faults of a request that scales the control plane, without asking a machine.
func (p *parameters) checkScaling(op *vnflcm.Operation) error {
	cp := p.Cluster.Master.SSHCPName
	if op.RollingBack || !newChecker(op).Scales(cp) {
		return nil
	}
	target, err := p.targetOf(op)
	faults := []error{err}
	fault := func(path, value, reason string) {
		faults = append(faults, &vnflcm.ParamError{Path: path, Value: value, Reason: reason})
	}
	steps := fmt.Sprint(op.Scale.NumberOfSteps)
	switch {
	case err != nil:
	case target < 1:
		fault("numberOfSteps", steps, "leaves no control-plane node, and the cluster's data end: terminate the VNF")
	case target > mostMembers:
		fault("numberOfSteps", steps, fmt.Sprintf("leads to %d control-plane nodes, and etcd advises at most %d members: choose %d or fewer", target, mostMembers, mostMembers))
	case target%2 == 0:
		fault("numberOfSteps", steps, fmt.Sprintf("leads to %d control-plane nodes, which tolerate the loss of no more nodes than %d: choose a step that leads to an odd number", target, target-1))
	}
	if p.Cluster.ScriptPath != "" {
		fault("aspectId", op.Scale.AspectID, "scales control-plane nodes that the script of the package has set up, with a load balancer that the driver does not change: instantiate a VNF of the other size")
	}
	if op.Scale.Type == vnflcm.ScaleOut {
		faults = append(faults, p.Cluster.checkGrowingAddress(op))
	} else {
		faults = append(faults, p.Cluster.checkLeavingAddress(op))
	}
	return errors.Join(faults...)
}

// targetOf returns the number of control-plane nodes after a scaling. Package hookrun knows the change, and may not know the levels.
func (p *parameters) targetOf(op *vnflcm.Operation) (int, error) {
	cp := p.Cluster.Master.SSHCPName
	if len(op.Change.Added)+len(op.Change.Removed) > 0 {
		machines := plan.MachinesAt(op, cp)
		return len(machines) - len(plan.Removed(machines)), nil
	}
	numbers, err := op.Instances()
	return numbers[op.VDUOf(cp)], err
}

// controlPlaneOf returns the VNFCs that are control-plane nodes.
func (p *clusterParam) controlPlaneOf(op *vnflcm.Operation) (out []vnflcm.VNFC) {
	for _, v := range op.VNFCs {
		if _, is := v.CP(p.Master.SSHCPName); is {
			out = append(out, v)
		}
	}
	return out
}

// checkGrowingAddress refuses to add control-plane nodes if the API is at an address of one of them.
func (p *clusterParam) checkGrowingAddress(op *vnflcm.Operation) error {
	controlPlane := p.controlPlaneOf(op)
	for _, v := range controlPlane {
		if p.endpointOn(op, controlPlane[0], v) {
			return &vnflcm.ParamError{Path: "aspectId", Value: op.Scale.AspectID,
				Reason: "scales the control plane of a cluster whose API is at an address of " + v.Label() + ", so that no other node could serve it: " + otherEndpoint}
		}
	}
	return nil
}

// checkLeavingAddress refuses to remove the control-plane node that has the address of the API. The nodes that leave are known when the
// infrastructure driver has chosen them.
func (p *clusterParam) checkLeavingAddress(op *vnflcm.Operation) error {
	controlPlane := p.controlPlaneOf(op)
	if op.RollingBack || len(controlPlane) == 0 {
		return nil
	}
	var faults []error
	for _, v := range op.Change.Removed {
		if plan.IsAt(op, v, p.Master.SSHCPName) && p.endpointOn(op, controlPlane[0], v) {
			faults = append(faults, &vnflcm.ParamError{Path: "aspectId", Value: op.Scale.AspectID,
				Reason: "would remove " + v.Label() + ", which has the address of the API: " + otherEndpoint})
		}
	}
	return errors.Join(faults...)
}
