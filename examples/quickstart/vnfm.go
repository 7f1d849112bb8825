package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/vnfkit/vnfkit/examples/internal/crash"
	"github.com/vnfkit/vnfkit/examples/internal/samples"
	"github.com/vnfkit/vnfkit/examples/internal/sealing"
	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/progress"
	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
)

// vnfm is a VNF manager, composed of parts of the SDK.
type vnfm struct {
	*vnflcm.Manager
	world   *sandbox.World
	request vnflcm.InstantiateVnfRequest
	vnfdID  string
	close   func()
}

// compose makes the manager on the state directory.
func compose(ctx context.Context, o options, screen *progress.Screen) (*vnfm, error) {
	pkg, err1 := tosca.Open(ctx, o.pkg)
	request, err2 := o.readRequest(screen)
	if err := errors.Join(err1, err2, os.MkdirAll(o.state, 0o700)); err != nil {
		return nil, err
	}
	v := &vnfm{request: request, vnfdID: pkg.VNFD().ID}
	key, err1 := sealing.Key(filepath.Join(o.state, "key"))
	store, err2 := sqlite.Open(ctx, filepath.Join(o.state, "state.db"))
	// Slow programs take a moment, so that there is something to see.
	world, err3 := sandbox.Open(sandbox.Config{Dir: filepath.Join(o.state, "world"), Takes: 300 * time.Millisecond, Virtual: []string{virtual}})
	if err := errors.Join(err1, err2, err3, pkg.Close()); err != nil {
		return nil, err
	}
	pool := sshexec.NewPool(sshexec.Options{Dial: world.Dial})
	manager, err := vnflcm.New(ctx, vnflcm.Config{
		Store: store, Key: key,
		Packages:   vnflcm.DirPackages(o.pkg),
		Infra:      map[string]vnflcm.InfraDriver{"sandbox": world},
		Mgmt:       map[string]vnflcm.MgmtDriver{"mgmt-drivers-kubernetes": kubeadm.New(kubeadm.Config{Pool: pool})},
		KnownVIMs:  vnflcm.VimConnections{{VimID: "sandbox", VimType: "sandbox"}},
		AcceptOnly: o.plan,          // a plan does nothing, also to operations of an earlier run
		LeaseTTL:   3 * time.Second, // the next run waits that long after a kill
		Intercept:  crash.PauseBefore(screen.Title, o.pauseBefore, o.state),
		Observe:    screen.Observe,
	})
	if err != nil {
		return nil, err
	}
	v.Manager, v.world = manager, world
	v.close = func() {
		_ = errors.Join(manager.Close(context.WithoutCancel(ctx)), pool.Close(), store.Close(), world.Close())
	}
	return v, nil
}

// readRequest reads the instantiate request. The sample is fitted to the flags, any to the sandbox.
func (o options) readRequest(screen *progress.Screen) (request vnflcm.InstantiateVnfRequest, err error) {
	name := o.request
	if name == "" {
		name = filepath.Join(samples.Package("k8s-cluster"), "requests", "instantiate_sandbox.json")
	}
	data, err := os.ReadFile(name) //nolint:gosec // the user's own file
	if err != nil {
		return request, err
	}
	warnings, err := vnflcm.DecodeRequest(data, &request)
	if err != nil {
		return request, fmt.Errorf("%s: %w", name, err)
	}
	if len(warnings) > 0 {
		screen.Title("attributes of the request without effect: %q", warnings)
	}
	request.VimConnectionInfo = vnflcm.VimConnections{{ID: "sandbox", VimID: "sandbox", VimType: "sandbox"}}
	if o.request == "" {
		flavour := map[int]string{1: "simple", 3: "complex"}[o.controlPlane]
		request.FlavourID, request.InstantiationLevelID = flavour, ""
		request.TargetScaleLevelInfo = []vnflcm.ScaleInfo{{AspectID: "worker_instance", ScaleLevel: o.workers - 1}}
		if o.controlPlane > 1 {
			err = atVirtualAddress(&request)
		}
	}
	return request, err
}

// virtual is the connection point of the address that several control-plane nodes share.
const virtual = "vip_CP"

func atVirtualAddress(request *vnflcm.InstantiateVnfRequest) error {
	over, err := vnflcm.ParseParams([]byte(`{"k8s_cluster_installation_param": {"master_node": {"cluster_cp_name": "` + virtual + `"}}}`))
	if err == nil {
		request.AdditionalParams, err = request.AdditionalParams.Merge(over)
	}
	return err
}

// instance returns the one instance of this program and how many operations on it are completed.
func (v *vnfm) instance(ctx context.Context) (id string, done int, err error) {
	list, err := v.Instances(ctx, vnflcm.InstanceQuery{Limit: 1})
	if err != nil {
		return "", 0, err
	}
	if len(list.Items) == 0 {
		inst, err := v.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: v.vnfdID, VnfInstanceName: "quickstart"})
		if err != nil {
			return "", 0, err
		}
		return inst.ID, 0, nil
	}
	operations, err := v.Operations(ctx, vnflcm.OperationQuery{InstanceID: list.Items[0].ID})
	for _, o := range operations.Items {
		switch o.OperationState {
		case vnflcm.Completed:
			done++
		case vnflcm.FailedTemp:
			err = errors.Join(err, fmt.Errorf("operation %s of an earlier run has failed: %w", o.ID, o.Error))
		}
	}
	return list.Items[0].ID, done, err
}

// killWorker stops a worker's machine.
func killWorker(ctx context.Context, v *vnfm, id string) error {
	worker, err := v.worker(ctx, id)
	if err != nil {
		return err
	}
	return v.world.Stop(worker.ComputeResource.ResourceID)
}

// worker returns the first worker.
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
