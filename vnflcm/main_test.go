package vnflcm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

func TestMain(m *testing.M) {
	if name := os.Getenv("VNFKIT_PROCESS"); name != "" { // a process of TestProcesses
		if err := runProcess(name, os.Getenv("VNFKIT_PROCESS_DIR")); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

var testKey = bytes.Repeat([]byte{7}, 32)

// toys are a Manager and the world that it works on.
type toys struct {
	*vnflcm.Manager
	t     *testing.T
	world *world
	cfg   vnflcm.Config
}

// newToys returns a Manager with toy drivers, a memory store and a default VIM. change may alter its configuration.
func newToys(t *testing.T, change func(*vnflcm.Config)) *toys {
	t.Helper()
	w := newWorld()
	cfg := vnflcm.Config{Store: store.NewMemory(), Key: testKey, Packages: toyPackage("cluster"),
		Infra:    map[string]vnflcm.InfraDriver{"toy": &cloud{world: w}},
		Mgmt:     map[string]vnflcm.MgmtDriver{"cluster": &cluster{world: w}},
		LeaseTTL: time.Minute}
	if change != nil {
		change(&cfg)
	}
	x := &toys{t: t, world: w, cfg: cfg}
	x.start()
	must(t, x.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "vim1", VimType: "toy"}))
	must(t, x.VIMs().SetDefault(t.Context(), "", "vim1"))
	return x
}

// start closes the Manager, if one runs, and starts the Manager of the next process with the same configuration.
func (x *toys) start() {
	x.t.Helper()
	if x.Manager != nil {
		closeManager(x.t, x.Manager)
	}
	m, err := vnflcm.New(x.t.Context(), x.cfg)
	must(x.t, err)
	x.Manager = m
	x.t.Cleanup(func() { closeManager(x.t, m) })
}

// bury removes the records of dead processes, so that they count as dead at once and not after their LeaseTTL. No process may use the
// store.
func bury(t *testing.T, s store.Store) {
	t.Helper()
	deleteAll(t, s, "process")
}

// patience is the maximum time for events that must happen.
const patience = time.Minute

func closeManager(t *testing.T, m *vnflcm.Manager) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	must(t, m.Close(ctx))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (x *toys) create() string {
	x.t.Helper()
	inst, err := x.Create(x.t.Context(), vnflcm.CreateVnfRequest{VnfdID: toyVNFD, VnfInstanceName: "toy"})
	must(x.t, err)
	return inst.ID
}

// wait waits for an accepted operation and checks its final state.
func (x *toys) wait(opID string, err error, want vnflcm.OperationState) (*vnflcm.VnfLcmOpOcc, error) {
	x.t.Helper()
	must(x.t, err)
	ctx, cancel := context.WithTimeout(x.t.Context(), patience)
	defer cancel()
	occ, err := x.Wait(ctx, opID)
	if occ == nil || occ.OperationState != want {
		x.t.Fatalf("operation %+v, want %s: %v", occ, want, err)
	}
	if (err != nil) == (want == vnflcm.Completed) {
		x.t.Fatalf("operation %s: error %v", want, err)
	}
	return occ, err
}

func (x *toys) instantiate(id, flavour string, want vnflcm.OperationState) (*vnflcm.VnfLcmOpOcc, error) {
	x.t.Helper()
	opID, err := x.Instantiate(x.t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: flavour})
	return x.wait(opID, err, want)
}

// instantiated returns a running instance: one master, two workers.
func (x *toys) instantiated(flavour string) string {
	x.t.Helper()
	id := x.create()
	_, _ = x.instantiate(id, flavour, vnflcm.Completed)
	return id
}

func (x *toys) get(id string) *vnflcm.VnfInstance {
	x.t.Helper()
	inst, err := x.Get(x.t.Context(), id)
	must(x.t, err)
	return inst
}

func scale(kind vnflcm.ScaleType, steps int) vnflcm.ScaleVnfRequest {
	return vnflcm.ScaleVnfRequest{Type: kind, AspectID: "workers", NumberOfSteps: steps}
}

func wantIs(t *testing.T, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("error %v, want one that is %v", err, target)
	}
}

// faults returns the paths of all *ParamError in err.
func faults(err error) (paths []string) {
	if p, ok := err.(*vnflcm.ParamError); ok { //nolint:errorlint // walks the tree itself
		return []string{p.Path}
	}
	switch e := err.(type) { //nolint:errorlint // walks the tree itself
	case interface{ Unwrap() error }:
		return faults(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, each := range e.Unwrap() {
			paths = append(paths, faults(each)...)
		}
	}
	return paths
}
