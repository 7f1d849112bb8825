package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/examples/internal/samples"
	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/bounded"
	"github.com/vnfkit/vnfkit/internal/tackertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/hookrun"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// openStack returns a VIM of Tacker. The machines are in the sandbox.
func openStack(t testing.TB) vnflcm.VimConnectionInfo {
	t.Helper()
	access, err := vnflcm.ParseParams([]byte(`{"username": "u", "password": "p", "project": "nfv"}`))
	must(t, err)
	return vnflcm.VimConnectionInfo{VimID: "openstack", VimType: "ETSINFV.OPENSTACK_KEYSTONE.V_3", AccessInfo: access}
}

// lab is a VNFM that runs the program for each hook.
type lab struct {
	*vnflcm.Manager
	t         *testing.T
	world     *sandbox.World
	data      string
	driver    string // driver of the program
	conductor *tackertest.Conductor
	id        string
	results   map[string]string                             // results of the hooks
	limit     func(context.Context, string) context.Context // limits the contexts of later hooks
}

// setup is a driver of the program with its sample package.
type setup struct {
	driver, pkg, name string // name is the name of the driver in the VNFD
	sandbox           sandbox.Config
}

var kubeadmSetup = setup{driver: "kubeadm", pkg: "k8s-cluster", name: "mgmt-drivers-kubernetes"}

// withHooks copies a package and names the driver at every hook that docs/tacker.md lists.
func withHooks(t *testing.T, dir, name string) string {
	t.Helper()
	files := map[string]string{}
	definitions, err := filepath.Glob(filepath.Join(dir, "Definitions", "*_df_*.yaml"))
	must(t, err)
	interfaces := regexp.MustCompile(`(        Vnflcm:\n)(?:          .+\n)+`)
	for _, file := range definitions {
		text, err := os.ReadFile(file)
		must(t, err)
		hooks := "${1}"
		for hook := range (&tackertest.Conductor{}).Hooks() {
			hooks += "          " + string(hook) + ": {implementation: " + name + "}\n"
		}
		files["Definitions/"+filepath.Base(file)] = interfaces.ReplaceAllString(string(text), hooks)
	}
	return mgmttest.Package(t, dir, files)
}

func newLab(t *testing.T, s setup) *lab {
	t.Helper()
	dir := withHooks(t, samples.Package(s.pkg), s.name)
	world, err := sandbox.Open(s.sandbox)
	must(t, err)
	l := &lab{t: t, world: world, data: t.TempDir(), driver: s.driver, results: map[string]string{}}
	l.conductor = &tackertest.Conductor{Dir: dir, VIM: openStack(t), Run: l.run}
	l.Manager, err = vnflcm.New(t.Context(), vnflcm.Config{Store: store.NewMemory(), Key: bytes.Repeat([]byte{1}, 32), Packages: vnflcm.DirPackages(dir),
		Infra: map[string]vnflcm.InfraDriver{"sandbox": world}, Mgmt: map[string]vnflcm.MgmtDriver{s.name: l.conductor}})
	must(t, err)
	t.Cleanup(func() {
		if err := errors.Join(l.Close(context.Background()), world.Close()); err != nil {
			t.Error(err)
		}
	})
	must(t, l.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "sandbox", VimType: "sandbox"}))
	vnfdID, err := samples.Packages{}.Add(t.Context(), dir)
	must(t, err)
	inst, err := l.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: vnfdID})
	must(t, err)
	l.id = inst.ID
	return l
}

// run runs a process of the program, whose machines are in the sandbox.
func (l *lab) run(ctx context.Context, op *vnflcm.Operation, said []byte) error {
	if l.limit != nil {
		ctx = l.limit(ctx, op.Phase())
	}
	h, err := open(ctx, l.data)
	if err != nil {
		return err
	}
	pool := sshexec.NewPool(sshexec.Options{Dial: l.world.Dial})
	h.drivers = drivers(pool)
	h.resources = func(context.Context, *hookrun.TackerV2) (vnflcm.Resources, error) { return op.Resources, nil }
	var out bytes.Buffer
	err = h.hook(ctx, l.driver, bytes.NewReader(said), &out)
	l.results[op.Phase()] = out.String()
	return errors.Join(err, h.close(), pool.Close())
}

// request returns a request of the sample package.
func (l *lab) request(name string) vnflcm.InstantiateVnfRequest {
	l.t.Helper()
	request, err := samples.Request(filepath.Join(l.conductor.Dir, "requests", name), nil)
	must(l.t, err)
	request.VimConnectionInfo = vnflcm.VimConnections{{VimID: "sandbox"}}
	return request
}

func (l *lab) must(opID string, err error) {
	l.t.Helper()
	if err == nil {
		_, err = l.Wait(l.t.Context(), opID)
	}
	must(l.t, err)
}

// nodes returns the machines of the cluster's nodes by their names. It checks that all nodes are Ready.
func (l *lab) nodes() map[string]string {
	l.t.Helper()
	out := map[string]string{}
	for _, n := range l.world.Nodes() {
		if !n.Ready {
			l.t.Errorf("%s is not Ready", n.Name)
		}
		out[n.Name] = n.Machine
	}
	return out
}

