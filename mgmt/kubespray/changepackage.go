package kubespray

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vnfkit/vnfkit/vnflcm"
)

var _ vnflcm.PackageBatcher = (*Driver)(nil)

// ArrangeUnits implements vnflcm.PackageBatcher. It refuses a change of the package that touches machines of the cluster: kubespray has no
// playbook that takes back a node with another disk or a control-plane node, and none that undoes a part of such a change.
func (d *Driver) ArrangeUnits(ctx context.Context, op *vnflcm.Operation, plan vnflcm.PackagePlan) (vnflcm.PackagePlan, error) {
	params, err := d.read(ctx, op)
	if err != nil {
		return plan, err
	}
	var faults []error
	for _, u := range plan.Units {
		if role := params.Cluster.roleOf(op, u); role != "" && (u.Change != vnflcm.VnfcModified || u.Method != vnflcm.MethodNone) {
			faults = append(faults, &vnflcm.ParamError{Path: "vnfdId", Value: op.Package.VNFD().ID, Reason: fmt.Sprintf("%s is a %s of a cluster of kubespray, whose machines cannot be changed "+
				"to another package while it runs: instantiate a cluster of the new package, move the workload, and terminate this one", cmp.Or(u.Name, u.ID), role)})
		}
	}
	return plan, errors.Join(faults...)
}

// roleOf returns the role of a unit in the cluster, "" for none.
func (p *clusterParam) roleOf(op *vnflcm.Operation, u vnflcm.PackageUnit) string {
	roles := []struct{ name, cp string }{{"control-plane node", p.Master.SSHCPName}, {"worker", p.Worker.SSHCPName}}
	if p.Balancer != nil {
		roles = append(roles, struct{ name, cp string }{"load balancer", p.Balancer.SSHCPName})
	}
	i := slices.IndexFunc(op.VNFCs, func(v vnflcm.VNFC) bool { return v.ID == u.ID })
	for _, role := range roles {
		is := u.Kind == vnflcm.UnitVNFC && slices.Contains(u.VDUs, op.VDUOf(role.cp))
		if i >= 0 {
			_, is = op.VNFCs[i].CP(role.cp)
		}
		if is {
			return role.name
		}
	}
	return ""
}

// BeforeBatch implements vnflcm.PackageBatcher. No batch has machines of the cluster.
func (d *Driver) BeforeBatch(context.Context, *vnflcm.Operation) error { return nil }

// AfterBatch implements vnflcm.PackageBatcher. No batch has machines of the cluster.
func (d *Driver) AfterBatch(context.Context, *vnflcm.Operation) error { return nil }
