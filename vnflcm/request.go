package vnflcm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/problem"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// Instantiate starts the instantiation of a VNF instance (SOL003 v2.6.1 5.4.4) and returns the id of the
// operation. All faults of the request are reported at once (*ParamError, joined; ErrInvalidRequest), before
// anything is touched. ErrState: the instance is instantiated already. ErrConflict: another operation holds it,
// be it one in FAILED_TEMP. ErrShutdown: the Manager is closed.
func (m *Manager) Instantiate(ctx context.Context, instanceID string, req InstantiateVnfRequest) (string, error) {
	return m.begin(ctx, instanceID, OpInstantiate, req, req.prepare)
}

// prepare gives an instance that is about to be instantiated what the request says of it.
func (r *InstantiateVnfRequest) prepare(inst *instanceRecord, rec *operationRecord) {
	inst.Initial, inst.VIMForm, inst.VIMOwner, inst.Levels, rec.Before = *r, "", nil, nil, nil
	inst.ParamsDeclared = true
	inst.Instance.VimConnectionInfo, inst.Instance.Extensions = r.VimConnectionInfo, r.Extensions
	if !r.VnfConfigurableProperties.IsZero() {
		inst.Instance.VnfConfigurableProperties = r.VnfConfigurableProperties
	}
}

// Scale starts the scaling of one aspect (SOL003 v2.6.1 5.4.5). Errors are as for Instantiate, and so they are
// for Heal and Terminate; ErrState says that the instance is not instantiated.
func (m *Manager) Scale(ctx context.Context, instanceID string, req ScaleVnfRequest) (string, error) {
	return m.begin(ctx, instanceID, OpScale, req.completed(), nil)
}

// completed returns the request with the default of SOL003.
func (r ScaleVnfRequest) completed() ScaleVnfRequest {
	if r.NumberOfSteps == 0 {
		r.NumberOfSteps = 1
	}
	return r
}

// Heal starts the healing of chosen VNFCs, or of the whole VNF (SOL003 v2.6.1 5.4.9).
func (m *Manager) Heal(ctx context.Context, instanceID string, req HealVnfRequest) (string, error) {
	if err := req.check(); err != nil {
		return "", err
	}
	return m.begin(ctx, instanceID, OpHeal, req, nil)
}

// check refuses a list without VNFCs, and parameters that are likely to be meant to heal less than the whole VNF: without a list
// the whole VNF is healed.
func (r HealVnfRequest) check() error {
	if r.VnfcInstanceID != nil {
		if len(r.VnfcInstanceID) == 0 {
			return errNoVNFC
		}
		return nil
	}
	var given map[string]any
	if err := decodeUseNumber(r.AdditionalParams.Reveal(), &given); err != nil {
		return err
	}
	var faults []error
	for _, name := range sortedKeys(given) {
		at := "additionalParams." + name
		_, notBool := strconv.ParseBool(fmt.Sprint(given[name]))
		_, hasAll := given[allParameter]
		switch {
		case name == vnfcAttribute:
			faults = append(faults, &ParamError{Path: at, Reason: "has no effect there: give it beside additionalParams"})
		case problem.Nearest(name, []string{vnfcAttribute}) != "":
			faults = append(faults, &ParamError{Path: at, Reason: fmt.Sprintf("did you mean %q, which is given beside additionalParams?", vnfcAttribute)})
		case notBool == nil && !hasAll && problem.Nearest(name, []string{allParameter}) != "":
			faults = append(faults, &ParamError{Path: at, Reason: fmt.Sprintf("did you mean %q?", allParameter)})
		}
	}
	return errors.Join(faults...)
}

// allParameter is the parameter of Tacker that says how the whole VNF is healed.
const allParameter = "all"

// Terminate starts the termination of a VNF instance (SOL003 v2.6.1 5.4.8). If VNF instances are on a cluster that the VNF has become
// (Operation.RegisterVIM), a graceful termination is refused unless additionalParams.with_cnfs is true: they end with the cluster.
// Afterwards they can be terminated, without their VIM.
func (m *Manager) Terminate(ctx context.Context, instanceID string, req TerminateVnfRequest) (string, error) {
	return m.begin(ctx, instanceID, OpTerminate, req, nil)
}

