package vnflcm

import (
	"context"

	"github.com/vnfkit/vnfkit/tosca"
)

// Examine calls look with a VNF instance as drivers see it, outside of any operation: for commands of the operator, such as a shell on a
// machine. op has no request and no steps, and its State can only be read. drivers are the management drivers that the VNFD names. The error
// of look is returned with secrets masked. ErrState: the VNF is not instantiated. ErrNotFound: the instance does not exist.
func (m *Manager) Examine(ctx context.Context, instanceID string, look func(ctx context.Context, op *Operation, drivers []MgmtDriver) error) error {
	inst, _, err := m.instance(ctx, instanceID)
	if err == nil {
		err = inst.instantiated()
	}
	if err != nil {
		return err
	}
	pkg, err := m.openPackage(ctx, inst)
	if err != nil {
		return err
	}
	defer closePackage(pkg)
	s, err := m.outside(ctx, pkg, inst, "examine")
	if err != nil {
		return err
	}
	return s.masked(s.call(ctx, func() error { return look(ctx, s.op, s.drivers()) }))
}

// outside returns the session of an instance outside of its operations. The caller closes the package.
func (m *Manager) outside(ctx context.Context, pkg *tosca.Package, inst *instanceRecord, phase string) (*session, error) {
	rec := &operationRecord{Occ: VnfLcmOpOcc{VnfInstanceID: inst.Instance.ID}, Levels: inst.Levels, Before: inst.Levels}
	return m.session(ctx, pkg, inst, rec, phase)
}
