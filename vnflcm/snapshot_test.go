package vnflcm_test

import (
	"archive/tar"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/snapshots"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// saving is the toy cluster with snapshots: the archive has one file.
type saving struct {
	*cluster

	mu       sync.Mutex
	content  string
	takeErr  error
	testErr  error
	opened   string // content of the newest snapshot when a hook ran
	foreign  string // a snapshot that a hook must not be able to open
	during   func(ctx context.Context)
	taken    int
	inHealed []string // ids of the snapshots that heal_start has taken
}

func (d *saving) set(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

func (d *saving) TakeSnapshot(ctx context.Context, _ *vnflcm.Operation, to *tar.Writer) (map[string]string, error) {
	d.mu.Lock()
	content, err, during := d.content, d.takeErr, d.during
	d.taken++
	d.mu.Unlock()
	if errHead := to.WriteHeader(&tar.Header{Name: "data", Mode: 0o600, Size: int64(len(content))}); errHead != nil {
		return nil, errHead
	}
	_, errWrite := io.WriteString(to, content)
	if during != nil {
		during(ctx)
	}
	return map[string]string{"version": "1"}, cmp.Or(err, errWrite, context.Cause(ctx))
}

func (d *saving) TestSnapshot(_ context.Context, _ *vnflcm.Operation, from *tar.Reader) (map[string]string, error) {
	if _, err := from.Next(); err != nil {
		return nil, err
	}
	content, err := io.ReadAll(from)
	d.mu.Lock()
	defer d.mu.Unlock()
	return map[string]string{"bytes": fmt.Sprint(len(content))}, cmp.Or(d.testErr, err)
}

// Hooks takes a snapshot before a heal, twice under the same name, and reads the newest one.
func (d *saving) Hooks() vnflcm.Hooks {
	hooks := d.cluster.Hooks()
	leave := hooks[vnflcm.HealStart]
	hooks[vnflcm.HealStart] = func(ctx context.Context, op *vnflcm.Operation) error {
		for range 2 {
			id, err := op.TakeSnapshot(ctx, "before", d)
			if err != nil {
				op.Warn(ctx, err.Error())
				continue
			}
			d.set(func() { d.inHealed = append(d.inHealed, id) })
		}
		if _, err := op.OpenSnapshot(ctx, d.foreign); !errors.Is(err, vnflcm.ErrNotFound) {
			return fmt.Errorf("a snapshot of another instance: %w", err)
		}
		list, err := op.Snapshots(ctx)
		if err != nil || len(list) == 0 {
			return errors.Join(err, leave(ctx, op))
		}
		r, err := op.OpenSnapshot(ctx, list[0].ID)
		if err != nil {
			return err
		}
		defer r.Close()
		if _, err := r.Next(); err != nil {
			return err
		}
		content, err := io.ReadAll(r)
		d.set(func() { d.opened = string(content) })
		return errors.Join(err, leave(ctx, op))
	}
	return hooks
}

// saved is a Manager with snapshots in a folder.
type saved struct {
	*toys
	folder string
	driver *saving
}

func newSaved(t *testing.T, change func(*vnflcm.Config)) *saved {
	t.Helper()
	x := &saved{folder: t.TempDir()}
	archives, err := snapshots.New(snapshots.Directory(x.folder))
	must(t, err)
	x.toys = newToys(t, func(c *vnflcm.Config) {
		x.driver = &saving{cluster: c.Mgmt["cluster"].(*cluster), content: "canary data"}
		c.Mgmt, c.Snapshots = map[string]vnflcm.MgmtDriver{"cluster": x.driver}, archives
		if change != nil {
			change(c)
		}
	})
	x.driver.world = x.world
	return x
}

func (x *saved) info() string {
	x.t.Helper()
	info, err := x.CreateSnapshotInfo(x.t.Context(), vnflcm.CreateVnfSnapshotInfoRequest{})
	must(x.t, err)
	return info.ID
}

// take takes a snapshot on request.
func (x *saved) take(instanceID string, want vnflcm.OperationState) (id string) {
	x.t.Helper()
	id = x.info()
	opID, err := x.CreateSnapshot(x.t.Context(), instanceID, vnflcm.CreateVnfSnapshotRequest{VnfSnapshotInfoID: id})
	x.wait(opID, err, want)
	return id
}

func (x *saved) files() (names []string) {
	x.t.Helper()
	must(x.t, filepath.WalkDir(x.folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return err
	}))
	return names
}

func (x *saved) list(instanceID string) []*vnflcm.VnfSnapshotInfo {
	x.t.Helper()
	page, err := x.Snapshots(x.t.Context(), vnflcm.SnapshotQuery{InstanceID: instanceID})
	must(x.t, err)
	return page.Items
}

// TestCreateSnapshot takes a snapshot on request and reads it in a later operation.
func TestCreateSnapshot(t *testing.T) {
	t.Parallel()
	x := newSaved(t, func(c *vnflcm.Config) { c.Granter = noGranter })
	id := x.instantiated("plain")
	info := x.info()
	opID, err := x.CreateSnapshot(t.Context(), id, vnflcm.CreateVnfSnapshotRequest{VnfSnapshotInfoID: info, UserDefinedData: vnflcm.KeyValuePairs{"why": "weekly"}})
	occ, _ := x.wait(opID, err, vnflcm.Completed)
	if occ.Operation != vnflcm.OpCreateSnapshot || occ.GrantID != "" || occ.IsAutomaticInvocation {
		t.Errorf("the operation is %+v", occ)
	}
	got, err := x.Snapshot(t.Context(), info)
	must(t, err)
	s := got.VnfSnapshot
	if s == nil || s.CreationStartedAt.After(s.CreationFinishedAt) || s.TestFinishedAt.Before(s.CreationFinishedAt) || s.VnfInstance.InstantiatedVnfInfo == nil || len(s.VnfInstance.VimConnectionInfo) > 0 {
		t.Fatalf("the snapshot is %+v", s)
	}
	if diff := gocmp.Diff(vnflcm.VnfSnapshot{ID: info, VnfInstanceID: id, VnfdID: toyVNFD, VnfcSnapshots: []struct{}{}, Cause: vnflcm.SnapshotRequested, VnfLcmOpOccID: opID,
		UserDefinedData: vnflcm.KeyValuePairs{"why": "weekly"}, About: map[string]string{"version": "1", "bytes": "11"},
		CreationStartedAt: s.CreationStartedAt, CreationFinishedAt: s.CreationFinishedAt, TestFinishedAt: s.TestFinishedAt, VnfInstance: s.VnfInstance, VnfStateSnapshotInfo: s.VnfStateSnapshotInfo}, *s); diff != "" {
		t.Error(diff)
	}
	if sum := s.VnfStateSnapshotInfo; !sum.IsEncrypted || sum.Checksum.Algorithm != "SHA-256" || len(sum.Checksum.Hash) != 64 {
		t.Errorf("%+v", sum)
	}
	document, err := json.Marshal(got)
	must(t, err)
	for _, secret := range []string{"canary", "AGE-SECRET-KEY"} {
		if strings.Contains(string(document), secret) {
			t.Errorf("the document has %s: %s", secret, document)
		}
	}
	_, err = x.CreateSnapshot(t.Context(), id, vnflcm.CreateVnfSnapshotRequest{VnfSnapshotInfoID: info})
	wantIs(t, err, vnflcm.ErrState)
	foreign := x.take(x.instantiated("plain"), vnflcm.Completed)
	x.driver.set(func() { x.driver.content, x.driver.foreign = "newer", foreign })
	opID, err = x.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{"worker-0"}})
	x.wait(opID, err, vnflcm.Completed)
	if x.driver.opened != "newer" || len(x.driver.inHealed) != 2 || x.driver.inHealed[0] != x.driver.inHealed[1] {
		t.Errorf("the hook has read %q and taken %v", x.driver.opened, x.driver.inHealed)
	}
	if list := x.list(id); len(list) != 2 || list[1].VnfSnapshot.Cause != vnflcm.SnapshotBefore || list[1].VnfSnapshot.VnfLcmOpOccID != opID {
		t.Errorf("the list is %+v", list)
	}
}