// ChangeExtConn starts the change of what external connection points are connected to (SOL003 v2.6.1 5.4.11).
// ErrNotSupported: the driver of the VIM cannot do that.
func (m *Manager) ChangeExtConn(ctx context.Context, instanceID string, req ChangeExtVnfConnectivityRequest) (string, error) {
	return m.begin(ctx, instanceID, OpChangeExtConn, req, nil)
}

// begin accepts a request: it checks everything, stores the plan, locks the instance and starts.
func (m *Manager) begin(ctx context.Context, instanceID string, kind LcmOperation, req any,
	prepare func(*instanceRecord, *operationRecord)) (string, error) {
	return m.beginAt(ctx, instanceID, "", kind, req, prepare)
}

// beginAt is begin for an instance that must have that Version, unless it is "". A request begins again if an entry of the instance
// was renewed while the request was checked.
func (m *Manager) beginAt(ctx context.Context, instanceID, ifMatch string, kind LcmOperation, req any,
	prepare func(*instanceRecord, *operationRecord)) (string, error) {
	const most = 3
	for tries := 1; ; tries++ {
		opID, err := m.tryBegin(ctx, instanceID, ifMatch, kind, req, prepare)
		if !errors.Is(err, errInstanceChanged) || tries == most {
			return opID, err
		}
	}
}

// errInstanceChanged: the instance is not locked, and has changed since the request was checked.
var errInstanceChanged = fmt.Errorf("%w: the VNF instance has changed meanwhile", ErrConflict)

func (m *Manager) tryBegin(ctx context.Context, instanceID, ifMatch string, kind LcmOperation, req any,
	prepare func(*instanceRecord, *operationRecord)) (string, error) {
	inst, version, err := m.instanceAt(ctx, instanceID, ifMatch)
	if err != nil {
		return "", err
	}
	if err := m.admissible(ctx, inst, kind); err != nil {
		return "", err
	}
	rec, err := m.planned(ctx, inst, kind, req, prepare)
	if err != nil {
		return "", err
	}
	inst.Holder = rec.Occ.ID
	r, _, err := m.reserve(ctx, rec.Occ.ID)
	if err != nil {
		return "", err
	}
	if err := r.accept(ctx, inst, version, rec); err != nil {
		r.end(nil)
		return "", err
	}
	m.announce(ctx, &rec.Occ)
	r.handOver(ctx)
	return rec.Occ.ID, nil
}

// planned makes the record of an operation, with what the operation will do. It touches nothing.
func (m *Manager) planned(ctx context.Context, inst *instanceRecord, kind LcmOperation, req any, prepare func(*instanceRecord, *operationRecord)) (*operationRecord, error) {
	params, err := NewParams(req)
	if err != nil {
		return nil, err
	}
	if err := checkParams(params); err != nil {
		return nil, err
	}
	now := time.Now().Round(0) // the same value as after reading it back
	rec := &operationRecord{Sender: senderIn(ctx), VNF: inst.identity(), Before: inst.Levels, VNFCs: inst.Resources.VNFCs, Began: inst.beginning(), Occ: VnfLcmOpOcc{
		ID: m.cfg.NewID(), OperationState: Starting, StateEnteredTime: now, StartTime: now,
		VnfInstanceID: inst.Instance.ID, Operation: kind, OperationParams: params}}
	if prepare != nil {
		before, err := inst.Instance.extent()
		prepare(inst, rec)
		after, errAfter := inst.Instance.extent()
		if err := errors.Join(err, errAfter, after.check(before)); err != nil {
			return nil, err
		}
	}
	return rec, m.plan(ctx, inst, rec)
}

// handOver starts an operation whose claim is taken, or leaves it to other processes.
func (r *run) handOver(ctx context.Context) {
	if r.here {
		go r.work()
		return
	}
	r.end(nil)
	if r.m.cfg.Runner != nil {
		r.m.startElsewhere(ctx, r.claim.ID())
	}
}

