package openstack_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/crashtest"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	samples = "../../examples/packages/k8s-cluster"
	vnfdID  = "6a1c2f0e-1d6e-4f4e-9a3c-0d5b6a7c8ea0"
	secret  = "canary-password"
)

var packages = vnflcm.DirPackages(samples)

// idle is a management driver that only records the host keys that the infrastructure driver reports.
type idle struct {
	mu   sync.Mutex
	told map[string]string // host keys by server
	// failing is the error of change_current_package_end.
	failing error
}

func (*idle) Validate(context.Context, *vnflcm.Operation) error { return nil }

func (d *idle) Hooks() vnflcm.Hooks {
	return vnflcm.Hooks{vnflcm.InstantiateEnd: d.note, vnflcm.TerminateStart: d.note, vnflcm.TerminateEnd: d.note, vnflcm.HealStart: d.note,
		vnflcm.HealEnd: d.note, vnflcm.ScaleStart: d.note, vnflcm.ScaleEnd: d.note,
		vnflcm.ChangePackageEnd: func(context.Context, *vnflcm.Operation) error { return d.failing }}
}

func (d *idle) note(_ context.Context, op *vnflcm.Operation) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.told = map[string]string{}
	for _, v := range op.VNFCs {
		d.told[v.ResourceID] = v.HostKey
	}
	return nil
}

// lab is a VNF instance on a fake cloud.
type lab struct {
	*vnflcm.Manager
	*fake
	t     *testing.T
	store store.Store
	pkgs  vnflcm.Packages
	kind  string // vimType
	cfg   openstack.Config
	mgmt  *idle
	id    string
	said  []string // reported progress
}

func newLab(t *testing.T, kind string) *lab {
	t.Helper()
	return newLabOf(t, kind, packages)
}

func newLabOf(t *testing.T, kind string, pkgs vnflcm.Packages) *lab {
	t.Helper()
	l := &lab{fake: newFake(t), t: t, store: store.NewMemory(), pkgs: pkgs, kind: kind, cfg: openstack.Config{Poll: time.Millisecond}, mgmt: &idle{}}
	l.Manager = l.start()
	at, err1 := vnflcm.NewParams(map[string]string{"endpoint": l.URL + "/v3"})
	who, err2 := vnflcm.NewParams(map[string]string{"username": "u", "password": secret, "project": "nfv"})
	err3 := l.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "vim", VimType: kind, InterfaceInfo: at, AccessInfo: who})
	inst, err4 := l.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: vnfdID})
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	l.id = inst.ID
	return l
}

// start starts the Manager of the next process.
func (l *lab) start(change ...func(*vnflcm.Config)) *vnflcm.Manager {
	l.t.Helper()
	driver := openstack.New(l.cfg)
	config := vnflcm.Config{Store: l.store, Key: bytes.Repeat([]byte{1}, 32),
		Packages: l.pkgs,
		Infra:    map[string]vnflcm.InfraDriver{l.kind: driver},
		Mgmt:     map[string]vnflcm.MgmtDriver{"mgmt-drivers-kubernetes": l.mgmt},
		Observe: func(e vnflcm.Event) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.said = append(l.said, e.Message)
		}}
	for _, c := range change {
		c(&config)
	}
	m, err := vnflcm.New(l.t.Context(), config)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			l.t.Error(err)
		}
		driver.Close()
	})
	return m
}

func (l *lab) request(params string) vnflcm.InstantiateVnfRequest {
	l.t.Helper()
	var r vnflcm.InstantiateVnfRequest
	data, err := os.ReadFile(samples + "/requests/instantiate.json")
	if err == nil {
		_, err = vnflcm.DecodeRequest(data, &r)
	}
	if err == nil && params != "" {
		r.AdditionalParams, err = vnflcm.ParseParams([]byte(params))
	}
	if err != nil {
		l.t.Fatal(err)
	}
	r.InstantiationLevelID, r.TargetScaleLevelInfo = "", []vnflcm.ScaleInfo{{AspectID: "worker_instance", ScaleLevel: 1}}
	r.VimConnectionInfo = vnflcm.VimConnections{{VimID: "vim"}}
	return r
}

