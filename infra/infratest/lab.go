package infratest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// vnfcs compares VNFCs by their addresses as well.
var vnfcs = gocmp.Comparer(func(a, b netip.Addr) bool { return a == b })

// lab is a World with a Manager.
type lab struct {
	t     testing.TB
	s     Setup
	w     World
	store store.Store
	mgmt  map[string]vnflcm.MgmtDriver
	vnfd  string
	// changed is the VNFD that the package changes to, "" if the driver or the setup has no change of the package.
	changed string
	first   state // of the world, before there were VNFs

	// instead is called in the place of a method of the driver. A test sets it between operations.
	instead func(ctx context.Context, method string, do func(context.Context) error) error
	busy    bool // another operation runs beside the next one

	mu       sync.Mutex
	reported map[string]vnflcm.Resources // by instance
	ended    map[string]bool             // instances without machines: they are stopped, and World.EndWithStop is set
}

// state is what a VIM has.
type state struct{ Machines, Others []string }

// open opens a World and reads the package.
func open(t testing.TB, s Setup) *lab {
	t.Helper()
	if s.Package == (tosca.Source{}) {
		s.Package = tosca.FS(fstest.MapFS{"simple.yaml": {Data: []byte(simple)}})
		if s.Changed == (tosca.Source{}) {
			s.Changed = tosca.FS(fstest.MapFS{"simple.yaml": {Data: []byte(newSimple.Replace(simple))}})
		}
	}
	s.patience = cmp.Or(s.patience, time.Minute)
	s.Request.FlavourID = cmp.Or(s.Request.FlavourID, "simple")
	l := &lab{t: t, s: s, w: s.Open(t), store: store.NewMemory(), mgmt: map[string]vnflcm.MgmtDriver{}, reported: map[string]vnflcm.Resources{}, ended: map[string]bool{}}
	l.w.VIM.VimID = cmp.Or(l.w.VIM.VimID, l.w.VIM.VimType)
	pkg, err := s.Package.Open(t.Context())
	l.must(err)
	defer func() { l.must(pkg.Close()) }()
	l.vnfd = pkg.VNFD().ID
	flavour, err := pkg.VNFD().Flavour(s.Request.FlavourID)
	l.must(err)
	for _, hook := range flavour.Hooks {
		l.mgmt[hook.Driver] = idle{}
	}
	if _, able := l.w.Driver().(vnflcm.PackageChanger); able && s.Changed != (tosca.Source{}) {
		l.openChanged()
	}
	if s.Aspect == "" && len(flavour.Aspects) > 0 {
		l.s.Aspect = flavour.Aspects[0].ID
	}
	l.first = l.now(t.Context())
	return l
}

// openChanged reads the package that the VNF changes to.
func (l *lab) openChanged() {
	l.t.Helper()
	pkg, err := l.s.Changed.Open(l.t.Context())
	l.must(err)
	defer func() { l.must(pkg.Close()) }()
	l.changed = pkg.VNFD().ID
	for _, flavour := range pkg.VNFD().Flavours {
		for _, hook := range flavour.Hooks {
			l.mgmt[hook.Driver] = idle{}
		}
	}
}

// idle is a management driver that does nothing.
type idle struct{}

// Validate implements vnflcm.MgmtDriver.
func (idle) Validate(context.Context, *vnflcm.Operation) error { return nil }

// Hooks implements vnflcm.MgmtDriver.
func (idle) Hooks() vnflcm.Hooks {
	out := vnflcm.Hooks{}
	for _, h := range []vnflcm.Hook{vnflcm.InstantiateStart, vnflcm.InstantiateEnd, vnflcm.InstantiateRollbackStart, vnflcm.InstantiateRollbackEnd,
		vnflcm.ScaleStart, vnflcm.ScaleEnd, vnflcm.ScaleRollbackStart, vnflcm.ScaleRollbackEnd, vnflcm.ScaleToLevelStart, vnflcm.ScaleToLevelEnd,
		vnflcm.HealStart, vnflcm.HealEnd, vnflcm.TerminateStart, vnflcm.TerminateEnd, vnflcm.ModifyStart, vnflcm.ModifyEnd,
		vnflcm.ChangeExtConnStart, vnflcm.ChangeExtConnEnd, vnflcm.ChangeExtConnRollbackStart, vnflcm.ChangeExtConnRollbackEnd,
		vnflcm.OperateStart, vnflcm.OperateEnd,
		vnflcm.ChangePackageStart, vnflcm.ChangePackageEnd, vnflcm.ChangePackageRollbackStart, vnflcm.ChangePackageRollbackEnd} {
		out[h] = func(context.Context, *vnflcm.Operation) error { return nil }
	}
	return out
}

