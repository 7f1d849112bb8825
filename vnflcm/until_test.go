package vnflcm_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// TestMaintainUntil checks that the end of a window stops a maintenance after the machine that it works on, and that a retry continues.
func TestMaintainUntil(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newToys(t, nil)
		id := x.instantiated("plain")
		request := renewal(t, "{}")
		request.Until = time.Now().Add(10 * time.Second)
		x.world.after = func(_ context.Context, at string) error {
			if at == "maintain:cluster/renew/worker-0" {
				time.Sleep(20 * time.Second)
			}
			return nil
		}
		opID, err := x.Maintain(t.Context(), id, request)
		occ, err := x.wait(opID, err, vnflcm.FailedTemp)
		wantIs(t, err, vnflcm.ErrCancelled)
		if occ.Error == nil || cmp.Diff(&vnflcm.MachineCount{Done: 2, Left: 1}, occ.Machines) != "" {
			t.Errorf("error %v, machines %+v", occ.Error, occ.Machines)
		}
		if n := x.world.done["maintain:cluster/use/worker-0"]; n != 1 {
			t.Errorf("the step that finishes the machine was done %d times", n)
		}
		occ, _ = x.wait(opID, x.Retry(t.Context(), opID), vnflcm.Completed)
		if diff := cmp.Diff(&vnflcm.MachineCount{Done: 3}, occ.Machines); diff != "" {
			t.Errorf("machines after the retry:\n%s", diff)
		}
		counts, err := x.cfg.Store.List(t.Context(), store.Query{Kind: "count"})
		if len(counts) > 0 || err != nil {
			t.Errorf("%d counts are left, %v", len(counts), err)
		}
		_, err = x.Maintain(t.Context(), id, request)
		wantFaults(t, err, "until")
	})
}

// TestMaintainUntilTakenOver checks that a process that takes the operation over after the window begins nothing on further machines.
func TestMaintainUntilTakenOver(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newToys(t, nil)
		id := x.instantiated("plain")
		request := renewal(t, "{}")
		request.Until = time.Now().Add(10 * time.Second)
		g := x.holdAt("maintain:cluster/renew/worker-0")
		opID, err := x.Maintain(t.Context(), id, request)
		must(t, err)
		<-g.reached
		go func() { close(g.open) }()
		closeManager(t, x.Manager)
		time.Sleep(20 * time.Second)
		x.start()
		_, err = x.wait(opID, nil, vnflcm.FailedTemp)
		wantIs(t, err, vnflcm.ErrCancelled)
		if n := x.world.done["maintain:cluster/renew/worker-1"]; n != 0 {
			t.Error("another machine was begun after the window")
		}
	})
}

// TestMaintainCount checks that the document of a running operation has the count, with another version each time.
func TestMaintainCount(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.instantiated("plain")
	g := x.holdAt("maintain:cluster/renew/worker-0")
	opID, err := x.Maintain(t.Context(), id, renewal(t, "{}"))
	must(t, err)
	<-g.reached
	running, err := x.Operation(t.Context(), opID)
	must(t, err)
	if diff := cmp.Diff(&vnflcm.MachineCount{Done: 1, Left: 2}, running.Machines); diff != "" {
		t.Errorf("while the operation runs:\n%s", diff)
	}
	close(g.open)
	occ, _ := x.wait(opID, nil, vnflcm.Completed)
	if diff := cmp.Diff(&vnflcm.MachineCount{Done: 3}, occ.Machines); diff != "" || occ.Version == running.Version {
		t.Errorf("version %s, at the end:\n%s", occ.Version, diff)
	}
	opID, err = x.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{"worker-0"}})
	if occ, _ := x.wait(opID, err, vnflcm.Completed); occ.Machines != nil {
		t.Errorf("a heal counts %+v", occ.Machines)
	}
}
