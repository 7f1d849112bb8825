package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

const (
	packageDir = "../../examples/packages/k8s-cluster"
	sampleVNFD = "6a1c2f0e-1d6e-4f4e-9a3c-0d5b6a7c8ea0"
)

// packages are shared by all processes of the tests: the package is parsed once.
var packages = vnflcm.DirPackages(packageDir)

// idle is a management driver that does nothing.
type idle struct{}

func (idle) Validate(context.Context, *vnflcm.Operation) error { return nil }
func (idle) Hooks() vnflcm.Hooks {
	hooks := vnflcm.Hooks{}
	for _, h := range []vnflcm.Hook{vnflcm.InstantiateEnd, vnflcm.ScaleStart, vnflcm.ScaleEnd, vnflcm.HealStart, vnflcm.HealEnd, vnflcm.TerminateStart, vnflcm.TerminateEnd} {
		hooks[h] = func(context.Context, *vnflcm.Operation) error { return nil }
	}
	return hooks
}

// site is a Manager on a world.
type site struct {
	*vnflcm.Manager
	t     *testing.T
	world *sandbox.World
	store store.Store
}

func open(t *testing.T, c sandbox.Config) *site {
	t.Helper()
	world, err := sandbox.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = world.Close() })
	return on(t, world, store.NewMemory(), nil)
}

func on(t *testing.T, world *sandbox.World, store store.Store, intercept vnflcm.Interceptor) *site {
	t.Helper()
	m, err := vnflcm.New(t.Context(), vnflcm.Config{
		Store: store, Key: bytes.Repeat([]byte{1}, 32), Intercept: intercept,
		Packages: packages,
		Infra:    map[string]vnflcm.InfraDriver{"sandbox": world},
		Mgmt:     map[string]vnflcm.MgmtDriver{"mgmt-drivers-kubernetes": idle{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close(context.WithoutCancel(t.Context())) })
	if err := m.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "sandbox", VimType: "sandbox"}); err != nil {
		t.Fatal(err)
	}
	return &site{m, t, world, store}
}

func (s *site) must(opID string, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err = s.Wait(s.t.Context(), opID); err != nil {
		s.t.Fatal(err)
	}
}

// instance instantiates a VNF of one master and 1+more workers.
func (s *site) instance(more int) string {
	s.t.Helper()
	inst, err := s.Create(s.t.Context(), vnflcm.CreateVnfRequest{VnfdID: sampleVNFD})
	if err != nil {
		s.t.Fatal(err)
	}
	s.must(s.begin(inst.ID, more))
	return inst.ID
}

func (s *site) begin(id string, more int) (string, error) {
	return s.Instantiate(s.t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "simple",
		TargetScaleLevelInfo: []vnflcm.ScaleInfo{{AspectID: "worker_instance", ScaleLevel: more}},
		VimConnectionInfo:    vnflcm.VimConnections{{ID: "1", VimID: "sandbox", VimType: "sandbox"}}})
}

// machine is a VNFC as the instance shows it.
type machine struct{ VNFC, Resource, Name, Address, Key string }

