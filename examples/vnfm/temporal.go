package main

import (
	"cmp"
	"context"
	"fmt"

	temporalclient "go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/temporal"
)

// temporalConfig are the settings of a Temporal server that shares the operations out. Without an address the processes do that
// by themselves.
type temporalConfig struct {
	Address   string `yaml:"address"`
	Namespace string `yaml:"namespace"` // default: default
}

// queue is the task queue of all processes.
const queue = "vnfm"

// workflows are the parts of a process that need Temporal.
type workflows struct {
	client   temporalclient.Client
	progress temporal.Progress
}

// attach makes the Manager of this configuration start workflows.
func (w *workflows) attach(ctx context.Context, v *vnfm, managed *vnflcm.Config) error {
	server := v.config.Temporal
	server.Namespace = cmp.Or(server.Namespace, "default")
	var err error
	w.client, err = temporalclient.DialContext(ctx, temporalclient.Options{HostPort: server.Address, Namespace: server.Namespace, Logger: sdklog.NewStructuredLogger(v.log)})
	if err != nil {
		return fmt.Errorf("temporal: %w", err)
	}
	v.atEnd(func() error { w.client.Close(); return nil })
	managed.Observe = w.progress.Observe
	managed.Runner = temporal.Runner(w.client, queue)
	if err := temporal.CreateAttributes(ctx, w.client, server.Namespace); err != nil {
		return fmt.Errorf("temporal: %w", err)
	}
	return nil
}

// runWorkflows runs operations until ctx ends.
func (v *vnfm) runWorkflows(ctx context.Context) error {
	worker := temporal.Worker(v.workflows.client, queue, v.Manager, temporal.Options{Progress: &v.workflows.progress})
	if err := worker.Start(); err != nil {
		return err
	}
	<-ctx.Done()
	worker.Stop()
	return context.Cause(ctx)
}
