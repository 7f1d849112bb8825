//go:build unix

package fleettest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Fleet are four processes that work on operations.
type Fleet struct {
	Killed, Stopped int

	start     func(name string) *Process
	processes [4]*Process
}

// StartFleet starts the processes, and start starts one for each that is killed.
func StartFleet(start func(name string) *Process) *Fleet {
	f := &Fleet{start: start}
	for i := range f.processes {
		f.processes[i] = start(fmt.Sprint("worker-", i))
	}
	return f
}

// Size is the number of processes.
func (f *Fleet) Size() int { return len(f.processes) }

// Disturb kills or stops a process about twice a second until ctx ends.
func (f *Fleet) Disturb(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(200+rand.IntN(800)) * time.Millisecond): //nolint:gosec // a time, no secret
		}
		i := rand.IntN(len(f.processes)) //nolint:gosec // a choice, no secret
		if rand.IntN(2) == 0 {           //nolint:gosec // a choice, no secret
			f.Stopped++
			f.processes[i].Pause(TTL * 3 / 2)
			continue
		}
		f.processes[i].Signal(syscall.SIGKILL)
		f.Killed++
		f.processes[i] = f.start(fmt.Sprintf("worker-%d-%d", i, f.Killed))
	}
}

// Replace ends the processes one after the other and starts another one in place of each, as an update does.
func (f *Fleet) Replace() {
	for i, p := range f.processes {
		p.End()
		f.processes[i] = f.start(fmt.Sprintf("updated-%d", i))
	}
}

// End ends the processes in order.
func (f *Fleet) End() {
	for _, p := range f.processes {
		p.End()
	}
}

// AwaitEnds waits until all operations have ended, at most that long.
func AwaitEnds(t *testing.T, m *vnflcm.Manager, patience time.Duration) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		page, err := m.Operations(t.Context(), vnflcm.OperationQuery{
			States: []vnflcm.OperationState{vnflcm.Starting, vnflcm.Processing, vnflcm.RollingBack, vnflcm.FailedTemp}})
		if err == nil && len(page.Items) == 0 {
			return
		}
		if time.Now().After(deadline) {
			for _, occ := range page.Items {
				t.Errorf("operation %s is %s: %v", occ.ID, occ.OperationState, occ.Error)
			}
			t.Fatalf("%d operations have not ended (%v)", len(page.Items), err)
		}
		time.Sleep(500 * time.Millisecond)
	}
}
