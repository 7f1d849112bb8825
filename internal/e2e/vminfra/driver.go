package vminfra

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Machine is a machine of the cloud. Create fills in Serial, and ID and Address unless they are given.
type Machine struct {
	ID       string // resource id
	Instance string // of the VNF
	VNFC     string // id of the VNFC; stays the same when the VNFC is healed
	VDU      string
	Name     string
	Address  netip.Addr // of every connection point; Create chooses one if it is not valid
	Serial   int        // number in the order of creation
}

// Cloud keeps machines.
type Cloud interface {
	// Create creates a machine. It does not wait until the machine has booted.
	Create(ctx context.Context, m Machine) error
	// Delete deletes a machine. A missing machine is no error.
	Delete(ctx context.Context, id string) error
	// Machines lists the machines of a VNF instance, the oldest first.
	Machines(ctx context.Context, instance string) ([]Machine, error)
}

// Driver is a vnflcm.InfraDriver: one machine per VNFC.
type Driver struct {
	Cloud  Cloud
	Shared map[string]netip.Addr // addresses of the VNF as a whole, by connection point
	// Volumes are the volumes of every VNF. The Cloud attaches them.
	Volumes []vnflcm.Storage
}

var _ vnflcm.InfraDriver = Driver{}

// Plan implements vnflcm.InfraDriver.
func (d Driver) Plan(ctx context.Context, op *vnflcm.Operation) (vnflcm.Change, error) {
	switch {
	case op.Heal != nil:
		return vnflcm.Change{Replaced: op.HealTargets()}, nil
	case op.Terminate != nil:
		return vnflcm.Change{Removed: op.VNFCs}, nil
	}
	want, err := op.Instances()
	if err != nil {
		return vnflcm.Change{}, err
	}
	machines, err := d.Cloud.Machines(ctx, op.InstanceID)
	if err != nil {
		return vnflcm.Change{}, err
	}
	age := map[string]int{}
	for _, m := range machines {
		age[m.VNFC] = m.Serial
	}
	var change vnflcm.Change
	for _, vdu := range op.Flavour.VDUs {
		have := slices.DeleteFunc(slices.Clone(op.VNFCs), func(v vnflcm.VNFC) bool { return v.VDU != vdu.ID })
		slices.SortFunc(have, func(a, b vnflcm.VNFC) int { return cmp.Compare(age[b.ID], age[a.ID]) })
		for n := want[vdu.ID]; n < len(have); n++ {
			change.Removed = append(change.Removed, have[n-want[vdu.ID]])
		}
		for n := len(have); n < want[vdu.ID]; n++ {
			// The id is computed from the operation, so that a repeated call announces the same VNFC.
			id := uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "%s/%s/%d", op.ID, vdu.ID, n)).String()
			change.Added = append(change.Added, vnflcm.VNFC{ID: id, VDU: vdu.ID, Name: vdu.ID + "-" + id[:8]})
		}
	}
	return change, nil
}

// Instantiate implements vnflcm.InfraDriver.
func (d Driver) Instantiate(ctx context.Context, op *vnflcm.Operation) error {
	return d.create(ctx, op, op.Change.Added)
}

// Scale implements vnflcm.InfraDriver.
func (d Driver) Scale(ctx context.Context, op *vnflcm.Operation) error {
	return errors.Join(d.create(ctx, op, op.Change.Added), d.remove(ctx, op, op.Change.Removed))
}

func (d Driver) create(ctx context.Context, op *vnflcm.Operation, vnfcs []vnflcm.VNFC) error {
	return vnflcm.Each(ctx, 4, vnfcs, func(ctx context.Context, v vnflcm.VNFC) error {
		return vnflcm.Do(ctx, op, "create-vm", v.ID, func(ctx context.Context) error {
			if _, made, err := d.machine(ctx, op, v.ID); made || err != nil {
				return err
			}
			return d.Cloud.Create(ctx, Machine{Instance: op.InstanceID, VNFC: v.ID, VDU: v.VDU, Name: v.Name})
		})
	})
}

func (d Driver) remove(ctx context.Context, op *vnflcm.Operation, vnfcs []vnflcm.VNFC) error {
	return vnflcm.Each(ctx, 4, vnfcs, func(ctx context.Context, v vnflcm.VNFC) error {
		return vnflcm.Do(ctx, op, "delete-vm", v.ID, func(ctx context.Context) error {
			m, there, err := d.machine(ctx, op, v.ID)
			if !there || err != nil {
				return err
			}
			return d.Cloud.Delete(ctx, m.ID)
		})
	})
}

// Heal implements vnflcm.InfraDriver: each VNFC gets a new machine at its old address.
func (d Driver) Heal(ctx context.Context, op *vnflcm.Operation) error {
	return vnflcm.Each(ctx, 4, op.Change.Replaced, func(ctx context.Context, v vnflcm.VNFC) error {
		return vnflcm.Do(ctx, op, "replace-vm", v.ID, func(ctx context.Context) error {
			old, there, err := d.machine(ctx, op, v.ID)
			if err != nil || there && old.ID != v.ResourceID {
				return err // an earlier attempt has replaced the machine
			}
			if there {
				if err := d.Cloud.Delete(ctx, old.ID); err != nil {
					return err
				}
			}
			return d.Cloud.Create(ctx, Machine{Instance: op.InstanceID, VNFC: v.ID, VDU: v.VDU, Name: v.Name, Address: v.CPs[0].Fixed[0]})
		})
	})
}

// Terminate implements vnflcm.InfraDriver.
func (d Driver) Terminate(ctx context.Context, op *vnflcm.Operation) error {
	resources, err := d.Resources(ctx, op)
	if err != nil {
		return err
	}
	return d.remove(ctx, op, resources.VNFCs)
}

// Resources implements vnflcm.InfraDriver.
func (d Driver) Resources(ctx context.Context, op *vnflcm.Operation) (vnflcm.Resources, error) {
	machines, err := d.Cloud.Machines(ctx, op.InstanceID)
	var out vnflcm.Resources
	if len(machines) > 0 {
		out.Storages = d.Volumes
		for cp, address := range d.Shared {
			out.ConnectionPoints = append(out.ConnectionPoints, vnflcm.ConnectionPoint{CPD: cp, ResourceID: op.InstanceID + "-" + cp, Fixed: []netip.Addr{address}})
		}
	}
	for _, m := range machines {
		v := vnflcm.VNFC{ID: m.VNFC, ResourceID: m.ID, VDU: m.VDU, Name: m.Name}
		if aspects := op.Flavour.AspectsOf(m.VDU); len(aspects) > 0 {
			v.Aspect = aspects[0]
		}
		for _, cp := range op.Flavour.CPs {
			if cp.VDU == m.VDU {
				v.CPs = append(v.CPs, vnflcm.ConnectionPoint{CPD: cp.ID, ResourceID: m.ID + "-" + cp.ID, Fixed: []netip.Addr{m.Address}})
			}
		}
		out.VNFCs = append(out.VNFCs, v)
	}
	return out, err
}

func (d Driver) machine(ctx context.Context, op *vnflcm.Operation, vnfc string) (Machine, bool, error) {
	machines, err := d.Cloud.Machines(ctx, op.InstanceID)
	for _, m := range machines {
		if m.VNFC == vnfc {
			return m, true, nil
		}
	}
	return Machine{}, false, err
}