// servers returns the servers of the VNF by the ids of its VNFCs.
func (l *lab) servers() map[string]string {
	l.t.Helper()
	inst, err := l.Get(l.t.Context(), l.id)
	if err != nil {
		l.t.Fatal(err)
	}
	out := map[string]string{}
	if inst.InstantiatedVnfInfo != nil {
		for _, v := range inst.InstantiatedVnfInfo.VnfcResourceInfo {
			out[v.ID] = v.ComputeResource.ResourceID
		}
	}
	return out
}

func (l *lab) must(opID string, err error) map[string]string {
	l.t.Helper()
	if err == nil {
		_, err = l.Wait(l.t.Context(), opID)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return l.servers()
}

func (l *lab) instantiate() (string, error) {
	return l.Instantiate(l.t.Context(), l.id, l.request(""))
}

func (l *lab) scale(kind vnflcm.ScaleType, steps int) (string, error) {
	return l.Scale(l.t.Context(), l.id, vnflcm.ScaleVnfRequest{Type: kind, AspectID: "worker_instance", NumberOfSteps: steps})
}

func (l *lab) heal(all string, vnfcs ...string) (string, error) {
	params := ""
	if all != "" {
		params = `{"all": ` + all + `}`
	}
	return l.healWith(params, vnfcs...)
}

// healWith heals with additionalParams.
func (l *lab) healWith(params string, vnfcs ...string) (string, error) {
	r := vnflcm.HealVnfRequest{VnfcInstanceID: vnfcs}
	if params != "" {
		r.AdditionalParams, _ = vnflcm.ParseParams([]byte(params))
	}
	return l.Heal(l.t.Context(), l.id, r)
}

// reconnect connects the workers to another network.
func (l *lab) reconnect() (string, error) {
	return l.ChangeExtConn(l.t.Context(), l.id, vnflcm.ChangeExtVnfConnectivityRequest{ExtVirtualLinks: []vnflcm.ExtVirtualLinkData{
		{ID: "other", ResourceID: "other-net", ExtCps: []vnflcm.VnfExtCpData{{CpdID: "workerNode_CP2"}}}}})
}

func (l *lab) terminate() (string, error) {
	return l.Terminate(l.t.Context(), l.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful})
}

// changed returns the ids whose servers differ.
func changed(a, b map[string]string) (out []string) {
	for id := range b {
		if a[id] != b[id] {
			out = append(out, id)
		}
	}
	return out
}

func TestLife(t *testing.T) {
	t.Parallel()
	l := newLab(t, openstack.VimTypeV2)
	three := l.must(l.instantiate())
	five := l.must(l.scale(vnflcm.ScaleOut, 2))
	four := l.must(l.scale(vnflcm.ScaleIn, 1))
	if len(three) != 3 || len(five) != 5 || len(four) != 4 || len(changed(five, four)) != 0 || len(changed(three, five)) != 2 {
		t.Fatalf("%v\n%v\n%v", three, five, four)
	}
	var one string
	for one = range four {
		break
	}
	healed := l.must(l.heal("", one))
	if diff := cmp.Diff([]string{one}, changed(four, healed)); diff != "" {
		t.Error(diff)
	}
	all := l.must(l.heal(""))
	if len(changed(healed, all)) != 4 {
		t.Errorf("%v\n%v", healed, all)
	}
	if !slices.Contains(l.said, "worker_instance CREATE_COMPLETE") && !slices.ContainsFunc(l.said, func(s string) bool { return strings.HasSuffix(s, "UPDATE_COMPLETE") }) {
		t.Errorf("progress %q", l.said)
	}
	l.must(l.terminate())
	if len(l.stacks) != 0 {
		t.Errorf("%d stacks are left", len(l.stacks))
	}
}

