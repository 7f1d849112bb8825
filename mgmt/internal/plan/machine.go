package plan

import (
	"slices"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Machine is a machine of the VNF, and how the operation changes it. The zero Machine stands for the VNF as a whole.
type Machine struct {
	ID     string // id of the VNFC
	Name   string // name to be read by people
	Change Change
}

// Change is what an operation does with a machine.
type Change int

// The changes of a machine.
const (
	Unchanged Change = iota
	IsAdded
	IsRemoved
	IsReplaced
	IsRestarted // the machine keeps its disk, and may restart
)

func having(change Change, groups ...[]Machine) []Machine {
	return slices.DeleteFunc(slices.Concat(groups...), func(m Machine) bool { return m.Change != change })
}

// Staying returns the machines that the operation does not change.
func Staying(groups ...[]Machine) []Machine { return having(Unchanged, groups...) }

// Added returns the machines that the operation adds.
func Added(groups ...[]Machine) []Machine { return having(IsAdded, groups...) }

// Removed returns the machines that the operation removes.
func Removed(groups ...[]Machine) []Machine { return having(IsRemoved, groups...) }

// Replaced returns the machines that the operation replaces by new ones.
func Replaced(groups ...[]Machine) []Machine { return having(IsReplaced, groups...) }

// Restarted returns the machines that keep their disks and may restart.
func Restarted(groups ...[]Machine) []Machine { return having(IsRestarted, groups...) }

// MachinesAt returns the existing machines that have a connection point, and those that the operation adds. Machines that do
// not exist yet are recognised by their VDU.
func MachinesAt(op *vnflcm.Operation, cp string) (out []Machine) {
	for _, v := range involved(op) {
		if IsAt(op, v, cp) {
			out = append(out, machineOf(op, v))
		}
	}
	return out
}

// IsAt reports whether a VNFC has a connection point, or will have it.
func IsAt(op *vnflcm.Operation, v vnflcm.VNFC, cp string) bool {
	_, has := v.CP(cp)
	return has || len(v.CPs) == 0 && v.VDU == op.VDUOf(cp)
}

// StopOrder returns the VNFCs in the groups in which a cluster is stopped: workers, then control-plane nodes, by their connection points.
func StopOrder(op *vnflcm.Operation, workerCP, controlPlaneCP string) [][]vnflcm.VNFC {
	var workers, controlPlane []vnflcm.VNFC
	for _, v := range op.VNFCs {
		if _, isWorker := v.CP(workerCP); isWorker {
			workers = append(workers, v)
		} else if _, isControlPlane := v.CP(controlPlaneCP); isControlPlane {
			controlPlane = append(controlPlane, v)
		}
	}
	return [][]vnflcm.VNFC{workers, controlPlane}
}

// AllRemoved returns all machines that the operation removes, also those without a role in the cluster.
func AllRemoved(op *vnflcm.Operation) (out []Machine) {
	for _, v := range op.Change.Removed {
		out = append(out, machineOf(op, v))
	}
	return out
}

// involved returns the existing machines and those that the operation adds.
func involved(op *vnflcm.Operation) []vnflcm.VNFC {
	out := slices.Clone(op.VNFCs)
	for _, v := range op.Change.Added {
		if v.ID == "" || !contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

func contains(list []vnflcm.VNFC, v vnflcm.VNFC) bool {
	return slices.ContainsFunc(list, func(other vnflcm.VNFC) bool { return other.ID == v.ID })
}

func machineOf(op *vnflcm.Operation, v vnflcm.VNFC) Machine {
	return Machine{ID: v.ID, Name: v.Label(), Change: changeOf(op, v)}
}

// changeOf returns what an operation does with a VNFC. A change of the package does something in its batches only.
func changeOf(op *vnflcm.Operation, v vnflcm.VNFC) Change {
	switch {
	case op.ChangeVnfPkg != nil && op.Batch == nil:
	case contains(op.Change.Added, v):
		return IsAdded
	case contains(op.Change.Removed, v):
		return IsRemoved
	case op.Batch != nil:
		return changeBy(op.Batch, v)
	case contains(op.Change.Replaced, v):
		return IsReplaced
	}
	return Unchanged
}

// changeBy returns what the batch of a change of the package does with an existing VNFC.
func changeBy(b *vnflcm.PackageBatch, v vnflcm.VNFC) Change {
	for _, u := range b.Units {
		if u.ID != v.ID || u.Change != vnflcm.VnfcModified {
			continue
		}
		switch u.Method {
		case vnflcm.MethodRebuild, vnflcm.MethodReplace:
			return IsReplaced
		case vnflcm.MethodInPlace:
			return IsRestarted
		case vnflcm.MethodNone:
		}
	}
	return Unchanged
}
