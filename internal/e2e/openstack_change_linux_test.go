package e2e_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
)

// changeDir is a package of three machines with volumes: two members of an AutoScalingGroup and a server outside of groups.
const changeDir = "testdata/change"

// The VNFDs of changeDir and of its second version.
const (
	changeVNFD = "5b0d8a57-0f3b-4d58-9a86-7f0f7a1d2c01"
	nextVNFD   = "5b0d8a57-0f3b-4d58-9a86-7f0f7a1d2c02"
)

// nextVersion makes the second version of changeDir: an image of the same name with other content, another flavor, and another text of the
// nested template under its old name.
func nextVersion(t *testing.T) string {
	t.Helper()
	return versionOf(t, "Version 1", "Version 2", "version 1", "version 2", "m1.small", "m1.medium")
}

// versionOf makes another version of changeDir with replacements in all files.
func versionOf(t *testing.T, oldnew ...string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(changeDir)))
	image := filepath.Join(dir, "Files/images/machine.img")
	text, err := os.ReadFile(image) //nolint:gosec // our own
	must(t, err)
	before, after := sha256.Sum256(text), sha256.Sum256([]byte(strings.NewReplacer(oldnew...).Replace(string(text))))
	replacer := strings.NewReplacer(append([]string{changeVNFD, nextVNFD, "software_version: '1.0'", "software_version: '2.0'",
		hex.EncodeToString(before[:]), hex.EncodeToString(after[:])}, oldnew...)...)
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	must(t, fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := root.ReadFile(path)
		if err != nil {
			return err
		}
		return root.WriteFile(path, []byte(replacer.Replace(string(text))), 0o600)
	}))
	return dir
}

// changePackages has the two versions.
func changePackages(next string) vnflcm.Packages {
	return vnflcm.PackagesFunc(func(_ context.Context, _, vnfdID string) (tosca.Source, error) {
		if vnfdID == nextVNFD {
			return tosca.File(next), nil
		}
		return tosca.File(changeDir), nil
	})
}

// changeChildVariable makes this test binary a VNFM that changes the package of a VNF.
const changeChildVariable = "VNFKIT_E2E_CHANGE_CHILD"

// changeJob is a change of the package, to be begun or gone on with.
type changeJob struct{ Store, Next, Instance string }

func (j changeJob) config(store *sqlite.Store, driver vnflcm.InfraDriver) vnflcm.Config {
	return vnflcm.Config{Store: store, Key: key, Packages: changePackages(j.Next), Infra: map[string]vnflcm.InfraDriver{openstack.VimTypeV2: driver}}
}

