package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// phase is a part of an operation that can be run, and run again, from the store alone.
type phase struct {
	name string
	// A hook phase runs hook or, when the VNFD names no driver for it, the fallback.
	hook, fallback Hook
	// An infra phase runs this method, and reads the resources afterwards.
	infra func(InfraDriver, context.Context, *Operation) error
	// A plan phase repeats the planning of a scaling.
	plan bool
	// scaling is the number of the scaling of a SCALE_TO_LEVEL that the phase belongs to, 0 for none.
	scaling int
	// A record phase changes the record of the instance and calls no driver.
	record bool
	// A maintenance phase, and a phase around a batch, calls this driver.
	maintainer string
	// batch is the number of the batch of a CHANGE_VNFPKG that the phase belongs to, 0 for none. part says what it does.
	batch int
	part  batchPart
	// A snapshot phase calls the Snapshotter.
	snapshot bool
	// declared: hook is an operation of the VNFD's ChangeCurrentVnfPackage interface.
	declared bool
}

// Names of infra phases; they are stored.
const (
	scalePhase         = "scale"
	scaleRollbackPhase = "scale_rollback"
	healPhase          = "heal"
	changeExtConnPhase = "change_external_connectivity"
	operatePhase       = "operate"
)

// The first and the last phase of every operation, for RunPhase. The phases between them have the names of hooks, or of
// operations of the InfraDriver.
const (
	PhaseBegin = "begin" // asks for the grant and enters PROCESSING
	PhaseEnd   = "end"   // enters the final state and unlocks the instance
)

// due returns the phase that comes next.
func (rec *operationRecord) due() string {
	if rec.Occ.OperationState == Starting {
		return PhaseBegin
	}
	for _, p := range rec.phases() {
		if !slices.Contains(rec.Done, p.name) {
			return p.name
		}
	}
	return PhaseEnd
}

// phases of an operation, in their order.
func (rec *operationRecord) phases() []phase {
	rollback := rec.Occ.OperationState == RollingBack
	if _, is := rec.maintenance(); is {
		return rec.maintenancePhases()
	}
	switch kind := rec.Occ.Operation; {
	case kind == OpInstantiate && rollback:
		return []phase{
			{name: string(InstantiateRollbackStart), hook: InstantiateRollbackStart, fallback: TerminateStart},
			{name: "instantiate_rollback", infra: InfraDriver.Terminate},
			{name: string(InstantiateRollbackEnd), hook: InstantiateRollbackEnd, fallback: TerminateEnd},
		}
	case kind == OpScale && rollback:
		return undoScalePhases()
	case kind == OpScaleToLevel && rollback:
		return rec.undoScalingsPhases()
	case kind == OpChangeVnfPkg && rollback:
		return rec.undoPackagePhases()
	case kind == OpChangeVnfPkg:
		return rec.packagePhases()
	case kind == OpChangeExtConn && rollback:
		return []phase{
			{name: string(ChangeExtConnRollbackStart), hook: ChangeExtConnRollbackStart, fallback: ChangeExtConnStart},
			{name: "change_external_connectivity_rollback", infra: changeExtConn},
			{name: string(ChangeExtConnRollbackEnd), hook: ChangeExtConnRollbackEnd, fallback: ChangeExtConnEnd},
		}
	case kind == OpChangeExtConn:
		return around(ChangeExtConnStart, changeExtConnPhase, changeExtConn, ChangeExtConnEnd)
	case kind == OpModifyInfo && rec.VIMType == "": // not instantiated, or stopped: there are no hooks
		return []phase{{name: modifyPhase, record: true}}
	case kind == OpModifyInfo:
		return []phase{{name: string(ModifyStart), hook: ModifyStart}, {name: modifyPhase, record: true}, {name: string(ModifyEnd), hook: ModifyEnd}}
	case kind == OpInstantiate:
		return around(InstantiateStart, "instantiate", InfraDriver.Instantiate, InstantiateEnd)
	case kind == OpScaleToLevel:
		return rec.scaleToLevelPhases()
	case kind == OpScale:
		return around(ScaleStart, scalePhase, InfraDriver.Scale, ScaleEnd)
	case kind == OpHeal:
		return around(HealStart, healPhase, InfraDriver.Heal, HealEnd)
	case kind == OpOperate:
		return around(OperateStart, operatePhase, operate, OperateEnd)
	case kind == OpCreateSnapshot:
		return []phase{{name: createSnapshotPhase, hook: createSnapshotPhase, snapshot: true}}
	case kind == OpRevertToSnapshot:
		return []phase{{name: string(RevertPhase), hook: RevertPhase, snapshot: true}}
	case kind == OpTerminate:
		return around(TerminateStart, "terminate", InfraDriver.Terminate, TerminateEnd)
	default:
		return []phase{{name: string(kind), infra: func(InfraDriver, context.Context, *Operation) error {
			return fmt.Errorf("%w: only newer versions of vnfkit have the operation %s", ErrNotSupported, kind)
		}}}
	}
}

