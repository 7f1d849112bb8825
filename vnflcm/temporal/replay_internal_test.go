package temporal

import (
	"log/slog"
	"path/filepath"
	"testing"

	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// TestReplay runs today's workflow on histories that the versions up to now have written. It fails if a workflow that began
// before an update would not end after it: then the change needs workflow.GetVersion. TestTakeover and TestRetriedAtOnce
// record histories: of a workflow that is running, has completed, has failed.
func TestReplay(t *testing.T) {
	t.Parallel()
	histories, err := filepath.Glob("testdata/*.json")
	if err != nil || len(histories) == 0 {
		t.Fatal("no histories", err)
	}
	for _, name := range histories {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			replayer := worker.NewWorkflowReplayer()
			replayer.RegisterWorkflowWithOptions(run, workflow.RegisterOptions{Name: workflowName})
			if err := replayer.ReplayWorkflowHistoryFromJSONFile(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)), name); err != nil {
				t.Error(err)
			}
		})
	}
}
