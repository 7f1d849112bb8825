package openstack

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/vnfkit/vnfkit/infra/openstack/hot"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// UnitChanged implements vnflcm.PackageChanger. It compares the definitions that Heat has. A stack has the new definition of a server even if
// Nova has failed to resize or rebuild the server, so the resource must be up to date too. The server in Nova is no evidence: it has the new
// image also if its rebuild has failed.
func (d *Driver) UnitChanged(ctx context.Context, op *vnflcm.Operation, u vnflcm.PackageUnit) (bool, error) {
	w, err := d.begin(ctx, op)
	if err != nil {
		return false, err
	}
	sides, err := readSides(ctx, op)
	if err != nil || sides == nil || sides.Operation != op.ID {
		return op.RollingBack, err // nothing was changed
	}
	p, err := w.openSides(sides)
	if err != nil {
		return false, err
	}
	s, err := w.find(ctx)
	if err != nil || s == nil {
		return false, errors.Join(err, ErrNoStack)
	}
	t, err := w.tree(ctx, s)
	if err != nil {
		return false, err
	}
	if u.Change == vnflcm.VnfcModified && t.isOutdated(u.ID) {
		return false, nil
	}
	at := p.placeOf(u, t)
	if at.member != "" {
		m, err := w.membersOf(ctx, t, at.holder)
		now, there := m.resources[at.member]
		if u.Change == vnflcm.VnfcRemoved {
			return !there, err
		}
		return there && sameJSON(now, p.memberDefinition(at)), err
	}
	r, err := w.running(ctx, s)
	if err != nil {
		return false, err
	}
	x, err := p.present(r)
	return p.isChanged(u, at, x, r), err
}

// isChanged reports whether a unit outside of the AutoScalingGroups that the stack had is as op.Package describes it.
func (p *packageWork) isChanged(u vnflcm.PackageUnit, at place, x hot.Transition, r running) bool {
	if u.Change == vnflcm.VnfcRemoved && r.template.Resource(at.holder) == nil {
		return true
	}
	if !slices.Contains(p.from.Holders(), at.holder) && isAutoScaling(p.to, at.holder) {
		isThere := p.rank(u, at.holder) <= sizeIn(r.template, at.holder)
		return isThere == (u.Change != vnflcm.VnfcRemoved)
	}
	return slices.Contains(x.Taken, at.holder) != p.isReturn
}

// rank returns the number of an added unit among those of a new group, from 1.
func (p *packageWork) rank(u vnflcm.PackageUnit, group string) (n int) {
	for _, other := range p.op.PackagePlan.Units {
		if other.Change == vnflcm.VnfcAdded && holderOf(p.to, other) == group {
			n++
		}
		if other.ID == u.ID {
			return n
		}
	}
	return n
}

// sizeIn returns the number of members that a template has for a group, or a number above all if the template reads it from a parameter.
func sizeIn(t *hot.Template, group string) int {
	for _, g := range t.Groups() {
		if g.Name == group && g.Number >= 0 {
			return g.Number
		}
		if g.Name == group {
			return maxPlace
		}
	}
	return 0
}

// CheckHealth implements vnflcm.HealthChecker: Nova must report the servers of the batch as ACTIVE.
func (d *Driver) CheckHealth(ctx context.Context, op *vnflcm.Operation) error {
	w, err := d.begin(ctx, op)
	if err != nil {
		return err
	}
	list := slices.Concat(op.Change.Added, op.Change.Replaced)
	return vnflcm.Each(ctx, parallel, list, func(ctx context.Context, v vnflcm.VNFC) error {
		i := slices.IndexFunc(op.VNFCs, func(now vnflcm.VNFC) bool { return now.ID == v.ID })
		if i < 0 {
			return fmt.Errorf("the VNFC %s has no server", v.Label())
		}
		s, err := servers.Get(ctx, w.clients.Nova, op.VNFCs[i].ResourceID).Extract()
		if err != nil {
			return fmt.Errorf("look at server %s of %s: %w", op.VNFCs[i].ResourceID, v.Label(), w.clients.Explain(err))
		}
		if s.Status != "ACTIVE" || s.TaskState != "" {
			return fmt.Errorf("server %s of %s is %s %s", s.ID, v.Label(), s.Status, s.TaskState)
		}
		return nil
	})
}