func undoScalePhases() []phase {
	return []phase{
		{name: string(ScaleRollbackStart), hook: ScaleRollbackStart, fallback: ScaleStart},
		{name: scaleRollbackPhase, infra: InfraDriver.Scale},
		{name: string(ScaleRollbackEnd), hook: ScaleRollbackEnd, fallback: ScaleEnd},
	}
}

// changeExtConn is the method of an optional interface; without it the request was refused.
func changeExtConn(d InfraDriver, ctx context.Context, op *Operation) error { //nolint:revive // in the form of the method expressions
	changer, able := d.(ConnectivityChanger)
	if !able {
		return fmt.Errorf("%w: the driver cannot change external connectivity", ErrNotSupported)
	}
	return changer.ChangeExtConn(ctx, op)
}

func around(start Hook, name string, infra func(InfraDriver, context.Context, *Operation) error, end Hook) []phase {
	return []phase{{name: string(start), hook: start}, {name: name, infra: infra}, {name: string(end), hook: end}}
}

// runPhase runs one phase of the operation. Its only input from earlier phases is the store.
func (r *run) runPhase(ctx context.Context, opened openPackages, p phase) error {
	switch {
	case p.record:
		return r.modifyInstance(ctx, p)
	case p.part == batchPause:
		r.rec.Done, r.rec.Package.Paused = append(r.rec.Done, p.name), true // stored with FAILED_TEMP
		return errPaused(p.batch)
	}
	inst, _, err := r.claim.instance(ctx, r.rec.Occ.VnfInstanceID)
	if err != nil {
		return err
	}
	s, err := r.m.session(ctx, opened, inst, r.rec, p.name)
	if err != nil {
		return err
	}
	r.mask = s.op.mask
	s.op.enter(r.rec, p)
	do := s.doing(p)
	if p.plan {
		do = func(ctx context.Context) error { return r.replan(ctx, s, p.scaling-1) }
	}
	if do == nil {
		r.rec.Done = append(r.rec.Done, p.name) // stored with what comes next
		return nil
	}
	s.op.claim, s.op.warnings, s.op.running = r.claim, &warnings{}, &r.running
	s.op.steps = &stepGuard{seen: map[string]bool{}, mayBegin: r.mayBegin, performed: &r.performed}
	if s.op.steps.journal, err = r.journal(ctx, p); err != nil {
		return err
	}
	info := StepInfo{OperationID: s.op.ID, Phase: p.name}
	s.op.emit(Event{Kind: PhaseStarted, StepInfo: info})
	if err := r.renewOverdue(ctx, s, inst); err != nil {
		return causeOf(ctx, err)
	}
	ctx, end := s.op.watch(ctx, info)
	defer end()
	start := time.Now()
	defer r.stopAtUntil()()
	err = s.call(ctx, func() error { return do(ctx) })
	r.rec.recordWarnings(s.op.warnings)
	r.recordCount(context.WithoutCancel(ctx))
	if err != nil {
		if p.infra != nil {
			err = inPhase(p.name, context.Cause(ctx), err)
		}
		return causeOf(ctx, err)
	}
	done := s.op.performed(StepInfo{Phase: p.name}, start)
	s.op.emit(Event{Kind: PhaseDone, StepInfo: info, Duration: time.Since(start)})
	if p.infra == nil {
		return r.finishPhase(ctx, p, done)
	}
	return r.finishInfraPhase(ctx, s, inst, p, done)
}

// enter makes op what drivers see in a phase of a scaling or of a batch.
func (op *Operation) enter(rec *operationRecord, p phase) {
	switch {
	case p.scaling > 0:
		op.enterScaling(rec, p.scaling-1)
	case rec.Package != nil && (p.batch > 0 || p.infra != nil):
		op.enterBatch(rec, p.batch)
		if p.infra == nil { // management drivers see the machines as they are, also after an earlier attempt
			op.Change = op.Change.asIn(op.VNFCs)
		}
	}
}

// vnfcsBefore are the VNFCs that there were before the operation or, in a phase of a scaling or a batch, before the scaling or the batch.
func (r *run) vnfcsBefore(p phase, inst *instanceRecord) []VNFC {
	switch {
	case p.scaling > 0:
		return r.rec.vnfcsBefore(p.scaling - 1)
	case r.rec.Package != nil:
		return inst.Resources.VNFCs
	}
	return r.rec.VNFCs
}

