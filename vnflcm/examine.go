package vnflcm

import "context"

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
	opened, err := m.openPackages(ctx, inst, nil)
	if err != nil {
		return err
	}
	defer opened.close()
	s, err := m.outside(ctx, opened, inst, "examine")
	if err != nil {
		return err
	}
	return s.masked(s.call(ctx, func() error { return look(ctx, s.op, s.drivers()) }))
}

// outside returns the session of an instance outside of its operations. The caller closes the packages.
func (m *Manager) outside(ctx context.Context, opened openPackages, inst *instanceRecord, phase string) (*session, error) {
	rec := &operationRecord{Occ: VnfLcmOpOcc{VnfInstanceID: inst.Instance.ID}, Levels: inst.Levels, Before: inst.Levels}
	return m.session(ctx, opened, inst, rec, phase)
}