// accept writes the operation and the claim of this process on it, and locks the instance.
func (r *run) accept(ctx context.Context, inst *instanceRecord, version int64, rec *operationRecord) error {
	r.rec = rec
	r.claim.Accept(rec.Occ.StartTime)
	inst.Epoch = 1
	id := inst.Instance.ID
	locked, err := r.m.records.Seal(kindInstance, id, version, inst)
	if err != nil {
		return err
	}
	b := store.Batch{Put: []store.Record{locked}}
	if err := errors.Join(r.take(ctx, &b), r.m.records.Fill(ctx, &b, &r.stored, rec), r.m.records.appendChange(&b, OperationEntered, rec.VNF, rec)); err != nil {
		return err
	}
	if rec.Occ.Operation == OpInstantiate {
		if err := r.m.checkRegistered(ctx, &b, inst); err != nil {
			return err
		}
	}
	if rec.accepting != nil {
		if err := rec.accepting(&b); err != nil {
			return err
		}
	}
	if err := r.claim.Apply(ctx, b); err != nil {
		return r.acceptedAfter(context.WithoutCancel(ctx), err, inst)
	}
	r.stored.Written()
	return nil
}

// acceptedAfter finds out what came of accept after an error. The batch may have been written nevertheless, as when ctx
// ended while the answer was on its way.
func (r *run) acceptedAfter(ctx context.Context, err error, inst *instanceRecord) error {
	now, _, failed := r.m.instance(ctx, inst.Instance.ID)
	if failed != nil {
		return err
	}
	if now.Holder == r.claim.ID() {
		r.claim.Written()
		r.stored.Unknown = true
		return nil
	}
	if held := r.m.heldBy(ctx, now); held != nil {
		return held
	}
	if errors.Is(err, ErrConflict) {
		return errInstanceChanged
	}
	return err
}

func (m *Manager) admissible(ctx context.Context, inst *instanceRecord, kind LcmOperation) error {
	if err := m.heldBy(ctx, inst); err != nil {
		return err
	}
	if kind == OpModifyInfo {
		return nil
	}
	if kind != OpInstantiate {
		return cmp.Or(inst.instantiated(), inst.allows(kind), m.writes(ctx, kind))
	}
	if inst.Instance.InstantiationState != NotInstantiated {
		return fmt.Errorf("%w: VNF instance %s is %s", ErrState, inst.Instance.ID, inst.Instance.InstantiationState)
	}
	return nil
}

// plan collects every fault of a request, from the Manager, the infra driver and each management driver. It changes
// nothing. Without a fault, rec and inst describe what the operation will do.
func (m *Manager) plan(ctx context.Context, inst *instanceRecord, rec *operationRecord) error {
	if _, is := rec.maintenance(); is {
		return m.planMaintenance(ctx, inst, rec)
	}
	if rec.Occ.Operation == OpModifyInfo {
		return m.planModify(ctx, inst, rec)
	}
	if rec.Occ.Operation.isOfSnapshot() {
		return m.planSnapshot(ctx, inst, rec)
	}
	if rec.Occ.Operation == OpChangeVnfPkg {
		return m.planPackage(ctx, inst, rec)
	}
	opened, err := m.openPackages(ctx, inst, rec)
	if err != nil {
		return err
	}
	defer opened.close()
	s, err := m.session(ctx, opened, inst, rec, "plan")
	if err != nil {
		return err
	}
	var faults []error
	if s.op.Kind == OpInstantiate {
		faults = append(faults, s.pinVIM(ctx, inst))
	}
	s.op.GrantPending = m.needsGrant(s.op.Kind)
	rec.Drivers, rec.VIMType, rec.Began.VIM = s.driverNames(), s.op.VIM.VimType, inst.vimConnection()
	declared := s.checkDeclared(ctx, inst, rec)
	if s.op.Kind == OpScaleToLevel {
		err = errors.Join(declared, s.checkHooks(), s.planScalings(ctx, rec))
		rec.Change = rec.Planned
		return s.masked(s.afterOverdue(ctx, err))
	}
	levels, err := s.targetLevels(inst.Levels)
	faults = append(faults, err)
	s.op.Levels, rec.Levels = levels, levels
	faults = append(faults, declared, s.checkHooks(), checkRequest(s.op), s.checkDriver(), s.checkGrace(ctx, rec), s.checkUsers(ctx, inst), s.validate(ctx, s.op))
	if err == nil { // without levels there is nothing to plan
		rec.Planned, err = s.planInfra(ctx, s.op)
		faults = append(faults, err)
	}
	rec.Change = rec.Planned
	return s.masked(s.afterOverdue(ctx, errors.Join(faults...)))
}

