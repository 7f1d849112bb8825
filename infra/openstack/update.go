package openstack

import (
	"context"

	"github.com/vnfkit/vnfkit/infra/openstack/internal/heat"
)

// change is a difference between the stack and what an operation wants of it.
type change struct {
	// pending returns what is still to be done, nil when the stack is already so. It is asked before and after
	// the update.
	pending func(tree) error
	// prepare marks resources before the update; it may be nil.
	prepare func(context.Context, tree) error
}

// update brings the stack to what the operation wants of it: it waits until the stack is at rest, and unless
// it is complete and nothing is pending, sends its definition and waits again. So it finishes what an earlier
// process began, and does nothing twice.
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
	def, err := w.definition(ctx, s.Parameters, resources.servers())
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

// apply sends a definition and waits until the stack has become that. When the answer to the request is lost,
// it looks whether Heat is at work before it repeats it.
func (w *work) apply(ctx context.Context, s *heat.Stack, def heat.Definition) (*heat.Stack, error) {
	return persist(ctx, w.cfg.Poll, func() (*heat.Stack, error) {
		s.Tags = append(s.Tags, w.tags()...) // Heat gets each tag once
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
	return tree{instance: w.op.InstanceID, flavour: w.op.Flavour, list: list, aliases: aliases}, err
}
