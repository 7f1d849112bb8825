package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/vnfkit/vnfkit/examples/internal/sealing"
	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/kubespray"
	"github.com/vnfkit/vnfkit/mgmt/registry"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/hookrun"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
)

// host is what hooks need: a store, drivers, and the resources of a VNF.
type host struct {
	store     store.Store
	key       []byte
	log       *slog.Logger
	drivers   map[string]vnflcm.MgmtDriver
	resources func(context.Context, *hookrun.TackerV2) (vnflcm.Resources, error)
	atEnd     []func() error
}

// drivers by the names of their scripts in a VNF package.
func drivers(pool *sshexec.Pool) map[string]vnflcm.MgmtDriver {
	return map[string]vnflcm.MgmtDriver{
		"kubeadm":   kubeadm.New(kubeadm.Config{Pool: pool}),
		"kubespray": kubespray.New(kubespray.Config{Pool: pool}),
		"registry":  registry.New(registry.Config{Pool: pool}),
	}
}

func driverNames() []string { return slices.Sorted(maps.Keys(drivers(nil))) }

// open opens the data of earlier hooks. Several processes may have them open.
func open(ctx context.Context, data string) (*host, error) {
	if err := os.MkdirAll(data, 0o700); err != nil { //nolint:gosec // the operator names the folder
		return nil, err
	}
	key, err := sealing.Key(filepath.Join(data, "key"))
	if err != nil {
		return nil, err
	}
	store, err := sqlite.Open(ctx, filepath.Join(data, "hooks.db"))
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(data, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // the operator names the folder
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	var policy outbound.Policy
	pool := sshexec.NewPool(sshexec.Options{Dial: policy.DialContext, Allow: policy.CheckHost})
	stacks := openstack.New(openstack.Config{Allow: outbound.AllowAny}) // Tacker itself connects to its VIMs
	h := &host{store: store, key: key, log: slog.New(slog.NewJSONHandler(log, nil)), drivers: drivers(pool),
		atEnd: []func() error{log.Close, store.Close, func() error { stacks.Close(); return nil }, pool.Close}}
	h.resources = func(ctx context.Context, call *hookrun.TackerV2) (vnflcm.Resources, error) {
		return read(ctx, stacks, call)
	}
	return h, nil
}

func (h *host) close() error {
	var errs []error
	for _, do := range slices.Backward(h.atEnd) {
		errs = append(errs, do())
	}
	return errors.Join(errs...)
}

// read reads the resources of the VNF from its stack, if there is one: none is made yet, or it has been removed.
func read(ctx context.Context, stacks *openstack.Driver, call *hookrun.TackerV2) (vnflcm.Resources, error) {
	if call.StackID == "" {
		return vnflcm.Resources{}, nil
	}
	flavour, err := call.Package.VNFD().Flavour(call.FlavourID)
	if err != nil {
		return vnflcm.Resources{}, fmt.Errorf("%w: %w", vnflcm.ErrInvalidRequest, err)
	}
	resources, err := stacks.ReadStack(ctx, call.VIM, call.InstanceID, call.StackID, flavour)
	if errors.Is(err, openstack.ErrNoStack) && (call.Hook == vnflcm.TerminateEnd || call.Hook == vnflcm.InstantiateRollbackEnd) {
		return vnflcm.Resources{}, nil
	}
	return resources, err
}
