package vnflcm_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestRollback rolls back INSTANTIATE and SCALE_OUT, with rollback hooks and with the hooks of the inverse operation.
func TestRollback(t *testing.T) {
	t.Parallel()
	for _, flavour := range []string{"plain", "undo"} {
		const hook = "_rollback_start"
		t.Run(flavour+" instantiate", func(t *testing.T) {
			t.Parallel()
			x := newToys(t, nil)
			id := x.create()
			x.world.failAt("instantiate_end/configure/", errCut)
			occ, _ := x.instantiate(id, flavour, vnflcm.FailedTemp)
			occ, err := x.wait(occ.ID, x.Rollback(t.Context(), occ.ID), vnflcm.RolledBack)
			if p, ok := errors.AsType[*vnflcm.ProblemDetails](err); !ok || p.Steps[0].Step != "configure" {
				t.Errorf("the error is not the cause of the rollback: %v", err)
			}
			if diff := cmp.Diff(state{Machines: []vnflcm.VNFC{}, Nodes: map[string]string{}, Token: 1}, x.world.state(id)); diff != "" {
				t.Errorf("the world:\n%s", diff)
			}
			if n := x.world.done["instantiate"+hook+"/leave/worker-1"]; n != 1 {
				t.Errorf("worker-1 left %d times: %v", n, x.world.done)
			}
			must(t, x.Delete(t.Context(), id, ""))
			if occ.Error == nil {
				t.Error("the operation lacks the cause of the rollback")
			}
		})
		t.Run(flavour+" scale out", func(t *testing.T) {
			t.Parallel()
			x := newToys(t, nil)
			id := x.instantiated(flavour)
			before, info := x.world.state(id), x.get(id)
			x.world.failAt("scale_end/join/worker-3", errCut)
			opID, err := x.Scale(t.Context(), id, scale(vnflcm.ScaleOut, 2))
			x.wait(opID, err, vnflcm.FailedTemp)
			var seen []vnflcm.Operation
			x.watch(func(op *vnflcm.Operation) { seen = append(seen, *op) })
			x.wait(opID, x.Rollback(t.Context(), opID), vnflcm.RolledBack)
			if diff := cmp.Diff(before, x.world.state(id)); diff != "" {
				t.Errorf("the world differs from before:\n%s", diff)
			}
			if diff := cmp.Diff(info, x.get(id), cmpopts.IgnoreFields(vnflcm.VnfInstance{}, "Version")); diff != "" {
				t.Errorf("the instance differs from before:\n%s", diff)
			}
			if len(seen) == 0 || !seen[0].RollingBack || seen[0].Scale.Type != vnflcm.ScaleIn ||
				!cmp.Equal(ids(seen[0].Change.Removed), []string{"worker-2", "worker-3"}) {
				t.Errorf("operation in the hook: %+v", seen)
			}
		})
	}
}

func TestRollbackIsForInstantiateAndScaleOutOnly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fail  string
		begin func(*toys, string) (string, error)
	}{
		"scale in":  {"scale/delete/worker-1", scenarios[2].begin},
		"heal":      {"heal/replace/worker-0", scenarios[3].begin},
		"terminate": {"terminate/delete/worker-0", scenarios[5].begin},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, nil)
			id := x.instantiated("plain")
			x.world.failAt(c.fail, errCut)
			opID, err := c.begin(x, id)
			x.wait(opID, err, vnflcm.FailedTemp)
			wantIs(t, x.Rollback(t.Context(), opID), vnflcm.ErrNotSupported)
			x.wait(opID, nil, vnflcm.FailedTemp)
			x.world.failAt(c.fail, nil)
			x.wait(opID, x.Retry(t.Context(), opID), vnflcm.Completed)
		})
	}
}

// TestRollbackAgain checks that hooks after the removal still get the VNFCs that an earlier attempt has removed.
func TestRollbackAgain(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.instantiated("plain")
	x.world.failAt("scale_end/join/worker-2", errCut)
	opID, err := x.Scale(t.Context(), id, scale(vnflcm.ScaleOut, 1))
	x.wait(opID, err, vnflcm.FailedTemp)

	var seen [][]string
	fail := errCut
	hooks := (&cluster{world: x.world}).Hooks()
	hooks[vnflcm.ScaleEnd] = func(_ context.Context, op *vnflcm.Operation) error {
		seen = append(seen, ids(op.Change.Removed))
		return fail
	}
	x.cfg.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": hooked{hooks}}
	x.start()
	x.wait(opID, x.Rollback(t.Context(), opID), vnflcm.FailedTemp)
	fail = nil
	x.wait(opID, x.Rollback(t.Context(), opID), vnflcm.RolledBack)
	if diff := cmp.Diff([][]string{{"worker-2"}, {"worker-2"}}, seen); diff != "" {
		t.Errorf("Removed in the hook scale_end:\n%s", diff)
	}
}

type hooked struct{ hooks vnflcm.Hooks }

func (h hooked) Validate(context.Context, *vnflcm.Operation) error { return nil }
func (h hooked) Hooks() vnflcm.Hooks                               { return h.hooks }

// TestRetryAfterPartialRollback checks that Retry after a partial rollback repeats all steps with the VNFCs of the plan, because the
// journal is void.
func TestRetryAfterPartialRollback(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.instantiated("plain")
	x.world.failAt("scale_end/join/worker-3", errCut)
	opID, err := x.Scale(t.Context(), id, scale(vnflcm.ScaleOut, 2))
	x.wait(opID, err, vnflcm.FailedTemp)
	x.world.failAt("scale_rollback/delete/worker-3", errCut)
	x.wait(opID, x.Rollback(t.Context(), opID), vnflcm.FailedTemp)
	x.world.failAt("scale_end/join/worker-3", nil)
	var announced []vnflcm.VNFC
	x.watch(func(op *vnflcm.Operation) {
		if op.Phase() == "scale_start" {
			announced = op.Change.Added
		}
	})
	occ, _ := x.wait(opID, x.Retry(t.Context(), opID), vnflcm.Completed)
	if diff := cmp.Diff([]vnflcm.VNFC{{VDU: "worker"}, {VDU: "worker"}}, announced); diff != "" {
		t.Errorf("scale_start saw:\n%s", diff)
	}
	if n := len(x.world.state(id).Nodes); n != 6 || len(occ.ResourceChanges.AffectedVnfcs) != 2 {
		t.Errorf("%d nodes (with config), want 6; changes %+v", n, occ.ResourceChanges)
	}
}
