package openstack_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// individual returns the texts of the sample's base HOT with groups, and those with a resource for each VDU instead.
func individual() (oldnew []string) {
	for _, of := range [][3]string{{"master", "1", "1"}, {"worker", "1", "50"}} {
		group := of[0] + "_instance"
		oldnew = append(oldnew, "  "+group+":\n    type: OS::Heat::AutoScalingGroup\n    properties:\n      min_size: "+of[1]+"\n      max_size: "+of[2]+
			"\n      desired_capacity: { get_param: [ nfv, VDU, "+of[0]+"Node, desired_capacity ] }\n      resource:\n", "  "+of[0]+"Node:\n")
		for _, policy := range [][2]string{{"out", "1"}, {"in", "-1"}} {
			oldnew = append(oldnew, "  "+group+"_scale_"+policy[0]+":\n    type: OS::Heat::ScalingPolicy\n    properties:\n      auto_scaling_group_id: { get_resource: "+group+
				" }\n      adjustment_type: change_in_capacity\n      scaling_adjustment: "+policy[1]+"\n", "")
		}
	}
	return oldnew
}

// newStandardLab has an instance whose VNFCs are separate resources of the stack, and a second version of its package.
func newStandardLab(t *testing.T, oldnew ...string) *lab {
	t.Helper()
	first, second := packageWith(t, vnfdID, individual()...), packageWith(t, nextVNFD, append(oldnew, individual()...)...)
	l := newLabOf(t, openstack.VimTypeV2, vnflcm.PackagesFunc(func(_ context.Context, _, id string) (tosca.Source, error) {
		return tosca.File(map[string]string{vnfdID: first, nextVNFD: second}[id]), nil
	}))
	l.must(l.Instantiate(t.Context(), l.id, l.request(`{"lcm-operation-user-data": "x.py", "lcm-operation-user-data-class": "StandardUserData"}`)))
	return l
}

// packages returns how many servers have the image and the flavor of each of the packages.
func (l *lab) packages() (out [2]int) {
	for _, shown := range l.shown() {
		for i := range out {
			if shown == nextImage[i]+" "+nextFlavor[i] {
				out[i]++
			}
		}
	}
	return out
}

// TestChangeIndividuals changes the package of VNFCs that are separate resources, rolls back, leaves the VNF mixed, and changes back.
func TestChangeIndividuals(t *testing.T) {
	t.Parallel()
	l := newStandardLab(t, slices.Concat(nextImage, nextFlavor)...)
	before := l.servers()
	for after := 1; after <= 3; after++ {
		opID, err := l.changePackage(nextVNFD, fmt.Sprintf(`{"pause_after": %d}`, after))
		l.ends(opID, err, vnflcm.FailedTemp)
		if diff := cmp.Diff([2]int{3 - after, after}, l.packages()); diff != "" {
			t.Errorf("after %d: %s", after, diff)
		}
		if err := l.Rollback(t.Context(), opID); err != nil {
			t.Fatal(err)
		}
		if occ, err := l.Wait(t.Context(), opID); occ.OperationState != vnflcm.RolledBack {
			t.Fatalf("operation %+v: %v", occ, err)
		}
		if diff := cmp.Diff([2]int{3, 0}, l.packages()); diff != "" {
			t.Errorf("rolled back: %s", diff)
		}
	}
	opID, err := l.changePackage(nextVNFD, `{"pause_after": 1}`)
	l.ends(opID, err, vnflcm.FailedTemp)
	if err := l.Fail(t.Context(), opID); err != nil {
		t.Fatal(err)
	}
	l.must(l.heal("", slices.Sorted(maps.Keys(l.servers()))[0]))
	if diff := cmp.Diff([2]int{2, 1}, l.packages()); diff != "" {
		t.Errorf("mixed and healed: %s", diff)
	}
	l.must(l.changePackage(nextVNFD, "{}"))
	if diff := cmp.Diff([2]int{0, 3}, l.packages()); diff != "" {
		t.Error(diff)
	}
	l.must(l.changePackage(vnfdID, "{}"))
	if got := changed(before, l.servers()); len(got) > 1 { // the healed one
		t.Errorf("changed servers %v", got)
	}
	l.must(l.scale(vnflcm.ScaleOut, 1))
	if diff := cmp.Diff([2]int{4, 0}, l.packages()); diff != "" {
		t.Errorf("scaled out: %s", diff)
	}
}

// TestNumbersOfIndividuals changes to a package with more workers, rolls back, and changes to one with fewer.
func TestNumbersOfIndividuals(t *testing.T) {
	t.Parallel()
	l := newStandardLab(t, append(slices.Concat(nextImage, nextFlavor), workersOf(2, 2)...)...)
	before := l.servers()
	opID, err := l.changePackage(nextVNFD, `{"pause_after": 4}`)
	l.ends(opID, err, vnflcm.FailedTemp)
	if diff := cmp.Diff([2]int{0, 4}, l.packages()); diff != "" {
		t.Error(diff)
	}
	l.backAndOn(opID, before)
}

// TestOtherValuesForMixedVNF continues a change that was given up with other values for the VNFC that has changed.
func TestOtherValuesForMixedVNF(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]*lab{"separate resources": newStandardLab(t, slices.Concat(nextImage, nextFlavor)...), "groups": newChangeLab(t, slices.Concat(nextImage, nextFlavor)...)} {
		t.Run(name, func(t *testing.T) {
			opID, err := l.changePackage(nextVNFD, `{"pause_after": 1}`)
			l.ends(opID, err, vnflcm.FailedTemp)
			if err := l.Fail(t.Context(), opID); err != nil {
				t.Fatal(err)
			}
			params := fmt.Sprintf(`{"nfv": {"VDU": {"masterNode%s": {"computeFlavourId": "m1.huge"}}}}`, map[string]string{"separate resources": "-0"}[name])
			if _, err := l.changePackage(nextVNFD, params); err == nil || !strings.Contains(err.Error(), "would change again (flavour)") {
				t.Errorf("error %v", err)
			}
			l.must(l.changePackage(nextVNFD, "{}"))
			if diff := cmp.Diff([2]int{0, 3}, l.packages()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
