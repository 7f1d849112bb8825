package vnflcm

import (
	"context"
	"fmt"

	"github.com/vnfkit/vnfkit/tosca"
)

// openPackages are the open packages of an instance: its own, and the second one while its package is changed or while it is mixed.
type openPackages struct {
	own, other *tosca.Package
	target     *packageTarget // of other; nil without it
}

func (p openPackages) close() {
	closePackage(p.own)
	if p.other != nil {
		closePackage(p.other)
	}
}

// openPackages opens the packages of an instance that an operation needs. rec is nil outside of operations. The second package of a mixed
// VNF may be missing when the VNF is terminated, or only looked at.
func (m *Manager) openPackages(ctx context.Context, inst *instanceRecord, rec *operationRecord) (p openPackages, err error) {
	if p.own, err = m.openPackage(ctx, inst); err != nil {
		return p, err
	}
	if p.target = inst.second(rec); p.target == nil {
		return p, nil
	}
	projected, err := p.target.apply(inst)
	if err == nil {
		p.other, err = m.openPackage(ctx, projected)
	}
	if err != nil && (rec == nil || rec.Occ.Operation == OpTerminate) {
		m.cfg.Logger.WarnContext(ctx, "the second package of a mixed VNF cannot be opened", "instance", inst.Instance.ID, "error", err)
		p.target, err = nil, nil
	}
	if err != nil {
		p.close()
	}
	return p, err
}

// second returns the other package that VNFCs of the instance run by, or will run by; nil if all have the package of the instance.
func (i *instanceRecord) second(rec *operationRecord) *packageTarget {
	switch {
	case rec != nil && rec.Package != nil && rec.Package.To.VnfdID != i.Instance.VnfdID:
		return &rec.Package.To
	case i.Mixed != nil:
		return &i.Mixed.To
	}
	return nil
}

// side is one of the packages of an instance, with the instance as that package needs it.
type side struct {
	pkg  *tosca.Package
	inst *instanceRecord
}

// version returns the side for drivers.
func (s side) version() (*PackageVersion, error) {
	flavour, err := s.pkg.VNFD().Flavour(s.inst.Initial.FlavourID)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidRequest, err)
	}
	return &PackageVersion{Package: s.pkg, Flavour: flavour, Initial: s.inst.Initial}, nil
}

// sides returns the package that an operation works with, and the second package of the instance; without a second package former.pkg is
// nil. A change of the package works with the package that it leads to; a rollback works with the package that it returns to.
func (p openPackages) sides(inst *instanceRecord, rec *operationRecord) (acting, former side, err error) {
	acting = side{p.own, inst}
	if p.other != nil {
		former.pkg = p.other
		if former.inst, err = p.target.apply(inst); err != nil {
			return acting, former, err
		}
	}
	if rec.Package == nil {
		return acting, former, nil
	}
	if to := &rec.Package.To; to.VnfdID == inst.Instance.VnfdID { // back to the own package of a mixed VNF
		acting.inst, err = to.apply(inst)
	} else {
		acting, former = former, acting
	}
	if rec.Occ.OperationState == RollingBack {
		acting, former = former, acting
	}
	return acting, former, err
}

// findFormer sets the second package of an instance for drivers.
func (op *Operation) findFormer(former side, rec *operationRecord) (err error) {
	op.ownVNFD = op.instance.Instance.VnfdID
	if former.pkg == nil {
		return nil
	}
	if op.other, err = former.version(); err != nil || rec.Package == nil {
		return err
	}
	op.Former, op.PackagePlan, op.components = op.other, rec.Package.Plan, rec.Package.To.Components
	if op.RollingBack {
		op.PackagePlan.Units, op.components = inverseUnits(op.PackagePlan.Units), op.components.inverse()
	}
	return nil
}
