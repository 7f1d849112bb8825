package vnflcm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// VnfState is the operational state of a VNF or of a VNFC (SOL003 v2.6.1 5.5.4.3).
type VnfState string

// The operational states.
const (
	VnfStarted VnfState = "STARTED"
	VnfStopped VnfState = "STOPPED"
)

// StopType says how a VNF is stopped (SOL003 v2.6.1 5.5.4.4).
type StopType string

// The ways to stop.
const (
	StopForceful StopType = "FORCEFUL"
	StopGraceful StopType = "GRACEFUL"
)

// OperateVnfRequest stops an instantiated VNF, or starts it again (SOL003 v2.6.1 5.5.2.10).
type OperateVnfRequest struct {
	ChangeStateTo VnfState `json:"changeStateTo"`
	// StopType is only for VnfStopped. Default: FORCEFUL.
	StopType StopType `json:"stopType,omitempty"`
	// GracefulStopTimeout is how many seconds the VNF may take to leave service before it is stopped, at most a year. It is required with
	// GRACEFUL, at least the min_graceful_stop_timeout of the VNFD, and refused without GRACEFUL.
	GracefulStopTimeout int    `json:"gracefulStopTimeout,omitempty"`
	AdditionalParams    Params `json:"additionalParams,omitzero"`
}

// Operator is an InfraDriver that can stop the VNFCs of a VNF and start them again (SOL003 v2.6.1 5.4.10). Without it OPERATE is refused. Data,
// addresses and scale levels stay as they are.
type Operator interface {
	// Operate brings these VNFCs into the state op.Operate.ChangeStateTo, and returns when they have it. The Manager calls Operate for one
	// group of VNFCs after the other, in the order of the management drivers (StopOrderer), or once for all VNFCs, also if the VNF has no
	// VNFCs. Resources returns the VNFCs of a stopped VNF also if they have no machines, so that their ids stay. Like all of an
	// InfraDriver's methods Operate may be called again.
	Operate(ctx context.Context, op *Operation, vnfcs []VNFC) error
}

// StopOrderer is a MgmtDriver of a VNF whose VNFCs are stopped in an order, and started in the reverse one. The Manager asks the drivers that
// the VNFD names for any hook. If the VNFD does not name OperateStart or OperateEnd, this hook of the first StopOrderer runs: packages for
// programs without OPERATE do not name these hooks.
type StopOrderer interface {
	// StopOrder returns groups of op.VNFCs, the group that is stopped first is first. VNFCs of no group are stopped after all groups:
	// others may depend on them. StopOrder touches nothing.
	StopOrder(ctx context.Context, op *Operation) ([][]VNFC, error)
}

// Operate starts a stop or a start of an instantiated VNF (SOL003 v2.6.1 5.4.10). A stopped VNF takes no other operations than Operate, Terminate, and
// a Modify of its name, description, metadata or connections, whose hooks do not run; its certificates are not renewed. If VNF instances are on
// a cluster that the VNF has become (Operation.RegisterVIM), a graceful stop is refused unless additionalParams.with_cnfs is true. Operate
// can be retried, cancelled and failed, but not rolled back: the opposite request does that. After Fail the VNF has the state that it had
// before. ErrNotSupported: the driver of the VIM is no Operator. Other errors are as for Heal.
func (m *Manager) Operate(ctx context.Context, instanceID string, req OperateVnfRequest) (string, error) {
	return m.begin(ctx, instanceID, OpOperate, req, nil)
}

// longestGrace bounds gracefulStopTimeout: a year, in seconds.
const longestGrace = 365 * 24 * 60 * 60

// checkGrace compares the time of a graceful stop with the limits that the VNFD has (SOL001 VnfOperateOperationConfiguration): less than the
// minimum is a fault, more than the recommended maximum a warning.
func (s *session) checkGrace(ctx context.Context, rec *operationRecord) error {
	limits := s.op.Flavour.Operations.Operate
	if s.op.Operate == nil || s.op.Operate.StopType != StopGraceful || limits == nil {
		return nil
	}
	given := s.op.Operate.GracefulStopTimeout
	grace := time.Duration(min(given, longestGrace)) * time.Second
	if most := limits.MaxRecommendedGraceful; most > 0 && grace > most {
		s.warn(ctx, rec, fmt.Sprintf("gracefulStopTimeout is longer than %v, which the VNFD recommends at most", most))
	}
	if grace < limits.MinGraceful {
		return &ParamError{Path: "gracefulStopTimeout", Value: fmt.Sprint(given), Reason: fmt.Sprintf("must be at least %v, by the VNFD", limits.MinGraceful)}
	}
	return nil
}

