package main

import (
	"testing"

	"go.temporal.io/api/workflowservice/v1"

	"github.com/vnfkit/vnfkit/internal/pgtest"
	"github.com/vnfkit/vnfkit/internal/temporaltest"
)

// TestOnTemporal kills a process during an operation whose phases Temporal assigns to processes.
func TestOnTemporal(t *testing.T) {
	t.Parallel()
	server := temporaltest.Start(t)
	d := newDeployment(t, pgtest.Start(t).NewDatabase(t))
	d.config.Temporal = temporalConfig{Address: server.Address, Namespace: temporaltest.Namespace}
	twoProcesses(t, d)
	found, err := server.Dial(t).CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Namespace: temporaltest.Namespace})
	if must(t, err); found.Count != 3 {
		t.Errorf("%d operations were workflows", found.Count)
	}
}
