package vnflcm_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// abandoned returns the record of an abandoned instance, without its time.
func (x *toys) abandoned(id string) *vnflcm.AbandonedInstance {
	x.t.Helper()
	list, err := x.Abandoned(x.t.Context())
	must(x.t, err)
	for _, a := range list {
		if a.VNF.InstanceID == id {
			if time.Since(a.Time) > time.Minute {
				x.t.Errorf("given up at %v", a.Time)
			}
			a.Time = time.Time{}
			return a
		}
	}
	return nil
}

// TestAbandon abandons instances that can be neither terminated nor deleted.
func TestAbandon(t *testing.T) {
	t.Parallel()
	three := []string{"vm-master-0-0", "vm-worker-0-0", "vm-worker-1-0"}
	for name, c := range map[string]struct {
		spoil func(t *testing.T, x *toys, id string) (opID string)
		state vnflcm.OperationState // of the operation afterwards
		want  []string              // servers
	}{
		"the VIM is not registered any more": {
			spoil: func(t *testing.T, x *toys, _ string) string {
				must(t, x.VIMs().Remove(t.Context(), "", "vim1"))
				return ""
			}, want: three},
		"the package is gone": {
			spoil: func(_ *testing.T, x *toys, _ string) string {
				x.cfg.Packages = toyPackages(nil)
				x.start()
				return ""
			}, want: three},
		"terminating has failed, the VIM is not registered any more": {
			spoil: func(t *testing.T, x *toys, id string) string {
				x.world.failAt("terminate/delete/worker-1", errCut)
				opID, err := x.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
				x.wait(opID, err, vnflcm.FailedTemp)
				must(t, x.VIMs().Remove(t.Context(), "", "vim1"))
				return opID
			}, state: vnflcm.Failed, want: three},
		"terminating has failed, the VIM answers": {
			spoil: func(t *testing.T, x *toys, id string) string {
				x.world.failAt("terminate/delete/worker-1", errCut)
				opID, err := x.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
				x.wait(opID, err, vnflcm.FailedTemp)
				return opID
			}, state: vnflcm.Failed, want: []string{"vm-worker-1-0"}},
		"the operation was forgotten": {
			spoil: func(t *testing.T, x *toys, id string) string {
				x.world.failAt("scale_end/join/worker-2", errCut)
				opID, err := x.Scale(t.Context(), id, scale(vnflcm.ScaleOut, 1))
				x.wait(opID, err, vnflcm.FailedTemp)
				damaged, err := x.cfg.Store.Get(t.Context(), "operation", opID)
				must(t, err)
				damaged.Body = []byte("damaged")
				must(t, x.cfg.Store.Apply(t.Context(), store.Batch{Put: []store.Record{damaged}}))
				must(t, x.Forget(t.Context(), "operation", opID))
				return ""
			}, want: append(three, "vm-worker-2-0")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, nil)
			x.watch(func(op *vnflcm.Operation) {
				if op.Kind == vnflcm.OpInstantiate {
					must(t, op.RegisterVIM(t.Context(), vnflcm.VimConnectionInfo{ID: "k8s", VimID: "k8s", VimType: "kubernetes",
						AccessInfo: params(t, `{"bearer_token":"canary"}`)}))
					must(t, op.State().Put(t.Context(), "hostkey/vm", "k"))
				}
			})
			id := x.instantiated("plain")
			opID := c.spoil(t, x, id)
			after, err := x.LatestChange(t.Context())
			must(t, err)
			if err := x.Delete(t.Context(), id, ""); !errors.Is(err, vnflcm.ErrState) && !errors.Is(err, vnflcm.ErrConflict) {
				t.Errorf("Delete: %v", err)
			}
			planned, err := x.PlanAbandon(t.Context(), id)
			must(t, err)
			got, err := x.Abandon(t.Context(), id)
			must(t, err)
			if c.state == "" { // failing an operation reads what there is now
				planned.Time = got.Time
				if diff := cmp.Diff(planned, got, cmp.AllowUnexported(vnflcm.Params{}, vnflcm.Secret{})); diff != "" {
					t.Errorf("planned:\n%s", diff)
				}
			}
			got.Time = time.Time{}
			var servers []string
			for _, v := range got.Resources.VNFCs {
				servers = append(servers, v.ResourceID)
			}
			if diff := cmp.Diff(c.want, servers); diff != "" {
				t.Errorf("servers that may be left:\n%s", diff)
			}
			if diff := cmp.Diff([]string{"k8s"}, got.RegisteredVIMs); diff != "" {
				t.Errorf("VIM entries that are left:\n%s", diff)
			}
			if diff := cmp.Diff(vnflcm.VimConnectionInfo{ID: "vim1", VimID: "vim1", VimType: "toy"}, got.VIM); diff != "" {
				t.Errorf("VIM:\n%s", diff)
			}
			_, err = x.VIMs().Get(t.Context(), "", "k8s")
			must(t, err)
			_, err = x.Get(t.Context(), id)
			wantIs(t, err, vnflcm.ErrNotFound)
			if left, err := x.cfg.Store.List(t.Context(), store.Query{Kind: "state"}); err != nil || len(left) > 0 {
				t.Errorf("state that is left: %v, %v", left, err)
			}
			if c.state != "" {
				occ, err := x.Operation(t.Context(), opID)
				must(t, err)
				if occ.OperationState != c.state {
					t.Errorf("the operation is %s, want %s", occ.OperationState, c.state)
				}
			}
			changes, _, err := x.Changes(t.Context(), after, 10)
			must(t, err)
			if last := changes[len(changes)-1]; last.Kind != vnflcm.InstanceDeleted || last.VNF.InstanceID != id {
				t.Errorf("the last change is %+v", last)
			}
			x.start() // a later process
			if diff := cmp.Diff(got, x.abandoned(id)); diff != "" {
				t.Errorf("the list that was kept:\n%s", diff)
			}
		})
	}
}

