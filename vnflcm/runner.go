package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm/internal/ledger"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// Runner starts operations outside of the Manager, such as in a workflow engine, which then calls RunPhase.
type Runner interface {
	// Start starts the work on an operation that is accepted, retried or rolled back. It returns at once. It may be called
	// again for the same operation, by other processes too, and then does nothing while the operation is under way. When no
	// process has begun the next phase of an operation within the LeaseTTL, because Start has failed or the process died
	// before it, one of the Managers with a Runner calls Start again, and after that in intervals that double up to 64
	// times the LeaseTTL.
	Start(ctx context.Context, operationID string) error
}

// RunPhase runs one phase of an operation and returns the name of the next phase. An operation has the phases PhaseBegin,
// those of its hooks and drivers in their order, and PhaseEnd. With phase "", RunPhase runs the phase that is due. If next
// is "", no phase is left: the operation has ended or is in FAILED_TEMP, and err is the reason if it did not succeed.
//
// RunPhase does not run a completed phase again, so the caller may repeat a call at any time. While another process runs a
// phase of the operation, RunPhase returns ErrLeased; it continues the phase after that process has shown no sign of life
// for its LeaseTTL. ErrLeased and ErrShutdown (ctx has ended, or the Manager is closed) leave the operation unchanged: run
// the same phase again later. ErrState reports that another phase is due.
func (m *Manager) RunPhase(ctx context.Context, operationID, phase string) (next string, err error) {
	if m.cfg.Runner == nil {
		return "", fmt.Errorf("%w: RunPhase needs a Manager with a Runner", ErrProgramming)
	}
	ended := func() error { return fmt.Errorf("%w: %w", ErrShutdown, context.Cause(ctx)) }
	if ctx.Err() != nil {
		return phase, ended()
	}
	next, isDue, err := m.isDue(ctx, operationID, phase)
	var r *run
	var t takeover
	if isDue {
		r, t, err = m.takeForPhase(ctx, operationID)
	}
	if err != nil && ctx.Err() != nil {
		err = errors.Join(ended(), err)
	}
	if r == nil {
		return next, err
	}
	stop := context.AfterFunc(ctx, func() { r.cancel(ended()) })
	defer stop()
	if t.next.Convicted {
		next, err = r.enterEnd(r.ctx, phase, r.rec.conviction(t)) //nolint:contextcheck // ends with ctx, and for the causes of the run
	} else {
		r.start()
		next, err = r.runDue(r.ctx, phase) //nolint:contextcheck // the same
	}
	r.end(err)
	return next, err
}

// isDue reports whether a phase is due, and otherwise which phase is.
func (m *Manager) isDue(ctx context.Context, opID, phase string) (next string, isDue bool, err error) {
	rec, _, err := m.operation(ctx, opID)
	if err != nil {
		return phase, false, err
	}
	switch due := rec.due(); {
	case !rec.Occ.OperationState.active():
		return "", false, m.why(m.occurrence(rec))
	case slices.Contains(rec.Done, phase) || phase == PhaseBegin && due != PhaseBegin || rec.hasReturnedFrom(phase):
		return due, false, nil
	case phase != "" && phase != due:
		return due, false, fmt.Errorf("%w: phase %q of operation %s is due, not %q", ErrState, due, opID, phase)
	}
	return phase, true, nil
}

// takeForPhase takes the claim, from another process only if that is gone.
func (m *Manager) takeForPhase(ctx context.Context, opID string) (r *run, t takeover, err error) {
	stored, err := m.cfg.Store.Get(ctx, ledger.KindClaim, opID)
	if err != nil {
		return nil, t, fmt.Errorf("claim of operation %s: %w", opID, err)
	}
	c := seenClaim{stored: stored}
	if c.err = m.records.Open(stored, &c.held); c.err != nil && !m.records.HasKey(stored) {
		return nil, t, c.err // of a process with another key, which may live
	}
	processes, err := m.cfg.Store.List(ctx, store.Query{Kind: ledger.KindProcess})
	if err != nil {
		return nil, t, err
	}
	m.watching.Lock()
	holder, free := m.isFree(c, processes)
	m.watching.Unlock()
	if !free {
		return nil, t, fmt.Errorf("%w: process %q has operation %s", ErrLeased, c.held.Process, opID)
	}
	r, t, err = m.take(ctx, c, holder, true)
	if r == nil && err == nil {
		err = fmt.Errorf("%w: this process runs a phase of operation %s, or may not run it beside its other ones now, because processes have ended while they worked on some operations",
			ErrLeased, opID)
	}
	if err == nil && c.held.State != ledger.Free {
		m.report(OperationTaken, &r.rec.Occ)
	}
	return r, t, err
}