func (l *lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// opened is shared by all labs, so that a package on disk is parsed once.
var opened = tosca.NewCache(4)

// packages are the package of a lab and the one that it changes to.
type packages struct {
	source, changed tosca.Source
	vnfd            string // of changed
}

// Open implements vnflcm.Packages.
func (p packages) Open(ctx context.Context, _, vnfdID, digest string) (*tosca.Package, error) {
	source := p.source
	if vnfdID == p.vnfd {
		source = p.changed
	}
	if digest != "" {
		return opened.OpenPinned(ctx, source, digest)
	}
	return opened.Open(ctx, source)
}

// process starts a Manager, which ends with the test.
func (l *lab) process(change ...func(*vnflcm.Config)) *vnflcm.Manager {
	l.t.Helper()
	config := vnflcm.Config{Store: l.store, Key: bytes.Repeat([]byte{7}, 32), Packages: packages{l.s.Package, l.s.Changed, l.changed}, Mgmt: l.mgmt,
		Infra: map[string]vnflcm.InfraDriver{l.w.VIM.VimType: l.spyOn(l.w.Driver())}, KnownVIMs: vnflcm.VimConnections{l.w.VIM},
		Logger: slog.New(panicLog{slog.DiscardHandler, l.t})}
	for _, c := range change {
		c(&config)
	}
	m, err := vnflcm.New(l.t.Context(), config)
	l.must(err)
	l.t.Cleanup(func() {
		if err := m.Close(context.WithoutCancel(l.t.Context())); err != nil {
			l.t.Error(err)
		}
	})
	return m
}

// panicLog shows the stack of each panic, which the Manager logs.
type panicLog struct {
	slog.Handler
	t testing.TB
}

// Enabled implements slog.Handler.
func (panicLog) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (h panicLog) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "stack" {
			h.t.Logf("%s\n%s", r.Message, a.Value)
		}
		return true
	})
	return nil
}

// WithAttrs implements slog.Handler.
func (h panicLog) WithAttrs([]slog.Attr) slog.Handler { return h }

// WithGroup implements slog.Handler.
func (h panicLog) WithGroup(string) slog.Handler { return h }

// now reads the world.
func (l *lab) now(ctx context.Context) (s state) {
	l.t.Helper()
	var err error
	s.Machines, err = l.w.Machines(ctx)
	l.must(err)
	if l.w.Others != nil {
		s.Others, err = l.w.Others(ctx)
		l.must(err)
	}
	slices.Sort(s.Machines)
	slices.Sort(s.Others)
	return s
}

// note keeps what a driver has reported of the instance of an operation.
func (l *lab) note(op *vnflcm.Operation, r vnflcm.Resources) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reported[op.InstanceID] = r
	l.ended[op.InstanceID] = l.w.EndWithStop && op.Operate != nil && op.Operate.ChangeStateTo == vnflcm.VnfStopped
}

// of returns what the driver has last reported of an instance.
func (l *lab) of(instance string) []vnflcm.VNFC {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.reported[instance].VNFCs)
}

// agree checks that the world has the machines that were reported of all instances and those that it had first, and that nothing foreign
// has gone.
func (l *lab) agree(after string) {
	l.t.Helper()
	want := slices.Clone(l.first.Machines)
	l.mu.Lock()
	for _, id := range slices.Sorted(maps.Keys(l.reported)) {
		for _, v := range l.reported[id].VNFCs {
			if !l.ended[id] {
				want = append(want, v.ResourceID)
			}
		}
	}
	l.mu.Unlock()
	slices.Sort(want)
	now := l.now(l.t.Context())
	if diff := gocmp.Diff(want, now.Machines); diff != "" {
		l.t.Errorf("%s: the machines of the VIM (+) are not the foreign ones and those that the driver reports (-):\n%s", after, diff)
	}
	for _, line := range l.first.Others {
		if !slices.Contains(now.Others, line) {
			l.t.Errorf("%s: the foreign resource %q is missing", after, line)
		}
	}
}

// created makes an instance.
func (l *lab) created(m *vnflcm.Manager) string {
	l.t.Helper()
	inst, err := m.Create(l.t.Context(), vnflcm.CreateVnfRequest{VnfdID: l.vnfd})
	l.must(err)
	return inst.ID
}

// end waits for an operation.
func (l *lab) end(m *vnflcm.Manager, name, opID string) (*vnflcm.VnfLcmOpOcc, error) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), l.s.patience)
	defer cancel()
	occ, err := m.Wait(ctx, opID)
	if ctx.Err() != nil {
		l.resume() // so that the Manager can end
		l.t.Fatalf("%s: the operation has not ended within %s", name, l.s.patience)
	}
	return occ, err
}

// complete waits for an operation that must succeed without a difference between the plan and the resources.
func (l *lab) complete(m *vnflcm.Manager, name, opID string, err error) {
	l.t.Helper()
	var occ *vnflcm.VnfLcmOpOcc
	if err == nil {
		occ, err = l.end(m, name, opID)
	}
	if err != nil {
		l.t.Fatalf("%s: %v", name, err)
	}
	for _, w := range occ.Warnings {
		if strings.Contains(w, ": announced ") {
			l.t.Errorf("%s: %s", name, w)
		}
	}
}

// fails waits for an operation that must fail with want.
func (l *lab) fails(m *vnflcm.Manager, name, opID string, want error) {
	l.t.Helper()
	occ, err := l.end(m, name, opID)
	if occ == nil || occ.OperationState != vnflcm.FailedTemp || !errors.Is(err, want) {
		l.t.Fatalf("%s: the operation should have failed with %q: %v", name, want, err)
	}
}
