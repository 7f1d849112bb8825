package vnflcm

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/tosca"
)

// phase is a part of an operation that can be run, and run again, from the store alone.
type phase struct {
	name string
	// A hook phase runs hook or, when the VNFD names no driver for it, the fallback.
	hook, fallback Hook
	// An infra phase runs this method, and reads the resources afterwards.
	infra func(InfraDriver, context.Context, *Operation) error
}

// Names of infra phases; they are stored.
const (
	scalePhase         = "scale"
	scaleRollbackPhase = "scale_rollback"
	healPhase          = "heal"
	changeExtConnPhase = "change_external_connectivity"
)

// phases of an operation, in their order.
func (rec *operationRecord) phases() []phase {
	rollback := rec.Occ.OperationState == RollingBack
	switch kind := rec.Occ.Operation; {
	case kind == OpInstantiate && rollback:
		return []phase{
			{name: string(InstantiateRollbackStart), hook: InstantiateRollbackStart, fallback: TerminateStart},
			{name: "instantiate_rollback", infra: InfraDriver.Terminate},
			{name: string(InstantiateRollbackEnd), hook: InstantiateRollbackEnd, fallback: TerminateEnd},
		}
	case kind == OpScale && rollback:
		return []phase{
			{name: string(ScaleRollbackStart), hook: ScaleRollbackStart, fallback: ScaleStart},
			{name: scaleRollbackPhase, infra: InfraDriver.Scale},
			{name: string(ScaleRollbackEnd), hook: ScaleRollbackEnd, fallback: ScaleEnd},
		}
	case kind == OpChangeExtConn && rollback:
		return []phase{
			{name: string(ChangeExtConnRollbackStart), hook: ChangeExtConnRollbackStart, fallback: ChangeExtConnStart},
			{name: "change_external_connectivity_rollback", infra: changeExtConn},
			{name: string(ChangeExtConnRollbackEnd), hook: ChangeExtConnRollbackEnd, fallback: ChangeExtConnEnd},
		}
	case kind == OpChangeExtConn:
		return around(ChangeExtConnStart, changeExtConnPhase, changeExtConn, ChangeExtConnEnd)
	case kind == OpInstantiate:
		return around(InstantiateStart, "instantiate", InfraDriver.Instantiate, InstantiateEnd)
	case kind == OpScale:
		return around(ScaleStart, scalePhase, InfraDriver.Scale, ScaleEnd)
	case kind == OpHeal:
		return around(HealStart, healPhase, InfraDriver.Heal, HealEnd)
	default:
		return around(TerminateStart, "terminate", InfraDriver.Terminate, TerminateEnd)
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

// runPhase runs one phase of the operation: everything it needs is read from the store.
func (r *run) runPhase(ctx context.Context, pkg *tosca.Package, p phase) error {
	inst, _, err := r.m.instance(ctx, r.rec.Occ.VnfInstanceID)
	if err != nil {
		return err
	}
	s, err := r.m.session(ctx, pkg, inst, r.rec, p.name)
	if err != nil {
		return err
	}
	r.mask = s.op.mask
	s.op.claim = r.claim
	s.op.steps = &stepGuard{seen: map[string]bool{}, mayBegin: r.mayBegin}
	do := s.doing(p)
	if do == nil {
		return r.finishPhase(ctx, p, nil)
	}
	s.op.emit(Event{Kind: PhaseStarted, StepInfo: StepInfo{OperationID: s.op.ID, Phase: p.name}})
	start := time.Now()
	if err := do(ctx); err != nil {
		return causeOf(ctx, err)
	}
	s.op.emit(Event{Kind: PhaseDone, StepInfo: StepInfo{OperationID: s.op.ID, Phase: p.name}, Duration: time.Since(start)})
	if p.infra == nil {
		return r.finishPhase(ctx, p, nil)
	}
	now, err := s.infra.Resources(ctx, s.op)
	if err != nil {
		return fmt.Errorf("%s: reading the resources: %w", p.name, err)
	}
	return r.finishPhase(ctx, p, &now)
}

// doing is what the phase calls; nil when the VNFD names no driver for its hook.
func (s *session) doing(p phase) func(context.Context) error {
	if p.infra != nil {
		return func(ctx context.Context) error { return p.infra(s.infra, ctx, s.op) }
	}
	hook := p.hook
	called, named := s.op.Flavour.Hooks[string(hook)]
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
	return func(ctx context.Context) error { return driver.Hooks()[hook](ctx, s.op) }
}

// finishPhase stores that the phase is done and, if it changed the resources, what there is now.
func (r *run) finishPhase(ctx context.Context, p phase, now *Resources) error {
	if !slices.Contains(r.rec.Done, p.name) {
		r.rec.Done = append(r.rec.Done, p.name)
	}
	if now == nil {
		return r.save(context.WithoutCancel(ctx))
	}
	if r.rec.Occ.OperationState == RollingBack {
		r.rec.recordResources(*now, nil)
	} else {
		r.rec.Change = r.rec.Planned.settle(r.rec.VNFCs, now.VNFCs)
		r.rec.recordResources(*now, r.rec.Change.Replaced)
	}
	return r.save(context.WithoutCancel(ctx), r.changeInstance(func(i *instanceRecord) { i.Resources = *now }))
}
