package openstack

import (
	"context"

	"github.com/vnfkit/vnfkit/infra/openstack/internal/heat"
)

// change describes an update of the stack by an operation.
type change struct {
	// pending returns an error that names the remaining differences, or nil if the stack has the wanted state. update
	// calls it before and after it updates the stack.
	pending func(tree) error
	// prepare marks resources before the update. It may be nil.
	prepare func(context.Context, tree) error
}

// update brings the stack into the state that the operation wants. It waits until Heat does not change the stack. If the
// stack is not complete, or differences are pending, it sends the definition and waits until Heat has finished. After a
// crash update waits for the update that the earlier process has sent, and repeats it only if it was not enough.
func (w *work) update(ctx context.Context, c change) error {
	s, err := w.atRest(ctx)
	if err != nil {
		return err
	}
	resources, err := w.tree(ctx, s)
	if err != nil {
		return err
	}
	if s.Status.Complete() && c.pending(resources) == nil {
		return nil
	}
	def, err := w.updated(ctx, s, resources)
	if err != nil {
		return err
	}
	if c.prepare != nil {
		if err := c.prepare(ctx, resources); err != nil {
			return err
		}
	}
	if s, err = w.apply(ctx, s, def); err != nil {
		return err
	}
	if resources, err = w.tree(ctx, s); err != nil {
		return err
	}
	return c.pending(resources)
}

// updated computes the definition that the operation wants for a stack.
func (w *work) updated(ctx context.Context, s *heat.Stack, t tree) (heat.Definition, error) {
	if isMixed(w.op) {
		return w.mixedDefinition(ctx, s, t)
	}
	return w.definition(ctx, s, t.servers())
}

// apply sends a definition and waits until Heat has updated the stack. If the answer to the request is lost, apply waits
// until Heat does not change the stack before it repeats the request.
func (w *work) apply(ctx context.Context, s *heat.Stack, def heat.Definition) (*heat.Stack, error) {
	return persist(ctx, w.cfg.Poll, func() (*heat.Stack, error) {
		s.Tags = append(s.Tags, w.tags()...) // heat.Client removes duplicates
		now, err := w.heat.Apply(ctx, s, def, w.tell(ctx))
		if err != nil && (heat.Busy(err) || heat.Passing(err)) {
			if rested, restErr := w.atRest(ctx); restErr == nil {
				s = rested
			}
		}
		return now, w.stopped(ctx, err)
	})
}

// tree lists the resources of the stack.
func (w *work) tree(ctx context.Context, s *heat.Stack) (tree, error) {
	list, err := w.heat.Resources(ctx, s)
	if err != nil {
		return tree{}, err
	}
	aliases, err := w.aliases(ctx)
	return tree{instance: w.op.InstanceID, flavour: wholeFlavour(w.op), list: list, aliases: aliases}, err
}
