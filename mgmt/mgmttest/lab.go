package mgmttest

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"testing"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// Lab is a sandbox and a store with a Manager on them. The Manager is the first process; Process starts others.
type Lab struct {
	*vnflcm.Manager
	World   *sandbox.World
	Store   store.Store // in memory
	Package string      // of the Setup; a test of another version of the package changes it

	t     testing.TB
	setup Setup
	told  told
	other sync.Map // by VNFD: the folder or file of a package of Onboard
	leaks sync.Map // machines and programs of arguments with the Canary that are reported
}

// Dial is how a process reaches machines.
type Dial = func(ctx context.Context, network, addr string) (net.Conn, error)

// Setup describes a Lab.
type Setup struct {
	// Sandbox is the configuration of the world. Unless it has Unexpected, a command that the sandbox does not know fails
	// the test.
	Sandbox sandbox.Config
	// From is the initial state of the world and the store; the world then has the Config of the snapshot. Default:
	// Sandbox, and an empty store.
	From *Snapshot
	// Package is the VNF package: a folder or a CSAR file.
	Package string
	// Requests is the folder of the requests that Request reads. Default: requests in the folder Package.
	Requests string
	// Change is applied to every request that Request reads. Default: none.
	Change Change
	// Drivers returns the drivers of a process by the names that the VNFD gives them. They reach machines by the pool, which
	// is closed with the process.
	Drivers func(*sshexec.Pool) map[string]vnflcm.MgmtDriver
	// Dial makes the connections of processes to machines. Default: sandbox.World.Dial.
	Dial Dial
	// Snapshots keeps the snapshots of all processes. Default: none are kept.
	Snapshots vnflcm.Snapshots
}

// Open opens a lab. It ends with the test, which fails then if the log or a command line has the Canary, or if two copies of a pod of a
// StatefulSet have ever run at the same time. A panic of a driver fails the test and prints its stack. Errors of the lab fail the test at
// once.
func Open(t testing.TB, s Setup) *Lab {
	t.Helper()
	if s.Sandbox.Unexpected == nil {
		s.Sandbox.Unexpected = func(host string, argv []string) { t.Errorf("%s: unexpected command %q", host, argv) }
	}
	l := &Lab{t: t, setup: s, Store: store.NewMemory(), Package: s.Package, told: told{hosts: map[string]string{}}}
	l.setup.Requests = cmp.Or(s.Requests, filepath.Join(s.Package, "requests"))
	l.build()
	atEnd(t, func() {
		for _, pod := range l.World.PodsRunTwice() {
			t.Errorf("two copies of a pod have run at the same time: %s", pod)
		}
		l.checkArguments()
		l.checkLog()
		closed(t, l.World.Close())
	})
	if l.setup.Dial == nil {
		l.setup.Dial = l.World.Dial
	}
	l.Manager = l.Process()
	if s.From == nil {
		check(t, l.registerVIM())
	}
	return l
}

// atEnd calls do once at the end of the test. Package testing keeps the functions of Cleanup of ended tests, and with them whole labs, until
// the test program ends.
func atEnd(t testing.TB, do func()) {
	t.Cleanup(func() {
		do()
		do = nil
	})
}

// T returns the test that the lab belongs to.
func (l *Lab) T() testing.TB { return l.t }

func (l *Lab) registerVIM() error {
	return l.VIMs().Put(l.t.Context(), vnflcm.VimConnectionInfo{VimID: vimID, VimType: vimID})
}

// build has the world and the store be as the setup says.
func (l *Lab) build() {
	l.t.Helper()
	var err error
	if l.setup.From == nil {
		l.World, err = sandbox.Open(l.setup.Sandbox)
		check(l.t, err)
		return
	}
	l.World, err = l.setup.From.world.Clone()
	check(l.t, err)
	for _, r := range l.setup.From.records {
		l.restore(r)
	}
}

// restore puts a record under the version that it had, which is sealed with it.
func (l *Lab) restore(r store.Record) {
	l.t.Helper()
	version := r.Version
	for r.Version = 0; r.Version < version; r.Version++ {
		check(l.t, l.Store.Apply(l.t.Context(), store.Batch{Put: []store.Record{r}}))
	}
}

const vimID = "sandbox"

// Process starts the next process: another Manager on the same world and the same store, with a pool and drivers that no other
// process has. It ends with the test. change changes the Config, for example crashtest.Process.AttachNext.
func (l *Lab) Process(change ...func(*vnflcm.Config)) *vnflcm.Manager {
	l.t.Helper()
	return l.ProcessOver(l.setup.Dial, change...)
}

// ProcessOver is Process with connections to machines that dial makes.
func (l *Lab) ProcessOver(dial Dial, change ...func(*vnflcm.Config)) *vnflcm.Manager {
	l.t.Helper()
	pool := sshexec.NewPool(sshexec.Options{Dial: dial})
	config := vnflcm.Config{
		Store: l.Store, Key: bytes.Repeat([]byte{7}, 32),
		Packages: labPackages{l},
		Infra:    map[string]vnflcm.InfraDriver{vimID: l.World},
		Mgmt:     l.setup.Drivers(pool), Snapshots: l.setup.Snapshots,
		Observe: l.told.observe,
		Logger:  slog.New(panicReporter{slog.NewJSONHandler(&l.told, &slog.HandlerOptions{Level: slog.LevelDebug}), l.t}),
	}
	for _, c := range change {
		c(&config)
	}
	m, err := vnflcm.New(l.t.Context(), config)
	check(l.t, err)
	atEnd(l.t, func() {
		closed(l.t, m.Close(context.WithoutCancel(l.t.Context())))
		closed(l.t, pool.Close())
	})
	return m
}

// opened is shared by the processes of all labs, so that a test program parses a package once.
var opened = tosca.NewCache(16)

// labPackages is the package of a lab.
type labPackages struct{ lab *Lab }

// Open implements vnflcm.Packages.
func (p labPackages) Open(ctx context.Context, _, vnfdID, digest string) (*tosca.Package, error) {
	source := tosca.File(p.lab.Package)
	if other, found := p.lab.other.Load(vnfdID); found {
		source = tosca.File(other.(string)) //nolint:forcetypeassert // Onboard stores strings
	}
	if digest != "" {
		return opened.OpenPinned(ctx, source, digest)
	}
	return opened.Open(ctx, source)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// closed reports an error as a failure, and lets the test continue to close other resources.
func closed(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