// TestScaleToLevel updates the stack once for each scaling.
func TestScaleToLevel(t *testing.T) {
	t.Parallel()
	l := newLab(t, openstack.VimTypeV2)
	request := l.request("")
	request.FlavourID, request.TargetScaleLevelInfo = "complex", []vnflcm.ScaleInfo{{AspectID: "worker_instance", ScaleLevel: 2}}
	before := l.must(l.Instantiate(t.Context(), l.id, request))
	after := l.must(l.ScaleToLevel(t.Context(), l.id, vnflcm.ScaleVnfToLevelRequest{ScaleInfo: []vnflcm.ScaleInfo{
		{AspectID: "worker_instance"}, {AspectID: "master_instance", ScaleLevel: 2}}}))
	if len(before) != 6 || len(after) != 6 || len(changed(before, after)) != 2 {
		t.Errorf("before %v\nafter %v", before, after)
	}
}

func TestHealingAWholeVNF(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, all string
		anew      bool
	}{
		{openstack.VimTypeV1, "", true}, {openstack.VimTypeV1, "false", false}, {openstack.VimTypeV2, "", false}, {openstack.VimTypeV2, `"true"`, true},
	} {
		t.Run(c.kind+" "+c.all, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, c.kind)
			before := l.must(l.instantiate())
			stack := l.stacks[openstack.StackName(l.id)].ID
			now := l.must(l.heal(c.all))
			if len(now) != 3 || len(changed(before, now)) != 3 || c.anew != (stack != l.stacks[openstack.StackName(l.id)].ID) {
				t.Errorf("%v\n%v, stack %v", before, now, l.stacks)
			}
			for id := range before {
				if now[id] == "" {
					t.Errorf("VNFC %s has lost its id", id)
				}
			}
			l.must(l.terminate())
		})
	}
}

// TestHiddenParameters checks parameters for which Heat returns asterisks instead of values. A stack that healing creates again gets
// the values from the request; an updated stack keeps them.
func TestHiddenParameters(t *testing.T) {
	t.Parallel()
	for _, all := range []string{"true", "false"} {
		t.Run(all, func(t *testing.T) {
			t.Parallel()
			const hash = "$6$salt$hash"
			l := newLab(t, openstack.VimTypeV2)
			l.must(l.Instantiate(t.Context(), l.id, l.request(`{"login_password_hash": "`+hash+`"}`)))
			l.must(l.heal(all))
			if got := l.stacks[openstack.StackName(l.id)].params["login_password_hash"]; got != hash {
				t.Errorf("the stack has %v, want %s", got, hash)
			}
			l.must(l.terminate())
		})
	}
}

func TestFaultyHeal(t *testing.T) {
	t.Parallel()
	l := newLab(t, openstack.VimTypeV2)
	l.must(l.instantiate())
	if _, err := l.heal(`"perhaps"`); !errors.Is(err, vnflcm.ErrInvalidRequest) || !strings.Contains(err.Error(), "additionalParams.all") {
		t.Errorf("error %v", err)
	}
}

