package vnflcm_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/snapshots"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// reverting is the toy cluster with snapshots that it can be brought back to.
type reverting struct {
	*saving

	validate func()                    // called by each Validate of a REVERT_TO_SNAPSHOT
	before   bool                      // a snapshot is taken before the data are replaced
	taken    func()                    // called when it is taken
	pause    func(ctx context.Context) // called at the beginning
}

// newReverting returns a Manager with snapshots in a folder, and with the driver.
func newReverting(t *testing.T, change func(*vnflcm.Config)) (*saved, *reverting) {
	t.Helper()
	d := &reverting{}
	x := newSaved(t, func(c *vnflcm.Config) {
		d.saving = c.Mgmt["cluster"].(*saving)
		c.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": d}
		if change != nil {
			change(c)
		}
	})
	return x, d
}

// RevertToSnapshot stops the machines, and starts them with the data of the archive. It leaves a machine that has these data.
func (d *reverting) RevertToSnapshot(ctx context.Context, op *vnflcm.Operation) error {
	if d.pause != nil {
		d.pause(ctx)
	}
	if d.before {
		if _, err := op.TakeSnapshot(ctx, "before", d); err != nil {
			return err
		}
		d.taken()
	}
	content, err := contentOf(ctx, op, op.RevertToSnapshot.VnfSnapshotInfoID)
	if err != nil {
		return err
	}
	for _, part := range []struct{ step, data string }{{"stop", "stopped"}, {"start", content}} {
		for _, v := range op.VNFCs {
			has := func() bool { now := d.nodes[op.InstanceID]["data of "+v.ID]; return now == part.data || now == content }
			if err := d.step(ctx, op, part.step, v.ID, has, func() { d.nodes[op.InstanceID]["data of "+v.ID] = part.data }); err != nil {
				return err
			}
		}
	}
	return nil
}

// contentOf reads the file of a snapshot.
func contentOf(ctx context.Context, op *vnflcm.Operation, id string) (string, error) {
	r, err := op.OpenSnapshot(ctx, id)
	if err != nil {
		return "", err
	}
	_, err = r.Next()
	content, errRead := io.ReadAll(r)
	return string(content), errors.Join(cmp.Or(err, errRead), r.Finish(), r.Close())
}

// Validate wants the operator to confirm that data are lost.
func (d *reverting) Validate(ctx context.Context, op *vnflcm.Operation) error {
	if op.RevertToSnapshot == nil {
		return d.saving.Validate(ctx, op)
	}
	if d.validate != nil {
		d.validate()
	}
	var given struct {
		ConfirmLoss bool `json:"confirm_loss"`
	}
	if _, err := op.Params.Decode(&given); err != nil || !given.ConfirmLoss {
		return errors.Join(err, &vnflcm.ParamError{Path: "additionalParams.confirm_loss", Reason: "must be true"})
	}
	return nil
}

func (*reverting) PublicParams() []string { return []string{"confirm_loss"} }

// Losses implements vnflcm.LossTeller.
func (*reverting) Losses(_ context.Context, op *vnflcm.Operation) ([]string, error) {
	if op.RevertToSnapshot == nil {
		return nil, nil
	}
	return []string{"what is newer than " + op.RevertToSnapshot.VnfSnapshotInfoID}, nil
}

// Preview implements vnflcm.Previewer.
func (*reverting) Preview(_ context.Context, op *vnflcm.Operation) (out []vnflcm.PlannedTask, _ error) {
	out = append(out, vnflcm.PlannedTask{Phase: string(vnflcm.HealEnd), Name: "join"})
	for _, v := range op.VNFCs[:1] {
		out = append(out, vnflcm.PlannedTask{Phase: string(vnflcm.RevertPhase), Name: "stop", On: v.ID},
			vnflcm.PlannedTask{Phase: string(vnflcm.RevertPhase), Name: "start", On: v.ID, After: []int{1}})
	}
	return out, nil
}

// backTo returns the request for a snapshot.
func backTo(t testing.TB, id string) vnflcm.RevertToVnfSnapshotRequest {
	t.Helper()
	return vnflcm.RevertToVnfSnapshotRequest{VnfSnapshotInfoID: id, AdditionalParams: paramsOf(t, `{"confirm_loss":true}`)}
}