// machines are those of an instance, by name.
func (s *site) machines(id string) map[string]machine {
	s.t.Helper()
	inst, err := s.Get(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	out := map[string]machine{}
	for _, v := range inst.InstantiatedVnfInfo.VnfcResourceInfo {
		h := s.world.Host(v.ComputeResource.ResourceID)
		if h == nil {
			s.t.Fatalf("%s is no machine", v.ComputeResource.ResourceID)
		}
		out[h.Name()] = machine{v.ID, v.ComputeResource.ResourceID, h.Name(),
			v.VnfcCpInfo[0].CpProtocolInfo[0].IPOverEthernet.IPAddresses[0].Addresses[0], h.PublicKey()}
	}
	return out
}

func (s *site) names() []string {
	var out []string
	for _, h := range s.world.Hosts() {
		out = append(out, h.Name())
	}
	slices.Sort(out)
	return out
}

func TestLifecycle(t *testing.T) {
	t.Parallel()
	s := open(t, sandbox.Config{})
	ctx, id := t.Context(), s.instance(1)
	first := s.machines(id)
	if diff := cmp.Diff([]string{"masterNode-0", "workerNode-0", "workerNode-1"}, s.names()); diff != "" {
		t.Fatal(diff)
	}
	addresses := map[string]bool{}
	for _, m := range first {
		addresses[m.Address] = true
	}
	if len(addresses) != 3 {
		t.Errorf("machines share addresses: %+v", first)
	}

	// The same VNFC, name and address; another machine.
	old := first["workerNode-0"]
	if err := afero.WriteFile(s.world.Host(old.Resource).FS(), "/home/ubuntu/file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.must(s.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{old.VNFC}}))
	healed := s.machines(id)["workerNode-0"]
	if healed.VNFC != old.VNFC || healed.Address != old.Address || healed.Resource == old.Resource || healed.Key == old.Key {
		t.Errorf("before %+v, after %+v", old, healed)
	}
	if left, _ := afero.Exists(s.world.Host("workerNode-0").FS(), "/home/ubuntu/file"); left || s.world.Host(old.Resource) != nil {
		t.Error("the old machine is still there")
	}

	// Scale-in takes the newest first: the healed one, then the one that was made last.
	s.must(s.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}))
	for _, want := range []string{"masterNode-0 workerNode-0 workerNode-1", "masterNode-0 workerNode-1"} {
		s.must(s.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance"}))
		if got := strings.Join(s.names(), " "); got != want {
			t.Errorf("left are %s, want %s", got, want)
		}
	}
	s.must(s.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	if names := s.names(); len(names) != 0 {
		t.Errorf("%q are left", names)
	}
}

// TestScaleToLevel scales the control-plane nodes out and the workers in: the newest ones go.
func TestScaleToLevel(t *testing.T) {
	t.Parallel()
	s := open(t, sandbox.Config{})
	ctx := t.Context()
	inst, err := s.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: sampleVNFD})
	if err != nil {
		t.Fatal(err)
	}
	s.must(s.Instantiate(ctx, inst.ID, vnflcm.InstantiateVnfRequest{FlavourID: "complex",
		TargetScaleLevelInfo: []vnflcm.ScaleInfo{{AspectID: "worker_instance", ScaleLevel: 2}},
		VimConnectionInfo:    vnflcm.VimConnections{{ID: "1", VimID: "sandbox", VimType: "sandbox"}}}))
	before := s.machines(inst.ID)
	s.must(s.ScaleToLevel(ctx, inst.ID, vnflcm.ScaleVnfToLevelRequest{ScaleInfo: []vnflcm.ScaleInfo{
		{AspectID: "worker_instance"}, {AspectID: "master_instance", ScaleLevel: 2}}}))
	after := s.machines(inst.ID)
	want := maps.Clone(before)
	want["masterNode-3"], want["masterNode-4"] = after["masterNode-3"], after["masterNode-4"]
	delete(want, "workerNode-1")
	delete(want, "workerNode-2")
	if diff := cmp.Diff(want, after); diff != "" || len(after) != 6 || after["masterNode-3"].VNFC == "" || after["masterNode-4"].VNFC == "" {
		t.Errorf("machines:\n%s", diff)
	}
}

