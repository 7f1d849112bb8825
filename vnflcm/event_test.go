package vnflcm_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestDurations checks the durations of phases and operations against the time that a step takes.
func TestDurations(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		const create, init, failed, configure = 2 * time.Second, 10 * time.Second, time.Hour, 20 * time.Second
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
			switch at {
			case "instantiate/create/master-0":
				time.Sleep(create)
			case "instantiate_end/init/":
				time.Sleep(init)
			case "instantiate_end/configure/":
				time.Sleep(configure)
			}
			return nil
		}
		x.world.failAt("instantiate_end/configure/", errCut)
		id := x.create()
		occ, _ := x.instantiate(id, "plain", vnflcm.FailedTemp)
		x.world.failAt("instantiate_end/configure/", nil)
		time.Sleep(failed)
		x.wait(occ.ID, x.Retry(t.Context(), occ.ID), vnflcm.Completed)
		mu.Lock()
		defer mu.Unlock()
		want := map[string]time.Duration{"STARTING": 0, "PROCESSING": 0, "phase-started instantiate": 0, "phase-started instantiate_end": 0,
			"phase-done instantiate": create, "phase-done instantiate_end": configure,
			"FAILED_TEMP": create + init, "COMPLETED": create + init + failed + configure}
		if diff := cmp.Diff(want, took); diff != "" {
			t.Errorf("durations:\n%s", diff)
		}
	})
}
