package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// PlanPackage implements vnflcm.PackageChanger. A machine whose image, boot data, volumes or connection points differ is replaced, under its
// name, its addresses and its volumes, or rebuilt if only the image differs and Config.Rebuild is set; one that differs otherwise changes in place. Volumes and connection points that the new package
// lacks, and volumes with another image, are losses.
func (w *World) PlanPackage(_ context.Context, op *vnflcm.Operation) (plan vnflcm.PackagePlan, err error) {
	want, err := op.Instances()
	if err != nil {
		return plan, err
	}
	have := map[string][]vnflcm.VNFC{}
	for _, v := range op.VNFCs {
		vdu := successor(op, v)
		have[vdu] = append(have[vdu], v)
	}
	for _, vdu := range op.Flavour.VDUs {
		now := w.newest(slices.Clone(have[vdu.ID]))
		surplus := max(0, len(now)-want[vdu.ID])
		for _, v := range now[:surplus] {
			plan.Units = append(plan.Units, removal(v))
		}
		kept := now[surplus:]
		slices.Reverse(kept)
		for _, v := range kept {
			unit, losses := w.compare(op, v)
			plan.Losses = append(plan.Losses, losses...)
			if len(unit.Details) > 0 {
				plan.Units = append(plan.Units, unit)
			}
		}
		for _, v := range announce(op, vdu.ID, now, want[vdu.ID]-len(now)) {
			plan.Units = append(plan.Units, vnflcm.PackageUnit{ID: v.ID, Kind: vnflcm.UnitVNFC, Name: v.Name, VDUs: []string{vdu.ID}, Change: vnflcm.VnfcAdded})
		}
	}
	for _, v := range op.VNFCs {
		if op.Flavour.VDU(successor(op, v)) == nil {
			plan.Units = append(plan.Units, removal(v))
		}
	}
	return plan, nil
}

// successor returns the VDU of a VNFC in the package that the VNF changes to.
func successor(op *vnflcm.Operation, v vnflcm.VNFC) string {
	if op.VersionOf(v).Package == op.Package {
		return v.VDU
	}
	return op.Successor(tosca.MappedVDU, v.VDU)
}

func removal(v vnflcm.VNFC) vnflcm.PackageUnit {
	return vnflcm.PackageUnit{ID: v.ID, Kind: vnflcm.UnitVNFC, Name: v.Name, VDUs: []string{v.VDU}, Change: vnflcm.VnfcRemoved}
}

// compare returns what changes of a VNFC, and what it loses.
func (w *World) compare(op *vnflcm.Operation, v vnflcm.VNFC) (vnflcm.PackageUnit, []vnflcm.DataLoss) {
	from := op.VersionOf(v)
	c := comparison{op: op, from: from.Flavour, vnfc: v, was: from.Flavour.VDU(v.VDU), now: op.Flavour.VDU(successor(op, v))}
	c.unit = vnflcm.PackageUnit{ID: v.ID, Kind: vnflcm.UnitVNFC, Name: v.Name, VDUs: []string{c.now.ID}, Change: vnflcm.VnfcModified}
	if from.Package == op.Package || c.was == nil {
		return c.unit, nil
	}
	c.text("vdu", vnflcm.MethodInPlace, c.was.ID, c.now.ID)
	byImage := vnflcm.MethodReplace
	if w.config.Rebuild {
		byImage = vnflcm.MethodRebuild
	}
	c.text("image", byImage, imageOf(c.was.Image), imageOf(c.now.Image))
	c.text("flavour", vnflcm.MethodInPlace, computeOf(c.was.Compute), computeOf(c.now.Compute))
	if !reflect.DeepEqual(c.was.BootData, c.now.BootData) {
		c.note(vnflcm.MethodReplace, vnflcm.UnitDetail{Name: "user_data", Change: vnflcm.VnfcModified})
	}
	c.volumes()
	c.connectionPoints()
	return c.unit, c.losses
}

// comparison finds the differences of one VNFC between two packages.
type comparison struct {
	op       *vnflcm.Operation
	from     *tosca.Flavour
	vnfc     vnflcm.VNFC
	was, now *tosca.VDU
	unit     vnflcm.PackageUnit
	losses   []vnflcm.DataLoss
}

// note adds a difference, which needs at least this method.
func (c *comparison) note(method vnflcm.UnitMethod, d vnflcm.UnitDetail) {
	c.unit.Details = append(c.unit.Details, d)
	rank := []vnflcm.UnitMethod{vnflcm.MethodNone, vnflcm.MethodInPlace, vnflcm.MethodRebuild, vnflcm.MethodReplace}
	c.unit.Method = rank[max(slices.Index(rank, method), slices.Index(rank, c.unit.Method))]
}