// journal reads the entries of a phase, by their keys. Under the first claim there are none: no process has worked on
// the operation before.
func (r *run) journal(ctx context.Context, p phase) (map[string]store.Record, error) {
	if r.claim.Epoch() == 1 {
		return nil, nil
	}
	list, err := r.m.cfg.Store.List(ctx, store.Query{Kind: kindStep, Prefix: r.rec.Occ.ID + "/" + p.name + "/"})
	out := map[string]store.Record{}
	for _, stored := range list {
		out[stored.ID] = stored
	}
	return out, err
}

// doing returns the function of the phase; nil if the VNFD names no driver for its hook.
func (s *session) doing(p phase) func(context.Context) error {
	if p.infra != nil {
		return func(ctx context.Context) error { return p.infra(s.infra, ctx, s.op) }
	}
	if p.part != noBatchPart {
		return s.doingBatch(p)
	}
	if p.snapshot {
		return s.doingSnapshot
	}
	if p.maintainer != "" {
		return s.maintaining(p.maintainer)
	}
	hook := p.hook
	called, named := s.op.Flavour.Hooks[string(hook)]
	if p.declared {
		called = s.op.Flavour.ChangeOperations[string(hook)]
		named = called.Driver != ""
	}
	if !named {
		called.Driver = s.stopper(hook)
		named = called.Driver != ""
	}
	if !named {
		hook = p.fallback
		if called, named = s.op.Flavour.Hooks[string(hook)]; !named {
			return nil
		}
	}
	name := called.Driver
	driver := s.m.cfg.Mgmt[name]
	if driver == nil || driver.Hooks()[hook] == nil {
		return func(context.Context) error {
			return fmt.Errorf("%w: the VNFD names driver %q for %s: it is not registered, or has no such hook", ErrInvalidRequest, name, hook)
		}
	}
	s.op.driver = name
	return func(ctx context.Context) error { return driver.Hooks()[hook](ctx, s.op) }
}

// modifyInstance makes the changes that the operation was asked for.
func (r *run) modifyInstance(ctx context.Context, p phase) error {
	req, err := r.rec.modification()
	if err != nil {
		return err
	}
	r.rec.Done = append(r.rec.Done, p.name)
	return r.save(context.WithoutCancel(ctx), func(ctx context.Context, b *store.Batch) error {
		var failed error
		err := r.claim.changeInstance(ctx, b, r.rec.Occ.VnfInstanceID, func(i *instanceRecord) { failed = i.modify(req, r.rec.VIMForm, r.rec.Owner) })
		return errors.Join(err, failed)
	})
}

// finishPhase stores that the phase is done, unless the end of the operation is stored next.
func (r *run) finishPhase(ctx context.Context, p phase, done Performed) error {
	r.rec.Done, r.rec.Phases = append(r.rec.Done, p.name), append(r.rec.Phases, done)
	if r.isLast(p) {
		return nil
	}
	return r.save(context.WithoutCancel(ctx))
}

// finishInfraPhase checks the resources that there are now, and stores them and that the phase is done.
func (r *run) finishInfraPhase(ctx context.Context, s *session, inst *instanceRecord, p phase, done Performed) error {
	now, err := s.resources(ctx)
	if err != nil {
		return fmt.Errorf("%s: reading the resources: %w", p.name, err)
	}
	err = s.checkResources(ctx, r.vnfcsBefore(p, inst), now)
	if err == nil && r.rec.Package != nil {
		err = s.checkChanged(ctx)
	}
	r.rec.recordWarnings(s.op.warnings)
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	if s.op.Kind == OpTerminate {
		if err := s.op.removeVIMs(ctx, inst); err != nil {
			return fmt.Errorf("%s: removing entries of VIMs: %w", p.name, err)
		}
	}
	r.rec.Done, r.rec.Phases = append(r.rec.Done, p.name), append(r.rec.Phases, done)
	if r.rec.Package != nil {
		return r.finishBatch(ctx, s, inst, p, now)
	}
	if r.rec.Occ.OperationState == RollingBack {
		r.rec.recordResources(now, nil)
	} else {
		r.rec.Change = r.rec.Planned.confirm(r.rec.VNFCs, now.VNFCs)
		if p.scaling > 0 {
			r.rec.Scalings[p.scaling-1].Change = s.op.planned.confirm(r.vnfcsBefore(p, inst), now.VNFCs)
		}
		r.rec.recordResources(now, r.rec.Change.Replaced)
	}
	return r.save(context.WithoutCancel(ctx), func(ctx context.Context, b *store.Batch) error {
		return s.op.changeInstance(ctx, b, func(i *instanceRecord) { i.setResources(now) })
	})
}

// isLast reports whether no phase follows in this run.
func (r *run) isLast(p phase) bool {
	phases := r.rec.phases()
	return p.name == phases[len(phases)-1].name
}