// TestSnapshotFails makes snapshots fail. Nothing is left of them, the resource can be used again, and no operation is kept from beginning.
func TestSnapshotFails(t *testing.T) {
	t.Parallel()
	x := newSaved(t, nil)
	id := x.instantiated("plain")
	broken := errors.New("broken")
	for name, c := range map[string]struct{ take, test error }{"take": {take: broken}, "test": {test: broken}} {
		x.driver.set(func() { x.driver.takeErr, x.driver.testErr = c.take, c.test })
		info := x.info()
		opID, err := x.CreateSnapshot(t.Context(), id, vnflcm.CreateVnfSnapshotRequest{VnfSnapshotInfoID: info})
		_, err = x.wait(opID, err, vnflcm.Failed)
		if !strings.Contains(fmt.Sprint(err), "broken") {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := x.Snapshot(t.Context(), info); err != nil || got.VnfSnapshot != nil || len(x.files()) != 0 {
			t.Errorf("%s: %+v, %v; files %v", name, got, err, x.files())
		}
		heal, err := x.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{"worker-0"}})
		occ, _ := x.wait(heal, err, vnflcm.Completed)
		if len(occ.Warnings) == 0 || len(x.list(id)) != 0 {
			t.Errorf("%s: %v, snapshots %v", name, occ.Warnings, x.list(id))
		}
		states := x.states(opID)
		if want := []vnflcm.OperationState{vnflcm.Starting, vnflcm.Processing, vnflcm.FailedTemp, vnflcm.Failed}; !slices.Equal(states, want) {
			t.Errorf("%s: the feed has %v", name, states)
		}
		x.driver.set(func() { x.driver.takeErr, x.driver.testErr = nil, nil })
		opID, err = x.CreateSnapshot(t.Context(), id, vnflcm.CreateVnfSnapshotRequest{VnfSnapshotInfoID: info})
		x.wait(opID, err, vnflcm.Completed)
		terminated := x.instantiated("plain") // the snapshot of the other instance is the last one
		wantIs(t, x.DeleteSnapshot(t.Context(), info), vnflcm.ErrState)
		must(t, x.forget(id, info))
		id = terminated
	}
}

