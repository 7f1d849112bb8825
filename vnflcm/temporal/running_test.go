package temporal_test

import (
	"context"

	"go.temporal.io/sdk/client"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/temporal"
)

var _ = run

// run is the program with Temporal of docs/running.md, so that it compiles.
func run(ctx context.Context, c vnflcm.Config, client client.Client, serve func(context.Context, *vnflcm.Manager) error) error {
	key, store, packages, infra, mgmt, vims := c.Key, c.Store, c.Packages, c.Infra, c.Mgmt, c.KnownVIMs

	progress := new(temporal.Progress)
	manager, err := vnflcm.New(ctx, vnflcm.Config{Store: store, Key: key, Packages: packages, Infra: infra, Mgmt: mgmt, KnownVIMs: vims,
		Runner: temporal.Runner(client, "vnfm"), Observe: progress.Observe})
	if err != nil {
		return err
	}
	defer manager.Close(context.WithoutCancel(ctx))
	worker := temporal.Worker(client, "vnfm", manager, temporal.Options{Progress: progress}) // not in a process that only takes requests
	if err := worker.Start(); err != nil {
		return err
	}
	defer worker.Stop()
	return serve(ctx, manager)
}