// revert brings an instance back to a snapshot.
func (x *saved) revert(instanceID, id string, want vnflcm.OperationState) (opID string) {
	x.t.Helper()
	opID, err := x.RevertToSnapshot(x.t.Context(), instanceID, backTo(x.t, id))
	x.wait(opID, err, want)
	return opID
}

// data returns the data that a machine has.
func (x *saved) data(instanceID string) string {
	return x.world.state(instanceID).Nodes["data of worker-1"]
}

// lose replaces the data of all machines.
func (x *saved) lose(instanceID string) {
	x.world.mu.Lock()
	defer x.world.mu.Unlock()
	for _, v := range x.world.machines[instanceID] {
		x.world.nodes[instanceID]["data of "+v.ID] = "lost"
	}
}

// TestRevertToSnapshot brings a VNF back to the older one of two snapshots.
func TestRevertToSnapshot(t *testing.T) {
	t.Parallel()
	x, d := newReverting(t, func(c *vnflcm.Config) { c.Granter = noGranter })
	id := x.instantiated("plain")
	old := x.take(id, vnflcm.Completed)
	d.set(func() { d.content = "newer" })
	newer := x.take(id, vnflcm.Completed)
	before := x.get(id)
	opID := x.revert(id, old, vnflcm.Completed)
	occ, err := x.Operation(t.Context(), opID)
	must(t, err)
	if occ.Operation != vnflcm.OpRevertToSnapshot || occ.VnfSnapshotInfoID != old || occ.GrantID != "" || occ.IsAutomaticInvocation || len(occ.Warnings) > 0 {
		t.Errorf("the operation is %+v", occ)
	}
	if got := x.data(id); got != "canary data" {
		t.Errorf("the machine has the data %q", got)
	}
	after := x.get(id)
	if before.Version, after.Version = "", ""; !gocmp.Equal(before, after) {
		t.Errorf("the instance has changed:\n%s", gocmp.Diff(before, after))
	}
	list, err := x.Operations(t.Context(), vnflcm.OperationQuery{Operations: []vnflcm.LcmOperation{vnflcm.OpRevertToSnapshot}})
	must(t, err)
	if len(list.Items) != 1 || list.Items[0].ID != opID {
		t.Errorf("listed are %+v", list.Items)
	}
	x.revert(id, newer, vnflcm.Completed)
	if got := x.data(id); got != "newer" {
		t.Errorf("the machine has the data %q", got)
	}
	must(t, x.DeleteSnapshot(t.Context(), old))
}

// TestRevertFails: a failed operation locks the instance and the snapshot. It is not rolled back, but retried or failed.
func TestRevertFails(t *testing.T) {
	t.Parallel()
	x, _ := newReverting(t, nil)
	id := x.instantiated("plain")
	snapshot := x.take(id, vnflcm.Completed)
	x.take(id, vnflcm.Completed)
	for end, leave := range map[vnflcm.OperationState]func(context.Context, string) error{vnflcm.Completed: x.Retry, vnflcm.Failed: x.Fail} {
		x.lose(id)
		x.world.failAt("revert_to_snapshot/start/worker-0", errCut)
		opID := x.revert(id, snapshot, vnflcm.FailedTemp)
		occ, err := x.Operation(t.Context(), opID)
		must(t, err)
		if occ.CanRollBack {
			t.Error("the operation can be rolled back")
		}
		err = x.Rollback(t.Context(), opID)
		wantIs(t, err, vnflcm.ErrNotSupported)
		if !strings.Contains(err.Error(), "as in the snapshot already") {
			t.Errorf("the refusal is %v", err)
		}
		wantIs(t, x.DeleteSnapshot(t.Context(), snapshot), vnflcm.ErrConflict)
		_, err = x.Heal(t.Context(), id, vnflcm.HealVnfRequest{})
		wantIs(t, err, vnflcm.ErrConflict)
		x.world.failAt("revert_to_snapshot/start/worker-0", nil)
		must(t, leave(t.Context(), opID))
		if occ, _ := x.Wait(t.Context(), opID); occ.OperationState != end {
			t.Errorf("the operation is %s, want %s", occ.OperationState, end)
		}
	}
	x.revert(id, snapshot, vnflcm.Completed)
	if got := x.data(id); got != "canary data" {
		t.Errorf("the machine has the data %q", got)
	}
	must(t, x.DeleteSnapshot(t.Context(), snapshot))
}