func (j changeJob) run(ctx context.Context) (err error) {
	store, err := openAlone(ctx, j.Store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	driver := openstack.New(openstack.Config{Allow: outbound.AllowAny, Poll: 300 * time.Millisecond})
	defer driver.Close()
	return resumeOr(ctx, j.config(store, driver), func(ctx context.Context, m *vnflcm.Manager) (string, error) {
		return m.ChangeVnfPkg(ctx, j.Instance, vnflcm.ChangeCurrentVnfPkgRequest{VnfdID: nextVNFD})
	})
}

// machine is what Nova has for a VNFC.
type novaMachine struct{ Server, Image, Flavor, Status string }

func (l *stackLab) machine(v vnflcm.VnfcResourceInfo) novaMachine {
	l.t.Helper()
	s, err := servers.Get(l.t.Context(), l.cloud.Compute, server(v)).Extract()
	must(l.t, err)
	image, _ := s.Image["id"].(string)
	flavor, _ := s.Flavor["id"].(string)
	return novaMachine{s.ID, image, flavor, s.Status}
}

func (l *stackLab) novaMachines() map[string]novaMachine {
	l.t.Helper()
	out := map[string]novaMachine{}
	for id, v := range l.vnfcs() {
		out[id] = l.machine(v)
	}
	return out
}

// kept describes what a change of the package must not touch: servers, volumes and addresses, by VNFC.
func (l *stackLab) kept() map[string]string {
	l.t.Helper()
	inst, err := l.Get(l.t.Context(), l.id)
	must(l.t, err)
	volumes := map[string]string{}
	for _, s := range inst.InstantiatedVnfInfo.VirtualStorageResourceInfo {
		volumes[s.ID] = s.StorageResource.ResourceID
	}
	out := map[string]string{}
	for id, v := range l.vnfcs() {
		text := server(v)
		for _, s := range v.StorageResourceIDs {
			text += " volume " + volumes[s]
		}
		for _, cp := range v.VnfcCpInfo {
			text += " " + cp.CpdID
			for _, p := range cp.CpProtocolInfo {
				text += fmt.Sprintf(" %s %+v", p.IPOverEthernet.MacAddress, p.IPOverEthernet.IPAddresses)
			}
		}
		out[id] = text
	}
	return out
}

// newChangeLab instantiates changeDir for a change to another version. open makes the Manager of the lab again after it was closed.
func newChangeLab(t *testing.T, next string, driverOf func(*stackLab) vnflcm.InfraDriver) (l *stackLab, j changeJob, open func()) {
	t.Helper()
	ctx := t.Context()
	l = newStackLab(t, openstack.VimTypeV2, changeDir)
	j = changeJob{Store: filepath.Join(t.TempDir(), "vnfm.db"), Next: next}
	store, err := sqlite.Open(ctx, j.Store)
	must(t, err)
	t.Cleanup(func() { _ = store.Close() })
	vim, err := l.cloud.VIM("cloud", openstack.VimTypeV2)
	must(t, err)
	open = func() {
		l.Manager, err = vnflcm.New(ctx, j.config(store, driverOf(l)))
		must(t, err)
	}
	open()
	t.Cleanup(func() { _ = l.Close(context.WithoutCancel(ctx)) })
	must(t, l.VIMs().Put(ctx, vim))
	inst, err := l.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: changeVNFD})
	must(t, err)
	l.id, j.Instance = inst.ID, inst.ID
	l.must(l.Instantiate(ctx, l.id, vnflcm.InstantiateVnfRequest{FlavourID: "simple", VimConnectionInfo: vnflcm.VimConnections{{VimID: "cloud"}},
		ExtVirtualLinks: []vnflcm.ExtVirtualLinkData{{ID: "net", ResourceID: l.networks[1], ExtCps: []vnflcm.VnfExtCpData{{CpdID: "node_CP"}, {CpdID: "gateway_CP"}}}}}))
	return l, j, open
}

// TestChangeOfPackage changes three VNFCs with volumes to a package with another image and another flavor, one at a time. An unhealthy second
// batch is rolled back; then the process is killed in the middle of the change, and the next one finishes it.
func TestChangeOfPackage(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	l, j, open := newChangeLab(t, nextVersion(t), func(l *stackLab) vnflcm.InfraDriver { return weakMachine{l.driver, l} })
	machines, kept := l.novaMachines(), l.kept()
	images := l.images("?tag=vnfkit")
	if len(machines) != 3 || len(images) != 1 {
		t.Fatalf("%+v, images %q", machines, images)
	}

	l.rollBackUnhealthy(kept, machines)
	l.changeWhileKilled(j, open)
	if diff := cmp.Diff(kept, l.kept()); diff != "" {
		t.Errorf("after the change:\n%s", diff)
	}
	now := l.images("?tag=vnfkit")
	if len(now) != 1 || now[0] == images[0] {
		t.Errorf("images %q, before %q", now, images)
	}
	for id, m := range l.novaMachines() {
		if m.Image != now[0] || m.Flavor == machines[id].Flavor || m.Status != "ACTIVE" {
			t.Errorf("VNFC %s: %+v, before %+v", id, m, machines[id])
		}
	}
	sick := slices.Collect(func(yield func(string) bool) {
		for id := range l.vnfcs() {
			if !yield(id) {
				return
			}
		}
	})[0]
	healed := l.must(l.Heal(ctx, l.id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{sick}}))
	if m := l.machine(healed[sick]); m.Server == machines[sick].Server || m.Image != now[0] {
		t.Errorf("healed %+v to %+v", machines[sick], m)
	}
	l.terminate(vnflcm.TerminateForceful)
}

