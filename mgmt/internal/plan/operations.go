package plan

import (
	"context"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Operations has a function for each operation, from the shape of the cluster, which has no connection to any machine, to a
// plan.
type Operations[Shape any, E Environment] struct {
	Instantiate, ScaleOut, ScaleIn, Heal, Terminate func(Shape) *Plan[E]
	// Operate is optional: without it the hooks of an OPERATE do not exist.
	Operate func(Shape) *Plan[E]

	Maintenance map[vnflcm.MaintenanceTask]func(Shape) *Plan[E]

	// ChangePackage returns the plan of one batch of a change of the package, with the phases BeforeBatchPhase and AfterBatchPhase. nil: the
	// driver is no vnflcm.PackageBatcher.
	ChangePackage func(Shape) *Plan[E]

	// Revert returns the plan of a REVERT_TO_SNAPSHOT, with the phase RevertPhase. nil: the driver is no vnflcm.SnapshotReverter.
	Revert func(Shape) *Plan[E]
}

// Plan returns the plan of an operation.
func (o Operations[Shape, E]) Plan(op *vnflcm.Operation, c Shape) *Plan[E] {
	switch {
	case op.Maintain != nil:
		return o.Maintenance[op.Maintain.Task](c)
	case op.ChangeVnfPkg != nil:
		return o.ChangePackage(c)
	case op.RevertToSnapshot != nil:
		return o.Revert(c)
	case op.Terminate != nil:
		return o.Terminate(c)
	case op.Operate != nil && o.Operate == nil:
		return &Plan[E]{}
	case op.Operate != nil:
		return o.Operate(c)
	case op.Heal != nil:
		return o.Heal(c)
	case op.Scale != nil && op.Scale.Type == vnflcm.ScaleIn:
		return o.ScaleIn(c)
	case op.Scale != nil:
		return o.ScaleOut(c)
	}
	return o.Instantiate(c)
}

// Hooks returns hooks that run the tasks of the plans, at most parallel at once. open returns the environment of a hook and
// the shape of the cluster.
func (o Operations[Shape, E]) Hooks(parallel int, open func(context.Context, *vnflcm.Operation) (E, Shape, error)) vnflcm.Hooks {
	hooks := vnflcm.Hooks{}
	names := []vnflcm.Hook{vnflcm.InstantiateEnd, vnflcm.ScaleStart, vnflcm.ScaleEnd, vnflcm.HealStart, vnflcm.HealEnd,
		vnflcm.TerminateStart, vnflcm.TerminateEnd}
	if o.Operate != nil {
		names = append(names, vnflcm.OperateStart, vnflcm.OperateEnd)
	}
	for _, h := range names {
		hooks[h] = o.function(h, parallel, open)
	}
	return vnflcm.Checked(hooks)
}

// Maintains reports whether there is a plan for a maintenance task.
func (o Operations[Shape, E]) Maintains(task vnflcm.MaintenanceTask) bool {
	return o.Maintenance[task] != nil
}

// RunPhase runs the tasks of a phase that is no hook, as Hooks does for hooks.
func (o Operations[Shape, E]) RunPhase(ctx context.Context, op *vnflcm.Operation, phase vnflcm.Hook, parallel int, open func(context.Context, *vnflcm.Operation) (E, Shape, error)) error {
	if err := op.Check(); err != nil {
		return err
	}
	return o.function(phase, parallel, open)(ctx, op)
}

// function returns the function of a phase.
func (o Operations[Shape, E]) function(phase vnflcm.Hook, parallel int, open func(context.Context, *vnflcm.Operation) (E, Shape, error)) func(context.Context, *vnflcm.Operation) error {
	return func(ctx context.Context, op *vnflcm.Operation) error {
		e, c, err := open(ctx, op)
		if err != nil {
			return err
		}
		defer e.Close()
		return o.Plan(op, c).Of(phase).Run(ctx, e, parallel)
	}
}
