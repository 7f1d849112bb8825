package vnflcm_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// operations reads all pages of a list and returns the ids.
func (x *toys) operations(q vnflcm.OperationQuery) (out []string) {
	x.t.Helper()
	for {
		page, err := x.Operations(x.t.Context(), q)
		must(x.t, err)
		if q.Limit > 0 && len(page.Items) > q.Limit {
			x.t.Errorf("a page of %d has %d operations", q.Limit, len(page.Items))
		}
		for _, occ := range page.Items {
			out = append(out, occ.ID)
		}
		if q.After = page.Next; q.After == "" {
			return out
		}
	}
}

func TestOperationsInPages(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id, other := x.instantiated("plain"), x.instantiated("plain")
	var heals []string
	for range 5 {
		opID, err := x.Heal(t.Context(), id, vnflcm.HealVnfRequest{})
		x.wait(opID, err, vnflcm.Completed)
		heals = append(heals, opID)
	}
	x.world.failAt("scale_end/join/worker-2", errCut)
	failed, err := x.Scale(t.Context(), other, scale(vnflcm.ScaleOut, 1))
	_, _ = x.wait(failed, err, vnflcm.FailedTemp)
	all := x.operations(vnflcm.OperationQuery{})
	third, err := x.Operation(t.Context(), heals[2])
	must(t, err)
	for name, c := range map[string]struct {
		q    vnflcm.OperationQuery
		want []string
	}{
		"all":        {vnflcm.OperationQuery{}, all},
		"instance":   {vnflcm.OperationQuery{InstanceID: id}, append(all[:1:1], heals...)},
		"state":      {vnflcm.OperationQuery{States: []vnflcm.OperationState{vnflcm.FailedTemp, vnflcm.Failed}}, []string{failed}},
		"kind":       {vnflcm.OperationQuery{Operations: []vnflcm.LcmOperation{vnflcm.OpHeal}}, heals},
		"VNFD":       {vnflcm.OperationQuery{VnfdID: third.VnfInstanceID}, nil},
		"started":    {vnflcm.OperationQuery{InstanceID: id, StartedFrom: third.StartTime}, heals[2:]},
		"before":     {vnflcm.OperationQuery{Operations: []vnflcm.LcmOperation{vnflcm.OpHeal}, StartedBefore: third.StartTime}, heals[:2]},
		"own choice": {vnflcm.OperationQuery{Match: func(o *vnflcm.VnfLcmOpOcc) bool { return o.ID == heals[3] }}, heals[3:4]},
	} {
		for c.q.Limit = range len(all) + 2 {
			if diff := cmp.Diff(c.want, x.operations(c.q)); diff != "" {
				t.Errorf("%s, pages of %d:\n%s", name, c.q.Limit, diff)
			}
		}
	}
	if len(all) != 8 {
		t.Errorf("%d operations, want 8", len(all))
	}
}

// TestPageIsBounded checks that a page reads at most 1,000 instances, even if no instance matches.
func TestPageIsBounded(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	for range 1001 {
		x.create()
	}
	seen := 0
	q := vnflcm.InstanceQuery{Limit: 10, Match: func(*vnflcm.VnfInstance) bool { seen++; return seen == 1001 }}
	first, err := x.Instances(t.Context(), q)
	must(t, err)
	if len(first.Items) > 0 || first.Next == "" || seen != 1000 {
		t.Errorf("the first page has %d items of %d instances, continued at %q", len(first.Items), seen, first.Next)
	}
	q.After = first.Next
	last, err := x.Instances(t.Context(), q)
	must(t, err)
	if len(last.Items) != 1 || last.Next != "" {
		t.Errorf("the last page has %d items, continued at %q", len(last.Items), last.Next)
	}
}

func TestInstancesInPages(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	created := map[string]bool{x.instantiated("plain"): true}
	for range 6 {
		created[x.create()] = true
	}
	q, got := vnflcm.InstanceQuery{Limit: 3}, map[string]bool{}
	for more := true; more; more = q.After != "" {
		page, err := x.Instances(t.Context(), q)
		must(t, err)
		for _, inst := range page.Items {
			got[inst.ID] = true
		}
		q.After = page.Next
	}
	if diff := cmp.Diff(created, got); diff != "" {
		t.Error(diff)
	}
	ready, err := x.Instances(t.Context(), vnflcm.InstanceQuery{States: []vnflcm.InstantiationState{vnflcm.Instantiated}, VnfdID: x.get(got1(got)).VnfdID})
	if err != nil || len(ready.Items) != 1 {
		t.Errorf("%d instances are INSTANTIATED (%v), want 1", len(ready.Items), err)
	}
	for _, after := range []string{"x", "1.", ".", "x.y"} {
		_, err := x.Instances(t.Context(), vnflcm.InstanceQuery{After: after})
		if fault, ok := errors.AsType[*vnflcm.ParamError](err); !ok || fault.Path != "after" || fault.Value != after {
			t.Errorf("after %q: %v", after, err)
		}
	}
}

func got1(set map[string]bool) string {
	for id := range set {
		return id
	}
	return ""
}