// weakMachine is the driver on a cloud whose second machine turns off once it has changed. Before the change is rolled back, the test turns
// the machine on: Heat cannot resize a server that is off.
type weakMachine struct {
	*planner
	lab *stackLab
}

func (w weakMachine) second(op *vnflcm.Operation) string {
	return op.VNFCs[slices.IndexFunc(op.VNFCs, func(v vnflcm.VNFC) bool { return v.ID == op.Batch.Units[0].ID })].ResourceID
}

func (w weakMachine) CheckHealth(ctx context.Context, op *vnflcm.Operation) error {
	if op.Batch.Number == 2 && !op.RollingBack {
		_ = servers.Stop(ctx, w.lab.cloud.Compute, w.second(op)).ExtractErr() // refused for one that is off
	}
	return w.planner.CheckHealth(ctx, op)
}

func (w weakMachine) ChangePackage(ctx context.Context, op *vnflcm.Operation) error {
	if op.Batch != nil && op.Batch.Number == 2 && op.RollingBack {
		_ = servers.Start(ctx, w.lab.cloud.Compute, w.second(op)).ExtractErr() // refused for one that is on
		w.lab.awaitHeat(func() string {
			if s, err := servers.Get(ctx, w.lab.cloud.Compute, w.second(op)).Extract(); err != nil || s.Status != "ACTIVE" || s.TaskState != "" {
				return fmt.Sprintf("server %+v: %v", s, err)
			}
			return ""
		})
	}
	return w.planner.ChangePackage(ctx, op)
}

// rollBackUnhealthy changes the package until the second batch, which is not healthy and is rolled back with the first.
func (l *stackLab) rollBackUnhealthy(kept map[string]string, machines map[string]novaMachine) {
	l.t.Helper()
	ctx := l.t.Context()
	params, err := vnflcm.ParseParams([]byte(`{"health_timeout": 5, "rollback_on_failure": true}`))
	must(l.t, err)
	request := vnflcm.ChangeCurrentVnfPkgRequest{VnfdID: nextVNFD, AdditionalParams: params}
	preview, err := l.Preview(ctx, l.id, request)
	must(l.t, err)
	l.t.Log(preview)
	begin := time.Now()
	opID, err := l.ChangeVnfPkg(ctx, l.id, request)
	must(l.t, err)
	occ, err := l.Wait(ctx, opID)
	if occ.OperationState != vnflcm.RolledBack || !strings.Contains(err.Error(), "batch 2 of 3 is not healthy") || !strings.Contains(err.Error(), "SHUTOFF") {
		l.t.Fatalf("operation %+v: %v", occ, err)
	}
	l.t.Logf("two of three batches and their rollback took %s", time.Since(begin).Round(time.Second))
	if diff := cmp.Diff(machines, l.novaMachines()); diff != "" {
		l.t.Errorf("after rolling back:\n%s", diff)
	}
	if diff := cmp.Diff(kept, l.kept()); diff != "" {
		l.t.Errorf("after rolling back:\n%s", diff)
	}
}

