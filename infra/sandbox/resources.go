package sandbox

import (
	"context"
	"net/netip"

	"github.com/vnfkit/vnfkit/vnflcm"
)

var (
	_ vnflcm.InfraDriver          = (*World)(nil)
	_ vnflcm.Adopter              = (*World)(nil)
	_ vnflcm.ConnectionPointNamer = (*World)(nil)
	_ vnflcm.MarkReader           = (*World)(nil)
	_ vnflcm.PackageChanger       = (*World)(nil)
	_ vnflcm.HealthChecker        = (*World)(nil)
)

// connectionPoints are the ports of a machine, or of a VNF as a whole, as infra/openstack reports them: a floating address is shown at its port, and again under its
// own name.
func connectionPoints(owner string, ports []port) (out []vnflcm.ConnectionPoint) {
	var floating []vnflcm.ConnectionPoint
	for _, p := range ports {
		if p.Of != "" {
			continue
		}
		at := vnflcm.ConnectionPoint{CPD: p.CPD, ResourceID: owner + "-" + p.CPD, Fixed: []netip.Addr{p.Address}}
		for _, f := range ports {
			if f.Of == p.CPD {
				at.Floating = f.Address
				named := at
				named.CPD = f.CPD
				floating = append(floating, named)
			}
		}
		out = append(out, at)
	}
	return append(out, floating...)
}

// Resources implements vnflcm.InfraDriver.
func (w *World) Resources(_ context.Context, op *vnflcm.Operation) (vnflcm.Resources, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out vnflcm.Resources
	for _, m := range w.sorted() {
		if m.Instance != op.InstanceID {
			continue
		}
		v := vnflcm.VNFC{ID: m.VNFC, ResourceID: m.ID, VDU: m.VDU, Name: m.Name, Aspect: aspectOf(op, m), HostKey: m.publicKey()}
		v.CPs = connectionPoints(m.ID, m.ports())
		for _, volume := range m.Volumes {
			v.StorageIDs = append(v.StorageIDs, volume.ID)
			out.Storages = append(out.Storages, vnflcm.Storage{ID: volume.ID, Descriptor: volume.Descriptor, ResourceID: volume.ID})
		}
		out.VNFCs = append(out.VNFCs, v)
	}
	out.ConnectionPoints = connectionPoints(op.InstanceID, w.virtual[op.InstanceID])
	return out, nil
}

// Adopt implements vnflcm.Adopter. The World finds machines by the id of their VNF instance, so the instance must be
// adopted under the id that it had; resource is that id or empty.
func (w *World) Adopt(ctx context.Context, op *vnflcm.Operation, resource string) (vnflcm.Adopted, error) {
	found, err := w.Resources(ctx, op)
	if err == nil && (len(found.VNFCs) == 0 || resource != "" && resource != op.InstanceID) {
		err = &vnflcm.ParamError{Path: "resource", Value: resource, Reason: "there are no machines of the VNF instance " + op.InstanceID}
	}
	return vnflcm.Adopted{Resources: found}, err
}

// Marked implements vnflcm.MarkReader: all machines of the World.
func (w *World) Marked(context.Context, vnflcm.VimConnectionInfo) (marks []vnflcm.Mark, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.sorted() {
		marks = append(marks, vnflcm.Mark{InstanceID: m.Instance, Resource: "machine", ID: m.ID, Name: m.Name})
	}
	return marks, nil
}