func (c *comparison) text(name string, method vnflcm.UnitMethod, from, to string) {
	if from != to {
		c.note(method, vnflcm.UnitDetail{Name: name, Change: vnflcm.VnfcModified, From: from, To: to})
	}
}

func (c *comparison) lose(resource string) {
	c.losses = append(c.losses, vnflcm.DataLoss{Resource: resource + " of " + c.vnfc.Label(), Consent: vnflcm.AllowDataLoss, Name: c.vnfc.VDU})
}

func (c *comparison) volumes() {
	was, now := blockStorages(c.from, c.was), blockStorages(c.op.Flavour, c.now)
	kept := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		id := c.op.Successor(tosca.MappedStorage, name)
		kept[id] = true
		after, stays := now[id]
		switch {
		case !stays:
			c.note(vnflcm.MethodReplace, vnflcm.UnitDetail{Name: "volume " + name, Change: vnflcm.VnfcRemoved})
			c.lose("the volume " + name)
		case imageOf(was[name].Image) != imageOf(after.Image) || id != name:
			c.note(vnflcm.MethodReplace, vnflcm.UnitDetail{Name: "volume " + name, Change: vnflcm.VnfcModified, From: imageOf(was[name].Image), To: imageOf(after.Image)})
			c.lose("the volume " + name)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(now)) {
		if !kept[id] {
			c.note(vnflcm.MethodReplace, vnflcm.UnitDetail{Name: "volume " + id, Change: vnflcm.VnfcAdded})
		}
	}
}

func (c *comparison) connectionPoints() {
	kept := map[string]bool{}
	for _, cp := range cpsOf(c.from, c.was.ID) {
		id := c.op.Successor(tosca.MappedCP, cp.ID)
		kept[id] = true
		switch {
		case !slices.ContainsFunc(cpsOf(c.op.Flavour, c.now.ID), func(o tosca.ConnectionPoint) bool { return o.ID == id }):
			c.note(vnflcm.MethodReplace, vnflcm.UnitDetail{Name: "port " + cp.ID, Change: vnflcm.VnfcRemoved})
			c.lose("the port " + cp.ID + " with its address")
		case id != cp.ID:
			c.note(vnflcm.MethodReplace, vnflcm.UnitDetail{Name: "port", Change: vnflcm.VnfcModified, From: cp.ID, To: id})
		}
	}
	for _, cp := range cpsOf(c.op.Flavour, c.now.ID) {
		if !kept[cp.ID] {
			c.note(vnflcm.MethodReplace, vnflcm.UnitDetail{Name: "port " + cp.ID, Change: vnflcm.VnfcAdded})
		}
	}
}

// blockStorages returns the volumes of a VDU by their ids.
func blockStorages(f *tosca.Flavour, vdu *tosca.VDU) map[string]tosca.Storage {
	out := map[string]tosca.Storage{}
	for _, s := range f.Storages {
		if s.Kind == tosca.BlockStorage && slices.Contains(vdu.Storages, s.ID) {
			out[s.ID] = s
		}
	}
	return out
}

// imageOf names an image by all that identifies its content.
func imageOf(i *tosca.SoftwareImage) string {
	if i == nil {
		return ""
	}
	text := i.Name
	if i.Version != "" {
		text += " " + i.Version
	}
	if i.Checksum != "" {
		text += " " + i.Checksum
	}
	return text
}

func computeOf(c tosca.Compute) string {
	return cmp.Or(c.FlavourName, fmt.Sprintf("%d CPUs, %d bytes", c.VirtualCPUs, c.Memory))
}

// ChangePackage implements vnflcm.PackageChanger. Nothing belongs to no unit.
func (w *World) ChangePackage(ctx context.Context, op *vnflcm.Operation) error {
	if op.Batch == nil {
		return nil
	}
	return errors.Join(w.create(ctx, op, op.Change.Added), w.remove(ctx, op, removedBy(op)), w.changeMachines(ctx, op))
}

// removedBy returns the VNFCs that the units of a batch remove.
func removedBy(op *vnflcm.Operation) (out []vnflcm.VNFC) {
	for _, u := range op.Batch.Units {
		if u.Change == vnflcm.VnfcRemoved {
			op.Declare(u.ID)
			out = append(out, vnflcm.VNFC{ID: u.ID})
		}
	}
	return out
}

// changeMachines changes the machines of the units that are MODIFIED.
func (w *World) changeMachines(ctx context.Context, op *vnflcm.Operation) error {
	var units []vnflcm.PackageUnit
	for _, u := range op.Batch.Units {
		if u.Change == vnflcm.VnfcModified {
			units = append(units, u)
		}
	}
	return vnflcm.Each(ctx, 0, units, func(ctx context.Context, u vnflcm.PackageUnit) error {
		return vnflcm.Do(ctx, op, "change-vm", u.ID, func(context.Context) error {
			m := w.of(op.InstanceID, u.ID)
			if m != nil && isChanged(op, m) {
				return nil
			}
			if u.Method == vnflcm.MethodInPlace && m != nil {
				w.mu.Lock()
				m.VDU, m.VNFD = vduOf(op, u), op.Package.VNFD().ID
				w.mu.Unlock()
				return w.save()
			}
			return w.replaceForPackage(op, u, m)
		})
	})
}