func TestConnectivity(t *testing.T) {
	t.Parallel()
	l := newLab(t, openstack.VimTypeV2)
	before := l.must(l.instantiate())
	now := l.must(l.reconnect())
	nfv := l.stacks[openstack.StackName(l.id)].params["nfv"]
	if text := fmt.Sprint(nfv); !strings.Contains(text, "workerNode_CP2:map[network:other-net]") || strings.Count(text, "other-net") != 1 {
		t.Errorf("nfv %v", nfv)
	}
	if diff := cmp.Diff(before, now); diff != "" {
		t.Error(diff)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	l := newLab(t, openstack.VimTypeV2)
	l.failures = []failure{{"CREATE", "No valid host was found."}, {"UPDATE", "Quota exceeded"}, {"DELETE", "port in use"}, {"DELETE", "port in use"}}
	opID, err := l.instantiate()
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Wait(t.Context(), opID)
	var failed *openstack.StackError
	if !errors.As(err, &failed) || failed.Resource == nil || failed.Resource.Reason != "No valid host was found." {
		t.Fatalf("error %v", err)
	}
	first := l.stacks[openstack.StackName(l.id)].ID
	l.failures = append(l.failures[:0:0], failure{"DELETE", "port in use"}, failure{"UPDATE", "Quota exceeded"})
	l.must(opID, l.Retry(t.Context(), opID))
	if l.stacks[openstack.StackName(l.id)].ID == first {
		t.Error("the failed stack was not created again")
	}
	before := l.servers()
	opID, err = l.scale(vnflcm.ScaleOut, 1)
	if err == nil {
		_, err = l.Wait(t.Context(), opID)
	}
	if !errors.As(err, &failed) || failed.Resource.Reason != "Quota exceeded" {
		t.Fatalf("error %v", err)
	}
	if now := l.must(opID, l.Retry(t.Context(), opID)); len(now) != 4 || len(changed(before, now)) != 1 {
		t.Errorf("%v\n%v", before, now)
	}
	l.must(l.terminate())
}

// TestSignalled checks that an operation waits while Heat changes a group after a signal, for example of an alarm. The state of the
// stack is complete meanwhile, and an update at this time would fail the change of the group and then the update.
func TestSignalled(t *testing.T) {
	t.Parallel()
	for name, operation := range map[string]func(*lab) (string, error){
		"scale":        func(l *lab) (string, error) { return l.scale(vnflcm.ScaleOut, 1) },
		"heal":         func(l *lab) (string, error) { return l.heal("", slices.Sorted(maps.Keys(l.servers()))[0]) },
		"connectivity": (*lab).reconnect,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, openstack.VimTypeV2)
			l.must(l.instantiate())
			l.mu.Lock()
			l.signalled = 3
			l.mu.Unlock()
			l.must(operation(l))
		})
	}
}

func TestForeignStack(t *testing.T) {
	t.Parallel()
	l := newLab(t, openstack.VimTypeV2)
	name := openstack.StackName(l.id)
	l.stacks[name] = &fakeStack{Name: name, ID: "foreign", tags: "vnfkit", status: "CREATE_COMPLETE"}
	opID, err := l.instantiate()
	if err == nil {
		_, err = l.Wait(t.Context(), opID)
	}
	if !errors.Is(err, openstack.ErrForeignStack) {
		t.Errorf("error %v", err)
	}
	if err := l.Fail(t.Context(), opID); err != nil {
		t.Fatal(err)
	}
	l.must(l.terminate())
	if l.stacks[name] == nil || l.stacks[name].status != "CREATE_COMPLETE" {
		t.Error("a foreign stack was touched")
	}
}

// TestLostTags removes the tags of a stack, as "openstack stack update" without --existing does. The driver must still find the stack by
// its id: the next update restores the tags, and terminating deletes the stack.
func TestLostTags(t *testing.T) {
	t.Parallel()
	for name, busy := range map[string]bool{"at rest": false, "by an update that still runs": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, openstack.VimTypeV2)
			two := l.must(l.instantiate())
			stack := l.stacks[openstack.StackName(l.id)]
			tags := stack.tags
			stack.tags = "of-the-operator"
			if busy {
				l.begin(stack, "UPDATE", func() {})
			}
			if three := l.must(l.scale(vnflcm.ScaleOut, 1)); len(three) != len(two)+1 {
				t.Errorf("%v after scaling out, %v before", three, two)
			}
			if want := "of-the-operator," + tags; !sameTags(stack.tags, want) {
				t.Errorf("the tags are %q, want %q", stack.tags, want)
			}
			stack.tags = ""
			l.must(l.terminate())
			if left := l.stacks[openstack.StackName(l.id)]; left != nil {
				t.Errorf("%+v is left", left)
			}
		})
	}
}

