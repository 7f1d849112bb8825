package openstack

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/vnfkit/vnfkit/infra/openstack/hot"
	"github.com/vnfkit/vnfkit/infra/openstack/internal/heat"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// errMixed refuses operations that cannot be made while VNFCs run by two packages.
var errMixed = fmt.Errorf("%w: VNFCs run by two packages: change the package to one of them first", vnflcm.ErrState)

// mixedDefinition returns the definition that the stack of a mixed VNF has, with the sizes of groups that the operation wants: each VNFC
// stays with its package, and new ones run by the package of the instance.
func (w *work) mixedDefinition(ctx context.Context, s *heat.Stack, t tree) (heat.Definition, error) {
	r, err := w.running(ctx, s)
	if err != nil {
		return heat.Definition{}, err
	}
	want := map[string]int{}
	for _, s := range t.servers() {
		want[s.vdu]++
	}
	if w.op.Kind == vnflcm.OpScale {
		sizes, err := w.op.Instances()
		if err != nil {
			return heat.Definition{}, err
		}
		if err := w.resizeGroups(r.template, want, sizes); err != nil {
			return heat.Definition{}, err
		}
	}
	return heat.Definition{Template: r.template.Text(), Files: r.template.Files(), Parameters: map[string]any{}}, nil
}

// resizeGroups sets the sizes of groups whose VDUs have another number of VNFCs.
func (w *work) resizeGroups(t *hot.Template, have, want map[string]int) error {
	for _, vdu := range w.op.Flavour.VDUs {
		n, wanted := want[vdu.ID]
		if !wanted || have[vdu.ID] == n {
			continue
		}
		group := t.GroupOf(vdu.ID)
		if group == nil {
			return fmt.Errorf("%w (VDU %s has no group)", errMixed, vdu.ID)
		}
		if err := t.SetCapacity(group.Name, n); err != nil {
			return err
		}
	}
	return nil
}

// keepNames gives the files and configurations of a template the names that they have in the stack, if the package of the VNF has been
// changed.
func (w *work) keepNames(ctx context.Context, s *heat.Stack, t *hot.Template) error {
	sides, err := readSides(ctx, w.op)
	if err != nil || sides == nil {
		return err
	}
	r, err := w.running(ctx, s)
	if err == nil {
		t.KeepConfigNames(r.template)
		t.DistinctFiles(r.text.Files)
	}
	return err
}

// isMixed reports whether some VNFCs run by another package than op.Package.
func isMixed(op *vnflcm.Operation) bool {
	return op.Former == nil && slices.ContainsFunc(op.VNFCs, func(v vnflcm.VNFC) bool { return op.VersionOf(v).Package != op.Package })
}

// checkChanged refuses to continue a change with other values for VNFCs that have changed already: no batch has them.
func (c *comparison) checkChanged(former, now packageSide) error {
	if keys, filled := former.Parameters[hot.HostKeys]; filled { // filled later
		now.Parameters = maps.Clone(now.Parameters)
		now.Parameters[hot.HostKeys] = keys
	}
	changed := comparison{work: c.work, tree: c.tree}
	if err := changed.compare(former, now); err != nil {
		return err
	}
	for _, v := range c.op.VNFCs {
		path := changed.pathOf(v)
		if c.op.VersionOf(v).Package != c.op.Package || path == nil {
			continue
		}
		if unit, _ := changed.unit(v, path); len(unit.Details) > 0 {
			c.faults = append(c.faults, &vnflcm.ParamError{Path: "additionalParams", Reason: fmt.Sprintf(
				"the VNFC %s runs by the new package already, and would change again (%s): give the values of the change that has failed, or change back first", v.Label(), unit.Details[0].Name)})
		}
	}
	return nil
}
