package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/vnfkit/vnfkit/examples/internal/progress"
	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sqlstore/sqlite"
)

// vnfm is a VNF manager, composed of parts of the SDK.
type vnfm struct {
	*vnflcm.Manager
	world   *sandbox.World
	request vnflcm.InstantiateVnfRequest
	screen  *progress.Screen
	vnfdID  string
	close   func()
}

// compose makes the manager on the state directory.
func compose(ctx context.Context, o options, screen *progress.Screen) (*vnfm, error) {
	world, err := sandbox.Open(sandbox.Config{Dir: filepath.Join(o.state, "world"), Takes: pace})
	if err != nil {
		return nil, err
	}
	store, err := sqlite.Open(ctx, filepath.Join(o.state, "state.db"))
	if err != nil {
		return nil, errors.Join(err, world.Close())
	}
	pool := sshexec.NewPool(sshexec.Options{Dial: world.Dial})
	v := &vnfm{world: world, screen: screen}
	v.close = func() {
		if v.Manager != nil {
			_ = v.Close(context.WithoutCancel(ctx))
		}
		_ = errors.Join(pool.Close(), store.Close(), world.Close())
	}
	if err := v.configure(ctx, o, store, pool); err != nil {
		v.close()
		return nil, err
	}
	return v, nil
}

func (v *vnfm) configure(ctx context.Context, o options, store vnflcm.Store, pool *sshexec.Pool) error {
	if o.pkg == "" {
		o.pkg = samples()
	}
	pkg, err := tosca.Open(ctx, o.pkg)
	if err != nil {
		return err
	}
	defer pkg.Close()
	if err := v.readRequest(o); err != nil {
		return err
	}
	flavour, err := pkg.VNFD().Flavour(v.request.FlavourID)
	if err != nil {
		return err
	}
	drivers := map[string]vnflcm.MgmtDriver{}
	for _, name := range flavour.Hooks { // whatever the package calls the driver of a Kubernetes cluster
		drivers[name] = kubeadm.New(kubeadm.Config{Pool: pool})
	}
	key, err := sealingKey(filepath.Join(o.state, "key"))
	if err != nil {
		return err
	}
	v.vnfdID = pkg.VNFD().ID
	v.Manager, err = vnflcm.New(vnflcm.Config{
		Store: store, Key: key, Owner: "quickstart", // the lock of the sandbox keeps a second one out
		Packages:  vnflcm.PackagesFunc(func(ctx context.Context, _ string) (*tosca.Package, error) { return tosca.Open(ctx, o.pkg) }),
		Infra:     map[string]vnflcm.InfraDriver{"sandbox": v.world},
		Mgmt:      drivers,
		Intercept: pauseBefore(o.pauseBefore, o.state),
		Observe:   v.screen.Observe,
	})
	if err != nil {
		return err
	}
	return v.VIMs().Put(ctx, vnflcm.VimConnectionInfo{VimID: "sandbox", VimType: "sandbox"})
}

// readRequest reads the instantiate request and fits it to the flags and to the sandbox.
func (v *vnfm) readRequest(o options) error {
	name := o.request
	if name == "" {
		name = filepath.Join(samples(), "requests", "instantiate_sandbox.json")
	}
	data, err := os.ReadFile(name) //nolint:gosec // the user's own file
	if err != nil {
		return err
	}
	unknown, err := vnflcm.DecodeRequest(data, &v.request)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if len(unknown) > 0 {
		v.screen.Title("the request has attributes that are not known: %s", strings.Join(unknown, ", "))
	}
	v.request.VimConnectionInfo = vnflcm.VimConnections{{ID: "sandbox", VimID: "sandbox", VimType: "sandbox"}}
	if o.request == "" {
		v.request.FlavourID = map[int]string{1: "simple", 3: "complex"}[o.masters]
		if v.request.FlavourID == "" || o.workers < 1 {
			return fmt.Errorf("-masters must be 1 or 3, not %d, and -workers at least 1, not %d", o.masters, o.workers)
		}
		v.request.InstantiationLevelID = ""
		v.request.TargetScaleLevelInfo = []vnflcm.ScaleInfo{{AspectID: "worker_instance", ScaleLevel: o.workers - 1}}
	}
	return nil
}

// instance returns the one instance of this program and how many operations on it are completed; nil once it
// has been deleted again.
func (v *vnfm) instance(ctx context.Context) (*vnflcm.VnfInstance, int, error) {
	list, err := v.List(ctx)
	if err != nil {
		return nil, 0, err
	}
	if len(list) == 0 {
		if ops, err := v.Operations(ctx, ""); err != nil || len(ops) > 0 {
			return nil, 0, err
		}
		inst, err := v.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: v.vnfdID, VnfInstanceName: "quickstart"})
		return inst, 0, err
	}
	done := 0
	ops, err := v.Operations(ctx, list[0].ID)
	for _, op := range ops {
		switch op.OperationState {
		case vnflcm.Completed:
			done++
		case vnflcm.FailedTemp:
			return nil, 0, fmt.Errorf("operation %s of an earlier run has failed: %w", op.ID, op.Error)
		}
	}
	return list[0], done, err
}

func (v *vnfm) worker(ctx context.Context, id string) (vnflcm.VnfcResourceInfo, error) {
	inst, err := v.Get(ctx, id)
	if err != nil {
		return vnflcm.VnfcResourceInfo{}, err
	}
	for _, vnfc := range inst.InstantiatedVnfInfo.VnfcResourceInfo {
		if vnfc.VduID == "workerNode" {
			return vnfc, nil
		}
	}
	return vnflcm.VnfcResourceInfo{}, errors.New("the VNF has no worker")
}

// samples is the sample package, found beside this source: the example is run from a checkout.
func samples() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "packages", "k8s-cluster")
}

// sealingKey reads the key that seals the state, or makes one.
func sealingKey(name string) ([]byte, error) {
	key, err := os.ReadFile(name) //nolint:gosec // in the user's own state directory
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	key = make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	return key, os.WriteFile(name, key, 0o600)
}

// pauseBefore stops before a step for as long as the program runs.
func pauseBefore(name, state string) vnflcm.Interceptor {
	return func(ctx context.Context, step vnflcm.StepInfo, next func(context.Context) error) error {
		if name == "" || name != step.Name && name != step.Phase+"/"+step.Name {
			return next(ctx)
		}
		data, err := json.Marshal(step)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(state, pausedFile), data, 0o600); err != nil {
			return err
		}
		fmt.Printf("\n== paused before %s/%s: kill or interrupt this program, process %d, and run it again without -pause-before\n",
			step.Phase, step.Name, os.Getpid())
		<-ctx.Done()
		return context.Cause(ctx)
	}
}

const pausedFile = "paused"