// changeWhileKilled changes the package in a process that is killed when the first machine has changed, and to the end in the next one. It
// checks that no two machines change at once.
func (l *stackLab) changeWhileKilled(j changeJob, open func()) {
	l.t.Helper()
	must(l.t, l.Close(l.t.Context())) // it would take the operation over
	machines := map[string]string{}   // servers by VNFC
	for id, v := range l.vnfcs() {
		machines[id] = server(v)
	}
	begin := time.Now()
	child := startChild(l.t, changeChildVariable, j)
	l.awaitHeat(func() string {
		if busy := l.busyMachines(machines); busy == 0 {
			return "no machine changes"
		}
		return ""
	})
	must(l.t, child.Process.Signal(syscall.SIGKILL))
	if err := child.Wait(); err == nil {
		l.t.Fatal("the child ended by itself")
	}
	next := startChild(l.t, changeChildVariable, j)
	ended := make(chan error, 1)
	go func() { ended <- next.Wait() }()
	for running := true; running; {
		select {
		case err := <-ended:
			must(l.t, err)
			running = false
		case <-time.After(200 * time.Millisecond):
			if busy := l.busyMachines(machines); busy > 1 {
				l.t.Errorf("%d machines change at once", busy)
			}
		}
	}
	l.t.Logf("the change took %s with a killed process", time.Since(begin).Round(time.Second))
	open()
}

// busyMachines counts the servers that Nova rebuilds or resizes.
func (l *stackLab) busyMachines(machines map[string]string) (n int) {
	l.t.Helper()
	for _, id := range machines {
		s, err := servers.Get(l.t.Context(), l.cloud.Compute, id).Extract()
		must(l.t, err)
		if s.Status != "ACTIVE" || s.TaskState != "" {
			n++
		}
	}
	return n
}

// TestVDUsOfPackage changes to a package without the VDU gateway and with a new VDU. The VNFCs of the other VDU are untouched, also when the
// change is rolled back between the two.
func TestVDUsOfPackage(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	l, _, _ := newChangeLab(t, versionOf(t, "gateway", "monitor"), func(l *stackLab) vnflcm.InfraDriver { return l.driver })
	before := l.vnfcs()
	var gateway string
	for id, v := range before {
		if v.VduID == "gateway" {
			gateway = id
		}
	}
	request := vnflcm.ChangeCurrentVnfPkgRequest{VnfdID: nextVNFD, ExtVirtualLinks: []vnflcm.ExtVirtualLinkData{
		{ID: "net", ResourceID: l.networks[1], ExtCps: []vnflcm.VnfExtCpData{{CpdID: "monitor_CP"}}}}}
	if _, err := l.ChangeVnfPkg(ctx, l.id, request); err == nil || !strings.Contains(err.Error(), "must name gateway: the change ends the VNFC") {
		t.Fatalf("error %v", err)
	}
	for _, params := range []string{`{"allow_data_loss": ["gateway"], "pause_after": 1}`, `{"allow_data_loss": ["gateway"]}`} {
		var err error
		request.AdditionalParams, err = vnflcm.ParseParams([]byte(params))
		must(t, err)
		opID, err := l.ChangeVnfPkg(ctx, l.id, request)
		must(t, err)
		if _, err = l.Wait(ctx, opID); err == nil {
			break
		}
		if _, there := l.vnfcs()[gateway]; there || !errors.Is(err, vnflcm.ErrPaused) {
			t.Fatalf("%v, VNFCs %v", err, l.vnfcs())
		}
		must(t, l.Rollback(ctx, opID))
		if occ, err := l.Wait(ctx, opID); occ.OperationState != vnflcm.RolledBack {
			t.Fatalf("operation %+v: %v", occ, err)
		}
		l.wantUnchanged(before, l.vnfcs(), gateway)
		if v := l.vnfcs()[gateway]; v.VduID != "gateway" || server(v) == server(before[gateway]) {
			t.Errorf("rolled back: %+v", v)
		}
	}
	now := l.vnfcs()
	l.wantUnchanged(before, now, gateway)
	var vdus []string
	for _, v := range now {
		vdus = append(vdus, v.VduID)
	}
	slices.Sort(vdus)
	if diff := cmp.Diff([]string{"monitor", "node", "node"}, vdus); diff != "" {
		t.Error(diff)
	}
	l.must(l.Heal(ctx, l.id, vnflcm.HealVnfRequest{}))
	l.terminate(vnflcm.TerminateForceful)
}