// states returns the states of an operation in the feed.
func (x *saved) states(opID string) (states []vnflcm.OperationState) {
	x.t.Helper()
	changes, _, err := x.Changes(x.t.Context(), "", 1000)
	must(x.t, err)
	for _, c := range changes {
		if c.Operation != nil && c.Operation.ID == opID {
			states = append(states, c.Operation.OperationState)
		}
	}
	return states
}

// forget terminates an instance and removes its snapshot.
func (x *saved) forget(instanceID, snapshotID string) error {
	opID, err := x.Terminate(x.t.Context(), instanceID, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
	x.wait(opID, err, vnflcm.Completed)
	return x.DeleteSnapshot(x.t.Context(), snapshotID)
}

// TestSnapshotRefusals checks which requests are refused, and that nothing is stored then.
func TestSnapshotRefusals(t *testing.T) {
	t.Parallel()
	x := newSaved(t, nil)
	created, id, info := x.create(), x.instantiated("plain"), x.info()
	foreign, err := x.CreateSnapshotInfo(t.Context(), vnflcm.CreateVnfSnapshotInfoRequest{Tenant: "north"})
	must(t, err)
	before := x.records()
	request := func(info string) vnflcm.CreateVnfSnapshotRequest {
		return vnflcm.CreateVnfSnapshotRequest{VnfSnapshotInfoID: info}
	}
	_, err = x.CreateSnapshot(t.Context(), id, request(""))
	wantFaults(t, err, "vnfSnapshotInfoId")
	_, err = x.CreateSnapshot(t.Context(), id, request("none"))
	wantFaults(t, err, "vnfSnapshotInfoId")
	_, err = x.CreateSnapshot(t.Context(), id, request(foreign.ID))
	wantFaults(t, err, "vnfSnapshotInfoId")
	_, err = x.CreateSnapshot(t.Context(), "none", request(info))
	wantIs(t, err, vnflcm.ErrNotFound)
	_, err = x.CreateSnapshot(t.Context(), created, request(info))
	wantIs(t, err, vnflcm.ErrState)
	_, err = x.CreateSnapshotInfo(t.Context(), vnflcm.CreateVnfSnapshotInfoRequest{VnfSnapshotPkgID: "p"})
	wantFaults(t, err, "vnfSnapshotPkgId")
	_, err = x.Snapshot(t.Context(), "none")
	wantIs(t, err, vnflcm.ErrNotFound)
	wantIs(t, x.DeleteSnapshot(t.Context(), "none"), vnflcm.ErrNotFound)
	x.cfg.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": hooksOnly{x.driver}}
	x.start()
	_, err = x.CreateSnapshot(t.Context(), id, request(info))
	wantIs(t, err, vnflcm.ErrNotSupported)
	x.cfg.Snapshots = nil
	x.start()
	_, err = x.CreateSnapshot(t.Context(), id, request(info))
	wantIs(t, err, vnflcm.ErrNotSupported)
	_, err = x.CreateSnapshotInfo(t.Context(), vnflcm.CreateVnfSnapshotInfoRequest{})
	wantIs(t, err, vnflcm.ErrNotSupported)
	if diff := gocmp.Diff(before, x.records()); diff != "" {
		t.Errorf("a refused request wrote:\n%s", diff)
	}
	must(t, x.DeleteSnapshot(t.Context(), info)) // an empty resource needs no archives
}

// TestSnapshotCut ends the process while a snapshot is taken: the next one takes it, and leaves one archive.
func TestSnapshotCut(t *testing.T) {
	t.Parallel()
	x := newSaved(t, nil)
	id, info := x.instantiated("plain"), x.info()
	began := make(chan struct{})
	x.driver.set(func() {
		x.driver.during = func(ctx context.Context) { close(began); <-ctx.Done() }
	})
	opID, err := x.CreateSnapshot(t.Context(), id, vnflcm.CreateVnfSnapshotRequest{VnfSnapshotInfoID: info})
	must(t, err)
	<-began
	wantIs(t, x.DeleteSnapshot(t.Context(), info), vnflcm.ErrConflict)
	closeManager(t, x.Manager)
	x.driver.set(func() { x.driver.during = nil })
	// What a killed process leaves.
	left := filepath.Join(x.folder, "tenant-", "instance-"+id, info+"-1.tar.age.1.partial")
	must(t, os.MkdirAll(filepath.Dir(left), 0o700))
	must(t, os.WriteFile(left, nil, 0o600))
	x.start()
	x.wait(opID, nil, vnflcm.Completed)
	if files := x.files(); len(files) != 1 || x.driver.taken != 2 {
		t.Errorf("taken %d times, files %v", x.driver.taken, files)
	}
}

// damaging is a storage that changes a byte of each file.
type damaging struct{ snapshots.Storage }

func (d damaging) Create(ctx context.Context, name string) (snapshots.File, error) {
	f, err := d.Storage.Create(ctx, name)
	return damagedFile{f}, err
}

type damagedFile struct{ snapshots.File }

func (f damagedFile) Write(p []byte) (int, error) {
	p = slices.Clone(p)
	if len(p) > 500 {
		p[len(p)-100]++
	}
	return f.File.Write(p)
}

// TestDamagedSnapshot checks that the archive is read back: a storage that changes it is noticed.
func TestDamagedSnapshot(t *testing.T) {
	t.Parallel()
	x := newSaved(t, func(c *vnflcm.Config) {
		archives, err := snapshots.New(damaging{snapshots.Directory(t.TempDir())})
		must(t, err)
		c.Snapshots = archives
	})
	x.driver.content = strings.Repeat("canary", 10_000)
	x.take(x.instantiated("plain"), vnflcm.Failed)
}

// TestResealSnapshot replaces the key of the Manager: the archive stays as it is, and opens.
func TestResealSnapshot(t *testing.T) {
	t.Parallel()
	x := newSaved(t, nil)
	id := x.instantiated("plain")
	x.take(id, vnflcm.Completed)
	x.cfg.Key, x.cfg.OldKeys = otherKey, [][]byte{testKey}
	x.start()
	if left, err := x.Reseal(t.Context()); left != 0 || err != nil {
		t.Fatal(left, err)
	}
	x.cfg.OldKeys = nil
	x.start()
	x.driver.set(func() { x.driver.takeErr = errCut })
	opID, err := x.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{"worker-0"}})
	x.wait(opID, err, vnflcm.Completed)
	if x.driver.opened != "canary data" {
		t.Errorf("read %q", x.driver.opened)
	}
}