// TestCancelledRevert cancels an operation while its driver works.
func TestCancelledRevert(t *testing.T) {
	t.Parallel()
	x, d := newReverting(t, nil)
	id := x.instantiated("plain")
	snapshot := x.take(id, vnflcm.Completed)
	began := make(chan struct{}, 2)
	d.pause = func(ctx context.Context) { began <- struct{}{}; <-ctx.Done() }
	opID, err := x.RevertToSnapshot(t.Context(), id, backTo(t, snapshot))
	must(t, err)
	<-began
	must(t, x.Cancel(t.Context(), opID, vnflcm.CancelForceful))
	x.wait(opID, nil, vnflcm.FailedTemp)
	d.pause = nil
	x.wait(opID, x.Retry(t.Context(), opID), vnflcm.Completed)
}

// TestRevertRefusals checks which requests are refused, by the operation and by its preview, and that nothing is stored then.
func TestRevertRefusals(t *testing.T) {
	t.Parallel()
	x, d := newReverting(t, bothVersions)
	created, id, other := x.create(), x.instantiated("plain"), x.instantiated("plain")
	north, err := x.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: toyVNFD, Tenant: "north"})
	must(t, err)
	_, _ = x.instantiate(north.ID, "plain", vnflcm.Completed)
	infoNorth, err := x.CreateSnapshotInfo(t.Context(), vnflcm.CreateVnfSnapshotInfoRequest{Tenant: "north"})
	must(t, err)
	opID, err := x.CreateSnapshot(t.Context(), north.ID, vnflcm.CreateVnfSnapshotRequest{VnfSnapshotInfoID: infoNorth.ID})
	x.wait(opID, err, vnflcm.Completed)
	snapshot, foreign, empty := x.take(id, vnflcm.Completed), x.take(other, vnflcm.Completed), x.info()
	packaged := x.instantiated("plain")
	former := x.take(packaged, vnflcm.Completed)
	opID, err = x.ChangeVnfPkg(t.Context(), packaged, toNew(t, "{}"))
	x.wait(opID, err, vnflcm.Completed)
	off := x.instantiated("plain")
	ofOff := x.take(off, vnflcm.Completed)
	opID, err = x.Operate(t.Context(), off, stop)
	x.wait(opID, err, vnflcm.Completed)
	before := x.records()
	refused := func(instanceID string, req vnflcm.RevertToVnfSnapshotRequest, check func(error)) {
		t.Helper()
		_, err := x.RevertToSnapshot(t.Context(), instanceID, req)
		check(err)
		_, err = x.Preview(t.Context(), instanceID, req)
		check(err)
	}
	faults := func(instanceID string, req vnflcm.RevertToVnfSnapshotRequest, paths []string, texts ...string) {
		t.Helper()
		refused(instanceID, req, func(err error) {
			t.Helper()
			wantFaults(t, err, paths...)
			for _, text := range texts {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%v lacks %q", err, text)
				}
			}
		})
	}
	is := func(instanceID string, req vnflcm.RevertToVnfSnapshotRequest, target error) {
		t.Helper()
		refused(instanceID, req, func(err error) { t.Helper(); wantIs(t, err, target) })
	}
	of := []string{"vnfSnapshotInfoId"}
	vnfc := backTo(t, "")
	vnfc.VnfcInstanceID, vnfc.VnfcSnapshotInfoID = "worker-0", "s"
	faults(id, vnfc, []string{"vnfSnapshotInfoId", "vnfcInstanceId", "vnfcSnapshotInfoId"}, "VNFCs have no snapshots")
	faults(id, backTo(t, "none"), of, "no such VNF snapshot")
	faults(id, backTo(t, infoNorth.ID), of, "no such VNF snapshot")
	faults(north.ID, backTo(t, empty), of, "no such VNF snapshot")
	faults(id, backTo(t, foreign), of, "is a snapshot of VNF instance "+other)
	faults(packaged, backTo(t, former), of, toyVNFD, newVNFD)
	faults(id, vnflcm.RevertToVnfSnapshotRequest{VnfSnapshotInfoID: snapshot}, []string{"additionalParams.confirm_loss"})
	is(id, backTo(t, empty), vnflcm.ErrState)
	is(created, backTo(t, snapshot), vnflcm.ErrState)
	is(off, backTo(t, ofOff), vnflcm.ErrState)
	is("none", backTo(t, snapshot), vnflcm.ErrNotFound)
	for _, other := range []vnflcm.MgmtDriver{hooksOnly{d}, struct {
		vnflcm.MgmtDriver
		vnflcm.Snapshotter
	}{d, d}} {
		x.cfg.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": other}
		x.start()
		is(id, backTo(t, snapshot), vnflcm.ErrNotSupported)
	}
	x.cfg.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": d}
	kept := x.cfg.Snapshots
	x.cfg.Snapshots = nil
	x.start()
	is(id, backTo(t, snapshot), vnflcm.ErrNotSupported)
	x.cfg.Snapshots = kept
	x.start()
	if diff := gocmp.Diff(before, x.records()); diff != "" {
		t.Errorf("a refused request wrote:\n%s", diff)
	}
	must(t, vnflcm.SetFormat(t.Context(), x.Manager, 1, false))
	is(id, backTo(t, snapshot), vnflcm.ErrState)
}