// TestPlan: what is announced is what comes, and nothing is made for it.
func TestPlan(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	plans := map[string]vnflcm.Change{}
	world, err := sandbox.Open(sandbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = world.Close() })
	watched := &planned{World: world, keep: func(kind vnflcm.LcmOperation, c vnflcm.Change, hosts int) {
		mu.Lock()
		defer mu.Unlock()
		plans[fmt.Sprint(kind, " with ", hosts)] = c
	}}
	s := on(t, world, store.NewMemory(), nil)
	m, err := vnflcm.New(t.Context(), vnflcm.Config{Store: s.store, Key: bytes.Repeat([]byte{1}, 32),
		Packages: packages,
		Infra:    map[string]vnflcm.InfraDriver{"sandbox": watched}, Mgmt: map[string]vnflcm.MgmtDriver{"mgmt-drivers-kubernetes": idle{}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close(context.WithoutCancel(t.Context())) })
	s.Manager = m
	id := s.instance(0)
	ids := s.machines(id)
	s.must(s.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance", NumberOfSteps: 2}))
	s.must(s.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{ids["workerNode-0"].VNFC}}))
	s.must(s.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	got := map[string]string{}
	for at, c := range plans {
		for what, list := range map[string][]vnflcm.VNFC{"+": c.Added, "-": c.Removed, "~": c.Replaced} {
			for _, v := range list {
				got[at] += what + v.Name + " "
			}
		}
	}
	want := map[string]string{"INSTANTIATE with 0": "+masterNode-0 +workerNode-0 ", "SCALE with 2": "+workerNode-1 +workerNode-2 ",
		"HEAL with 4": "~workerNode-0 ", "TERMINATE with 4": "-masterNode-0 -workerNode-1 -workerNode-2 -workerNode-0 "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

type planned struct {
	*sandbox.World
	keep func(vnflcm.LcmOperation, vnflcm.Change, int)
}

func (p *planned) Plan(ctx context.Context, op *vnflcm.Operation) (vnflcm.Change, error) {
	c, err := p.World.Plan(ctx, op)
	p.keep(op.Kind, c, len(p.Hosts()))
	return c, err
}

// TestTwoInstances never touch each other.
func TestTwoInstances(t *testing.T) {
	t.Parallel()
	s := open(t, sandbox.Config{})
	one, two := s.instance(1), s.instance(1)
	before := s.machines(two)
	for _, m := range s.machines(one) {
		if other := before[m.Name]; other.Address == m.Address || other.Resource == m.Resource || other.VNFC == m.VNFC {
			t.Errorf("%+v, %+v", m, other)
		}
	}
	s.must(s.Scale(t.Context(), one, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance"}))
	s.must(s.Heal(t.Context(), one, vnflcm.HealVnfRequest{}))
	s.must(s.Terminate(t.Context(), one, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	if diff := cmp.Diff(before, s.machines(two)); diff != "" {
		t.Errorf("the other instance has changed:\n%s", diff)
	}
	if n := len(s.world.Hosts()); n != 3 {
		t.Errorf("%d machines", n)
	}
}

// login is the machine at an address, for a user.
func (s *site) login(addr, user, password string) *sshexec.Host {
	pool := sshexec.NewPool(sshexec.Options{Dial: s.world.Dial})
	s.t.Cleanup(func() { _ = pool.Close() })
	return pool.Host(sshexec.Target{Addr: netip.AddrPortFrom(netip.MustParseAddr(addr), 22).String(), User: user,
		Auth: []sshexec.Auth{sshexec.Password(password)}, HostKeys: sshexec.InsecureIgnoreHostKeys()})
}

// dial runs a program on it.
func (s *site) dial(addr, user, password string) error {
	return s.login(addr, user, password).Run(s.t.Context(), []string{"true"}, nil, nil, nil)
}

func TestStop(t *testing.T) {
	t.Parallel()
	t.Run("stopped", func(t *testing.T) { silenced(t, (*sandbox.World).Stop) })
	t.Run("partitioned", func(t *testing.T) { silenced(t, (*sandbox.World).Partition) })
}

// silenced: a machine refuses connections after silence, until it is healed.
func silenced(t *testing.T, silence func(w *sandbox.World, idOrName string) error) {
	t.Parallel()
	s := open(t, sandbox.Config{User: "admin", Password: "hunter2"})
	id := s.instance(0)
	worker := s.machines(id)["workerNode-0"]
	if err := s.dial(worker.Address, "admin", "hunter2"); err != nil {
		t.Fatal(err)
	}
	if err := s.dial(worker.Address, "admin", "wrong"); !errors.Is(err, sshexec.ErrAuth) {
		t.Errorf("%v", err)
	}
	if err := s.dial("198.18.99.99", "admin", "hunter2"); !errors.Is(err, sshexec.ErrConnect) || !strings.Contains(err.Error(), "no route to host") {
		t.Errorf("%v", err)
	}
	if err := silence(s.world, "missing"); err == nil {
		t.Error("a machine that is not there was silenced")
	}
	if err := silence(s.world, worker.Resource); err != nil {
		t.Fatal(err)
	}
	if err := s.dial(worker.Address, "admin", "hunter2"); !errors.Is(err, sshexec.ErrConnect) {
		t.Errorf("%v", err)
	}
	s.must(s.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{worker.VNFC}}))
	if err := s.dial(worker.Address, "admin", "hunter2"); err != nil {
		t.Error(err)
	}
}

// TestStopWhileBooting: a machine that died does not come up because its boot would have been over.
func TestStopWhileBooting(t *testing.T) {
	t.Parallel()
	booting := open(t, sandbox.Config{Boot: time.Hour})
	if err := booting.dial(booting.machines(booting.instance(0))["workerNode-0"].Address, "ubuntu", "ubuntu"); !errors.Is(err, sshexec.ErrConnect) {
		t.Errorf("a machine answers while it boots: %v", err)
	}
	s := open(t, sandbox.Config{Boot: time.Second})
	machines := s.machines(s.instance(0))
	if err := s.world.Stop("workerNode-0"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.login(machines["masterNode-0"].Address, "ubuntu", "ubuntu").Wait(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.dial(machines["workerNode-0"].Address, "ubuntu", "ubuntu"); !errors.Is(err, sshexec.ErrConnect) {
		t.Errorf("%v", err)
	}
}

func TestCommandsAndUnexpected(t *testing.T) {
	t.Parallel()
	var unexpected []string
	s := open(t, sandbox.Config{
		Commands: map[string]sshtest.Command{"greet": func(_ context.Context, p *sshtest.Process) int {
			_, _ = fmt.Fprintf(p.Stdout, "hello from %s\n", p.Host)
			return 0
		}},
		Unexpected: func(host string, argv []string) { unexpected = append(unexpected, host+": "+strings.Join(argv, " ")) },
	})
	worker := s.machines(s.instance(0))["workerNode-0"]
	pool := sshexec.NewPool(sshexec.Options{Dial: s.world.Dial})
	defer func() { _ = pool.Close() }()
	h := pool.Host(sshexec.Target{Addr: worker.Address, User: "ubuntu", Auth: []sshexec.Auth{sshexec.Password("ubuntu")}, HostKeys: sshexec.InsecureIgnoreHostKeys()})
	out, err := h.Output(t.Context(), sshexec.Command{Argv: []string{"greet"}})
	if err != nil || string(out) != "hello from workerNode-0\n" {
		t.Errorf("%q, %v", out, err)
	}
	err = h.Run(t.Context(), []string{"frobnicate", "-x"}, nil, nil, nil)
	if exit, ok := errors.AsType[*sshexec.ExitError](err); !ok || exit.Code != 127 {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff([]string{"workerNode-0: frobnicate -x"}, unexpected); diff != "" {
		t.Error(diff)
	}
}

// TestDir: after the folder is opened again, machines, host keys, files and clusters exist.
func TestDir(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, sandbox.Config{Dir: dir})
	id := s.instance(1)
	before := s.machines(id)
	if err := afero.WriteFile(s.world.Host("workerNode-1").FS(), "/etc/file", []byte("kept"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := s.world.Stop("workerNode-0"); err != nil {
		t.Fatal(err)
	}
	if _, err := sandbox.Open(sandbox.Config{Dir: dir}); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("two have the world: %v", err)
	}
	if err := s.world.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := sandbox.Open(sandbox.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = again.Close() })
	next := on(t, again, s.store, nil)
	if diff := cmp.Diff(before, next.machines(id)); diff != "" {
		t.Error(diff)
	}
	if data, err := afero.ReadFile(again.Host("workerNode-1").FS(), "/etc/file"); string(data) != "kept" {
		t.Errorf("%q, %v", data, err)
	}
	if err := next.dial(before["workerNode-0"].Address, "ubuntu", "ubuntu"); !errors.Is(err, sshexec.ErrConnect) {
		t.Errorf("the stopped machine runs: %v", err)
	}
	next.must(next.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{before["workerNode-0"].VNFC}}))
	if err := next.dial(before["workerNode-0"].Address, "ubuntu", "ubuntu"); err != nil {
		t.Error(err)
	}
	next.must(next.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	if left, err := os.ReadDir(filepath.Join(dir, "hosts")); err != nil || len(left) != 0 {
		t.Errorf("%d folders are left, %v", len(left), err)
	}
}

// TestKilledInBetween: at any moment of an operation, the world on disk is complete, and the next process finishes the
// operation. A copy of the folder stands for the files that a killed process leaves.
func TestKilledInBetween(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		step string
		heal bool
	}{{"create-vm", false}, {"replace-vm", true}} {
		t.Run(c.step, func(t *testing.T) {
			t.Parallel()
			dir, copied := t.TempDir(), t.TempDir()
			s := open(t, sandbox.Config{Dir: dir})
			var id string
			if c.heal {
				id = s.instance(1)
			}
			var once sync.Once
			errKilled := errors.New("killed")
			killer := on(t, s.world, s.store, func(ctx context.Context, step vnflcm.StepInfo, next func(context.Context) error) error {
				err := errKilled
				once.Do(func() {
					if step.Name == c.step {
						// Done, but not journaled. A machine in the making is there too: its folder is, it is not.
						err = errors.Join(next(ctx), errKilled, os.MkdirAll(filepath.Join(dir, "hosts", "half-made"), 0o700), os.CopyFS(copied, os.DirFS(dir)))
					}
				})
				return err
			})
			var opID string
			var err error
			if c.heal {
				opID, err = killer.Heal(t.Context(), id, vnflcm.HealVnfRequest{})
			} else {
				inst, failed := killer.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: sampleVNFD})
				if failed != nil {
					t.Fatal(failed)
				}
				id = inst.ID
				opID, err = killer.begin(id, 1)
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := killer.Wait(t.Context(), opID); !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			again, err := sandbox.Open(sandbox.Config{Dir: copied})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = again.Close() })
			next := on(t, again, s.store, nil)
			next.must(opID, next.Retry(t.Context(), opID))
			if diff := cmp.Diff([]string{"masterNode-0", "workerNode-0", "workerNode-1"}, next.names()); diff != "" {
				t.Error(diff)
			}
			for _, h := range again.Hosts() {
				if ok, err := afero.Exists(h.FS(), "/etc/apt/sources.list.d/kubernetes.list"); !ok || err != nil {
					t.Errorf("%s has not what its image has, %v", h.Name(), err)
				}
			}
			if left, err := os.ReadDir(filepath.Join(copied, "hosts")); err != nil || len(left) != 3 {
				t.Errorf("%d folders, %v", len(left), err)
			}
		})
	}
}

// TestKilledWhileMachinesAreMade opens what is on disk each time that one of several machines is complete.
func TestKilledWhileMachinesAreMade(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, sandbox.Config{Dir: dir})
	var mu sync.Mutex
	var saved [][]byte
	creator := on(t, s.world, s.store, func(ctx context.Context, _ vnflcm.StepInfo, next func(context.Context) error) error {
		err := next(ctx)
		mu.Lock()
		defer mu.Unlock()
		world, failed := os.ReadFile(filepath.Join(dir, "world.json"))
		saved = append(saved, world)
		return errors.Join(err, failed)
	})
	creator.instance(5)
	for _, world := range saved {
		copied := t.TempDir()
		if err := os.WriteFile(filepath.Join(copied, "world.json"), world, 0o600); err != nil {
			t.Fatal(err)
		}
		again, err := sandbox.Open(sandbox.Config{Dir: copied})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = again.Close() })
		if _, err := again.Dial(t.Context(), "tcp", "203.0.113.1:6443"); err == nil {
			t.Error("an address that no machine has answers")
		}
		next := on(t, again, store.NewMemory(), nil)
		for _, m := range next.machines(next.instance(0)) {
			if err := next.dial(m.Address, "ubuntu", "ubuntu"); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestClone: a clone has the complete state, and is independent of the original.
func TestClone(t *testing.T) {
	t.Parallel()
	s := open(t, sandbox.Config{})
	id := s.instance(0)
	if err := afero.WriteFile(s.world.Host("workerNode-0").FS(), "/root/secret", []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	world, err := s.world.Clone()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = world.Close() })
	before := s.machines(id)
	clone := on(t, world, s.store, nil)
	if diff := cmp.Diff(before, clone.machines(id)); diff != "" {
		t.Error(diff)
	}
	files := world.Host("workerNode-0").FS()
	if data, err := afero.ReadFile(files, "/root/secret"); string(data) != "kept" {
		t.Errorf("%q, %v", data, err)
	}
	if info, err := files.Stat("/root/secret"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := world.Stop("workerNode-0"); err != nil {
		t.Fatal(err)
	}
	if err := s.dial(before["workerNode-0"].Address, "ubuntu", "ubuntu"); err != nil {
		t.Errorf("the original was stopped too: %v", err)
	}
}
