package vnflcm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// session is one operation prepared for its drivers: the package is open, the VIM resolved.
type session struct {
	m     *Manager
	op    *Operation
	infra InfraDriver
	form  vimForm // of the connection that op.VIM comes from
}

// session builds the Operation of rec from the records alone, so that any process can run any phase. The
// caller closes the packages.
func (m *Manager) session(ctx context.Context, opened openPackages, inst *instanceRecord, rec *operationRecord, phase string) (*session, error) {
	acting, former, err := opened.sides(inst, rec)
	if err != nil {
		return nil, err
	}
	op := &Operation{
		OperationData: OperationData{
			ID: rec.Occ.ID, InstanceID: inst.Instance.ID, Kind: rec.Occ.Operation, RollingBack: rec.Occ.OperationState == RollingBack,
			Initial: acting.inst.Initial, Levels: rec.Levels, Before: rec.Before, Grant: rec.Grant, Resources: inst.Resources, Change: rec.Change,
		},
		planned: rec.Planned, instance: inst,
		phase: phase, state: rec.Occ.OperationState, occurrence: rec.Occ.Operation, records: m.records, vims: m.vims,
		intercept: m.cfg.Intercept, observe: m.cfg.Observe, diagnose: m.Diagnose, snapshots: keptSnapshots{m.cfg.Snapshots, m.cfg.SnapshotPolicy}, sender: rec.Sender,
	}
	if err := op.decodeRequest(rec); err != nil {
		return nil, err
	}
	s := &session{m: m, op: op}
	if err := errors.Join(s.findDriver(ctx, acting.inst), s.findFlavour(acting.pkg), op.findFormer(former, rec)); err != nil {
		return nil, err
	}
	err = recovered(func() error {
		op.connect(inst, rec)
		s.hide(s.secrets())
		op.declaredParams = paramsOf(s.allDrivers()...)
		op.orderers = s.stopOrderers()
		return nil
	})
	return s, logPanic(ctx, m.cfg.Logger, err)
}

// hide masks these values in what drivers log and in errors.
func (s *session) hide(secrets []string) {
	s.op.mask = newMasker(secrets)
	s.op.Log = maskedLogger(s.m.cfg.Logger.With("operation", s.op.ID, "instance", s.op.InstanceID), s.op.mask)
}

// findDriver resolves the VIM and takes the driver of its type.
func (s *session) findDriver(ctx context.Context, inst *instanceRecord) (err error) {
	types := sortedKeys(s.m.cfg.Infra)
	named := inst.Initial.VimConnectionInfo
	if len(named) == 0 && inst.DefaultVIM != "" {
		named = VimConnections{{VimID: inst.DefaultVIM}}
	}
	s.op.VIM, s.form, err = s.connection(ctx, inst, named, types)
	if err != nil || inst.VIMForm != "" && s.form != inst.VIMForm { // the entry may have been removed
		err = s.findGone(ctx, inst, err)
	}
	if err != nil || s.op.VIMGone {
		s.op.infra = s.infra
		return err
	}
	if s.infra = s.m.cfg.infra(s.op.VIM.VimType); s.infra == nil {
		return &ParamError{Path: "vimConnectionInfo[0].vimType", Value: s.op.VIM.VimType,
			Reason: fmt.Sprintf("there is no driver for it, only for %s", strings.Join(types, ", "))}
	}
	s.op.infra = s.infra
	return nil
}