// days runs a process for a minute on each of these days.
func (x *saved) days(n int) {
	x.t.Helper()
	for range n {
		closeManager(x.t, x.Manager)
		time.Sleep(aDay)
		x.start()
		time.Sleep(time.Minute)
	}
}

// TestScheduledSnapshots runs a Manager for some weeks. Seven scheduled snapshots are kept, those before operations for 30 days, and those on
// request; the last one of an instance stays, however old it is.
func TestScheduledSnapshots(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x := newSaved(t, func(c *vnflcm.Config) { c.SnapshotPolicy.Every = aDay })
		id := x.instantiated("plain")
		count := func() map[vnflcm.SnapshotCause]int {
			out := map[vnflcm.SnapshotCause]int{}
			for _, info := range x.list(id) {
				out[info.VnfSnapshot.Cause]++
			}
			return out
		}
		x.take(id, vnflcm.Completed)
		opID, err := x.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{"worker-0"}})
		x.wait(opID, err, vnflcm.Completed)
		x.days(20)
		if diff := gocmp.Diff(map[vnflcm.SnapshotCause]int{vnflcm.SnapshotRequested: 1, vnflcm.SnapshotBefore: 1, vnflcm.SnapshotScheduled: 7}, count()); diff != "" {
			t.Error(diff)
		}
		if n := x.driver.taken; n < 20 || n > 23 {
			t.Errorf("%d snapshots within 20 days", n)
		}
		x.driver.set(func() { x.driver.takeErr = errCut })
		x.days(20)
		if diff := gocmp.Diff(map[vnflcm.SnapshotCause]int{vnflcm.SnapshotRequested: 1, vnflcm.SnapshotScheduled: 7}, count()); diff != "" {
			t.Error(diff)
		}
		failed, err := x.Operations(t.Context(), vnflcm.OperationQuery{Operations: []vnflcm.LcmOperation{vnflcm.OpCreateSnapshot}, States: []vnflcm.OperationState{vnflcm.Failed}})
		must(t, err)
		if n := len(failed.Items); n != 20 || !failed.Items[0].IsAutomaticInvocation {
			t.Errorf("%d failed snapshots within 20 days", n)
		}
		opID, err = x.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
		x.wait(opID, err, vnflcm.Completed)
		x.days(40)
		if diff := gocmp.Diff(map[vnflcm.SnapshotCause]int{vnflcm.SnapshotRequested: 1}, count()); diff != "" {
			t.Error(diff)
		}
		if files := x.files(); len(files) != 1 {
			t.Errorf("files %v", files)
		}
	})
}

// TestSnapshotKindOfRecords checks that a snapshot whose record is damaged can be given up.
func TestSnapshotKindOfRecords(t *testing.T) {
	t.Parallel()
	x := newSaved(t, nil)
	id := x.take(x.instantiated("plain"), vnflcm.Completed)
	stored, err := x.cfg.Store.Get(t.Context(), "snapshot", id)
	must(t, err)
	stored.Body[len(stored.Body)-1]++
	must(t, x.cfg.Store.Apply(t.Context(), store.Batch{Put: []store.Record{stored}}))
	_, err = x.Snapshot(t.Context(), id)
	wantIs(t, err, vnflcm.ErrUnreadable)
	must(t, x.Forget(t.Context(), "snapshot", id))
}