func (l *lab) worker() string {
	l.t.Helper()
	inst, err := l.Get(l.t.Context(), l.id)
	must(l.t, err)
	i := slices.IndexFunc(inst.InstantiatedVnfInfo.VnfcResourceInfo, func(v vnflcm.VnfcResourceInfo) bool { return v.VduID == "workerNode" })
	return inst.InstantiatedVnfInfo.VnfcResourceInfo[i].ID
}

// TestLife runs each hook of a cluster in a process, as Tacker does. The first process is stopped after the first node has joined.
func TestLife(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubeadmSetup)
	request := l.request("instantiate_sandbox.json")
	var stopped atomic.Bool
	l.limit = func(ctx context.Context, _ string) context.Context {
		ctx, stop := context.WithCancelCause(ctx)
		l.world.OnRequest(func(string, string, string) {
			if len(l.world.Nodes()) > 0 {
				stopped.Store(true)
				stop(errors.New("the conductor is stopped"))
			}
		})
		return ctx
	}
	opID, err := l.Instantiate(t.Context(), l.id, request)
	must(t, err)
	if _, err := l.Wait(t.Context(), opID); err == nil || !stopped.Load() {
		t.Fatalf("the hook was not stopped: %v", err)
	}
	l.limit = nil
	l.world.OnRequest(nil)
	first := l.world.Nodes()
	must(t, l.Retry(t.Context(), opID))
	l.must(opID, nil)
	two := l.nodes()
	for _, n := range first {
		if two[n.Name] != n.Machine {
			t.Errorf("node %s was created again", n.Name)
		}
	}
	if len(two) != 2 {
		t.Errorf("nodes %v", two)
	}
	l.must(l.Scale(t.Context(), l.id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}))
	if three := l.nodes(); len(three) != 3 {
		t.Errorf("nodes %v after scaling out", three)
	}
	l.must(l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{l.worker()}}))
	l.must(l.Scale(t.Context(), l.id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance"}))
	left := l.nodes()
	if len(left) != 2 {
		t.Errorf("nodes %v after scaling in", left)
	}
	l.showsVIM()
	l.must(l.Terminate(t.Context(), l.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	if err := run(t.Context(), l.data, "", []string{"vim", l.id}, nil, &bytes.Buffer{}); !errors.Is(err, vnflcm.ErrNotFound) {
		t.Errorf("the VIM of a terminated cluster: error %v", err)
	}
}

// showsVIM checks the VIM of the cluster in the result for Tacker, and the VIM that an operator registers.
func (l *lab) showsVIM() {
	l.t.Helper()
	var result struct {
		VIMs []struct {
			ID     string            `json:"vimId"`
			Access map[string]string `json:"accessInfo"`
		} `json:"vims"`
	}
	must(l.t, json.Unmarshal([]byte(l.results["instantiate_end"]), &result))
	if len(result.VIMs) != 1 || result.VIMs[0].ID != kubeadm.VIMID(l.id) || len(result.VIMs[0].Access["bearer_token"]) < 10 {
		l.t.Fatalf("the result is %s", l.results["instantiate_end"])
	}
	var out bytes.Buffer
	must(l.t, run(l.t.Context(), l.data, "", []string{"vim", l.id}, nil, &out))
	var file map[string]any
	must(l.t, json.Unmarshal(out.Bytes(), &file))
	delete(file, "extra")
	want := map[string]any{"type": "kubernetes", "project_name": "default"}
	for key, value := range result.VIMs[0].Access {
		want[key] = value
	}
	if diff := cmp.Diff(want, file); diff != "" {
		l.t.Errorf("the file for openstack vim register:\n%s", diff)
	}
}

// TestFaults checks that the program runs nothing and that the error names the fault.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		driver, in, want string
		args             []string
	}{
		"nothing":         {"", "", "-driver", nil},
		"both":            {"kubeadm", "", "-driver", []string{"vim", "x"}},
		"unknown driver":  {"heat", "{}", "kubeadm, kubespray, registry", nil},
		"no dictionary":   {"kubeadm", "", "JSON", nil},
		"empty":           {"kubeadm", "{}", "tmp_csar_dir", nil},
		"unknown cluster": {"", "", "not found", []string{"vim", "x"}},
	} {
		var out bytes.Buffer
		err := run(t.Context(), t.TempDir(), c.driver, c.args, strings.NewReader(c.in), &out)
		if err == nil || !strings.Contains(err.Error(), c.want) || out.Len() > 0 {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestShortened checks that Tacker gets the beginning of a long error.
func TestShortened(t *testing.T) {
	t.Parallel()
	short := errors.New("no machine")
	if got := bounded.Error(short, maxError); !errors.Is(got, short) {
		t.Errorf("a short error became %v", got)
	}
	if got := bounded.Error(errors.New(strings.Repeat("x", 5000)), maxError); len(got.Error()) != 4000 {
		t.Errorf("a long error has %d bytes", len(got.Error()))
	}
}

// TestData checks that only the owner can read the folder, and that the folder contains no secret in clear.
func TestData(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	h, err := open(t.Context(), data)
	must(t, err)
	must(t, h.close())
	for _, name := range []string{"", "key", "hooks.db", "log"} {
		info, err := os.Stat(filepath.Join(data, name))
		must(t, err)
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%q has the mode %v", name, info.Mode())
		}
	}
}