// check finds the faults of the request alone.
func (r *OperateVnfRequest) check() error {
	var faults []error
	refuse := func(path, value, reason string) {
		faults = append(faults, &ParamError{Path: path, Value: value, Reason: reason})
	}
	if r.ChangeStateTo != VnfStarted && r.ChangeStateTo != VnfStopped {
		refuse("changeStateTo", string(r.ChangeStateTo), "must be STARTED or STOPPED")
	}
	switch {
	case r.StopType == "":
	case r.StopType != StopForceful && r.StopType != StopGraceful:
		refuse("stopType", string(r.StopType), "must be FORCEFUL or GRACEFUL")
	case r.ChangeStateTo == VnfStarted:
		refuse("stopType", string(r.StopType), "is only for changeStateTo STOPPED")
	}
	switch given := r.GracefulStopTimeout; {
	case r.StopType == StopGraceful && given <= 0:
		refuse("gracefulStopTimeout", fmt.Sprint(given), "must be a number of seconds above 0 with stopType GRACEFUL")
	case given > longestGrace:
		refuse("gracefulStopTimeout", fmt.Sprint(given), fmt.Sprintf("must be at most %d seconds", longestGrace))
	case r.StopType != StopGraceful && given != 0:
		refuse("gracefulStopTimeout", fmt.Sprint(given), "is only for stopType GRACEFUL")
	}
	return errors.Join(faults...)
}

// allows returns ErrState if the VNF is stopped and kind needs a VNF that works.
func (rec *instanceRecord) allows(kind LcmOperation) error {
	if kind == OpOperate || kind == OpTerminate {
		return nil
	}
	return rec.started()
}

// writes returns ErrState if an earlier version of vnfkit, which may work on the store too, would take an operation of this kind for a
// termination, and drop from the record of the instance that it is stopped, or by which package a VNFC runs.
func (m *Manager) writes(ctx context.Context, kind LcmOperation) error {
	if kind != OpOperate && kind != OpChangeVnfPkg && !kind.isOfSnapshot() {
		return nil
	}
	format, _, err := m.records.ReadFormat(ctx)
	if err == nil && format.Number < 2 {
		err = fmt.Errorf("%w: %s needs a store of format 2: call Migrate when all processes have this version of vnfkit", ErrState, kind)
	}
	return err
}

// started returns ErrState if the VNF is stopped.
func (rec *instanceRecord) started() error {
	if !rec.Stopped {
		return nil
	}
	return fmt.Errorf("%w: VNF instance %s is STOPPED: start it first", ErrState, rec.Instance.ID)
}

// stops reports whether the VNF is stopped when the operation has succeeded.
func (rec *operationRecord) stops(inst *instanceRecord) bool {
	if rec.Occ.Operation != OpOperate {
		return inst.Stopped
	}
	var request OperateVnfRequest
	return json.Unmarshal(rec.Occ.OperationParams.Reveal(), &request) == nil && request.ChangeStateTo == VnfStopped // it was read before
}

// state returns the operational state of the VNF.
func (rec *instanceRecord) state() VnfState {
	if rec.Stopped {
		return VnfStopped
	}
	return VnfStarted
}

// checkStopped refuses the parts of a modification that a stopped VNF would not learn of.
func (rec *instanceRecord) checkStopped(req VnfInfoModificationRequest) error {
	if !rec.Stopped || req.VnfConfigurableProperties.IsZero() && req.Extensions.IsZero() && len(req.VnfcInfoModifications) == 0 {
		return nil
	}
	return rec.started()
}

// operate is the method of an optional interface; without it the request was refused. It takes the VNFCs in the order of the management
// drivers.
func operate(d InfraDriver, ctx context.Context, op *Operation) error { //nolint:revive // in the form of the method expressions
	operator, able := d.(Operator)
	if !able {
		return fmt.Errorf("%w: the driver cannot stop and start a VNF", ErrNotSupported)
	}
	groups, err := op.operateOrder(ctx)
	if err != nil {
		return err
	}
	for _, group := range groups {
		if err := operator.Operate(ctx, op, group); err != nil {
			return err
		}
	}
	return nil
}

// operateTasks are what the infrastructure driver does, group by group.
func (s *session) operateTasks(ctx context.Context) (out []PlannedTask, err error) {
	var groups [][]VNFC
	err = s.call(ctx, func() (err error) { groups, err = s.op.operateOrder(ctx); return err })
	task := PlannedTask{Phase: operatePhase, Name: "start", Why: "the VNFC works again"}
	if s.op.Operate.ChangeStateTo == VnfStopped {
		task.Name, task.Why = "stop", "the VNFC is stopped, its data stays"
	}
	var before []int
	for _, group := range groups {
		var now []int
		for _, v := range group {
			task.On, task.Machine, task.After = v.ID, v.Label(), before
			now = append(now, len(out))
			out = append(out, task)
		}
		before = now
	}
	return out, err
}

// operateOrder returns the groups of VNFCs in the order in which they are stopped or started.
func (op *Operation) operateOrder(ctx context.Context) (groups [][]VNFC, err error) {
	left := slices.Clone(op.VNFCs)
	for _, driver := range op.orderers {
		order, err := driver.StopOrder(ctx, op)
		if err != nil {
			return nil, err
		}
		for _, group := range order {
			isOf := func(v VNFC) bool { return slices.ContainsFunc(group, func(g VNFC) bool { return g.ID == v.ID }) }
			next := slices.DeleteFunc(slices.Clone(left), func(v VNFC) bool { return !isOf(v) })
			left = slices.DeleteFunc(left, isOf)
			if len(next) > 0 {
				groups = append(groups, next)
			}
		}
	}
	if len(left) > 0 || len(groups) == 0 {
		groups = append(groups, left)
	}
	if op.Operate.ChangeStateTo == VnfStarted {
		slices.Reverse(groups)
	}
	return groups, nil
}