// TestPreviewRevert shows the tasks of the driver, and what is lost.
func TestPreviewRevert(t *testing.T) {
	t.Parallel()
	x, _ := newReverting(t, nil)
	id := x.instantiated("plain")
	snapshot := x.take(id, vnflcm.Completed)
	p, err := x.Preview(t.Context(), id, backTo(t, snapshot))
	must(t, err)
	want := &vnflcm.Preview{InstanceID: id, Operation: vnflcm.OpRevertToSnapshot, Levels: p.Levels, Losses: []string{"what is newer than " + snapshot}, Tasks: []vnflcm.PlannedTask{
		{Phase: "revert_to_snapshot", Name: "stop", On: "master-0"}, {Phase: "revert_to_snapshot", Name: "start", On: "master-0", After: []int{0}}}}
	if diff := gocmp.Diff(want, p); diff != "" {
		t.Error(diff)
	}
}

// removing is a storage that calls a function before it removes an archive.
type removing struct {
	vnflcm.Snapshots

	before func()
}

func (r *removing) Remove(ctx context.Context, at vnflcm.SnapshotPlace) error {
	if r.before != nil {
		r.before()
	}
	return r.Snapshots.Remove(ctx, at)
}

// marked is a store that calls a function before it stores the first snapshot after arming.
type marked struct {
	store.Store

	before func()
}

func (s *marked) Apply(ctx context.Context, b store.Batch) error {
	if before := s.before; before != nil && slices.ContainsFunc(b.Put, func(rec store.Record) bool { return rec.Kind == "snapshot" }) {
		s.before = nil
		before()
	}
	return s.Store.Apply(ctx, b)
}

// TestRevertToRemovedSnapshot removes a snapshot at the moments between the check of a request and its acceptance, and accepts a request at the
// moments of a removal. Either the request or the removal is refused.
func TestRevertToRemovedSnapshot(t *testing.T) {
	t.Parallel()
	archive, db := &removing{}, &marked{Store: store.NewMemory()}
	x, d := newReverting(t, func(c *vnflcm.Config) {
		archive.Snapshots = c.Snapshots
		c.Snapshots, c.Store = archive, db
	})
	id := x.instantiated("plain")
	x.take(id, vnflcm.Completed)

	removed := x.take(id, vnflcm.Completed)
	d.validate = func() {
		d.validate = nil
		must(t, x.DeleteSnapshot(t.Context(), removed))
	}
	_, err := x.RevertToSnapshot(t.Context(), id, backTo(t, removed))
	wantFaults(t, err, "vnfSnapshotInfoId")

	removed = x.take(id, vnflcm.Completed)
	archive.before = func() {
		_, err := x.RevertToSnapshot(t.Context(), id, backTo(t, removed))
		wantFaults(t, err, "vnfSnapshotInfoId")
	}
	must(t, x.DeleteSnapshot(t.Context(), removed))
	archive.before = nil

	used := x.take(id, vnflcm.Completed)
	db.before = func() { x.revert(id, used, vnflcm.Completed) }
	wantIs(t, x.DeleteSnapshot(t.Context(), used), vnflcm.ErrConflict)
	x.revert(id, used, vnflcm.Completed)
	must(t, x.DeleteSnapshot(t.Context(), used))
}

