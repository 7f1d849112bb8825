package kubernetes

import (
	"context"
	"errors"
	"slices"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
)

// manifestChange is a change from the manifests of one package to those of the other.
type manifestChange struct {
	had, after objects.Manifest
	gone       []objects.Ref // that only op.Former has
}

// manifestChange returns the objects before and after the change. Fields of the same value in both packages keep the value that they have on
// the cluster.
func (w *work) manifestChange(ctx context.Context) (c manifestChange, err error) {
	before, err := w.old.manifests(ctx)
	if err != nil {
		return c, err
	}
	after, err := w.manifests(ctx)
	if err != nil {
		return c, err
	}
	was, will := objects.Manifest{Objects: before, Refs: objects.Refs(before)}, objects.Manifest{Objects: after, Refs: objects.Refs(after)}
	if c.had, err = w.objects.Refresh(ctx, was); err != nil {
		return c, err
	}
	c.after = objects.Change{Before: was, After: will, Again: will}.Apply(c.had)
	if err := w.sizeChanged(ctx, c.after.Objects, c.after.Refs); err != nil {
		return c, err
	}
	stored, err := w.storedObjects(ctx)
	c.gone = slices.DeleteFunc(without(stored, will.Refs), func(r objects.Ref) bool { return r.HoldsOthers() && w.adopted.has(r) })
	return c, err
}

// changeManifests applies all objects of op.Package, waits until they are ready, and deletes those that only op.Former has.
func (w *work) changeManifests(ctx context.Context) error {
	was, err := w.appliedManifests(ctx)
	if err != nil || w.op.RollingBack && was == (appliedManifests{}) {
		return err // rolling back: nothing was applied
	}
	to := w.op.Package.VNFD().ID
	if err := w.op.State().Put(ctx, appliedKey, appliedManifests{From: w.old.op.Package.VNFD().ID, To: to}); err != nil {
		return err
	}
	c, err := w.manifestChange(ctx)
	if err != nil {
		return err
	}
	if !w.op.RollingBack {
		if err := w.checkGone(ctx, objects.Manifest{Refs: c.gone}, objects.Manifest{}); err != nil {
			return err
		}
	}
	if err := w.storeObjects(ctx, c.after.Refs); err != nil {
		return err
	}
	if err := within(ctx, w.cfg.Ready, func(ctx context.Context) error { return w.objects.Apply(ctx, c.after.Placed(), w.owner()) }); err != nil {
		return err
	}
	if err := w.noteWorkloads(ctx, c.had.Refs, c.after, ""); err != nil {
		return err
	}
	err = within(ctx, w.cfg.Ready, func(ctx context.Context) error { return w.objects.Await(ctx, c.after.Refs, w.tell(ctx)) })
	if err != nil && (!w.op.RollingBack || !errors.Is(err, helmclient.ErrNotReady)) {
		return err
	}
	if err := w.pruneManifests(ctx, c.gone); err != nil {
		return err
	}
	return w.op.State().Put(ctx, appliedKey, appliedManifests{From: w.old.op.Package.VNFD().ID, To: to, Done: true})
}

// pruneManifests deletes objects that only op.Former has. Rolling back, objects with data stay on the cluster: the new software may have
// written to them.
func (w *work) pruneManifests(ctx context.Context, gone []objects.Ref) error {
	stored, err := w.storedObjects(ctx)
	if err != nil {
		return err
	}
	if w.op.RollingBack {
		losses, err := w.losses(ctx, gone)
		if err != nil {
			return err
		}
		holds := func(r objects.Ref) bool { return slices.ContainsFunc(losses, func(l loss) bool { return l.of == r }) }
		if err := w.keepClaims(ctx, losses); err != nil {
			return err
		}
		gone = slices.DeleteFunc(slices.Clone(gone), holds)
	}
	if err := w.leaveStaying(ctx, gone); err != nil {
		return err
	}
	o := objects.DeleteOptions{Owner: w.owner()}
	if err := within(ctx, w.cfg.Gone, func(ctx context.Context) error { return w.objects.Delete(ctx, gone, o) }); err != nil {
		return err
	}
	return w.op.State().Put(ctx, objectsKey, without(stored, gone))
}

// without returns the objects of a list that another list does not have.
func without(refs, other []objects.Ref) (out []objects.Ref) {
	for _, r := range refs {
		if !slices.ContainsFunc(other, func(o objects.Ref) bool { return sameObject(r, o) }) {
			out = append(out, r)
		}
	}
	return out
}