// connection resolves the VIM of the instance. A connection that was accepted before forms were stored may mix attributes of the request
// with registered secrets: operations that keep or end the VNF use the mixture, other operations refuse it.
func (s *session) connection(ctx context.Context, inst *instanceRecord, named VimConnections, types []string) (VimConnectionInfo, vimForm, error) {
	if inst.VIMForm == vimComplete && len(named) > 0 {
		vim := named[0]
		vim.FromOperator, vim.Tenant, vim.Share = false, "", nil
		return vim, vimComplete, nil
	}
	vim, form, err := resolveVIM(ctx, s.m.lookup(inst), named, types)
	if inst.VIMForm != "" || inst.Instance.InstantiationState != Instantiated || len(named) == 0 || form == "" {
		return vim, form, err
	}
	known, errKnown := s.m.lookup(inst).get(ctx, named[0].VimID)
	if errKnown != nil { // not registered: nothing to mix
		return vim, form, errors.Join(err, ignoreNotFound(errKnown))
	}
	if vim.VimType != "" {
		known.VimType = vim.VimType
	}
	mixed, errMixed := overlayVIM(known, named[0])
	switch {
	case errMixed != nil, s.op.keepsOrEnds():
		return mixed, form, errMixed
	case err == nil && !vim.equal(mixed):
		err = &ParamError{Path: "vimConnectionInfo[0]", Reason: "mixes attributes of the request with those of the registered VIM " + named[0].VimID}
	}
	if err != nil {
		err = fmt.Errorf("%w. PATCH the VNF instance: in vimConnectionInfo with the id %s, null removes an attribute", err, named[0].connection())
	}
	return vim, form, err
}

// keepsOrEnds reports whether the operation brings no new resources but those that replace failed ones. So does the renewal of a VIM, which
// has no kind.
func (op *Operation) keepsOrEnds() bool {
	switch op.Kind {
	case OpHeal, OpTerminate, OpModifyInfo, OpOperate, OpCreateSnapshot, OpRevertToSnapshot, "":
		return true
	case OpScale:
		return op.Scale != nil && op.Scale.Type == ScaleIn
	}
	return op.RollingBack
}

// call calls a method of a driver. Its panic is logged, and is the error ErrProgramming.
func (s *session) call(ctx context.Context, method func() error) error {
	return logPanic(ctx, s.op.Log, recovered(method))
}

// resources asks the infrastructure driver which resources there are.
func (s *session) resources(ctx context.Context) (now Resources, err error) {
	err = s.call(ctx, func() (err error) { now, err = s.infra.Resources(ctx, s.op); return err })
	s.op.instance.noteVersions(now.VNFCs)
	return now, err
}

// planInfra asks the infrastructure driver what op will change, and checks the answer.
func (s *session) planInfra(ctx context.Context, op *Operation) (planned Change, err error) {
	err = s.call(ctx, func() (err error) { planned, err = s.infra.Plan(ctx, op); return err })
	return planned, errors.Join(err, op.checkPlan(planned))
}

// pinVIM keeps an instance on the default VIM of the moment: another may become the default. Connections of a request
// get the type that SOL003 wants every one to have.
func (s *session) pinVIM(ctx context.Context, inst *instanceRecord) error {
	vim := s.op.VIM
	lookup := s.m.lookup(inst)
	inst.VIMForm, inst.VIMOwner = s.form, ownerOf(vim, s.form)
	if len(inst.Initial.VimConnectionInfo) == 0 {
		inst.DefaultVIM = vim.VimID
		inst.Instance.VimConnectionInfo = VimConnections{{ID: vim.ID, VimID: vim.VimID, VimType: vim.VimType}}
		return nil
	}
	var faults []error
	var err error
	list := slices.Clone(inst.Initial.VimConnectionInfo)
	list[0].VimType = vim.VimType
	for i, other := range list[1:] {
		list[i+1].VimType, err = checkFurther(ctx, lookup, fmt.Sprintf("vimConnectionInfo[%d]", i+1), other)
		faults = append(faults, err)
	}
	inst.Instance.VimConnectionInfo = list
	return errors.Join(faults...)
}

func (s *session) findFlavour(pkg *tosca.Package) (err error) {
	s.op.Package = pkg
	s.op.Flavour, err = pkg.VNFD().Flavour(s.op.Initial.FlavourID)
	return paramErrors(err)
}

