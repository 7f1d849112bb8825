package openstack

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vnfkit/vnfkit/infra/openstack/hot"
	"github.com/vnfkit/vnfkit/infra/openstack/internal/heat"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Scale implements vnflcm.InfraDriver. It sets the size of the groups in the definition of the stack and updates the
// stack once, for any number of scaling steps. Before scaling in, it marks the members that Plan has announced for removal
// as unhealthy: Heat removes unhealthy members of a group before healthy ones.
//
// Scale does not use the scaling policies of the template, for three reasons. A signal to a policy does not count
// unhealthy members (grouputils.get_size in Heat), so it would remove one member too many. Heat ignores a signal during
// the cooldown of the policy. The next update would set the size of the group back to the number in the template.
func (d *Driver) Scale(ctx context.Context, op *vnflcm.Operation) error {
	w, err := d.begin(ctx, op)
	if err != nil {
		return err
	}
	s, err := w.find(ctx)
	if err == nil && s != nil {
		err = w.uploadImages(ctx, s.Parameters) // images of VDUs that had no VNFC before
	}
	if err != nil {
		return err
	}
	err = vnflcm.Do(ctx, op, "resize-stack", "", func(ctx context.Context) error {
		want, err := op.Instances()
		if err != nil {
			return err
		}
		return w.update(ctx, change{
			pending: func(t tree) error { return w.missized(t, want) },
			prepare: w.markLeaving,
		})
	})
	if err != nil {
		return err
	}
	return w.readConsoleKeys(ctx)
}

// missized returns an error that names the differences between the VNFCs of the stack and the wanted VNFCs, or nil.
func (w *work) missized(t tree, want map[string]int) error {
	var faults []error
	have := map[string]int{}
	for _, s := range t.servers() {
		have[s.vdu]++
	}
	for _, v := range w.op.Change.Removed {
		if slices.ContainsFunc(t.servers(), func(s server) bool { return s.vnfc == v.ID }) {
			faults = append(faults, fmt.Errorf("VNFC %s is still there", v))
		}
	}
	for _, vdu := range w.op.Flavour.VDUs {
		if have[vdu.ID] != want[vdu.ID] {
			faults = append(faults, fmt.Errorf("VDU %s has %d VNFCs instead of %d", vdu.ID, have[vdu.ID], want[vdu.ID]))
		}
	}
	for _, v := range w.staying() {
		if !slices.ContainsFunc(t.servers(), func(s server) bool { return s.vnfc == v.ID }) {
			faults = append(faults, fmt.Errorf("VNFC %s is gone though it was to stay", v))
		}
	}
	return errors.Join(faults...)
}

// staying returns the VNFCs that the operation neither adds nor removes.
func (w *work) staying() []vnflcm.VNFC {
	return slices.DeleteFunc(slices.Clone(w.op.VNFCs), func(v vnflcm.VNFC) bool {
		return slices.ContainsFunc(w.op.Change.Removed, func(r vnflcm.VNFC) bool { return r.ID == v.ID })
	})
}

func leaving(op *vnflcm.Operation, s server) bool {
	return slices.ContainsFunc(op.Change.Removed, func(v vnflcm.VNFC) bool { return v.ID == s.vnfc })
}

// markLeaving marks the group members that Heat is to remove. It marks the member in the stack of the group: Heat would
// not choose a member because of a mark on the server inside it.
func (w *work) markLeaving(ctx context.Context, t tree) error {
	if err := w.highest(t); err != nil {
		return err
	}
	var members []heat.Resource
	for _, s := range t.servers() {
		if leaving(w.op, s) && s.member != nil && !s.member.Status.Failed() {
			members = append(members, *s.member)
		}
	}
	return w.mark(ctx, members, "to be removed by scaling in")
}

// highest returns an error unless the leaving members of each OS::Heat::ResourceGroup have the highest numbers. Heat
// removes the highest numbers of these groups, whichever members are marked.
func (w *work) highest(t tree) error {
	staying, left := map[string]int{}, map[string]int{} // by group: highest number that stays, lowest number that leaves
	for _, s := range t.servers() {
		if s.group == nil || s.group.Type != hot.ResourceGroup {
			continue
		}
		n := numberOf(s.member.Name)
		if !leaving(w.op, s) {
			staying[s.group.Name] = max(staying[s.group.Name], n)
		} else if low, known := left[s.group.Name]; !known || n < low {
			left[s.group.Name] = n
		}
	}
	for group, low := range left {
		if high, some := staying[group]; some && low < high {
			return fmt.Errorf("the group %s removes its highest members: number %d cannot go before number %d", group, low, high)
		}
	}
	return nil
}

// mark marks resources unhealthy.
func (w *work) mark(ctx context.Context, resources []heat.Resource, why string) error {
	return vnflcm.Each(ctx, parallel, resources, func(ctx context.Context, r heat.Resource) error {
		_, err := persist(ctx, w.cfg.Poll, func() (struct{}, error) { return struct{}{}, w.heat.Mark(ctx, r, why) })
		return err
	})
}

// parallel is how many requests to the VIM run at the same time.
const parallel = 8
