package openstack

import (
	"context"
	"errors"
	"maps"
	"strings"

	"github.com/vnfkit/vnfkit/infra/openstack/hot"
	"github.com/vnfkit/vnfkit/infra/openstack/internal/heat"
	"github.com/vnfkit/vnfkit/vnflcm"
)

var (
	_ vnflcm.PackageChanger = (*Driver)(nil)
	_ vnflcm.HealthChecker  = (*Driver)(nil)
)

// ChangePackage implements vnflcm.PackageChanger. While VNFCs change, the stack has a definition between those of the two packages
// (hot.Transition): the resources of the VNFCs that have changed are those of the new package, what only the new package has is there, and
// all else is as before. Members of an AutoScalingGroup change in the stack of the group, one batch after the other. Without a Batch the
// stack gets the complete definition of the new package.
func (d *Driver) ChangePackage(ctx context.Context, op *vnflcm.Operation) error {
	w, err := d.begin(ctx, op)
	if err != nil {
		return err
	}
	p, err := w.preparePackage(ctx)
	if err != nil || p == nil {
		return err
	}
	if op.Batch != nil || op.RollingBack {
		return p.changeBatch(ctx)
	}
	err = vnflcm.Do(ctx, op, "complete-stack", "", p.complete)
	if err != nil {
		return err
	}
	return w.releaseFormer(ctx)
}

// packageWork is a CHANGE_VNFPKG with the definitions of both packages.
type packageWork struct {
	*work
	sides    *packageSides
	from, to *hot.Template // of the origin and the target
	// isReturn says that the VNF changes to the origin.
	isReturn bool
}

// preparePackage uploads the images of op.Package and stores the two definitions, if no earlier call has done so. It returns nil if the
// operation is rolled back before it has changed anything.
func (w *work) preparePackage(ctx context.Context) (*packageWork, error) {
	sides, err := readSides(ctx, w.op)
	if err != nil {
		return nil, err
	}
	if sides == nil || sides.Operation != w.op.ID {
		if w.op.RollingBack {
			return nil, nil //nolint:nilnil // documented above
		}
		if sides, err = w.storeSides(ctx); err != nil {
			return nil, err
		}
	}
	return w.openSides(sides)
}

func (w *work) openSides(sides *packageSides) (*packageWork, error) {
	p := &packageWork{work: w, sides: sides, isReturn: w.op.Package.VNFD().ID == sides.Origin.VNFD}
	var err, errTo error
	p.from, err = sides.Origin.parse()
	p.to, errTo = sides.Target.parse()
	return p, errors.Join(err, errTo)
}

// storeSides stores the two definitions.
func (w *work) storeSides(ctx context.Context) (sides *packageSides, err error) {
	if err := w.nameImages(ctx); err != nil {
		return nil, err
	}
	if err := w.uploadImages(ctx, nil); err != nil {
		return nil, err
	}
	err = vnflcm.Do(ctx, w.op, "prepare-package", "", func(ctx context.Context) error {
		s, err := w.atRest(ctx)
		if err != nil {
			return err
		}
		t, err := w.tree(ctx, s)
		if err != nil {
			return err
		}
		r, err := w.running(ctx, s)
		if err != nil {
			return err
		}
		if sides, err = w.sides(ctx, r, t); err != nil {
			return err
		}
		return w.op.State().Put(ctx, sidesKey, sides)
	})
	if err == nil && sides == nil { // the step was done by an earlier call
		sides, err = readSides(ctx, w.op)
	}
	return sides, err
}

// nameImages adds the VNFD of op.Former to state keys that earlier versions have written.
func (w *work) nameImages(ctx context.Context) error {
	ids := map[string]string{}
	if err := readState(ctx, w.op.State(), imageKey, ids); err != nil {
		return err
	}
	for name, id := range ids {
		if strings.Contains(name, "/") {
			continue
		}
		err := w.op.State().Put(ctx, stateKeyOf(w.op.Former.Package, name), id)
		if err == nil {
			err = w.op.State().Delete(ctx, imageKey+name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// releaseFormer deletes the images of the former package that no VNF uses. It leaves them if a hook follows: the operation can then still be
// rolled back.
func (w *work) releaseFormer(ctx context.Context) error {
	if _, follows := w.op.Flavour.Hooks[string(vnflcm.ChangePackageEnd)]; follows {
		return nil
	}
	return vnflcm.Do(ctx, w.op, "remove-images", "", w.releaseOthers)
}

// complete gives the stack the definition of op.Package.
func (p *packageWork) complete(ctx context.Context) error {
	s, r, err := p.look(ctx)
	if err != nil {
		return err
	}
	def, template := p.sides.Target.definition(), p.to
	if p.isReturn {
		if def, template, err = p.originNow(ctx, s); err != nil {
			return err
		}
	}
	sizes := map[string]int{}
	for _, g := range template.Groups() {
		if g.Number >= 0 {
			sizes[g.Name] = g.Number
		}
	}
	if s.Status.Complete() && isDefinedBy(r, def, sizes) {
		return p.noteCompleted(ctx, !p.isReturn)
	}
	if !p.isReturn {
		if err := p.noteCompleted(ctx, true); err != nil {
			return err
		}
	}
	if _, err = p.apply(ctx, s, def); err != nil {
		return err
	}
	return p.noteCompleted(ctx, !p.isReturn)
}

// noteCompleted stores whether the stack gets all of the target.
func (p *packageWork) noteCompleted(ctx context.Context, is bool) error {
	if p.sides.Completed == is {
		return nil
	}
	p.sides.Completed = is
	return p.op.State().Put(ctx, sidesKey, p.sides)
}

// originNow returns the definition of the origin with the present numbers of members: a mixed VNF may have been scaled.
func (p *packageWork) originNow(ctx context.Context, s *heat.Stack) (def heat.Definition, template *hot.Template, err error) {
	t, err := p.tree(ctx, s)
	if err != nil {
		return def, nil, err
	}
	def = p.sides.Origin.definition()
	if template, err = p.sides.Origin.parse(); err != nil {
		return def, nil, err
	}
	def.Parameters = p.sides.originParameters()
	for _, g := range template.Groups() {
		switch n := t.sizeOf(g.Name); {
		case n == g.Number:
		case len(g.Parameter) > 0:
			put(def.Parameters, g.Parameter, n)
		default:
			err = errors.Join(err, template.SetCapacity(g.Name, n))
		}
	}
	def.Template = template.Text()
	return def, template, err
}

// look waits for the stack and reads its definition.
func (p *packageWork) look(ctx context.Context) (*heat.Stack, running, error) {
	s, err := p.atRest(ctx)
	if err != nil {
		return nil, running{}, err
	}
	r, err := p.running(ctx, s)
	return s, r, err
}

// runs reports whether a stack has the definition of a side. It ignores the sizes of groups, which scaling changes, and hidden parameters.
func (p *packageWork) runs(r running, template *hot.Template, side packageSide) bool {
	if r.template.InTransition() || len(template.Differences(r.text.Template, r.text.Files)) > 0 {
		return false
	}
	present, err := decoded(r.stack.Parameters, template)
	if err != nil {
		return false
	}
	wanted := map[string]any{}
	merge(wanted, side.Parameters)
	for _, g := range template.Groups() {
		if size, known := lookUp(present, g.Parameter); known && len(g.Parameter) > 0 {
			put(wanted, g.Parameter, size)
		}
	}
	maps.DeleteFunc(wanted, func(name string, _ any) bool { return r.stack.Parameters[name] == hidden })
	return sameParameters(r.stack.Parameters, wanted)
}