// decodeRequest puts the request of the operation in its place; rolling back, the inverse of it.
func (op *Operation) decodeRequest(rec *operationRecord) error {
	raw := rec.Occ.OperationParams.Reveal()
	var err error
	switch op.Kind {
	case OpInstantiate:
		err = json.Unmarshal(raw, &op.Instantiate)
	case OpScale:
		err = json.Unmarshal(raw, &op.Scale)
	case OpScaleToLevel:
		err = json.Unmarshal(raw, &op.ScaleToLevel)
	case OpHeal:
		err = json.Unmarshal(raw, &op.Heal)
	case OpTerminate:
		err = json.Unmarshal(raw, &op.Terminate)
	case OpModifyInfo:
		if request, is := rec.maintenance(); is {
			op.Maintain = &request
		} else {
			err = json.Unmarshal(raw, &op.Modify)
		}
	case OpChangeExtConn:
		err = json.Unmarshal(raw, &op.ChangeExtConn)
	case OpOperate:
		err = json.Unmarshal(raw, &op.Operate)
	case OpChangeVnfPkg:
		err = json.Unmarshal(raw, &op.ChangeVnfPkg)
	case OpCreateSnapshot:
		err = json.Unmarshal(raw, &op.CreateSnapshot)
	case OpRevertToSnapshot:
		err = json.Unmarshal(raw, &op.RevertToSnapshot)
	}
	if err != nil {
		return errors.Join(ErrUnreadable, err)
	}
	op.Params, err = op.driverParams()
	if op.RollingBack {
		op.invert(rec)
	}
	return err
}

// driverParams returns the additionalParams of the request merged over those of the instantiation, without those that the Manager reads.
// Those of the instantiation itself are not merged: null can be a value, such as one for a chart.
func (op *Operation) driverParams() (Params, error) {
	given := op.RequestParams()
	if op.Instantiate != nil {
		return given, nil
	}
	if op.ChangeVnfPkg != nil { // Initial has them already, except rolling back
		return op.Initial.AdditionalParams, nil
	}
	if op.endsUsers() {
		own, err := NewParams(map[string]any{withCNFs: nil})
		if err != nil {
			return Params{}, err
		}
		if given, err = given.Merge(own); err != nil {
			return Params{}, err
		}
	}
	return op.Initial.AdditionalParams.Merge(given)
}

func (op *Operation) invert(rec *operationRecord) {
	op.Change = rec.Undo
	switch op.Kind {
	case OpInstantiate:
		op.Kind, op.Instantiate = OpTerminate, nil
		op.Terminate = &TerminateVnfRequest{TerminationType: TerminateForceful}
	case OpScale:
		inverse := *op.Scale
		inverse.Type = ScaleIn
		op.Scale, op.Levels, op.Before = &inverse, rec.Before, rec.Levels
	case OpScaleToLevel:
		inverse := ScaleVnfToLevelRequest{AdditionalParams: op.ScaleToLevel.AdditionalParams}
		for _, aspect := range sortedKeys(rec.Before) {
			inverse.ScaleInfo = append(inverse.ScaleInfo, ScaleInfo{AspectID: aspect, ScaleLevel: rec.Before[aspect]})
		}
		op.ScaleToLevel, op.Levels, op.Before = &inverse, rec.Before, rec.Levels
	case OpChangeVnfPkg:
		op.Levels, op.Before = rec.Before, rec.Levels
	}
}

// canRollBack reports whether Rollback supports the operation (SOL003 v2.6.1 5.6.2.2).
func (rec *operationRecord) canRollBack() bool {
	switch rec.Occ.Operation {
	case OpInstantiate, OpChangeExtConn, OpChangeVnfPkg:
		return true
	case OpScale:
		var request ScaleVnfRequest
		return json.Unmarshal(rec.Occ.OperationParams.Reveal(), &request) == nil && request.Type == ScaleOut
	case OpScaleToLevel:
		return !slices.ContainsFunc(rec.Scalings[:rec.begunScalings()], func(s scaling) bool { return s.Request.Type != ScaleOut })
	}
	return false
}