// TestAbandonIsRefused checks that Abandon is refused while an operation is active, in this or in another process.
func TestAbandonIsRefused(t *testing.T) {
	t.Parallel()
	for _, state := range []vnflcm.OperationState{vnflcm.Starting, vnflcm.Processing, vnflcm.RollingBack} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			x, id, opID := inState(t, state)
			y := x.other(nil)
			for _, m := range []*toys{x, y} {
				before := x.get(id).Version
				_, err := m.PlanAbandon(t.Context(), id)
				wantIs(t, err, vnflcm.ErrConflict)
				_, err = m.Abandon(t.Context(), id)
				wantIs(t, err, vnflcm.ErrConflict)
				if err != nil && !strings.Contains(err.Error(), opID) {
					t.Errorf("error %v", err)
				}
				if now := x.get(id).Version; now != before || x.abandoned(id) != nil {
					t.Errorf("the instance has the version %s, had %s; the list %+v", now, before, x.abandoned(id))
				}
			}
		})
	}
	x := newToys(t, nil)
	_, err := x.Abandon(t.Context(), "unknown")
	wantIs(t, err, vnflcm.ErrNotFound)
}

// TestAbandonBeside abandons an instance with an operation in FAILED_TEMP from a process that has no drivers and works on no operation.
func TestAbandonBeside(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.instantiated("plain")
	x.world.failAt("scale_end/join/worker-2", errCut)
	opID, err := x.Scale(t.Context(), id, scale(vnflcm.ScaleOut, 1))
	x.wait(opID, err, vnflcm.FailedTemp)
	y := x.other(func(cfg *vnflcm.Config) { cfg.AcceptOnly, cfg.Infra, cfg.Mgmt = true, nil, nil })
	_, err = y.PlanAbandon(t.Context(), id)
	must(t, err)
	_, err = y.Abandon(t.Context(), id)
	must(t, err)
	occ, err := x.Operation(t.Context(), opID)
	if err != nil || occ.OperationState != vnflcm.Failed {
		t.Errorf("the operation: %v, %v", occ, err)
	}
}