// TestReadStack reads a stack of another program, without tags, and changes nothing. VNFCs keep their ids.
func TestReadStack(t *testing.T) {
	t.Parallel()
	l := newLab(t, openstack.VimTypeV2)
	before := l.must(l.instantiate())
	for id := range before {
		before = l.must(l.heal("", id))
		break
	}
	stack := l.stacks[openstack.StackName(l.id)]
	stack.tags = ""
	var written []string
	l.failing(func(r *http.Request) int {
		if r.Method != http.MethodGet && !strings.HasSuffix(r.URL.Path, "/auth/tokens") {
			written = append(written, r.Method+" "+r.URL.Path)
		}
		return 0
	})
	vim, err := l.VIMs().Get(t.Context(), "", "vim")
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := tosca.Open(t.Context(), samples)
	if err != nil {
		t.Fatal(err)
	}
	defer pkg.Close()
	flavour, err := pkg.VNFD().Flavour("simple")
	if err != nil {
		t.Fatal(err)
	}
	driver := openstack.New(l.cfg)
	defer driver.Close()
	found, err := driver.ReadStack(t.Context(), vim, l.id, stack.ID, flavour)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, v := range found.VNFCs {
		ids[v.ID] = v.ResourceID
		if len(v.CPs) == 0 || !v.CPs[0].Address().IsValid() {
			t.Errorf("%s has no address: %+v", v.VDU, v.CPs)
		}
	}
	if diff := cmp.Diff(before, ids); diff != "" || len(written) > 0 {
		t.Errorf("wrote %q; VNFCs:\n%s", written, diff)
	}
	if _, err := driver.ReadStack(t.Context(), vim, l.id, "another", flavour); !errors.Is(err, openstack.ErrForeignStack) {
		t.Errorf("another stack: error %v", err)
	}
	if _, err := driver.ReadStack(t.Context(), vim, "of-no-vnf", stack.ID, flavour); !errors.Is(err, openstack.ErrNoStack) {
		t.Errorf("no stack: error %v", err)
	}
}

func sameTags(a, b string) bool {
	x, y := strings.Split(a, ","), strings.Split(b, ",")
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// TestFaultsOnTheWay loses or delays the answer to each request in the life of a VNF, one per run.
func TestFaultsOnTheWay(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]int{"cut before": -1, "cut after": -2, "503": 503, "401": 401} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, openstack.VimTypeV1)
			n := 0
			l.fault = func(r *http.Request) int {
				if n++; n%7 == 0 && strings.HasPrefix(r.URL.Path, "/heat") {
					return fault
				}
				return 0
			}
			three := l.must(l.instantiate())
			if five := l.must(l.scale(vnflcm.ScaleOut, 2)); len(changed(three, five)) != 2 {
				t.Errorf("%v\n%v", three, five)
			}
			if four := l.must(l.scale(vnflcm.ScaleIn, 1)); len(four) != 4 {
				t.Errorf("%v", four)
			}
			l.must(l.heal(""))
			l.must(l.terminate())
			if len(l.stacks) != 0 {
				t.Errorf("%d stacks are left", len(l.stacks))
			}
		})
	}
}

// TestRequests checks that the number of requests of an operation grows linearly with the number of VNFCs.
func TestRequests(t *testing.T) {
	t.Parallel()
	count := func(workers int) int {
		l := newLab(t, openstack.VimTypeV2)
		r := l.request("")
		r.TargetScaleLevelInfo[0].ScaleLevel = workers - 1
		l.must(l.Instantiate(t.Context(), l.id, r))
		n := 0
		for _, times := range l.requests {
			n += times
		}
		if l.logins != 1 {
			t.Errorf("%d logins", l.logins)
		}
		return n
	}
	small, large := count(4), count(40)
	t.Logf("%d requests for 5 VNFCs, %d for 41", small, large)
	if large-small > 36+2 { // one request per server
		t.Errorf("%d requests for 5 VNFCs, %d for 41", small, large)
	}
}

// TestCancelled checks that cancelling an operation also cancels the action of Heat and waits for its end. Otherwise a retry would find
// the action in progress, wait for it and fail because the action was cancelled.
func TestCancelled(t *testing.T) {
	t.Parallel()
	l := newLab(t, openstack.VimTypeV2)
	l.polls = 1 << 30
	opID, err := l.instantiate()
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); l.status() != "CREATE_IN_PROGRESS"; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the stack was not asked for")
		}
	}
	if err := l.Cancel(t.Context(), opID, vnflcm.CancelForceful); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Wait(t.Context(), opID); !errors.Is(err, vnflcm.ErrCancelled) || l.status() != "CREATE_FAILED" {
		t.Errorf("error %v, the stack is %s", err, l.status())
	}
	l.mu.Lock()
	l.polls = 1
	l.mu.Unlock()
	l.must(opID, l.Retry(t.Context(), opID))
}

