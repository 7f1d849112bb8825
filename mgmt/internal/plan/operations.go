package plan

import (
	"context"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Operations has a function for each operation, from the shape of the cluster, which has no connection to any machine, to a
// plan.
type Operations[Shape any, E Environment] struct {
	Instantiate, ScaleOut, ScaleIn, Heal, Terminate func(Shape) *Plan[E]
}

// Plan returns the plan of an operation.
func (o Operations[Shape, E]) Plan(op *vnflcm.Operation, c Shape) *Plan[E] {
	switch {
	case op.Terminate != nil:
		return o.Terminate(c)
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
	for _, h := range []vnflcm.Hook{vnflcm.InstantiateEnd, vnflcm.ScaleStart, vnflcm.ScaleEnd, vnflcm.HealStart, vnflcm.HealEnd,
		vnflcm.TerminateStart, vnflcm.TerminateEnd} {
		hooks[h] = func(ctx context.Context, op *vnflcm.Operation) error {
			e, c, err := open(ctx, op)
			if err != nil {
				return err
			}
			defer e.Close()
			return o.Plan(op, c).Of(h).Run(ctx, e, parallel)
		}
	}
	return vnflcm.Checked(hooks)
}
