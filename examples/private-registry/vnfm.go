package main

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/vnfkit/vnfkit/examples/internal/samples"
	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/registry"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/progress"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// vnfm is a VNF manager with two management drivers.
type vnfm struct {
	*vnflcm.Manager
	world *sandbox.World
	vnfds map[string]string // by package: the id of its VNFD
	close func()
}

// compose makes the manager on the sandbox.
func compose(ctx context.Context, o options, screen *progress.Screen) (*vnfm, error) {
	v := &vnfm{vnfds: map[string]string{}}
	packages := samples.Packages{}
	for _, path := range []string{o.registry, o.cluster} {
		var err error
		if v.vnfds[path], err = packages.Add(ctx, path); err != nil {
			return nil, err
		}
	}
	// Slow programs take a moment, so that there is something to see.
	world, err := sandbox.Open(sandbox.Config{Takes: 300 * time.Millisecond, PublicImages: []string{"registry:latest"}}) //nolint:contextcheck // a world is closed, not cancelled
	if err != nil {
		return nil, err
	}
	key := make([]byte, 32) // sealed data does not outlive the process
	_, _ = rand.Read(key)   // never fails
	pool := sshexec.NewPool(sshexec.Options{Dial: world.Dial})
	manager, err := vnflcm.New(ctx, vnflcm.Config{
		Store: store.NewMemory(), Key: key,
		Packages: vnflcm.PackagesFunc(packages.Find),
		Infra:    map[string]vnflcm.InfraDriver{"sandbox": world},
		Mgmt: map[string]vnflcm.MgmtDriver{
			"mgmt-drivers-private-registry": registry.New(registry.Config{Pool: pool}),
			"mgmt-drivers-kubernetes":       kubeadm.New(kubeadm.Config{Pool: pool}),
		},
		KnownVIMs: vnflcm.VimConnections{{VimID: "sandbox", VimType: "sandbox"}},
		Observe:   screen.Observe,
	})
	if err != nil {
		return nil, errors.Join(err, pool.Close(), world.Close())
	}
	v.Manager, v.world = manager, world
	v.close = func() {
		_ = errors.Join(manager.Close(context.WithoutCancel(ctx)), pool.Close(), world.Close())
	}
	return v, nil
}