// runDue runs the phase that is due now. If the caller wants another phase, another process was faster.
func (r *run) runDue(ctx context.Context, phase string) (next string, err error) {
	due := r.rec.due()
	if phase != "" && phase != due {
		r.giveUp(context.WithoutCancel(ctx))
		return due, nil
	}
	if due != PhaseEnd {
		err = r.withPackages(ctx, func(opened openPackages, inst *instanceRecord) error { return r.perform(ctx, opened, inst, due) })
	}
	if err == nil && due != PhaseEnd {
		err = r.save(context.WithoutCancel(ctx), func(_ context.Context, b *store.Batch) error { return r.claim.Pass(b, ledger.Free) })
		if err == nil {
			return r.rec.due(), nil
		}
	}
	return r.enterEnd(ctx, phase, err)
}

// enterEnd enters the state that the outcome leads to, after which no phase is left.
func (r *run) enterEnd(ctx context.Context, phase string, outcome error) (next string, err error) {
	if err = r.enterOutcome(ctx, outcome); r.left != nil {
		return phase, err
	}
	if r.returning {
		err = r.save(context.WithoutCancel(ctx), func(_ context.Context, b *store.Batch) error { return r.claim.Pass(b, ledger.Free) })
		return r.rec.due(), err
	}
	return "", err
}

// startElsewhere calls the Runner. watchRunner repeats a failed call.
func (m *Manager) startElsewhere(ctx context.Context, opID string) {
	if err := recovered(func() error { return m.cfg.Runner.Start(ctx, opID) }); err != nil {
		_ = logPanic(ctx, m.cfg.Logger, err)
		m.cfg.Logger.WarnContext(ctx, "the Runner cannot start an operation now", "operation", opID, "error", err)
	}
}

// watchProcesses looks which processes are gone, so that RunPhase can continue their phases, until ctx ends.
func (m *Manager) watchProcesses(ctx context.Context) {
	m.often(ctx, func(ctx context.Context) error {
		processes, err := m.cfg.Store.List(ctx, store.Query{Kind: ledger.KindProcess})
		if err != nil {
			return err
		}
		m.watching.Lock()
		defer m.watching.Unlock()
		there := map[[2]string]bool{}
		for _, p := range processes {
			there[p.Key()] = true
			_ = m.isGone(p)
		}
		m.seen.Retain(func(key [2]string) bool { return key[0] != ledger.KindProcess || there[key] })
		return nil
	})
}

// watchRunner starts operations again that no process has worked on for a while, until ctx ends. One of all processes does
// that: a busy engine must not be asked by each of them.
func (m *Manager) watchRunner(ctx context.Context) {
	_ = m.Exclusively(ctx, "start-operations", func(ctx context.Context) error {
		claims := ledger.Sightings{}
		m.often(ctx, func(ctx context.Context) error { return m.restart(ctx, claims) })
		return context.Cause(ctx)
	})
}

// often calls look until ctx ends or the Manager can do nothing more.
func (m *Manager) often(ctx context.Context, look func(context.Context) error) {
	every := time.NewTicker(ledger.LookEvery(m.cfg.LeaseTTL))
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		err := look(ctx)
		if m.isClosed() {
			return
		}
		if err != nil && ctx.Err() == nil {
			m.cfg.Logger.WarnContext(ctx, "operations of other processes cannot be found now", "error", err)
		}
	}
}

// restart starts those operations again whose claims are due, and removes the records of processes that are gone.
func (m *Manager) restart(ctx context.Context, seen ledger.Sightings) error {
	claims, err := m.claims(ctx, ledger.Free, ledger.Held)
	if err != nil {
		return err
	}
	processes, err := m.cfg.Store.List(ctx, store.Query{Kind: ledger.KindProcess})
	if err != nil {
		return err
	}
	var named []string
	there := map[[2]string]bool{}
	for _, c := range claims {
		named, there[c.stored.Key()] = append(named, c.held.Process), true
		if !m.canStart(c, processes) || !seen.IsDue(c.stored, m.cfg.LeaseTTL) {
			continue
		}
		// The calls before may have taken a while.
		if now, err := m.cfg.Store.Get(ctx, ledger.KindClaim, c.stored.ID); err == nil && now.Version == c.stored.Version {
			m.startElsewhere(ctx, c.stored.ID)
		}
	}
	seen.Retain(func(key [2]string) bool { return there[key] })
	m.watching.Lock()
	defer m.watching.Unlock()
	return m.removeGone(ctx, processes, named)
}

// canStart reports whether no living process works on an operation.
func (m *Manager) canStart(c seenClaim, processes []store.Record) bool {
	m.watching.Lock()
	defer m.watching.Unlock()
	_, free := m.isFree(c, processes)
	return free && !m.isRunning(c.stored.ID)
}