// validate asks every management driver for the faults of a request.
func (s *session) validate(ctx context.Context, op *Operation) error {
	var faults []error
	for _, driver := range s.drivers() {
		faults = append(faults, s.call(ctx, func() error { return driver.Validate(ctx, op) }))
	}
	return errors.Join(faults...)
}

// targetLevels are the scale levels that hold after the operation.
func (s *session) targetLevels(now map[string]int) (map[string]int, error) {
	var size tosca.Size
	var err error
	switch {
	case s.op.Instantiate != nil:
		size, err = s.op.Flavour.InitialSize(s.op.Instantiate.targetSize())
	case s.op.Scale != nil:
		r := s.op.Scale
		if size, err = s.op.Flavour.SizeAt(s.op.Initial.targetSize(), now); err == nil {
			size, err = s.op.Flavour.Scale(size, tosca.Scaling{Type: r.Type, AspectID: r.AspectID, NumberOfSteps: r.NumberOfSteps})
		}
	default:
		return now, nil
	}
	return size.ScaleStatus, paramErrors(err)
}

// targetSize returns the size that the request asks for.
func (r *InstantiateVnfRequest) targetSize() tosca.TargetSize {
	return tosca.TargetSize{InstantiationLevelID: r.InstantiationLevelID, TargetScaleLevelInfo: r.TargetScaleLevelInfo}
}

// paramErrors turns errors of the descriptor into faults of the request.
func paramErrors(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var out []error
		for _, each := range joined.Unwrap() {
			out = append(out, paramErrors(each))
		}
		return errors.Join(out...)
	}
	if fault, ok := errors.AsType[*tosca.RequestError](err); ok {
		return &ParamError{Path: fault.Attribute, Value: fault.Value, Reason: fault.Reason}
	}
	return err
}

// checkRequest finds the faults that need no driver.
func checkRequest(op *Operation) error {
	switch {
	case op.Instantiate != nil:
		return checkVNFD("targetScaleLevelInfo", op.Instantiate.TargetScaleLevelInfo, op.Package.VNFD().ID)
	case op.Heal != nil:
		var faults []error
		for i, id := range op.Heal.VnfcInstanceID {
			if !slices.ContainsFunc(op.VNFCs, func(v VNFC) bool { return v.named(id) }) {
				faults = append(faults, &ParamError{Path: fmt.Sprintf("vnfcInstanceId[%d]", i), Value: id, Reason: "no such VNFC"})
			}
		}
		return errors.Join(faults...)
	case op.ChangeExtConn != nil:
		return op.checkConnectivity()
	case op.Operate != nil:
		return op.Operate.check()
	case op.ChangeVnfPkg != nil:
		return op.checkLinks(op.ChangeVnfPkg.ExtVirtualLinks)
	case op.Terminate != nil:
		if t := op.Terminate.TerminationType; t != TerminateForceful && t != TerminateGraceful {
			return &ParamError{Path: "terminationType", Value: string(t), Reason: "must be FORCEFUL or GRACEFUL"}
		}
	}
	return nil
}

// named reports whether id means this VNFC: it is the id of its vnfcResourceInfo or of its vnfcInfo.
func (v VNFC) named(id string) bool { return id == v.ID || id == v.vnfcInfoID() }

// HealTargets are the VNFCs that a heal is of: the named ones, or all.
func (op *Operation) HealTargets() []VNFC {
	if op.WholeVNF() {
		return op.VNFCs
	}
	var out []VNFC
	for _, v := range op.VNFCs {
		if slices.ContainsFunc(op.Heal.VnfcInstanceID, v.named) {
			out = append(out, v)
		}
	}
	return out
}