func (l *lab) status() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.stacks[openstack.StackName(l.id)]; s != nil {
		return s.status
	}
	return ""
}

// TestCrash ends the process at every point of the steps of every operation. The next process must finish the operation with the same
// end state as without a crash.
func TestCrash(t *testing.T) {
	t.Parallel()
	heal := func(l *lab) (string, error) { return l.heal("") }
	operations := []struct {
		step  string
		begin func(*lab) (string, error)
		vnfcs int
	}{
		{"create-stack", (*lab).instantiate, 3},
		{"resize-stack", func(l *lab) (string, error) { return l.scale(vnflcm.ScaleOut, 2) }, 5},
		{"resize-stack", func(l *lab) (string, error) { return l.scale(vnflcm.ScaleIn, 1) }, 4},
		{"replace-servers", func(l *lab) (string, error) { return l.heal("", slices.Sorted(maps.Keys(l.servers()))[0]) }, 4},
		{"read-host-key", heal, 4}, {"delete-stack", heal, 4}, {"create-stack", heal, 4}, {"adopt-vnfcs", heal, 4},
		{"delete-stack", (*lab).terminate, 0},
	}
	for _, point := range crashtest.Points {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			l := keyedLab(t, openstack.VimTypeV1, keyedPackage(t, hostKeysDeclared, map[string]string{"masterNode": "[ ssh_host_keys, masterNode ]"}), "console")
			keys := l.showKeys()
			for i, o := range operations {
				if point == crashtest.InsideDo && o.step == "adopt-vnfcs" {
					continue // the step changes nothing outside of the process
				}
				before := l.servers()
				l.crash(o.begin, o.step, point)
				now := l.servers()
				if len(now) != o.vnfcs || len(l.stacks) != min(1, o.vnfcs) {
					t.Fatalf("%d, died %s of %s: %d VNFCs, %d stacks", i, point, o.step, len(now), len(l.stacks))
				}
				for id, server := range before {
					if after, stays := now[id]; stays && o.step == "resize-stack" && after != server || !stays && len(now) == len(before) {
						t.Errorf("%d, died %s of %s: VNFC %s had server %s, has %q", i, point, o.step, id, server, after)
					}
				}
				if o.vnfcs > 0 {
					l.wantKeys(keys)
				}
			}
		})
	}
}

// crash runs an operation in a process that dies in a step, and finishes the operation in a second process. Afterwards the
// lab uses the second process.
func (l *lab) crash(begin func(*lab) (string, error), step string, point crashtest.Point) {
	l.t.Helper()
	if _, err := l.crashIn(begin, point, func(s vnflcm.StepInfo) bool { return s.Name == step }); err != nil {
		l.t.Fatal(err)
	}
}

// crashIn does the same in the first step that matches, and returns the operation as the second process has left it.
func (l *lab) crashIn(begin func(*lab) (string, error), point crashtest.Point, step func(vnflcm.StepInfo) bool) (*vnflcm.VnfLcmOpOcc, error) {
	l.t.Helper()
	doomed := crashtest.New(crashtest.Death{Point: point, Step: step,
		Inside: l.dieInside, End: func() { l.dead.Store(true) }})
	opID, err := doomed.Run(l.t.Context(), l.start(doomed.Attach), func(m *vnflcm.Manager) (string, error) {
		l.Manager = m
		return begin(l)
	})
	if err != nil {
		l.t.Fatal(err)
	}
	l.failing(nil)
	l.dead.Store(false)
	l.Manager = l.start(doomed.AttachNext)
	return doomed.Resume(l.t.Context(), l.Manager, opID)
}