// TestVersions checks that the Version of a document changes with each change of its content, and only then.
func TestVersions(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.create()
	seen := map[string]bool{x.get(id).Version: true}
	if now := x.get(id).Version; !seen[now] {
		t.Error("the version changes without a change")
	}
	x.instantiate(id, "plain", vnflcm.Completed)
	page, err := x.Instances(t.Context(), vnflcm.InstanceQuery{})
	must(t, err)
	if now := x.get(id).Version; seen[now] || now != page.Items[0].Version {
		t.Errorf("version %s after %v, %s in the list", now, seen, page.Items[0].Version)
	}
	g := x.holdAt("heal_end/join/worker-0")
	opID, err := x.Heal(t.Context(), id, vnflcm.HealVnfRequest{})
	must(t, err)
	<-g.reached
	version := func() string {
		occ, err := x.Operation(t.Context(), opID)
		must(t, err)
		return occ.Version
	}
	running := version()
	must(t, x.Cancel(t.Context(), opID, vnflcm.CancelGraceful))
	cancelled := version()
	close(g.open)
	_, _ = x.Wait(t.Context(), opID)
	if ended := version(); running == cancelled || cancelled == ended || running == ended {
		t.Errorf("versions: %s running, %s with a pending cancel, %s at the end", running, cancelled, ended)
	}
}

// TestChanges checks that the feed has all changes of an instance in order, each with the content at the time of the change.
func TestChanges(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	began := time.Now()
	id := x.instantiated("plain")
	x.world.failAt("scale_end/join/worker-2", errCut)
	opID, err := x.Scale(t.Context(), id, scale(vnflcm.ScaleOut, 1))
	_, _ = x.wait(opID, err, vnflcm.FailedTemp)
	x.wait(opID, x.Rollback(t.Context(), opID), vnflcm.RolledBack)
	opID, err = x.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
	x.wait(opID, err, vnflcm.Completed)
	must(t, x.Delete(t.Context(), id, ""))

	var got []string
	var after vnflcm.Cursor
	for {
		list, next, err := x.Changes(t.Context(), after, 3)
		must(t, err)
		if len(list) == 0 {
			break
		}
		for _, c := range list {
			if c.VNF.InstanceID != id || c.VNF.VnfProductName == "" || c.Time.Before(began) || c.ID == "" {
				t.Errorf("change %+v", c)
			}
			if c.Kind == vnflcm.InstanceChanged {
				continue
			}
			line := string(c.Kind)
			if o := c.Operation; o != nil {
				line = fmt.Sprint(o.Operation, " ", o.OperationState)
				if o.OperationState == vnflcm.FailedTemp && (o.Error == nil || len(o.ResourceChanges.AffectedVnfcs) != 1) {
					t.Errorf("the change with the failure lacks the error or the resources: %+v", o)
				}
			}
			got = append(got, line)
		}
		after = next
	}
	want := []string{"instance-created", "INSTANTIATE STARTING", "INSTANTIATE PROCESSING", "INSTANTIATE COMPLETED", "SCALE STARTING", "SCALE PROCESSING",
		"SCALE FAILED_TEMP", "SCALE ROLLING_BACK", "SCALE ROLLED_BACK", "TERMINATE STARTING", "TERMINATE PROCESSING", "TERMINATE COMPLETED", "instance-deleted"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTenant(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	inst, err := x.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: toyVNFD, Tenant: "north"})
	must(t, err)
	occ, _ := x.instantiate(inst.ID, "plain", vnflcm.Completed)
	listed, err := x.Operations(t.Context(), vnflcm.OperationQuery{InstanceID: inst.ID})
	must(t, err)
	changes, _, err := x.Changes(t.Context(), "", 100)
	must(t, err)
	got := []string{inst.Tenant, x.get(inst.ID).Tenant, occ.Tenant, listed.Items[0].Tenant}
	for _, c := range changes {
		got = append(got, c.VNF.Tenant)
	}
	if other := slices.DeleteFunc(got, func(tenant string) bool { return tenant == "north" }); len(changes) == 0 || len(other) > 0 {
		t.Errorf("%d changes, other tenants %q", len(changes), other)
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.instantiated("plain")
	x.world.failAt("scale_end/join/worker-2", vnflcm.ErrNotSupported)
	opID, err := x.Scale(t.Context(), id, scale(vnflcm.ScaleOut, 1))
	_, _ = x.wait(opID, err, vnflcm.FailedTemp)
	history := func() (out []string) {
		t.Helper()
		list, err := x.History(t.Context(), opID)
		must(t, err)
		for _, p := range list {
			line := fmt.Sprintf("%d %s %s %s %s", p.Attempt, p.Phase, p.Step, p.On, string(p.Code))
			if p.End.Before(p.Start) || p.Process == "" || p.Failed != (p.Code != "") || p.Host == "" && p.Phase == "scale_end" && p.On != "" {
				t.Errorf("%+v", p)
			}
			out = append(out, line)
		}
		return out
	}
	failed := history()
	x.world.failAt("scale_end/join/worker-2", nil)
	x.wait(opID, x.Retry(t.Context(), opID), vnflcm.Completed)
	ended := history()
	if len(failed) == 0 || failed[len(failed)-1] != "1 scale_end join worker-2 not-supported" {
		t.Errorf("after the failure: %q", failed)
	}
	if diff := cmp.Diff(append(failed, "2 scale_end   ", "2 scale_end join worker-2 "), ended); diff != "" {
		t.Errorf("at the end:\n%s", diff)
	}
	_, err = x.History(t.Context(), "none")
	wantIs(t, err, vnflcm.ErrNotFound)
}
