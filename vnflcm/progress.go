package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm/internal/ledger"
)

// Progress is what an operation does now.
type Progress struct {
	OperationID string
	State       OperationState
	// Process is the id of the process that has the operation: a random id, which the log of the process has at its beginning.
	// "": no process works on the operation, because it waits for one, has failed, or has ended.
	Process string
	// Here reports whether Process is the process of the Manager. Steps is known only then.
	Here bool
	// Steps are the steps that are running, in the order of their beginning.
	Steps []RunningStep
}

// RunningStep is a step that is running, or, without a Name, the code of a phase between its steps if that waits.
type RunningStep struct {
	StepInfo
	Since time.Time
	// Reason says what the step waits for and why the last attempt has failed, or what the driver has last reported of the step.
	// It contains no secrets and has at most 1 KiB. It is kept in memory and never stored. "": the step does not wait.
	Reason string
	// Tries is how many attempts of the wait have failed. 0: the first attempt has not ended, or there are no attempts.
	Tries int
}

// Progress returns what the operation does now. Only the process that works on the operation knows the steps: Progress.Process names it.
// ErrNotFound: the operation does not exist.
func (m *Manager) Progress(ctx context.Context, opID string) (*Progress, error) {
	rec, _, err := m.operation(ctx, opID)
	if err != nil {
		return nil, err
	}
	p := &Progress{OperationID: opID, State: rec.Occ.OperationState}
	m.mu.Lock()
	r := m.runs[opID]
	m.mu.Unlock()
	switch {
	case !p.State.active():
	case r != nil && r.hasBegun():
		p.Process, p.Here, p.Steps = r.claim.Lease().ID(), true, r.running.list()
	default:
		p.Process, err = m.holder(ctx, opID)
	}
	return p, err
}

// holder returns the process that has the claim of an operation, "" if no process has it.
func (m *Manager) holder(ctx context.Context, opID string) (string, error) {
	var claim ledger.ClaimRecord
	_, err := m.records.Get(ctx, ledger.KindClaim, opID, &claim)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return "", fmt.Errorf("claim of operation %s: %w", opID, err)
	}
	if claim.State != ledger.Held {
		return "", nil
	}
	return claim.Process, nil
}

func (r *run) hasBegun() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.begun
}

// list returns the steps that are running, in the order of their beginning.
func (r *running) list() []RunningStep {
	r.mu.Lock()
	watches := slices.Clone(r.watches)
	r.mu.Unlock()
	steps := []RunningStep{}
	for _, w := range watches {
		if step := w.now(); step.Name != "" || step.Reason != "" {
			steps = append(steps, step)
		}
	}
	return steps
}