// dieInside kills the process during its first request that changes a resource. The request takes effect, but the process does not get
// the answer.
func (l *lab) dieInside(_ vnflcm.StepInfo, die func()) (undo func()) {
	l.failing(func(r *http.Request) int {
		if r.Method == http.MethodGet || l.dead.Load() {
			return 0
		}
		die() // before the connection ends; otherwise the step could fail while its process lives
		return -2
	})
	return nil
}

// failing makes later requests fail with fault.
func (l *lab) failing(fault func(*http.Request) int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = fault
}

func TestFaultyRequests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		params string
		change func(*vnflcm.InstantiateVnfRequest)
		want   []string
	}{
		"unknown class": {`{"lcm-operation-user-data": "./UserData/x.py", "lcm-operation-user-data-class": "Mine"}`, nil,
			[]string{"lcm-operation-user-data-class", "Config.UserData", "DefaultForUnknown"}},
		"script without class": {`{"lcm-operation-user-data": "./UserData/x.py"}`, nil, []string{"lcm-operation-user-data-class"}},
		"network not given": {`{}`, func(r *vnflcm.InstantiateVnfRequest) { r.ExtVirtualLinks = r.ExtVirtualLinks[:1] },
			[]string{"nfv.CP.workerNode_CP2.network", "simple_hot_top.yaml:", "extVirtualLinks"}},
		"the VIM's and the request's own": {`{}`, func(r *vnflcm.InstantiateVnfRequest) {
			r.ExtVirtualLinks[0].ExtCps[0].CpdID = "CP9"
			vim := &r.VimConnectionInfo[0]
			vim.VimID, vim.VimType = "", openstack.VimTypeV2
			vim.InterfaceInfo, _ = vnflcm.ParseParams([]byte(`{"endpoint": "http://127.0.0.1:1/v3"}`))
			vim.AccessInfo, _ = vnflcm.ParseParams([]byte(`{"password": "x"}`))
		}, []string{"accessInfo.username", "accessInfo.project", "extVirtualLinks[0].extCps[0].cpdId"}},
		"no such connection point": {`{}`, func(r *vnflcm.InstantiateVnfRequest) { r.ExtVirtualLinks[0].ExtCps[0].CpdID = "CP9" },
			[]string{"extVirtualLinks[0].extCps[0].cpdId", "CP9"}},
		"fixed address in a group": {`{}`, func(r *vnflcm.InstantiateVnfRequest) {
			r.ExtVirtualLinks[1].ExtCps[0].CpConfig = vnflcm.ExtCpConfigs{{CpProtocolData: []vnflcm.CpProtocolData{{IPOverEthernet: &vnflcm.IPOverEthernetAddressData{
				MacAddress: "x", IPAddresses: []vnflcm.IPAddressData{{Type: "IPV4", FixedAddresses: []string{"300.1.1.1"}}}}}}}}
		}, []string{"macAddress", "fixedAddresses[0]", "300.1.1.1", "share their parameters"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, openstack.VimTypeV2)
			r := l.request(c.params)
			if c.change != nil {
				c.change(&r)
			}
			_, err := l.Instantiate(t.Context(), l.id, r)
			if !errors.Is(err, vnflcm.ErrInvalidRequest) {
				t.Fatalf("error %v", err)
			}
			for _, text := range c.want {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%q is not in: %v", text, err)
				}
			}
			if len(l.stacks) != 0 {
				t.Error("a stack was created")
			}
		})
	}
}

func TestRegisteredUserData(t *testing.T) {
	t.Parallel()
	l := newLab(t, openstack.VimTypeV2)
	l.cfg.UserData = map[string]openstack.UserData{"Mine": func(ctx context.Context, req openstack.UserDataRequest) (openstack.Definition, error) {
		def, err := openstack.DefaultUserData(ctx, req)
		def.Parameters["extra"] = "value"
		return def, err
	}}
	l.Manager = l.start()
	l.must(l.Instantiate(t.Context(), l.id, l.request(`{"lcm-operation-user-data": "./x.py", "lcm-operation-user-data-class": "Mine"}`)))
	if got := l.stacks[openstack.StackName(l.id)].params["extra"]; got != "value" {
		t.Errorf("extra is %v", got)
	}
}