// vduOf returns the VDU of a unit in op.Package: while rolling back, the unit has the one of the other package.
func vduOf(op *vnflcm.Operation, u vnflcm.PackageUnit) string {
	if op.RollingBack {
		return op.Successor(tosca.MappedVDU, u.VDUs[0])
	}
	return u.VDUs[0]
}

// replaceForPackage makes the machine of a unit again, as op.Package describes it, with the addresses that both packages have.
func (w *World) replaceForPackage(op *vnflcm.Operation, u vnflcm.PackageUnit, old *machine) error {
	v := vnflcm.VNFC{ID: u.ID, VDU: vduOf(op, u), Name: u.Name}
	designed, err := w.design(op, []vnflcm.VNFC{v})
	if err != nil {
		return err
	}
	m := designed[0]
	defer w.release(designed)
	w.takeAddresses(op, m)
	if u.Method == vnflcm.MethodRebuild {
		m.ID = recorded(op, u.ID).ResourceID
	}
	if old != nil {
		w.dropVolumes(old, m)
		if err := w.drop(old); err != nil {
			return err
		}
	}
	return w.add(m)
}

// recorded returns the VNFC with this id, or an empty one.
func recorded(op *vnflcm.Operation, id string) (out vnflcm.VNFC) {
	for _, v := range op.VNFCs {
		if v.ID == id {
			out = v
		}
	}
	return out
}

// takeAddresses gives a machine the recorded addresses of its VNFC.
func (w *World) takeAddresses(op *vnflcm.Operation, m *machine) {
	was := recorded(op, m.VNFC)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, list := range [][]port{m.CPs, m.Floating} {
		for n := range list {
			for _, cp := range was.CPs {
				if list[n].CPD == cp.CPD || list[n].CPD == op.Successor(tosca.MappedCP, cp.CPD) {
					delete(w.reserved, list[n].Address)
					if list[n].Address = cp.Floating; list[n].Of == "" {
						list[n].Address = cp.Fixed[0]
					}
					w.reserved[list[n].Address] = true // no other machine takes the address meanwhile
				}
			}
		}
	}
}

// dropVolumes removes the volumes that only the old machine has.
func (w *World) dropVolumes(old, m *machine) {
	for _, v := range old.Volumes {
		if !slices.ContainsFunc(m.Volumes, func(o volume) bool { return o.ID == v.ID }) {
			w.kube.RemoveVolume(v.ID)
		}
	}
}

// UnitChanged implements vnflcm.PackageChanger.
func (w *World) UnitChanged(_ context.Context, op *vnflcm.Operation, u vnflcm.PackageUnit) (bool, error) {
	m := w.of(op.InstanceID, u.ID)
	if u.Change == vnflcm.VnfcRemoved {
		return m == nil, nil
	}
	return m != nil && isChanged(op, m), nil
}

// isChanged reports whether a machine runs by op.Package. Rolling back, that is each machine that the operation has not changed, whatever
// package has made it.
func isChanged(op *vnflcm.Operation, m *machine) bool {
	if op.RollingBack {
		return m.VNFD != op.Former.Package.VNFD().ID
	}
	return m.VNFD == op.Package.VNFD().ID
}

// CheckHealth implements vnflcm.HealthChecker: machines must be there, and neither stopped nor starting.
func (w *World) CheckHealth(_ context.Context, op *vnflcm.Operation) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var faults []error
	for _, u := range op.Batch.Units {
		i := slices.IndexFunc(w.sorted(), func(m *machine) bool { return m.Instance == op.InstanceID && m.VNFC == u.ID })
		switch {
		case u.Change == vnflcm.VnfcRemoved:
		case i < 0:
			faults = append(faults, fmt.Errorf("sandbox: the machine of %s is missing", u.Name))
		case w.sorted()[i].Stopped:
			faults = append(faults, fmt.Errorf("sandbox: the machine %s is off", u.Name))
		case w.sorted()[i].booting:
			faults = append(faults, fmt.Errorf("sandbox: the machine %s is starting", u.Name))
		}
	}
	return errors.Join(faults...)
}

// aspectOf returns the scaling aspect of a VDU in the package by which a machine runs.
func aspectOf(op *vnflcm.Operation, m *machine) string {
	flavour := op.Flavour
	if f := op.Former; f != nil && m.VNFD != op.Package.VNFD().ID {
		flavour = f.Flavour
	}
	return firstOf(flavour.AspectsOf(m.VDU))
}
