package vnflcm_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestDurations checks the durations of phases and operations against the time that a step takes.
func TestDurations(t *testing.T) {
	t.Parallel()
	const pause = 30 * time.Millisecond
	var mu sync.Mutex
	took := map[string]time.Duration{}
	x := newToys(t, func(cfg *vnflcm.Config) {
		cfg.Observe = func(e vnflcm.Event) {
			mu.Lock()
			defer mu.Unlock()
			switch e.Kind {
			case vnflcm.PhaseStarted, vnflcm.PhaseDone:
				took[string(e.Kind)+" "+e.Phase] = e.Duration
			case vnflcm.OperationChanged:
				took[string(e.State)] = e.Duration
			}
		}
	})
	x.world.after = func(_ context.Context, at string) error {
		if at == "instantiate_end/init/" {
			<-time.After(pause)
		}
		return nil
	}
	x.world.failAt("instantiate_end/configure/", errCut)
	id := x.create()
	occ, _ := x.instantiate(id, "plain", vnflcm.FailedTemp)
	x.world.failAt("instantiate_end/configure/", nil)
	x.wait(occ.ID, x.Retry(t.Context(), occ.ID), vnflcm.Completed)
	mu.Lock()
	defer mu.Unlock()
	for _, key := range []string{"STARTING", "PROCESSING", "phase-started instantiate", "phase-started instantiate_end"} {
		if got, there := took[key]; !there || got != 0 {
			t.Errorf("%s: duration %s (%v), want 0", key, got, there)
		}
	}
	for key, least := range map[string]time.Duration{"phase-done instantiate": 1, "phase-done instantiate_end": 1,
		"FAILED_TEMP": pause, "COMPLETED": pause} {
		if got := took[key]; got < least || got > time.Minute {
			t.Errorf("%s: duration %s, want at least %s", key, got, least)
		}
	}
	if took["COMPLETED"] < took["FAILED_TEMP"] {
		t.Errorf("COMPLETED after %s, FAILED_TEMP after %s", took["COMPLETED"], took["FAILED_TEMP"])
	}
}