// TestLastTwoSnapshots removes one of the last two snapshots while the other one is being removed: one stays.
func TestLastTwoSnapshots(t *testing.T) {
	t.Parallel()
	db := &marked{Store: store.NewMemory()}
	x := newSaved(t, func(c *vnflcm.Config) { c.Store = db })
	id := x.instantiated("plain")
	older, newer := x.take(id, vnflcm.Completed), x.take(id, vnflcm.Completed)
	db.before = func() { must(t, x.DeleteSnapshot(t.Context(), newer)) }
	wantIs(t, x.DeleteSnapshot(t.Context(), older), vnflcm.ErrConflict)
	wantIs(t, x.DeleteSnapshot(t.Context(), older), vnflcm.ErrState)
	if list := x.list(id); len(list) != 1 || list[0].ID != older {
		t.Errorf("left are %+v", list)
	}
}

// unremovable is a storage that removes no archive.
type unremovable struct{ snapshots.Storage }

func (unremovable) Remove(context.Context, string) error { return errCut }

// TestCutRemoval: a snapshot whose removal was cut is not used any more. The removal of the snapshots that the policy does not keep removes the
// rest of it.
func TestCutRemoval(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x, _ := newReverting(t, nil)
		id := x.instantiated("plain")
		cut, last := x.take(id, vnflcm.Completed), x.take(id, vnflcm.Completed)
		kept := x.cfg.Snapshots
		broken, err := snapshots.New(unremovable{snapshots.Directory(x.folder)})
		must(t, err)
		x.cfg.Snapshots = broken
		x.start()
		wantIs(t, x.DeleteSnapshot(t.Context(), cut), errCut)
		x.cfg.Snapshots = kept
		x.start()
		_, err = x.RevertToSnapshot(t.Context(), id, backTo(t, cut))
		wantFaults(t, err, "vnfSnapshotInfoId")
		time.Sleep(time.Minute)
		if list := x.list(id); len(list) != 1 || list[0].ID != last || len(x.files()) != 1 {
			t.Errorf("left are %+v and the files %v", list, x.files())
		}
		wantIs(t, x.DeleteSnapshot(t.Context(), last), vnflcm.ErrState)
	})
}

// TestRevertKeepsItsSnapshot: an operation that takes a snapshot itself does not remove the one that it reverts to, however old it is.
func TestRevertKeepsItsSnapshot(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x, d := newReverting(t, func(c *vnflcm.Config) {
			c.SnapshotPolicy = vnflcm.SnapshotPolicy{Every: time.Hour, KeepBefore: 10 * time.Minute}
		})
		id := x.instantiated("plain")
		opID, err := x.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{"worker-0"}})
		x.wait(opID, err, vnflcm.Completed)
		old := x.driver.inHealed[0]
		x.take(id, vnflcm.Completed)
		d.before = true
		d.pause = func(context.Context) { time.Sleep(30 * time.Minute) } // longer than KeepBefore; a scheduled snapshot is due, too
		causes := map[vnflcm.SnapshotCause]int{}
		d.taken = func() { // a scheduled snapshot may follow at once, and may remove the old one
			for _, info := range x.list(id) {
				causes[info.VnfSnapshot.Cause]++
			}
		}
		opID, err = x.RevertToSnapshot(t.Context(), id, backTo(t, old))
		must(t, err)
		if occ, err := x.Wait(t.Context(), opID); err != nil || occ.OperationState != vnflcm.Completed {
			t.Errorf("%+v, %v", occ, err)
		}
		if diff := gocmp.Diff(map[vnflcm.SnapshotCause]int{vnflcm.SnapshotBefore: 2, vnflcm.SnapshotRequested: 1}, causes); diff != "" {
			t.Errorf("snapshots during the operation:\n%s", diff)
		}
	})
}

// takenOnce instantiates a VNF of a Manager with snapshots, and takes one.
func takenOnce(x *toys, id string) {
	x.t.Helper()
	archives, err := snapshots.New(snapshots.Directory(x.t.TempDir()))
	must(x.t, err)
	x.cfg.Snapshots = archives
	x.cfg.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": &reverting{saving: &saving{cluster: x.cfg.Mgmt["cluster"].(*cluster), content: "of the snapshot"}}}
	x.start()
	running(x, id)
	(&saved{toys: x}).take(id, vnflcm.Completed)
}

// revertingScenario brings a VNF back to its snapshot.
var revertingScenario = scenario{"revert", takenOnce, func(x *toys, id string) (string, error) {
	list, err := x.Snapshots(x.t.Context(), vnflcm.SnapshotQuery{InstanceID: id})
	must(x.t, err)
	return x.RevertToSnapshot(x.t.Context(), id, backTo(x.t, list.Items[0].ID))
}}
