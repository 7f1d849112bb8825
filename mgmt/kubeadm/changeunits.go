package kubeadm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/storage"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// arrangement orders the units of a change of the package.
type arrangement struct {
	op           *vnflcm.Operation
	p            *parameters
	controlPlane []vnflcm.VNFC // before the change
	plan         vnflcm.PackagePlan
	faults       []error
}

// ArrangeUnits implements vnflcm.PackageBatcher. New workers come first, then existing machines, then control-plane nodes one at a time, then
// workers that are removed. Data on disks that end is a loss: local volumes of nodes, directories of the storage server, and the cluster
// if its only control-plane node is rebuilt. The driver asks the cluster for its volumes.
func (d *Driver) ArrangeUnits(ctx context.Context, op *vnflcm.Operation, plan vnflcm.PackagePlan) (vnflcm.PackagePlan, error) {
	p, _, err := readRunning(ctx, op)
	if err == nil {
		err = p.check(op)
	}
	if err != nil {
		return plan, err
	}
	a := &arrangement{op: op, p: p, plan: plan}
	for _, v := range op.VNFCs {
		if _, isControlPlane := v.CP(p.Cluster.Master.SSHCPName); isControlPlane {
			a.controlPlane = append(a.controlPlane, v)
		}
	}
	a.plan.Units = slices.Clone(plan.Units)
	for i := range a.plan.Units {
		a.consider(&a.plan.Units[i])
	}
	slices.SortStableFunc(a.plan.Units, func(u, v vnflcm.PackageUnit) int { return cmp.Compare(a.rank(u), a.rank(v)) })
	if err := errors.Join(a.faults...); err != nil {
		return plan, err
	}
	return a.plan, d.findLocalVolumes(ctx, a)
}

// rank is the position of a unit in the order of the change.
func (a *arrangement) rank(u vnflcm.PackageUnit) int {
	switch {
	case u.Change == vnflcm.VnfcAdded:
		return 0
	case u.Change == vnflcm.VnfcRemoved:
		return 4
	case a.is(u, a.p.Cluster.Master.SSHCPName):
		return 3
	case a.isBalancer(u) || a.isStorage(u):
		return 2
	}
	return 1
}

// is reports whether a unit is a machine with a connection point, or will be one.
func (a *arrangement) is(u vnflcm.PackageUnit, cp string) bool {
	if u.Kind != vnflcm.UnitVNFC {
		return false
	}
	if v, exists := a.vnfc(u); exists {
		_, has := v.CP(cp)
		return has
	}
	return slices.Contains(u.VDUs, a.op.VDUOf(cp))
}

func (a *arrangement) isBalancer(u vnflcm.PackageUnit) bool {
	return a.p.Cluster.Balancer != nil && a.is(u, a.p.Cluster.Balancer.SSHCPName)
}

func (a *arrangement) isStorage(u vnflcm.PackageUnit) bool {
	return a.p.Cluster.Storage != nil && a.is(u, a.p.Cluster.Storage.SSHCPName)
}

func (a *arrangement) vnfc(u vnflcm.PackageUnit) (vnflcm.VNFC, bool) {
	i := slices.IndexFunc(a.op.VNFCs, func(v vnflcm.VNFC) bool { return v.ID == u.ID })
	if i < 0 {
		return vnflcm.VNFC{}, false
	}
	return a.op.VNFCs[i], true
}

// consider finds the faults of one unit and the data that ends with it.
func (a *arrangement) consider(u *vnflcm.PackageUnit) {
	isControlPlane := a.is(*u, a.p.Cluster.Master.SSHCPName)
	single := isControlPlane || a.isBalancer(*u) || a.isStorage(*u)
	switch {
	case single && u.Change != vnflcm.VnfcModified:
		a.refuse(*u, "is %s by the change: the numbers of control-plane nodes, load balancers and storage servers stay as they were instantiated", u.Change)
	case isControlPlane && u.EndsDisk():
		a.considerControlPlane(*u)
	case a.isStorage(*u) && u.EndsDisk():
		a.considerStorage(*u)
	}
	u.Alone = u.Alone || single
}

func (a *arrangement) refuse(u vnflcm.PackageUnit, format string, args ...any) {
	a.faults = append(a.faults, &vnflcm.ParamError{Path: "vnfdId", Value: a.op.Package.VNFD().ID, Reason: fmt.Sprintf("%s "+format, append([]any{cmp.Or(u.Name, u.ID)}, args...)...)})
}

func (a *arrangement) considerControlPlane(u vnflcm.PackageUnit) {
	v, _ := a.vnfc(u)
	switch {
	case len(a.controlPlane) == 1:
		a.lose(u, "the cluster: its data is on its only control-plane node "+v.Label(), "every object in it, its certificates and its tokens: a new cluster is made on the machines")
	case a.p.Cluster.endpointOn(a.op, a.controlPlane[0], v):
		a.refuse(u, "has the address of the API, which no node could reach while its machine is changed: instantiate a VNF whose cluster_cp_name is a virtual address, or one with a load balancer")
	}
}

// considerStorage finds directories of the storage server that are on its local disk.
func (a *arrangement) considerStorage(u vnflcm.PackageUnit) {
	for _, e := range a.p.Cluster.Storage.Exports {
		onVolume := slices.ContainsFunc(a.p.Cluster.Storage.Volumes, func(v cinderVolumeParam) bool { return storage.IsIn(e.Dir, v.MountTo) })
		if !onVolume {
			a.lose(u, "the directory "+e.Dir+" of the storage server, which is on no volume of the VNF")
		}
	}
}

// lose adds a loss of data of a unit.
func (a *arrangement) lose(u vnflcm.PackageUnit, resource string, with ...string) {
	v, _ := a.vnfc(u)
	a.plan.Losses = append(a.plan.Losses, vnflcm.DataLoss{Resource: resource, With: with, Consent: vnflcm.AllowDataLoss, Name: v.VDU})
}

// findLocalVolumes adds a loss for each node that has persistent volumes on a disk that ends.
func (d *Driver) findLocalVolumes(ctx context.Context, a *arrangement) error {
	var ends []vnflcm.VNFC
	for _, u := range a.plan.Units {
		if u.EndsDisk() && a.isNode(u) {
			ends = append(ends, vnflcm.VNFC{ID: u.ID})
		}
	}
	if len(ends) == 0 {
		return nil
	}
	e, err := d.open(ctx, a.op)
	if err != nil {
		return err
	}
	defer e.Close()
	volumes, err := e.localVolumes(ctx, clusternodes.Among(e.nodes(), ends), healthLimit)
	if err != nil {
		return fmt.Errorf("kubeadm: the cluster must answer before its nodes change: %w", err)
	}
	for _, u := range a.plan.Units {
		for _, v := range volumes {
			if v.node.ID == u.ID {
				a.lose(u, v.String(), v.claims...)
			}
		}
	}
	return nil
}

func (a *arrangement) isNode(u vnflcm.PackageUnit) bool {
	return a.is(u, a.p.Cluster.Master.SSHCPName) || a.is(u, a.p.Cluster.Worker.SSHCPName)
}