// openPackage opens the package of an instance. If the instance uses the package for the first time, openPackage
// sets inst.PackageDigest, else it compares the digest.
func (m *Manager) openPackage(ctx context.Context, inst *instanceRecord) (*tosca.Package, error) {
	id, pinned := inst.Instance.VnfdID, inst.PackageDigest
	pkg, err := m.packageOf(ctx, inst)
	if err != nil {
		return nil, packageError(id, err)
	}
	digest, err := pkg.Digest(ctx)
	switch vnfd := pkg.VNFD(); {
	case err != nil:
	case pinned != "" && digest != pinned:
		err = &tosca.DigestError{Digest: digest, Want: pinned}
	case vnfd == nil:
		err = fmt.Errorf("%w: the package has another descriptor", ErrNotFound)
	case pinned == "" && vnfd.ID != id:
		err = fmt.Errorf("%w: the package has VNFD %s", ErrNotFound, vnfd.ID)
	}
	if err != nil {
		closePackage(pkg)
		return nil, packageError(id, err)
	}
	inst.PackageDigest = digest
	return pkg, nil
}

// packageError names the package in err, which is ErrPackageChanged if the content has changed.
func packageError(vnfdID string, err error) error {
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w: %s (%v)", ErrNoPackage, vnfdID, err) //nolint:errorlint // it is not the instance that is missing
	}
	_, isOther := errors.AsType[*tosca.DigestError](err)
	if isOther || errors.Is(err, problem.Problem{Code: problem.Changed}) {
		err = fmt.Errorf("%w: %w", ErrPackageChanged, err)
	}
	return fmt.Errorf("package of VNFD %s: %w", vnfdID, err)
}

// checkHooks refuses a VNFD that names a driver for a hook, and the driver or its hook does not exist. A hook that no operation has is
// warned of.
func (s *session) checkHooks() error {
	var faults []error
	for _, name := range sortedKeys(s.op.Flavour.Hooks) {
		if !slices.Contains(hooks, Hook(name)) {
			s.op.Log.Warn("the VNFD names a driver for a hook that is never run", "hook", name)
			continue
		}
		driver := s.op.Flavour.Hooks[name].Driver
		d := s.m.cfg.Mgmt[driver]
		isUnknown := d == nil || d.Hooks()[Hook(name)] == nil
		switch {
		case isUnknown && slices.Contains(packageHooks, Hook(name)) && s.op.ChangeVnfPkg == nil:
			s.op.Log.Warn("the VNFD names a driver for a hook that it does not have: the package cannot be changed to it", "hook", name, "driver", driver)
		case d == nil:
			faults = append(faults, &ParamError{Path: "VNFD interfaces.Vnflcm." + name, Value: driver, Reason: "no driver of that name is registered; mgmt/script runs scripts of the package"})
		case isUnknown:
			faults = append(faults, &ParamError{Path: "VNFD interfaces.Vnflcm." + name, Value: driver, Reason: "the driver has no such hook"})
		}
	}
	return errors.Join(faults...)
}

// driverNames are the names of the management drivers that the VNFD names.
func (s *session) driverNames() []string { return hookDrivers(s.op.Flavour) }

// hookDrivers returns the names of the management drivers of a flavour.
func hookDrivers(flavour *tosca.Flavour) []string {
	var names []string
	for _, hook := range flavour.Hooks {
		names = append(names, hook.Driver)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// drivers are the management drivers that the VNFD names.
func (s *session) drivers() []MgmtDriver {
	var out []MgmtDriver
	for _, name := range s.driverNames() {
		if d := s.m.cfg.Mgmt[name]; d != nil {
			out = append(out, d)
		}
	}
	return out
}

// stopper returns the name of the first StopOrderer that has the hook, if the hook is one of an OPERATE.
func (s *session) stopper(hook Hook) string {
	if hook != OperateStart && hook != OperateEnd {
		return ""
	}
	names := s.driverNames()
	i := slices.IndexFunc(names, func(name string) bool {
		d := s.m.cfg.Mgmt[name]
		_, orders := d.(StopOrderer)
		return orders && d.Hooks()[hook] != nil
	})
	if i < 0 {
		return ""
	}
	return names[i]
}

// stopOrderers are the management drivers that have an order in which VNFCs are stopped.
func (s *session) stopOrderers() (out []StopOrderer) {
	for _, driver := range s.drivers() {
		if orderer, able := driver.(StopOrderer); able {
			out = append(out, orderer)
		}
	}
	return out
}
